# --print-after of one pass: what the pass did, and the graph, once
cat >m.ptg <<'P'
ptg 1
graph f(x: float32[?], w: float32[?], c: bool[]) -> (y, v) {
  y = Maximum(x, 0) * w
  v = Assert(Sum(x), c)
}
P
echo '== a pass of several rows, most of which do not run; one that changes nothing; one that does not run'
ptgc --print-after=nodes m.ptg -o m.onnx
ptgc --print-after=splats m.ptg -o m.onnx
ptgc --print-after=layout-loops --print-after=close-scans --print-after=nodes -O0 m.ptg -o m.onnx
echo '== the checks that are added, and those that a product makes'
ptgc --print-after=checks m.ptg -o m.onnx
cat >product.ptg <<'P'
ptg 1
graph f(x: float32[?], w: float32[?, 4]) -> (y) {
  y = Dot(x, w)
}
P
ptgc --print-after=checks product.ptg -o m.onnx 2>&1 | grep '^#'
echo '== a row is compared with the graph before it, not with what was printed last'
cat >loop.ptg <<'P'
ptg 1
graph f(x: float32[n], a: float32[]) -> (y) {
  y = loop (v in x, s = float32(0)) -> (s) {
    next s = Tanh(s) + Maximum(Exp(a), 0) * v
  }
}
P
ptgc --print-after=nodes loop.ptg -o m.onnx

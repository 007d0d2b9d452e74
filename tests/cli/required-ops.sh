# --required-ops: the operators of a model, those of loops and of other domains too, as ONNX Runtime's reduced
# builds take them
cat >m.ptg <<'END'
graph g(x: float32[n, 4], k: int64[]) -> (y, z) {
  s = loop (i in 0:k, a = Sum{axis=0}(x)) -> (a) {
    next a = Tanh(a) + 1
  }
  y = onnx.Softplus(s)
  z: float32[4] = com.example.Magic{level=3}(s)
}
END
ptgc --required-ops m.ptg --math=native
ptgc --required-ops m.ptg --math=native --opset=13 -o ops.config && cat ops.config
echo 'graph g(x: float32[n]) -> (x) { }' | ptgc --required-ops -

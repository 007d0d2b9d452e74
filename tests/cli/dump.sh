# ptgc dump: a binary model as text
cat >m.ptg <<'END'
graph g(x: float64[n, 3]) -> (y) {
  w = float64([1, 2, 3])
  y = Sum{axes=(1,)}(Exp(x) * w)
}
END
ptgc m.ptg && ptgc dump m.onnx | tee m.txt
ptgc dump - <m.onnx | cmp - m.txt && echo same
head -c 40 m.onnx >cut.onnx
ptgc dump cut.onnx
echo "= $?"
cat >typed.ptg <<'END'
graph g(xs: float32[k, 4], h0: float32[4]) -> (last, all, d) {
  W = float32[4, 4](0.5)
  last, all = loop (x in xs, h = h0, i in 0:10) while h[0] < 2 -> (h, [new]) {
    new = Tanh(x + h @ W) * 0.7 + Cast{float32}(k)
    next h = new
  }
  d = xs[1:, 0] * Cast{float32}(max(k, 2))
}
END
ptgc --dump=typed typed.ptg

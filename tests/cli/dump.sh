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

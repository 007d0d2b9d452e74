# --passes, --print-after, -O0 and -fverify-each
cat >m.ptg <<'P'
ptg 1
graph f(x: float32[n]) -> (y: float32[n]) {
  y = Maximum(x, 0) * 1
}
P
ptgc --passes
echo '== what took the node: the text on standard error, the model in its place'
ptgc --print-after=lower --print-after nodes m.ptg -o m.onnx >out; echo "exit $?"
cat out
ptgc dump m.onnx >m1
ptgc --print-after=close-scans m.ptg -o m.onnx
ptgc --print-after=all -O0 m.ptg -o m.onnx 2>&1 | grep '^#'
ptgc dump m.onnx | diff m1 - | grep '='
echo '== a flag wins over the level, wherever it stands'
ptgc -frelu -O0 --dump=onnx m.ptg | grep Relu
ptgc -O0 -O1 --dump=onnx m.ptg | grep Relu
ptgc -O0 -fno-dead --dump=onnx m.ptg | grep -c =
echo '== -fverify-each changes no bytes'
for level in 0 1; do
	ptgc -O$level -fverify-each m.ptg -o a.onnx && ptgc -O$level m.ptg -o b.onnx && cmp a.onnx b.onnx && echo same
done
# lengths that the rule of an op names anew, and an op of the parts of complex numbers
cat >lengths.ptg <<'END'
ptg 1
graph g(x: bool[?, ?], n: int64[?]) -> (a, b, c) {
  a, b, c = Split{axis=0, n=3}(x, n)
}
END
cat >parts.ptg <<'END'
ptg 1
graph g(x: complex64[2], y: complex64[3]) -> (z) {
  z = Blockwise{core_op=Convolve1d, signature="(n0),(k0),()->(o0)"}(x, y, bool(True))
}
END
for text in lengths parts; do
	ptgc -O0 -fverify-each $text.ptg -o a.onnx && ptgc -O0 $text.ptg -o b.onnx && cmp a.onnx b.onnx && echo same
done
echo '== wrong usage'
for option in -O -O2 -Ofast --print-after=node --print-after=x --print-after; do
	ptgc m.ptg -o m.onnx $option; echo "exit $?"
done

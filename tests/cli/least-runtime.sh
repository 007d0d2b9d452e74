# from which release of ONNX Runtime on a model runs, and models for older releases
cat >m.ptg <<'END'
graph g(x: float64[n]) -> (y) {
  y = Cos(x)
}
END
for target in ort-cpu ort-cpu:1.20 ort-cpu:1.20.1 ort-web onnx; do
	ptgc --least-runtime --target=$target m.ptg
	echo "$target: exit $?"
done
for wrong in ort-cpu:1.16 ort-cpu:1.99 ort-cpu:1.20x ort-cpu: ort-web:1.20; do
	ptgc --target=$wrong m.ptg
	echo "$wrong: exit $?"
done
ptgc --target=ort-cpu:1.20 --opset=22 m.ptg
echo "exit $?"
ptgc --target=ort-cpu:1.20 --opset=21 m.ptg && echo done

# what the model says about itself
cat >m.ptg <<'END'
ptg 1

graph main(x: float64[n]) -> (y) {
  y = Exp(x)
}
END
ptgc m.ptg --strip
ptgc dump m.onnx
ptgc m.ptg --strip --model-name=net --model-version 7 --doc 'What it is.' --meta author=me --meta 'note=a = b' --meta empty=
ptgc dump m.onnx
for wrong in --meta=author --meta==x --model-version=-1 --model-version=1.5; do
	ptgc m.ptg $wrong
	echo "exit $?"
done

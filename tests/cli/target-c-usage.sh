# What says something of ONNX models alone is refused for C; so are names of outputs that neither a model nor C has.
try() {
	echo "\$ ptgc $*"
	ptgc "$@"
	echo "= $?"
}
cat >m.ptg <<'END'
ptg 1
graph m(x: float64[n]) -> (y) {
  state s: float64[2] = float64([1, 2])
  next s = s + 1
  y = x + Sum(s)
}
END
try --opset=18 m.ptg -o m.c
try --opset=ai.onnx.ml:3 m.ptg -o m.c
try --model-version=2 m.ptg -o m.c
try --doc='a model' m.ptg -o m.c
try --target=c --meta key=value m.ptg
try --required-ops --target=c m.ptg
try --least-runtime --target=c m.ptg
for name in m.so m.dylib m.dll m.a m.o m.h m.cpp m.cc; do
	try m.ptg -o $name
done
try --target=c m.ptg -o m.so
try --target=onnx m.ptg -o m.so
ls
try --target=c m.ptg -o m.cpp
try --state=inputs m.ptg -o n.c
ls

# 0 done, 1 the input is rejected (a missing file(...) too), 2 usage or I/O (a missing main file too);
# on 1 and 2 an older output stays as it was, and nothing new is there
try() {
	echo "\$ ptgc $*"
	ptgc "$@"
	echo "= $?"
}
echo 'graph g(x: float64[3]) -> (y) { y = Exp(x) }' >good.ptg
echo 'graph g(x: float64[3]) -> (y) { y = x + nothing }' >undefined.ptg
echo 'graph g(x: float64[3]) -> (y) { y = x + file("missing.npy") }' >weights.ptg
echo 'use "missing.ptg"' | cat - good.ptg >use.ptg
mkdir folder
try good.ptg
cp good.onnx before.onnx
try undefined.ptg -o good.onnx
try weights.ptg -o good.onnx
try use.ptg -o good.onnx
cmp good.onnx before.onnx && echo 'the older output is as it was'
try missing.ptg
try folder
try good.ptg -o folder
try good.ptg -o missing/good.onnx
try good.ptg -o good.ptg/good.onnx
try dump good.ptg
try dump missing.onnx
try fmt undefined.ptg missing.ptg
ls -A

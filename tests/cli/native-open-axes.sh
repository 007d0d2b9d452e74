# Axes that only the run knows are refused for C: a sum over none of them would be no sum.
text() { # result, call
	printf 'ptg 1\ngraph g(x: float32[3, 4], a: int64[1]) -> (y) {\n  y: %s = %s\n}\n' "$1" "$2" >open.ptg
	"$PTGC" open.ptg -o open.c
}
text 'float32[?, ?]' 'onnx.ReduceSum{keepdims=1}(x, a)'
text 'float32[1, 3, 4]' 'onnx.Unsqueeze(x, a)'
text 'float32[?, ?]' 'onnx.Squeeze(onnx.Unsqueeze(x, [0]), a)'

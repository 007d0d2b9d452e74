# '-' is standard input and output; the bytes do not depend on where they come from or go to
echo 'graph g(x: float64[n]) -> (y) { y = Exp(x) }' >m.ptg
ptgc m.ptg
ls
ptgc --strip m.ptg -o file.onnx
ptgc --strip m.ptg -o - | cmp - file.onnx && echo same
ptgc --strip - <m.ptg | cmp - file.onnx && echo same
ptgc --strip - <m.ptg -o from-stdin.onnx && cmp from-stdin.onnx file.onnx && echo same
ptgc --strip m.ptg -o /dev/stdout | cmp - file.onnx && echo same
mkdir sub && mv m.ptg sub && ptgc --strip sub/m.ptg && cmp sub/m.onnx file.onnx && echo same
cp sub/m.ptg ./-odd.txt && ptgc --strip -- -odd.txt && cmp ./-odd.txt.onnx file.onnx && echo same
echo 'graph g(x: float64[n]) -> (y) { y = Exq(x) }' | ptgc - -o no.onnx
echo $?
ptgc - </dev/null -o no.onnx
echo $?
ls -A

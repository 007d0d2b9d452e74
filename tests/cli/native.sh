# The example of doc/native.md, as a reader would type it; and both languages take the file without a warning.
awk '/^## /{on = /An example/} on && /^```/{code = !code; next} on && code {
	if (here) { print; if ($0 == "END") here = 0 }
	else if (/^\$ /) { print substr($0, 3); here = /<<.END.$/ } }' "$TOP/doc/native.md" >example.sh
sed -i "s|^ptgc |$PTGC |" example.sh
sh -e example.sh
sed -n '/^struct/,/^};/p' model.h
flags='-Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -ffp-contract=off -c'
gcc -std=c99 $flags model.c -o c.o && g++ -std=c++11 $flags -x c++ model.c -o cc.o && echo no warning
if command -v clang >clang.txt; then clang -std=c99 $flags model.c -o clang.o; fi
$PTGC -MD -MF model.d model.ptg -o model.c && sed "s|$PWD/||" model.d
$PTGC --target=c -o - model.ptg >one.c && gcc $flags one.c -o one.o && echo one file
echo 'graph g(x: float64[n, n]) -> (y) { y = onnx.Det(x) }' >refused.ptg
$PTGC refused.ptg -o refused.c; echo "exit $?"; ls refused.* 
echo 'graph g(x: float64[n]) -> (y) { y = Exp(Tan(x)) }' >own.ptg # functions of float are not read, and so not there
$PTGC own.ptg -o own.c && grep -c '^PTGC_INLINE.* ptgc_\(exp\|tan\)(' own.c; grep '^PTGC_INLINE.* ptgc_\(exp\|tan\)f(' own.c || echo none of float

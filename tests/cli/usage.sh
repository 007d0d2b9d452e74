# wrong usage: exit 2, one line that says what is wrong
try() {
	echo "\$ ptgc $*"
	ptgc "$@"
	echo "= $?"
}
echo 'graph g(x: float64[n]) -> (y) { y = Exp(x) }' >m.ptg
try
try --opst 18 m.ptg
try --opset
try --opset 12 m.ptg
try --opset 18x m.ptg
try --opset=99 m.ptg
try --opset=ai.onnx.ml:6 m.ptg
try --opset=com.microsoft:1 m.ptg
try --target cuda m.ptg
try --target=gpu m.ptg
try --dump typo m.ptg
try --strip=yes m.ptg
try -W m.ptg
try -Wunusd m.ptg
try -Wno-nothing m.ptg
try -Werror=unusd m.ptg
try -fno-such-rewrite m.ptg
try -f m.ptg
try --math=fast m.ptg
try a.ptg b.ptg
try --explain PTG9999
try --color=sometimes m.ptg
try --check m.ptg
try -x
try --ops=html
try m.ptg -o m.ptg
try m.ptg -o - -MD
try m.ptg --external-data=sub/w.data
try m.ptg --external-data -o -
try fmt -i
try fmt -i --check m.ptg
try dump
ls -A

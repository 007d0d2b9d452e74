# two outputs, the model and its data: what fails leaves none of them, or the older ones, behind
weights() { head -c 8000 /dev/zero | base64 -w 0; }
echo "graph h(x: float64[1000]) -> (y) { y = x + float64[1000](bytes(\"$(weights)\")) }" >m.ptg
run() {
	"$@"
	echo "= $?: $(ls -A | tr '\n' ' ')"
}
said() { # which of two older files are as they were
	for f in m.onnx data; do [ "$(head -c 3 $f)" = old ] && echo "$f is the old one"; done
}
older() { echo old >m.onnx; echo old >data; }

echo '* nothing was there'
run ptgc m.ptg -o missing/m.onnx --external-data
run ptgc m.ptg -o - --external-data
run ptgc m.ptg -o /dev/full --external-data
run ptgc m.ptg -o /dev/null --external-data
mkfifo pipe && run ptgc m.ptg -o pipe --external-data && rm pipe
mkdir m.onnx.data
run ptgc m.ptg -o m.onnx --external-data=m.onnx.data
rmdir m.onnx.data
ptgc m.ptg -o m.onnx --external-data && data=$(ls m.onnx-*.data) && rm m.onnx "$data" && mkdir "$data"
run ptgc m.ptg -o m.onnx --external-data
rmdir m.onnx-*.data
run ptgc m.ptg -o m.onnx --external-data=..
run ptgc m.ptg -o m.onnx --external-data=
run ptgc m.ptg -o m.onnx --external-data=a/b
run ptgc m.ptg -o m.onnx --external-data="$(printf '%0300d' 1)" 2>&1 | cut -c 1-40,300-
run ptgc m.ptg -o m.onnx --external-data -MD -MF missing/m.d
echo '* the data does not fit, the model does'
(ulimit -f 4; run ptgc m.ptg -o m.onnx --external-data=data)
older
(ulimit -f 4; run ptgc m.ptg -o m.onnx --external-data=data)
said
echo '* the dependencies cannot be written'
run ptgc m.ptg -o m.onnx --external-data=data -MD -MF /dev/full
said
echo '* the data can be moved into its place, the model cannot'
rm m.onnx && mkdir m.onnx
run ptgc m.ptg -o m.onnx --external-data=data
[ "$(head -c 3 data)" = old ] && echo 'data is the old one'
rmdir m.onnx && rm data
echo '* what is read is not written'
run ptgc m.ptg -o m.onnx --external-data=m.ptg
run ptgc m.ptg -o m.onnx --external-data=m.onnx
run ptgc m.ptg -o m.onnx --external-data=m.onnx.data -MD -MF m.onnx.data
run ptgc m.ptg -o m.onnx -MD -MF ./m.onnx
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (1000,), }"
	head -c 8000 /dev/zero
} >w.npy
echo 'fn F(x: T) -> (y) { y = x + file("w.npy") }' >f.ptg
printf '%s\n' 'use "f.ptg"' 'graph h(x: float64[1000]) -> (y) { y = F(x) }' >u.ptg
cp w.npy w.copy && cp f.ptg f.copy
run ptgc u.ptg -o m.onnx --external-data=w.npy
run ptgc u.ptg -o w.npy
run ptgc u.ptg -o f.ptg
run ptgc u.ptg -o m.onnx -MD -MF f.ptg
ln -s w.npy link
run ptgc u.ptg -o link
ln w.npy hard
run ptgc u.ptg -o m.onnx --external-data=hard
cmp w.npy w.copy && cmp f.ptg f.copy && rm link hard
echo '* a folder of that name does not matter if no data is written'
mkdir 'u.onnx-*.data' && run ptgc u.ptg && rmdir 'u.onnx-*.data'
run ptgc dump u.onnx -o u.onnx
echo '* data that is a link is written where it points to'
mkdir there && touch there/data && ln -s there/data data
run ptgc u.ptg -o m.onnx --external-data=data
[ -L data ] && wc -c <there/data

# a full disk, a closed pipe, a closed descriptor: exit 2, and nothing is left behind
echo 'graph g(x: float64[n]) -> (y) { y = Exp(x) }' >m.ptg
ptgc m.ptg -o /dev/full
echo "= $?"
ptgc m.ptg -o - >/dev/full
echo "= $?"
ptgc m.ptg -o - >&-
echo "= $?"
ptgc --help >/dev/full
echo "= $?"
ptgc --ops >/dev/full
echo "= $?"
ptgc fmt m.ptg >/dev/full
echo "= $?"
ptgc --dump=onnx m.ptg >/dev/full
echo "= $?"
ptgc m.ptg -MD -MF /dev/full
echo "= $?"
ptgc m.ptg -MD -MF missing/m.d
echo "= $?"
mkfifo pipe
exec 3<>pipe 4>pipe 3>&- # writable, and nobody reads
ptgc m.ptg -o - >&4
echo "= $?"
ptgc --version >&4
echo "= $?"
rm pipe
(ulimit -f 0; ptgc m.ptg -o m.onnx)
echo "= $?"
ls -A

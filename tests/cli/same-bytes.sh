# the same input gives the same bytes: again, elsewhere, by another path, in another environment
mkdir -p here/parts there/is/a/copy/parts
cat >here/m.ptg <<END
use "parts/f.ptg"
graph g(x: float64[n, n], i: int64[k]) -> (l, y, z) {
  l = Cholesky(x @ Transpose(x))
  y = Softmax{axis=1}(x)[i].set(file("parts/w.npy")[0])
  z = Half(y) + Sum{axis=0}(Erfcx(x)) + Max(float64[1000](bytes("$(head -c 8000 /dev/zero | base64 -w 0)")))
}
END
echo 'fn Half(x: F) -> (y: F) { y = x * 0.5 }' >here/parts/f.ptg
{
	printf '\223NUMPY\001\000\067\000'
	printf "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}"
	printf '\000\000\000\000\000\000\370\077'
} >here/parts/w.npy
cp -r here/. there/is/a/copy
(cd here && ptgc m.ptg -o ../1.onnx) || exit
(cd here && ptgc m.ptg -o ../2.onnx)
(cd there/is/a/copy && ptgc ./m.ptg -o ../../../../3.onnx)
ptgc "$PWD/there/is/a/copy/m.ptg" -o 4.onnx
ptgc here/../there/is/a/copy/m.ptg -o - >5.onnx
(cd here && TZ=Asia/Tokyo HOME=/ LANG=de_DE.UTF-8 MALLOC_PERTURB_=85 ptgc m.ptg -o ../6.onnx)
touch -d '1999-12-31' here/*/* here/m.ptg
ln -s here link
ptgc link/m.ptg -o 7.onnx
for i in 2 3 4 5 6 7; do cmp 1.onnx $i.onnx && echo "$i is the same"; done
for i in here there/is/a/copy; do ptgc $i/m.ptg --external-data=data -o $i/m.onnx; done
cmp here/m.onnx there/is/a/copy/m.onnx && cmp here/data there/is/a/copy/data && echo 'with external data too'
for i in here there/is/a/copy; do
	for stage in ast typed lowered onnx; do ptgc --dump=$stage $i/m.ptg; done | cksum
done | uniq | wc -l

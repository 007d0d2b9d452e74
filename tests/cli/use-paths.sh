# use: each file's own folder is where its paths start, the model's is where they end; files may use
# each other and the model, by whatever path, and each is read once
mkdir -p model/parts out
cat >model/m.ptg <<'END'
use "parts/a.ptg"
use "./parts/../parts/a.ptg"
fn Main(x: F) -> (y: F) { y = x + 1 }
graph g(x: float64[n]) -> (y) { y = A(x) }
END
cat >model/parts/a.ptg <<'END'
use "b.ptg"
use "../m.ptg"
fn A(x: F) -> (y: F) { y = B(x) + Main(x) }
END
cat >model/parts/b.ptg <<'END'
use "a.ptg"
use "../top.ptg"
fn B(x: F) -> (y: F) { y = Top(x) }
END
echo 'fn Top(x: F) -> (y: F) { y = x * 2 }' >model/top.ptg
for path in model/m.ptg ./model/m.ptg model/parts/../m.ptg ; do
	ptgc -Wno-unused $path -MD -MF out/m.d -o out/m.onnx
	echo "= $?"
	cat out/m.d
done
(cd model/parts && ptgc -Wno-unused ../m.ptg -o ../../out/m.onnx)
echo "= $?"
ln -s m.ptg model/link.ptg
ptgc -Wno-unused model/link.ptg -o out/m.onnx
echo "= $?"
echo 'fn Out(x: F) -> (y: F) { y = x }' >out/o.ptg
echo 'use "../../out/o.ptg"' >>model/parts/b.ptg
ptgc -Wno-unused model/m.ptg
echo "= $?"
echo 'use "."' >model/m.ptg
ptgc model/m.ptg
echo "= $?"

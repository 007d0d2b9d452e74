# -MD: a rule that make reads back as exactly these names
npy() { # a float64 0-d tensor of format version 1.0
	{
		printf '\223NUMPY\001\000\166\000'
		printf "%-117s\n" "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"
		printf '\0\0\0\0\0\0\370\077'
	} >"$1"
}
unset MAKEFLAGS
npy w.npy
npy 'a b.npy'
npy 'c#d$e.npy'
npy 'epoch=3.npy'
npy 'x:y.npy'
npy '100%.npy'
npy 'w[1].npy'
npy w1.npy
cat >lib.ptg <<'END'
fn Twice(x: F) -> (y) { y = x + x }
END
cat >m.ptg <<'END'
use "lib.ptg"
graph g(x: float64[]) -> (y) {
  y = Twice(x) + file("w.npy") + file("a b.npy") + file("c#d$e.npy") + file("epoch=3.npy") + file("x:y.npy") + file("100%.npy") + file("w[1].npy") + file("w.npy")
}
END
ptgc m.ptg -MD && cat m.d
ptgc m.ptg -o 'out dir.onnx' -MD -MF m.d -MP && cat m.d
ptgc m.ptg -MF - -MT 'all models' -MT other
ptgc - -MD -MF m.d -o m.onnx <m.ptg && head -n 1 m.d

echo '--- what make makes of it'
ptgc m.ptg -MD -MF m.d -MP
cat >Makefile <<'END'
m.onnx: ; @printf 'made because of %s\n' '$?'; touch $@
include m.d
END
touch -d 2020-01-01 ./*
touch -d 2020-01-02 m.onnx
make m.onnx
for f in lib.ptg 'a b.npy' 'c#d$e.npy' 'epoch=3.npy' 'x:y.npy' '100%.npy' 'w[1].npy' w1.npy; do
	touch -d 2020-01-03 "$f"
	make m.onnx
	touch -d 2020-01-01 "$f"
	touch -d 2020-01-02 m.onnx
done
rm 'a b.npy' && make m.onnx

echo '--- names that no makefile can hold'
cp w.npy 'a;b.npy'
echo 'graph g(x: float64[]) -> (y) { y = x + file("a;b.npy") }' >bad.ptg
ptgc bad.ptg -MD
echo "= $?"
echo 'graph g(x: float64[]) -> (y) { y = x }' >bad.ptg
ptgc bad.ptg -o 'bad[1].onnx' -MD
echo "= $?"
ls -A | grep bad

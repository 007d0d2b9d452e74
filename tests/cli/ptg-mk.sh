# the rule for users' Makefiles: made again when the weights or a used file change, else not
unset MAKEFLAGS PTGC
cat >lib.ptg <<'END'
fn Twice(x: F) -> (y) { y = x + x }
END
cat >m.ptg <<'END'
use "lib.ptg"
graph g(x: float64[n]) -> (y) { y = Twice(x) }
END
cat >Makefile <<END
include $TOP/examples/ptg.mk
PTGCFLAGS = --opset 17
END
touch -d 2020-01-01 lib.ptg m.ptg
make m.onnx
touch -d 2020-01-02 m.onnx
make m.onnx
touch -d 2020-01-03 lib.ptg
make m.onnx
ls
echo '--- as in the README: make without a goal, three times, and after an edit of each file'
mkdir readme && cd readme || exit
cat >Makefile <<END
include $TOP/examples/ptg.mk
all: digits.onnx
END
cp ../lib.ptg lib.ptg
cat >digits.ptg <<'END'
use "lib.ptg"
graph g(x: float64[n]) -> (y) { y = Twice(x) * file("w.npy") }
END
printf '\223NUMPY\1\0v\0%-117s\n%8s' "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" '' >w.npy
touch -d 2020-01-01 lib.ptg digits.ptg w.npy
make && touch -d 2020-01-02 digits.onnx
make
make
day=3
for f in lib.ptg digits.ptg w.npy; do
	echo "edit of $f"
	touch -d 2020-01-0$day $f
	make && touch -d 2020-01-0$((day + 1)) digits.onnx
	day=$((day + 2))
done
echo '--- the line of the README where pkg-config does not know ptgc'
{ sed -n '/^include .*pkg-config/p' "$TOP/README.md"; echo 'all: digits.onnx'; } >Makefile
PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH=$PWD make 2>&1
echo "exit $?"
echo '--- where it does'
sed "s|^makefile=.*|makefile=$TOP/examples/ptg.mk|" "$TOP/ptgc.pc.in" >ptgc.pc
PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH=$PWD make
for f in README.md doc/ptgc.1 examples/ptg.mk; do
	tr -d '\\' <"$TOP/$f" | grep -o 'include $(or $(shell pkg-config --variable=makefile ptgc),$(error .*))'
done

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

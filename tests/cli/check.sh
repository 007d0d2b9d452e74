# ptgc check: the mistakes of files, which may be of fns alone; nothing is written
cat >good.ptg <<'END'
ptg 1

fn Half(x: F) -> (y: F) {
  y = x / 2 + zero
}

const zero = 0

# the condition is a value that only a run knows, or one that a caller knows
fn Signed(x: F[], k: int64[], n: int64[]) -> (y: F[]) {
  if k == 1 { y = x } else { y = -x }
  z = for (i in 0:n, s = y) -> (s) { next s = s + i }
}
END
cat >wrong.ptg <<'END'
use "good.ptg"

fn Third(x: F[n]) -> (y: F[n]) {
  y = Halv(x) / 3
}
END
cat >model.ptg <<'END'
use "wrong.ptg"

graph g(x: float64[n]) -> (y) {
  y = Half(x)
}
END
cat >cannot.ptg <<'END'
graph g(x: float64[n]) -> (y) {
  y = onnx.Gelu(x)
}
END
for files in good.ptg 'good.ptg wrong.ptg' model.ptg cannot.ptg '--opset 20 cannot.ptg' none.ptg '' '-o x good.ptg'; do
	echo "\$ ptgc check $files"
	ptgc check $files
	echo "= $?"
done
ptgc check - <good.ptg && echo from standard input
ptgc good.ptg -o good.onnx
ls

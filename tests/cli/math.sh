# A flag wins over the level of numerics, in any order; the target counts too.
cat >m.ptg <<'END'
ptg 1

graph main(x: float16[n]) -> (y: float16[n]) {
  y = x * 2 + 1
}
END
nodes() {
	echo "$*: $(ptgc --dump=onnx "$@" m.ptg | grep -c '^   [^ ]* = [A-Z]')"
}
for level in exact standard native; do
	nodes --math=$level
done
nodes
nodes -fno-excess-precision --math=native
nodes --math=native -fno-excess-precision
nodes --target=onnx --math=exact
cat >b.ptg <<'END'
ptg 1

graph main(x: float32[n]) -> (y) {
  if flag("bitwise") {
    y = x
  } else {
    y = -x
  }
}
END
for opset in 17 18; do
	echo "opset $opset: $(ptgc --opset=$opset --dump=onnx b.ptg | grep -o 'Identity\|Neg')"
done
cat >f.ptg <<'END'
ptg 1

graph main(x: float16[n]) -> (y: float16[n]) {
  if flag("check-dim") {
    y = x
  } else {
    y = -x
  }
}
END
ptgc f.ptg

# A reduction along no axis is none that a loop can do for all steps at once: it is not left out.
cat >none.ptg <<'EOF'
ptg 1 optimise
graph g(x: float64[n, 3]) -> (y) {
  y = loop (r in x) -> ([z]) {
    z = onnx.ReduceSumSquare{noop_with_empty_axes=1, keepdims=1}(r)
  }
}
EOF
"$PTGC" none.ptg --dump=onnx | grep -c ReduceSumSquare

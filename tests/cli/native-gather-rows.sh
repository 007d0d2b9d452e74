# An index is looked at before the loops that it does not depend on, so that the copy of a row vectorises.
cat > rows.ptg <<'EOF'
ptg 1
graph rows(x: float32[v, 64], at: int64[n], k: int64[], u: float32[a, b, c]) -> (y, z) {
  y = x[at]
  z = u[:, k] * 2
}
EOF
"$PTGC" rows.ptg -o rows.c && sed -n '/^int rows_run/,/^}/p' rows.c | grep -E "for |ptgc_index"

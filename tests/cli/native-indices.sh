# The index of a row is looked up once, not for each of its elements, and once for two arrays that it is an index of.
printf 'ptg 1\n\ngraph rows(x: float64[n, 5], y: float64[n, 5], i: int64[m]) -> (z) {\n  z = x[i] * y[i]\n}\n' >rows.ptg
$PTGC --target=c --strip rows.ptg -o rows.c
sed -n '/for (/,/^	}/p' rows.c
# One that is the same for all elements is looked up before all loops.
printf 'ptg 1\n\ngraph row(x: float64[n, 5], y: float64[5], i: int64[]) -> (z) {\n  z = x[i] + y\n}\n' >row.ptg
$PTGC --target=c --strip row.ptg -o row.c
sed -n '/ptgc_index(.*bad);/,/^	}/p' row.c

# --explain, with and without the prefix; every code that a message shows is explained
ptgc --explain PTG0200
ptgc --explain 0200
ptgc --explain 200
echo 'graph g(x: float64[n]) -> (y) { y = Exq(x) }' >m.ptg
code=$(ptgc m.ptg 2>&1 | sed -n 's/.*\[\(PTG[0-9]*\)\].*/\1/p')
ptgc --explain "$code"
ptgc --explain ptg0200 | head -n 1

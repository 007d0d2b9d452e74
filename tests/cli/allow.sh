# file(...) and use stay below the model's folder, unless --allow says more
mkdir -p models lib
echo 'fn Twice(x: F) -> (y) { y = x + x }' >lib/twice.ptg
cat >models/m.ptg <<'END'
use "../lib/twice.ptg"
graph g(x: float64[n]) -> (y) { y = Twice(x) }
END
ptgc models/m.ptg
echo "= $?"
ptgc --allow lib models/m.ptg
echo "= $?"
ptgc --allow=models models/m.ptg
echo "= $?"
ls models

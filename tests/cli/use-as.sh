# use ... as m: fns and consts of a file stay apart, those of files that it uses are not seen
mkdir lib
cat >lib/a.ptg <<'END'
use "b.ptg"
use "c.ptg" as inner
const k = 3
const w = [1, 2, 0.5]
const sum = inner.k + k
fn Act(x: F[...d]) -> (y) { y = Tanh(x) * k + inner.Act(x) + Helper(x) }
fn cube(x: F) -> (y: F, slope: F) {
  y = x ** 3 - 2
  slope = sum * x ** 2
}
fn normal(x: float64[chains, d]) -> (logp: float64[chains], gradient: float64[chains, d]) {
  logp = -0.5 * Sum{axis=1}(x * x)
  gradient = -x
}
fn power{n = 2}(x: F) -> (y: F, slope: F) {
  y = x ** n
  slope = n * x ** (n - 1)
}
END
echo 'const k = 100
fn Helper(x: F) -> (y) { y = x + k }' >lib/b.ptg
echo 'const k = 7
fn Act(x: F) -> (y) { y = x * k }' >lib/c.ptg
cat >m.ptg <<'END'
use "lib/a.ptg" as a
use "lib/c.ptg"
use <mcmc> as s
const k = a.sum
fn Newton{f: fn, steps: int = 1}(start: F[...s]) -> (x: F[...s]) {
  x = for (i in 0:steps, x = start) -> (x) {
    y, slope = f(x)
    next x = x - y / slope
  }
}
graph g(x: float32[n, a.k], a: float32[3], words: uint64[chains, 6]) -> (p, q, r, t, u, v) {
  p = a.Act(x)
  q = Act(x)
  r = x * a.w[1] + (a.w + a.T)
  t = Newton{f=a.cube}(x)
  u = Newton{f=a.power{n=4}, steps=2}(x) * k
  v, _, _, _, _, _, _, _, _, _ = s.Nuts{logp=a.normal, draws=2}(float64[3](0), words)
}
END
ptgc --dump=typed m.ptg | sed -n '/^graph/p; /^graph/,/  u: /{/data$\|graph/d;p}'
try() { printf '%s\n' "$@" >t.ptg; ptgc t.ptg -o t.onnx; echo "exit $?"; }
echo '--- what is not there'
try 'use "lib/a.ptg" as a' 'graph g(x: float32[n]) -> (y, z, u, v, w) {' '  y = a.Atc(x)' '  z = a.Helper(x)' '  u = a.inner.Act(x)' \
	'  v = a.m' '  w = Cast{a.q}(x)' '}'
try 'use "lib/a.ptg" as lib' 'graph g(x: float32[n]) -> (y, z, u) {' '  y = lub.Act(x)' '  z = Helper(x)' '  u = x + k' '}'
try 'use <mcmc> as s' 'use "lib/c.ptg" as c' 'graph g(x: float32[n]) -> (y, z, u) {' '  y = Nuts(x)' '  z = s.Nutz(x)' '  u = Act(x)' '}'
echo '--- names that a file cannot have'
for name in onnx ai com '`a b`' float32 loop; do
	try "use \"lib/c.ptg\" as $name" 'graph g(x: float32[n]) -> (y) {' '  y = x' '}'
done
try 'use "lib/c.ptg" as m' 'use "lib/b.ptg" as m' 'graph g(x: float32[n]) -> (y) {' '  y = m.Act(x)' '}'
echo '--- two fns of one name: an alias keeps them apart'
try 'use "lib/c.ptg"' 'use "lib/a.ptg"' 'graph g(x: float32[n]) -> (y) {' '  y = Act(x)' '}'
echo '--- files that use each other'
echo 'use "y.ptg" as y
const k = 1
const all = y.k + k
fn F(x: T) -> (r) { r = y.G(x) * all }' >x.ptg
echo 'use "x.ptg" as x
const k = 2
fn G(x: T) -> (r) { r = x + k }
fn H(x: T) -> (r) { r = x.F(x) }' >y.ptg
try 'use "x.ptg" as x' 'use "y.ptg" as y' 'graph g(a: float32[n]) -> (r, s) {' '  r = x.F(a)' '  s = y.H(a)' '}' && ptgc --dump=typed t.ptg
echo 'const all = x.all' >>y.ptg
try 'use "x.ptg" as x' 'graph g(a: float32[n]) -> (r) {' '  r = x.F(a)' '}'
echo '--- mistakes of a file are told once'
echo 'fn F(x: T) -> (r) { r = x + }' >bad.ptg
try 'use "bad.ptg" as a' 'use "bad.ptg" as b' 'use "bad.ptg"' 'graph g(a: float32[n]) -> (r) {' '  r = a.F(a)' '}'
try 'use "missing.ptg" as m' 'graph g(x: float32[n]) -> (r) {' '  r = m.F(x) + m.k' '}'
echo '--- a const of an alias'
try 'use "lib/c.ptg" as c' 'use "y.ptg" as y' 'graph g(x: float32[n]) -> (r) {' '  r = x * all + y.k' '}'

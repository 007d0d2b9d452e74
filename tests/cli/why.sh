# ptgc why: types of the values in a line, and where their dtypes and sizes come from
try() {
	echo "\$ ptgc why $*"
	ptgc why "$@"
	echo "= $?"
}
cp "$TOP/examples/digits/"*.npy "$TOP/examples/digits/digits.safetensors" .
cat >net.ptg <<'END'
ptg 1

graph digits(x: float32[batch, 64]) -> (probs) {
  W1 = file("digits-W1.npy")
  W2 = file("digits.safetensors", "W2")
  b2 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5]
  h = Tanh(x @ W1)
  y = h @ W2 + b2
  probs = Softmax{axis=1}(y)
}
END
try net.ptg:8
try net.ptg:3
cat >m.ptg <<'END'
ptg 1

fn Scaled(x: F[n, k], by: F[k]) -> (y: F[n, k]) {
  y = x * by + 1
}

graph main(x: float32[n, 4], i: int64[n], a: float32[?], b: float64[4], m: bool[n], j: int64[]) -> (y, z) {
  y = Scaled(x, x[0])
  z = Scaled(Scaled(x, x[0]), x[1])
  h = x + 1
  q: float32[n, 4] = h * b * 0.5
  p = Sum{axis=1}(x) + i
  two = Join{axis=0}(x, x[1:])
  r = i / i
  e = x[m] + a[:4]
  t = a + x[0]
  v = Reshape(x, [2 * n, 2])
  u = Tahn(x)
  w = u + 1
  s, hs = loop (r in x, s: float64[4] = float64[4](0), g = a[j:]) while s[0] < 9 -> (s, [f]) {
    f = Tanh(s + r)
    next s = f * 2
  }
  d = 2 * n + 1
  k = if m[0] { k = x } else { k = x * 2 }
  c, _ = QR{mode="economic"}(x[:, :3])
}
END
for line in 4 7 8 11 12 13 14 15 16 17 18 19; do
	try m.ptg:$line
done
for name in hs s g d k c; do
	try m.ptg:$name
done
try m.ptg:20:6
try m.ptg:20
try m.ptg:22
try m.ptg:2
try m.ptg:99
try m.ptg:nothing
try m.ptg
try
try none.ptg:1
END=$(printf 'graph g(x: float32[n]) -> (y) {\n  y = x +\n}\n')
echo "$END" >broken.ptg
try broken.ptg:1
cp m.ptg 'a:b.ptg'
try a:b.ptg:8 --color=never
ptgc why - <m.ptg
ptgc why -:8 <m.ptg
cat >raw.ptg <<'END'
ptg 1

graph raw(x: float32[n, 4], W: float32[4, 3], c: bool[], v: float64[n]) -> (z, q, t, u) {
  z = onnx.Transpose{perm=[1, 0]}(onnx.Relu(onnx.MatMul(x, W)))
  q = if c { q = v } else { q = v * 2 }
  t, i = onnx.TopK(v, [2])
  u = onnx.Softmax(onnx.Add(x, float32([1, 2, 3, 4])))
}
END
for line in 4 5 6 7; do
	try raw.ptg:$line
done
cat >results.ptg <<'END'
graph g(x: float64[n, 3], i: int32[k], s: float32[m, m], j: int8[]) -> (q, r, u, v, t, w, e, f, a, b, c, d, l) {
  q, r = QR{mode="reduced"}(x + j)
  u, v, t = SVD{full_matrices=False}(x)
  e, f = Eigh(s)
  a, b, c = Unique{return_inverse=True, return_counts=True}(i)
  d, l = SLogDet(s)
  w = x[0, :]
}
END
for line in 2 3 4 5 6; do
	try results.ptg:$line
done
mkdir lib
cat >lib/act.ptg <<'END'
ptg 1

fn Act(x: F[n]) -> (y: F[n]) {
  h = x * 2
  y = Tanh(h)
}
END
cat >uses.ptg <<'END'
ptg 1

use "lib/act.ptg" as m

graph g(x: float32[n], y: float64[5]) -> (z, w) {
  z = m.Act(x)
  w = m.Act(y)
}
END
for where in act.ptg:4 lib/act.ptg:4:3 act.ptg:h act.ptg:40 ct.ptg:4; do
	try uses.ptg:$where
done
for where in 4 4:3 h; do
	try lib/act.ptg:$where
done
cat >fns.ptg <<'END'
fn Open(x: F) -> (y) {
  y = x * 2
}

fn Mixed(x: F[n, 4], b: F[4]) -> (y: F[n, 4]) {
  h = x * 2 + b
  s = loop (r in x, s = h[0]) -> (s) {
    q = r * 2.5
    next s = s + q
  }
  t = Inner(s)
  w = Tahn(t)
  y = Tanh(h[1:] + s)
}

fn Inner(x: F[n]) -> (y: F[n]) {
  y = x * 2
}
END
for where in 1 2 3 6 7 8 12 13 17; do
	try fns.ptg:$where
done
printf 'use "fns.ptg"\n\ngraph g(x: float64[n]) -> (y) {\n  y = Inner(x)\n}\n' >caller.ptg
for where in fns.ptg:6 fns.ptg:17 fns.ptg:2; do
	try caller.ptg:$where
done

# No compiler warns of these, with or without rewrites.
take() { # name; the text is the input
	cat >$1.ptg
	for level in -O0 -O1; do
		$PTGC $level -Wno-unused --target=c -o $1.c $1.ptg || continue
		for cc in gcc clang; do
			command -v $cc >$cc.txt || continue
			$cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -c -o $1.o $1.c || echo "$1 $level $cc"
		done
	done
	echo $1
}
take product <<END # of lengths, more than an int holds: they are no variables, and have the type int
graph m(x: uint8[3, 2147483647]) -> (y) { y = x + 1 }
END
take least <<END # an integer that has no digits
graph m(k: int64[]) -> (y) {
  y = if k > 0 {
    t = ARange{dtype=int64}(int64(0), k, int64(1))
    y = t[::-1]
  } else {
    y = ARange{dtype=int64}(int64(0), int64(3), int64(1))
  }
}
END
take unread <<END # what an if and a loop give, and nobody reads: a number, or one whose reader is not read itself
graph m(x: float64[n], z: float64[], k: int64[]) -> (y, s, t, size) {
  y, w, v = if z > 0 {
    y = x
    w = z * 2
    v = Sum(x)
  } else {
    y = x + 1
    w = z
    v = z
  }
  s = onnx.Shape(x + w)
  t, _, size = loop (i in 0:4, t: float64[n] = x, a: float64[] = z, j: int64[] = k) -> (t, j, [size]) {
    size = onnx.Size(a + 1)
    next t = t + 1
    next a = Sum(x) * z
    next j = k * 2
  }
}
END
take itself <<END # an integer beside itself
graph m(x: int64[n], u: uint8[n], k: int64[], b: bool[n]) -> (c, d, e, f, g, h, i, j) {
  c = onnx.Max(x, x)
  d = onnx.Min(u, u, u)
  e = onnx.Clip(k, k, k)
  f = onnx.Less(k, k)
  g = onnx.LessOrEqual(x, x)
  h = onnx.Greater(u, u)
  i = onnx.GreaterOrEqual(k, k)
  j = onnx.Xor(b, b)
}
END
take stack <<END # that nobody reads, as an index that may be out of range, and the constant that it is of
graph m(x: float64[n], z: float64[], k: int64[], c: bool[]) -> (y, r) {
  y, stack = loop (i in 0:5, s: float64[?] = x, a: float64[] = z) -> (s, [a]) {
    until Sum(s) > 3
    next s = s[1:]
    next a = a * 2
  }
  r, w, v = if c {
    r = x * 2
    w = x[k % 3]
    v = onnx.Gather{axis=0}(float64([1, 2, 3]), k)
  } else {
    r = x
    w = z
    v = z
  }
}
END
take same <<END # what a loop carries stays as it is
graph m(z: float64[]) -> (y) {
  y = loop (i in 0:7, s: float64[] = z) while s < 9 -> ([s]) {
    next s = s
  }
}
END

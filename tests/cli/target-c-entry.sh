# -fentry: functions of the C for callers that know no struct of it
cat >m.ptg <<'END'
ptg 1
graph m(x: float64[n+1], y: float64[2*k], q: float64[?], r: rng, s: float32[], `a "b"`: bool[n]) -> (d, e, z, t, g) {
  d = x + 1
  e = Join{axis=0}(y, q[1:])
  z = q[q > 0]
  t = -s
  g = r
}
END
ptgc -fentry m.ptg -o m.c && sed -n '/_interface/,/^const char \*m_message/p' m.c
for cc in 'gcc -std=c99' 'g++ -x c++'; do
	$cc -O1 -Wall -Wextra -Wpedantic -Wconversion -Wmissing-declarations -Werror -c m.c -o m.o && echo compiled
done
ptgc m.ptg -o plain.c && grep -c '_interface' plain.c || :

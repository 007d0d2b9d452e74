# --expect: how long dims will be, which decides between forms
cat >m.ptg <<'END'
ptg 1

graph main(x: float64[n], y: float64[m]) -> (a, b) {
  a = Erfc(x)
  b = Erfc(y)
}
END
for given in '' '--expect n=64' '--expect n=64 --expect=m=64' '--expect n=1000000'; do
	ptgc m.ptg --strip $given
	ptgc dump m.onnx | grep -c ' = Mul '
done
for wrong in --expect=n --expect==4 --expect=n= --expect=n=0 --expect=n=-1 --expect=n=1.5; do
	ptgc m.ptg $wrong
	echo "exit $?"
done
ptgc m.ptg --expect nn=64 && echo done
ptgc m.ptg --expect nn=64 -Werror || echo "exit $?"
ptgc m.ptg --expect nn=64 -Wno-expected-size && echo done

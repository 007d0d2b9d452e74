# --state=inputs: states without default values, and their first values in a file
cat >m.ptg <<'END'
ptg 1

graph f(x: float64[3]) -> (y) {
  state w: float64[3] = [1, 2, 3]
  state `k"x`: int64[] = 2
  state never: float64[] = 4
  y = w * x * never
  next w = y
  next `k"x` = `k"x` + 1
}
END
ptgc m.ptg --strip && ptgc dump m.onnx
ls
ptgc m.ptg --strip --state=inputs && ptgc dump m.onnx
ls
head -c 120 m.state.safetensors | tail -c +9
echo
wc -c <m.state.safetensors
for wrong in '--state=inputs -o -' '--state=outputs' '--state=inputs -o /dev/full' '--state=inputs --external-data=m.state.safetensors'; do
	ptgc m.ptg $wrong
	echo "exit $?"
done
ls -A
echo 'graph f(x: float64[3]) -> (y) { y = x }' >n.ptg
ptgc n.ptg --state=inputs
ls

# A long chain of numbers takes time in proportion: 0.5 s, and minutes if each node walked back to the input.
awk 'BEGIN {
	print "ptg 1\ngraph g(x: float32[], m: float32[3, 3]) -> (y, z) {\n  z = m @ m\n  v0 = x"
	for (i = 1; i <= 40000; i++)
		printf "  v%d = v%d * v%d + Sin(v%d)\n", i, i - 1, i - 1, i - 1
	print "  y = v40000\n}"
}' >chain.ptg
(
	ulimit -t 20
	$PTGC chain.ptg -o chain.onnx
) && echo compiled

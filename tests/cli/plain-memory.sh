# out of memory is an error like any other: exit 2, nothing left behind
{
	echo 'graph g(x: float64[n]) -> (v100000) {'
	echo 'v0 = Exp(x)'
	awk 'BEGIN { for (i = 1; i <= 100000; i++) printf "v%d = Add(v%d, x)\n", i, i - 1 }'
	echo '}'
} >m.ptg
for kb in 12000 16000 24000 40000; do
	(ulimit -v $kb; ptgc m.ptg -o m.onnx)
	echo "= $?"
done
ls -A

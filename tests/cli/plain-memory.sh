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
# with data beside the model
{
	printf 'graph g(x: float64[100000]) -> (y) { y = x + float64([1'
	awk 'BEGIN { for (i = 1; i < 100000; i++) printf ", %d.5", i }'
	echo ']) }'
} >w.ptg
for kb in 6500 7000 8000 8250 8500 8750 9000 9500 10000 12000; do
	(ulimit -v $kb; ptgc w.ptg -o w.onnx --external-data=data 2>err)
	code=$?
	[ $code = 0 ] && rm w.onnx data && continue
	echo "exit $code: $(cat err) $(ls | tr '\n' ' ')"
done | sort -u
rm -f err
ls -A

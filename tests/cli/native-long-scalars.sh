# A run() of more than 3,000 lines that has no loops asks for less, too; one of 2,000 lines does not.
for n in 2000 3200; do
	{
		printf 'ptg 1\n\ngraph g(x: float64[]) -> (y) {\n  v0 = x\n'
		awk -v n=$n 'BEGIN { for (i = 1; i < n; i++) printf "  v%d = v%d * v%d + v%d\n", i, i - 1, int(i / 3), int(i / 2) }'
		printf '  y = v%d\n}\n' $((n - 1))
	} >m.ptg
	$PTGC --target=c --strip m.ptg -o m.c
	sed -n '/^\/\* what follows is long/,/^int g_run/p' m.c | grep -c 'optimize("Og"\|^int g_run'
done

# --max-errors: how many are shown; the rest is counted, or it is said that it was not looked at
lines() { # statement
	echo 'graph g(x: float64[n]) -> (y) {'
	yes "$1" | head -n 3000 | awk '{ print "v" NR " = " $0 }'
	echo 'y = x }'
}
lines 'Exp(x, x)' >wrong.ptg
lines 'x + )' >grammar.ptg
lines 'Exp(x)' >unused.ptg
for f in wrong grammar unused; do
	for option in '' --max-errors=1 --max-errors=2500 --max-errors=0 --max-errors=99999999999999999999; do
		echo "\$ ptgc $f.ptg $option"
		ptgc $f.ptg -o m.onnx $option 2>err
		echo "= $?: $(grep -c ': error: ' err) errors, $(grep -c ': warning: ' err) warnings; $(tail -n 1 err | grep -v '^ ')"
	done
done
echo '$ ptgc fmt'
for n in 1 0; do ptgc fmt --max-errors=$n grammar.ptg 2>&1 | grep -c ': error: '; done
for n in -1 x ''; do ptgc --max-errors="$n" wrong.ptg; done

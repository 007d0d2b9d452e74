# In 40 loops, what is a function and what is copied there keep their tabs. (The body is long: see native-long.)
axes=$(seq 0 39)
order=$(seq 38 -1 0 | tr '\n' ',')39
{
	echo 'ptg 1'
	echo "graph deep(x: float64[$(printf ' d%s,' $axes | sed 's/,$//')], v: float64[n]) -> (y, s) {"
	echo "  y = Join{axis=39}(DimShuffle{order=($order)}(x), Cos(DimShuffle{order=($order)}(x)))"
	echo '  s0 = Sum(v)'
	for i in $(seq 1 140); do echo "  s$i = Sum(Exp(v * s$((i - 1))) + $i)"; done
	printf '  s = s140\n}\n'
} >deep.ptg
$PTGC --target=c --strip deep.ptg -o deep.c && gcc -Wall -Wextra -Wpedantic -Werror -O0 -c deep.c && echo no warning
awk '/ptgc_copy\(y/ {match($0, /^\t*/); print RLENGTH, "tabs before a copy"}' deep.c
awk '/ = ptgc_cos_call|ptgc_cos\(x/ {match($0, /^\t*/); print RLENGTH, "tabs before a cosine"}' deep.c

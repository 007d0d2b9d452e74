# input that is made to hurt: each is rejected with a place and a code within seconds and 1 GB, and
# nothing is left behind
ulimit -v 1000000
try() { # what
	timeout 100 ptgc -Wno-unused m.ptg -o m.onnx >out 2>err
	echo "$1: exit $?, $(($(wc -c <out) + $(wc -c <err) < 20000)), $(head -n 1 err | cut -c 1-120)"
}
many() { # count, text
	yes "$2" | head -n "$1" | tr -d '\n'
}
graph() {
	echo 'graph g(x: float64[n]) -> (y) {'
	printf '  y = '
	cat
	printf '\n}\n'
}
: >m.ptg
try 'an empty file'
head -c 100000000 /dev/zero >m.ptg
try '100 MB of zeros'
{ many 1000000 '('; many 1000000 ')'; } | graph >m.ptg
try 'a million brackets'
many 1000000 '-' | graph >m.ptg
try 'a million signs'
many 10000000 'x ** x + ' | graph >m.ptg
try '90 MB of powers'
{ printf x; many 25000000 ' + x'; } | graph >m.ptg
try '100 MB of sums'
{ printf x; many 1000000 '[0]'; } | graph >m.ptg
try 'a million indices'
many 100000000 a | graph >m.ptg
try 'a name of 100 MB'
{ printf '`'; many 100000000 a; printf '`'; } | graph >m.ptg
try 'a quoted name of 100 MB'
{ printf 'Add(x'; many 33000000 ', x'; printf ')'; } | graph >m.ptg
try '33 million arguments'
{ printf 'Sum{axis=[0'; many 10000000 ', 0'; printf ']}(x)'; } | graph >m.ptg
try '10 million axes'
{ echo 'graph g(x: float64[n]) -> (y) {'; many 30000000 'z, '; echo 'z = x'; echo '}'; } >m.ptg
try '30 million targets'
{ printf 'x + "'; many 100000000 a; printf '"'; } | graph >m.ptg
try 'a string of 100 MB'
{ printf 'x + "'; many 100000000 a; } | graph >m.ptg
try 'a string of 100 MB that is not closed'
{ printf '#'; many 100000000 a; } >m.ptg
try 'a comment of 100 MB'
many 10000000 1 | graph >m.ptg
try 'a number of 10 MB'
many 100000000 '@ $' | head -c 100000000 | graph >m.ptg
try '100 MB of nonsense'
{ echo 'graph g(x: float64[n]) -> (y) {'; seq 300000 | sed 's/.*/  v& = w&/'; echo '}'; } >m.ptg
try '300,000 undefined names'
{ printf 'graph g(x: float64[n]) -> ('; seq -f 'y%.0f,' 300000; echo ') { }'; } >m.ptg
try '300,000 missing results'
{ printf 'com.example.X{'; seq -f 'a%.0f=1,' 60000 | tr -d '\n'; printf '}(x)'; } | graph >m.ptg
try '60,000 attributes'
{
	echo 'fn F0(x) -> (y) { y = x + 1 }'
	for i in $(seq 40); do echo "fn F$i(x) -> (y) { y = F$((i - 1))(x) * F$((i - 1))(x + 1) }"; done
	echo 'F40(x)' | graph
} >m.ptg
try '40 fns that double'
{ seq 100000 | sed 's/.*/fn F&(x) -> (y) { y = F&(x) }/'; echo 'F1(x)' | graph; } >m.ptg
try 'a fn of itself'
for n in 30 31; do
	{
		echo 'graph g(x: float64[]) -> (y0) {'
		for i in $(seq 0 $((n - 1))); do echo "y$i = loop (i$i in 0:2, s$i = x) -> (s$i) {"; done
		echo "y$n = x"
		for i in $(seq $((n - 1)) -1 0); do printf 'next s%s = y%s\n}\n' "$i" $((i + 1)); done
		echo '}'
	} >m.ptg
	try "$n loops in each other"
	rm -f m.onnx
done
rm m.ptg out err
ls -A

# --external-data: the weights of C are a file beside it, which the caller gives to run(); above 1 MB without the option too
cat >m.ptg <<'EOF'
ptg 1
graph m(weights: float64[1000], i: int64[]) -> (y, h, b) {
  a = file("a.npy")
  small = file("small.npy")
  y = weights * a + small[i]
  h = file("half.npy")[i]
  b = file("bools.npy")[i]
}
EOF
python3 - <<'EOF'
import struct
def save(name, descr, data, n):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, n)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
save("a.npy", "<f8", struct.pack("<1000d", *range(1000)), 1000)
save("other.npy", "<f8", struct.pack("<1000d", *range(1, 1001)), 1000)
save("small.npy", "<f8", struct.pack("<4d", 1, 2, 3, 4), 4)
save("half.npy", "<f2", struct.pack("<999e", *range(999)), 999)
save("bools.npy", "|b1", bytes(k % 3 == 0 for k in range(2000)), 2000)
save("large.npy", "<f8", struct.pack("<140000d", *range(140000)), 140000)
EOF
ptgc --external-data -MD m.ptg -o m.c && ls m.* && cat m.d
sed -n '/^\/\* The file of weights/,/^};/p' m.h
cat >main.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"

int main(int count, char **names)
{
	static double x[1000], y[1000];
	struct m_in in = {.weights = x, .i = 3};
	struct m_out out = {.y = y};
	size_t need = 0;

	if (count > 1) {
		char *at = malloc(m_WEIGHTS_BYTES + 8);
		FILE *f = fopen(names[1], "rb");
		in.weights_2_bytes = fread(at, 1, m_WEIGHTS_BYTES, f);
		in.weights_2 = at;
		if (count == 3) { /* one that is not complete, given as if it were */
			memset(at + 5000, 0, m_WEIGHTS_BYTES - 5000);
			in.weights_2_bytes = m_WEIGHTS_BYTES;
		} else if (count == 4) {
			memmove(at + 1, at, m_WEIGHTS_BYTES);
			in.weights_2 = at + 1;
		}
	}
	x[999] = 1;
	int status = m_run(&in, &out, malloc(100000), 100000, &need);
	if (status)
		printf("%s\n", m_message(status));
	else
		printf("%g %g %#x %d\n", y[0], y[999], out.h, out.b);
	return 0;
}
EOF
flags='-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -ffp-contract=off -fsanitize=address,undefined'
gcc $flags main.c m.c -lm -o main && ASAN_OPTIONS=detect_leaks=0 && export ASAN_OPTIONS
./main m.c-*.data
./main
echo '= not complete'
head -c 5000 m.c-*.data >part && ./main part && ./main part as-if
echo '= of other numbers, and not aligned'
sed 's/"a.npy"/"other.npy"/' m.ptg >other.ptg
ptgc --external-data=other other.ptg -o other.c && ./main other
./main m.c-*.data not aligned
echo '= as an array of the program'
printf '\t.section .rodata\n\t.balign 64\n\t.globl m_weights\nm_weights:\n\t.incbin "%s"\n\t.section .note.GNU-stack,"",%%progbits\n' m.c-*.data >w.s
for cc in gcc clang; do
	$cc -std=c99 -DPTGC_LINKED main.c m.c w.s -lm -o linked && ./linked
done
for other in 'gcc -DPTGC_LINKED -std=c99' 'clang -std=c99' 'g++ -std=c++11 -x c++'; do
	$other -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only m.c
done
echo '= callers that know no struct'
ptgc --external-data -fentry m.ptg -o n.c && grep -c 'in.weights_2 = inputs\[2\];' n.c && grep '"weights ' n.c
gcc $flags -c n.c
echo '= weights of older runs go, but for those of the file that is replaced'
sed -i 's/"small.npy"/"large.npy"/' m.ptg
ptgc --external-data m.ptg -o m.c && ls m.c-* | wc -l
ptgc m.ptg -o m.c --external-data='w-*.bin' && ls w-* m.c-* | sed 's/-.*\././'
ptgc m.ptg -o m.c && ls m.c-*.data | wc -l && grep -c WEIGHTS m.h
echo '= 1 MB or less is text, and so is all on standard output'
ptgc --target=c m.ptg -o - | grep -c 'm_small\[140000\]\|WEIGHTS'
sed -i 's/"large.npy"/"a.npy"/' m.ptg
ptgc m.ptg -o m.c && grep -c WEIGHTS m.h; ls m.c-*.data | wc -l
ptgc --external-data --target=c m.ptg -o - >out || head -n 1 out
ptgc --external-data=m.h m.ptg -o m.c
echo 'graph g(x: float64[]) -> (y) { y = x + 1 }' >g.ptg
ptgc --external-data g.ptg -o g.c && ls g.* && grep -c WEIGHTS g.h
ls -A .ptgc* 2>&1

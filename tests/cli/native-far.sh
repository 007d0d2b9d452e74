# A start of 2^31 - 1 is not the end of an axis that is longer: the elements there are 7 and 6, those of the end 0.
echo 'graph m(x: uint8[n]) -> (y) { y = x[2147483647::-1][:2] }' >m.ptg
$PTGC m.ptg -o m.c
cat >main.c <<END
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include "m.h"

int main(void)
{
	const size_t n = ((size_t)1 << 31) + 5; /* bytes, of which one page is touched */
	uint8_t *x = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t y[2];
	size_t need;
	const struct m_in in = {.x = x, .n = (int64_t)n};
	struct m_out out = {.y = y};

	if (x == MAP_FAILED)
		return 1;
	x[2147483647] = 7;
	x[2147483646] = 6;
	int code = m_run(&in, &out, NULL, 0, &need);
	printf("%d: %d %d\n", code, y[0], y[1]);
	return 0;
}
END
gcc -std=c99 -Wall -Wextra -Werror -O1 -o m main.c m.c && ./m

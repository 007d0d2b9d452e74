# Integers near the last one: none overflows on the way to a number that is there.
cat >m.ptg <<END
graph m(k: int64[], diagonal: int64[], x: float64[2, 2]) -> (a, upper, lower, eye) {
  a = onnx.Range(k - 9000000000000000000, k + 9000000000000000000, 3000000000000000000)
  upper = onnx.Trilu(x, diagonal)
  lower = onnx.Trilu{upper=0}(x, diagonal)
  eye = onnx.EyeLike{k=9223372036854775807}(x)
}
END
$PTGC m.ptg -o m.c
cat >main.c <<END
#include <stdio.h>
#include "m.h"

int main(void)
{
	const double x[4] = {1, 2, 3, 4};
	double upper[4], lower[4], eye[4], work[128];
	size_t need;
	const struct m_in in = {.k = 7, .diagonal = INT64_MAX, .x = x};
	struct m_out out = {.upper = upper, .lower = lower, .eye = eye};
	const int status = m_run(&in, &out, work, sizeof(work), &need);

	printf("%d\n", status);
	for (int i = 0; i < (int)out.a_0; i++)
		printf("%lld\n", (long long)out.a[i]);
	for (int i = 0; i < 4; i++)
		printf("%g %g %g\n", upper[i], lower[i], eye[i]);
	return 0;
}
END
gcc -std=c99 -Wall -Wextra -Werror -O1 -fsanitize=undefined -fno-sanitize-recover=undefined -o m main.c m.c && ./m

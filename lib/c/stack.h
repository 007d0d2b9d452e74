/* Rows that a loop stacks, where only its steps know how many there are, or how long they are. */
#ifndef PTGC_C_STACK_H
#define PTGC_C_STACK_H

#include <string.h>

#include "base.h"
#include "bits.h"

struct ptgc_stack {
	size_t at, row; /* where it begins in the workspace, bytes of a row */
};

/* Where what follows `rows` rows of that many bytes begins */
static inline size_t ptgc_behind_rows(size_t at, int64_t rows, size_t row)
{
	return row ? ptgc_room(at, rows, row) : at;
}

/* Room for more rows in each of n stacks, which lie behind one another up to *end; 0: there is no
   memory for it. What lies from `kept` to `top` is moved up by *up bytes, if it is in the way. */
PTGC_RARE int ptgc_more_rows(char *w, size_t bytes, size_t *need, struct ptgc_stack *s, int n,
			     int64_t rows, int64_t *room, int64_t most, size_t *end, size_t kept,
			     size_t top, size_t *up)
{
	const int64_t twice = rows < INT64_MAX / 4 ? 2 * rows + 8 : INT64_MAX;
	const int64_t more = most < INT64_MAX ? most : twice;
	size_t old = *end, next;

	for (int i = 0; i < n; ++i)
		old -= ptgc_behind_rows(0, *room, s[i].row);
	next = old;
	for (int i = 0; i < n; ++i)
		next = ptgc_behind_rows(next, more, s[i].row);
	*up = next > kept ? next - kept : 0;
	top += *up;
	if (top > bytes) {
		*need = ptgc_more_room(top);
		return 0;
	}
	if (*up)
		memmove(w + kept + *up, w + kept, top - *up - kept);
	*end = next;
	for (int i = n; i-- > 0;) {
		next -= ptgc_behind_rows(0, more, s[i].row);
		if (rows)
			memmove(w + next, w + s[i].at, (size_t)rows * s[i].row);
		s[i].at = next;
	}
	*room = more;
	return 1;
}

#endif

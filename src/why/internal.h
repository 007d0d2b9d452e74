/* internal.h: shared by the files of this folder alone. */
#ifndef PTGC_WHY_INTERNAL_H
#define PTGC_WHY_INTERNAL_H

#include "why/why.h"

/* origin.c: adds lines about a value to `out` */
struct origins *origins_new(struct ctx *cx, const struct block *main, const struct block *tried,
			    struct strbuf *out);
void origins_of(struct origins *o, struct span at); /* of the value whose name stands there */
void origin_of_dtype(struct origins *o, const struct value *v);
void origin_of_length(struct origins *o, const struct value *v, uint32_t k);
void origin_of_size(struct origins *o, dim d); /* of the names in d */

#endif

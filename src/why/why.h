/* why.h: the text of `ptgc why`. */
#ifndef PTGC_WHY_WHY_H
#define PTGC_WHY_WHY_H

#include "elab/elab.h"

/* After elaborate(), and before cx->scratch is emptied: the types of the values that why_ask()
 * asked for, and where they come from. false: not all of them have a type, because of errors */
bool why_answer(struct ctx *cx, const struct graph *g, struct strbuf *out);

#endif

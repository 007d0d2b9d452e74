/*
 * foreign.c: what to write for a name of NumPy, PyTorch or ONNX. In: a name that is no op. Out: a
 * text for a message: "Join{axis=0}(x, y)".
 */
#include <string.h>
#include <strings.h>

#include "onnx/onnx.h"
#include "ops/ops.h"

const struct foreign_name foreign_names[] = {
#define FOREIGN(name, first, second) {name, first, second},
#include "ops/foreign.def"
	{NULL, NULL, NULL},
};

/* Is s the name in any case, and with '_' wherever? */
static bool is_spelled(const char *name, const char *s)
{
	for (; *s; s++) {
		char c = *s >= 'A' && *s <= 'Z' ? (char)(*s + ('a' - 'A')) : *s;
		if (c == '_')
			continue;
		if (c != *name++)
			return false;
	}
	return !*name;
}

const char *op_instead(struct ctx *cx, const char *name, bool other_case)
{
	const char *const *names;
	size_t n = onnx_names(&names);

	for (const struct foreign_name *f = foreign_names; f->name; f++)
		if (is_spelled(f->name, name))
			return f->second ? arena_printf(cx->arena, "%s or %s", f->first, f->second)
					 : f->first;
	for (uint32_t i = 0; i < op_count; i++)
		if (!strcasecmp(op_table[i].name, name) && op_table[i].shape)
			return other_case ? arena_printf(cx->arena, "%s(...)", op_table[i].name)
					  : NULL;
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(names[i], name))
			return arena_printf(cx->arena, "onnx.%s(...)", names[i]);
	return NULL;
}

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

/* "r2, x = normal_rv(r, size, loc, scale)" for np.random.normal, and Normal; NULL: no such draw */
static const char *draw_instead(struct ctx *cx, const char *name)
{
	static const char *const other[][2] = {
		{"rand", "uniform"}, {"randn", "normal"}, {"randint", "integers"}};
	char own[64];
	size_t len = 0;

	for (size_t i = 0; i < countof(other); i++)
		if (is_spelled(other[i][0], name))
			name = other[i][1];
	for (uint32_t i = 0; i < op_count; i++) {
		const char *s = op_table[i].name;
		if (!op_table[i].draw)
			continue;
		for (len = 0; strcmp(s, "_rv") != 0 && len + 1 < sizeof(own); s++)
			if (*s != '_')
				own[len++] = *s;
		own[len] = 0;
		if (!is_spelled(own, name))
			continue;
		struct strbuf b = {.arena = cx->arena};
		sb_printf(&b, "r2, x = %s(r, size", op_table[i].name);
		for (s = strchr(op_table[i].sig, '?') + 1; *s != ';'; s++)
			sb_add(&b, *s == ' ' ? ", " : s, *s == ' ' ? 2 : 1);
		sb_str(&b, ")");
		return b.s;
	}
	return NULL;
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
	const char *draw = draw_instead(cx, name);
	for (size_t i = 0; !draw && i < n; i++)
		if (!strcasecmp(names[i], name))
			return arena_printf(cx->arena, "onnx.%s(...)", names[i]);
	return draw;
}

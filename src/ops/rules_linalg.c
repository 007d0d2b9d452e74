/*
 * rules_linalg.c: shape rules of matrix products, decompositions and Blockwise. In: a node whose
 * inputs are typed and whose first result has its dtype. Out: the types of all results. Most shapes
 * are given as texts like "(m,k),(k,n)->(m,n)", in which a letter stands for one length.
 */
#include <string.h>

#include "ops/rules.h"

static enum dtype dtype0(const struct node *n)
{
	return (enum dtype)n->out[0]->type.dtype;
}

static bool report_mismatch(struct ctx *cx, struct node *n, const char *core)
{
	struct strbuf b = {.arena = cx->arena};
	for (uint32_t i = 0; i < n->nin; i++)
		sb_printf(&b, "%s%s", i ? ", " : "",
			  n->in[i] ? type_str(cx, n->in[i]->type) : "None");
	struct diag *d = error(cx, n->span, E_SHAPE, "%s: the shapes of %s do not match",
			       op_label(cx, n), b.s);
	note(cx, d, n->span, "they must be %s", core);
	return false;
}

/* Reads one "(m,k)" of a core text into letters[*count]; returns the text after it and its comma.
 */
static const char *read_core_group(const char *s, char letters[MAX_RANK], uint32_t *count)
{
	*count = 0;
	for (s++; *s != ')'; s++)
		if (*s != ',')
			letters[(*count)++] = *s;
	return s[1] == ',' ? s + 2 : s + 1;
}

/* Unifies the dims of the inputs by the text `core`, and sets the types of the results. Results 1,
 * 2, ... get dtype t. */
static bool apply_core(struct ctx *cx, struct node *n, const char *core, enum dtype t)
{
	dim of[128] = {0};
	char letters[MAX_RANK];
	uint32_t rank;
	const char *s = core;
	for (uint32_t i = 0; *s == '('; i++) {
		s = read_core_group(s, letters, &rank);
		if (i >= n->nin || !n->in[i])
			continue;
		if (!want_rank(cx, n, i, rank))
			return false;
		for (uint32_t k = 0; k < rank; k++) {
			dim *d = &of[(int)letters[k] & 127];
			if (!*d)
				*d = n->in[i]->type.dims[k];
			else if (!dim_meet(cx, d, n->in[i]->type.dims[k], n->span))
				return report_mismatch(cx, n, core);
		}
	}
	s += 2; /* -> */
	for (uint32_t i = 0; *s == '(' && i < n->nout; i++) {
		s = read_core_group(s, letters, &rank);
		dim *d = new_dims(cx, rank);
		for (uint32_t k = 0; k < rank; k++) {
			dim a = of['m'], b = of['n'];
			d[k] = letters[k] == '<' ? dim_min(cx, a, b)
						 : dim_find(cx, of[(int)letters[k] & 127]);
		}
		set_type(n, i, i ? t : dtype0(n), rank, d);
	}
	return true;
}

bool sh_core(struct ctx *cx, struct node *n)
{
	return apply_core(cx, n, n->op->core, dtype0(n));
}

/* --- products --- */

bool sh_matmul(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type, *b = &n->in[1]->type;
	if (!a->rank || !b->rank) {
		error(cx, n->span, E_RANK, "%s: %s has no dims; use * for products with a number",
		      n->op->name, type_str(cx, a->rank ? *b : *a));
		return false;
	}
	dim inner = b->dims[b->rank > 1 ? b->rank - 2 : 0];
	if (!dim_unify(cx, a->dims[a->rank - 1], inner, n->span)) {
		struct diag *d =
			error(cx, n->span, E_SHAPE, "%s: %s and %s do not match: %s is not %s",
			      n->op->name, type_str(cx, *a), type_str(cx, *b),
			      dim_str(cx, a->dims[a->rank - 1]), dim_str(cx, inner));
		for (uint32_t i = 0; i < 2; i++)
			if (is_call(n->in[i]->def, OP_Transpose) && n->in[i]->type.rank > 2 &&
			    prop_is_none(cx, n->in[i]->def, "axes"))
				note(cx, d, n->in[i]->span,
				     "x.T reverses all axes: MatrixTranspose(x) swaps the last "
				     "two");
		return false;
	}
	struct value batch[2] = {0}, *v[2] = {&batch[0], &batch[1]};
	batch[0].type = (struct type){a->dtype, a->rank > 2 ? a->rank - 2 : 0, a->dims};
	batch[1].type = (struct type){b->dtype, b->rank > 2 ? b->rank - 2 : 0, b->dims};
	uint32_t rank =
		batch[0].type.rank > batch[1].type.rank ? batch[0].type.rank : batch[1].type.rank;
	dim *d = new_dims(cx, rank + 2);
	if (!broadcast_dims(cx, n, v, 2, d, rank))
		return false;
	if (a->rank > 1)
		d[rank++] = a->dims[a->rank - 2];
	if (b->rank > 1)
		d[rank++] = b->dims[b->rank - 1];
	return set_dims(n, rank, d);
}

bool sh_dot(struct ctx *cx, struct node *n)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (n->in[i]->type.rank <= 2)
			continue;
		error(cx, n->span, E_RANK, "%s: expected a vector or a matrix, got %s; use @",
		      n->op->name, type_str(cx, n->in[i]->type));
		return false;
	}
	return sh_matmul(cx, n);
}

/* The shapes are aligned on the right and multiplied. */
bool sh_kron(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type, *b = &n->in[1]->type;
	uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
	if (a->rank + b->rank < 3) {
		error(cx, n->span, E_RANK,
		      "%s: expected 3 dims or more in both together, got %s and %s", n->op->name,
		      type_str(cx, *a), type_str(cx, *b));
		return false;
	}
	dim *d = new_dims(cx, rank);
	for (uint32_t i = 0; i < rank; i++) {
		uint32_t ka = i + a->rank, kb = i + b->rank; /* counted from the right */
		d[i] = ka < rank   ? b->dims[kb - rank]
		       : kb < rank ? a->dims[ka - rank]
				   : dim_mul(cx, a->dims[ka - rank], b->dims[kb - rank]);
	}
	return set_dims(n, rank, d);
}

bool sh_blockdiagonal(struct ctx *cx, struct node *n)
{
	dim *d = new_dims(cx, 2);
	d[0] = d[1] = dim_const(cx, 0);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!want_rank(cx, n, i, 2))
			return false;
		d[0] = dim_add(cx, d[0], n->in[i]->type.dims[0]);
		d[1] = dim_add(cx, d[1], n->in[i]->type.dims[1]);
	}
	return set_dims(n, 2, d);
}

/* --- decompositions: '<' stands for min(m, n) --- */

static bool is_mode(struct ctx *cx, struct node *n, const char *mode)
{
	return !strcmp(prop_str(cx, n, "mode"), mode);
}

uint32_t nr_qr(struct ctx *cx, struct node *n)
{
	uint32_t count = is_mode(cx, n, "r") ? 1 : is_mode(cx, n, "raw") ? 3 : 2;
	return count + prop_bool(cx, n, "pivoting");
}

bool sh_qr(struct ctx *cx, struct node *n)
{
	const char *core = "(m,n)->(m,m),(m,n)";
	if (is_mode(cx, n, "raw") || prop_bool(cx, n, "pivoting")) {
		error(cx, n->span, E_UNSUPPORTED, "QR: %s is not converted yet",
		      is_mode(cx, n, "raw") ? "mode=\"raw\"" : "pivoting");
		return false;
	}
	if (is_mode(cx, n, "economic") || is_mode(cx, n, "reduced"))
		core = "(m,n)->(m,<),(<,n)";
	else if (is_mode(cx, n, "r"))
		core = "(m,n)->(m,n)";
	return apply_core(cx, n, core, dtype0(n));
}

uint32_t nr_svd(struct ctx *cx, struct node *n)
{
	return prop_bool(cx, n, "compute_uv") ? 3 : 1;
}

static enum dtype real_dtype(enum dtype t)
{
	return t == DT_COMPLEX64 ? DT_FLOAT32 : t == DT_COMPLEX128 ? DT_FLOAT64 : t;
}

bool sh_svd(struct ctx *cx, struct node *n)
{
	enum dtype t = dtype0(n);
	if (!prop_bool(cx, n, "compute_uv")) {
		n->out[0]->type.dtype = (uint8_t)real_dtype(t);
		return apply_core(cx, n, "(m,n)->(<)", t);
	}
	bool full = prop_bool(cx, n, "full_matrices");
	if (!apply_core(cx, n, full ? "(m,n)->(m,m),(<),(n,n)" : "(m,n)->(m,<),(<),(<,n)", t))
		return false;
	n->out[1]->type.dtype = (uint8_t)real_dtype(t);
	return true;
}

uint32_t nr_lu(struct ctx *cx, struct node *n)
{
	return prop_bool(cx, n, "permute_l") ? 2 : 3;
}

bool sh_lu(struct ctx *cx, struct node *n)
{
	enum dtype t = dtype0(n);
	if (prop_bool(cx, n, "permute_l"))
		return apply_core(cx, n, "(m,m)->(m,m),(m,m)", t);
	bool indices = prop_bool(cx, n, "p_indices");
	if (!apply_core(cx, n, indices ? "(m,m)->(m),(m,m),(m,m)" : "(m,m)->(m,m),(m,m),(m,m)", t))
		return false;
	n->out[0]->type.dtype = (uint8_t)(indices ? DT_INT32 : real_dtype(t));
	return true;
}

bool sh_lufactor(struct ctx *cx, struct node *n)
{
	return apply_core(cx, n, "(m,m)->(m,m),(m)", DT_INT32);
}

/* Inputs 0 to 2 are the diagonals, of lengths n-1, n, n-1; then come du2 (n-2), ipiv (n) and b. */
static bool check_tridiagonal(struct ctx *cx, struct node *n)
{
	bool ok = true;

	for (uint32_t i = 0; i < n->nin; i++)
		if (!want_rank(cx, n, i, i < 5 ? 1 : (uint32_t)prop_int(cx, n, "b_ndim")))
			return false;
	dim d = n->in[1]->type.dims[0], one = dim_const(cx, 1);
	for (uint32_t i = 0; i < n->nin; i++) {
		dim have = n->in[i]->type.dims[0];
		dim less = i == 1 || i > 3 ? have : dim_add(cx, have, one);
		ok &= dim_unify(cx, i == 3 ? dim_add(cx, less, one) : less, d, n->span);
	}
	return ok || report_mismatch(cx, n, "(n-1,),(n,),(n-1,),(n-2,),(n,),(n,...)");
}

bool sh_lutridiagonal(struct ctx *cx, struct node *n)
{
	static const uint8_t like[] = {0, 1, 2, 0, 1};
	enum dtype t = dtype0(n);

	if (!check_tridiagonal(cx, n))
		return false;
	for (uint32_t i = 0; i < countof(like); i++) {
		dim *len = new_dims(cx, 1), d = n->in[like[i]]->type.dims[0];
		*len = i == 3 ? dim_at_least(cx, dim_plus(cx, d, -1), 0) : d;
		set_type(n, i, i == 4 ? DT_INT32 : t, 1, len);
	}
	return true;
}

bool sh_solvetridiagonal(struct ctx *cx, struct node *n)
{
	return check_tridiagonal(cx, n) && set_dims(n, n->in[5]->type.rank, n->in[5]->type.dims);
}

bool sh_schur(struct ctx *cx, struct node *n)
{
	bool sorted = !prop_is_none(cx, n, "sort");

	if (sorted || !strcmp(prop_str(cx, n, "output"), "complex")) {
		error(cx, n->span, E_UNSUPPORTED, "Schur: %s",
		      sorted ? "sorting its eigenvalues is not converted"
			     : "its complex form is not converted");
		return false;
	}
	return apply_core(cx, n, "(m,m)->(m,m),(m,m)", dtype0(n));
}

bool sh_eigh(struct ctx *cx, struct node *n)
{
	n->out[0]->type.dtype = (uint8_t)real_dtype(dtype0(n));
	return apply_core(cx, n, "(m,m),(m,m)->(m),(m,m)", dtype0(n));
}

bool sh_eigvalsh(struct ctx *cx, struct node *n)
{
	n->out[0]->type.dtype = (uint8_t)real_dtype(dtype0(n));
	return apply_core(cx, n, "(m,m),(m,m)->(m)", dtype0(n));
}

bool sh_solve(struct ctx *cx, struct node *n)
{
	bool vector = prop_int(cx, n, "b_ndim") == 1;
	return apply_core(cx, n, vector ? "(m,m),(m)->(m)" : "(m,m),(m,k)->(m,k)", dtype0(n));
}

bool sh_lstsq(struct ctx *cx, struct node *n)
{
	if (!apply_core(cx, n, "(m,n),(m,k),()->(n,k)", dtype0(n)))
		return false;
	const dim *a = n->in[0]->type.dims;
	dim *rest = new_dims(cx, 1), *values = new_dims(cx, 1);
	*rest = dim_fresh(cx, SOURCE_SIZE, n->out[1], 0); /* 0 or k */
	*values = dim_min(cx, a[0], a[1]);
	set_type(n, 1, DT_FLOAT64, 1, rest);
	set_type(n, 2, DT_INT32, 0, NULL);
	set_type(n, 3, DT_FLOAT64, 1, values);
	return true;
}

bool sh_tensorinv(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type;
	int64_t ind = prop_int(cx, n, "ind");
	dim *d = new_dims(cx, a->rank), rows = dim_const(cx, 1), columns = rows;

	if (ind <= 0 || ind > a->rank) {
		error(cx, n->span, E_PROPERTY, "%s: ind must be from 1 to the rank of %s, got %lld",
		      n->op->name, type_str(cx, *a), (long long)ind);
		return false;
	}
	for (uint32_t i = 0; i < a->rank; i++) {
		d[i] = a->dims[(i + (uint32_t)ind) % a->rank];
		dim *side = i < ind ? &rows : &columns;
		*side = dim_mul(cx, *side, a->dims[i]);
	}
	if (!dim_unify(cx, rows, columns, n->span)) {
		error(cx, n->span, E_SHAPE, "%s: %s is not square: %s is not %s", n->op->name,
		      type_str(cx, *a), dim_str(cx, rows), dim_str(cx, columns));
		return false;
	}
	return set_dims(n, a->rank, d);
}

bool tensorsolve_order(struct ctx *cx, const struct node *n, int64_t order[MAX_RANK])
{
	uint32_t rank = n->in[0]->type.rank, named = 0, k = 0;
	bool last[MAX_RANK] = {false};
	const struct cv *axes = prop(cx, n, "axes");

	for (uint32_t i = 0; axes->kind == CV_LIST && i < axes->n; i++) {
		const struct cv *a = &axes->u.items[i];
		uint64_t axis = a->u.i;
		if (axes->n > rank || a->neg || axis >= rank || last[axis]) {
			error(cx, n->span, E_PROPERTY, "%s: axes are distinct and from 0 to %u",
			      n->op->name, rank - 1);
			return false;
		}
		last[axis] = true;
		order[rank - axes->n + named++] = (int64_t)axis;
	}
	for (uint32_t i = 0; i < rank; i++)
		if (!last[i])
			order[k++] = i;
	return true;
}

/* In PyTensor the result is always a matrix. */
bool sh_tensorsolve(struct ctx *cx, struct node *n)
{
	const struct type *a = &n->in[0]->type, *b = &n->in[1]->type;
	int64_t order[MAX_RANK];
	dim *d = new_dims(cx, 2), size = dim_const(cx, 1);

	if (a->rank != b->rank + 2u) {
		error(cx, n->span, E_RANK, "%s: a has to have two dims more than b, got %s and %s",
		      n->op->name, type_str(cx, *a), type_str(cx, *b));
		return false;
	}
	if (!tensorsolve_order(cx, n, order))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		d[i] = a->dims[order[b->rank + i]];
	for (uint32_t i = 0; i < b->rank; i++)
		size = dim_mul(cx, size, b->dims[i]);
	if (!dim_unify(cx, dim_mul(cx, d[0], d[1]), size, n->span)) {
		error(cx, n->span, E_SHAPE, "%s: %s and %s do not match: %s is not %s", n->op->name,
		      type_str(cx, *a), type_str(cx, *b), dim_str(cx, dim_mul(cx, d[0], d[1])),
		      dim_str(cx, size));
		return false;
	}
	return set_dims(n, 2, d);
}

/* --- Blockwise: the core op works on the last dims, the others broadcast --- */

static const char *remove_blanks(struct ctx *cx, const char *s)
{
	char *out = arena_strdup(cx->arena, s, strlen(s)), *to = out;
	for (; *s; s++)
		if (*s != ' ')
			*to++ = *s;
	*to = 0;
	return out;
}

bool read_core_ranks(struct ctx *cx, struct node *n, uint32_t *ranks)
{
	const struct opref *ref = prop(cx, n, "core_op")->u.op;
	const char *s = prop_str(cx, n, "signature");
	if (!s && ref->op)
		s = ref->op->core;
	s = s ? remove_blanks(cx, s) : NULL;
	for (uint32_t i = 0; s && i < n->nin; i++) {
		if (*s != '(')
			break;
		ranks[i] = 0;
		for (s++; *s && *s != ')'; s++) /* a name begins after a bracket or comma */
			ranks[i] += *s != ',' && strchr("(,", s[-1]);
		if (*s == ')' && i + 1 == n->nin && s[1] == '-')
			return true;
		s += *s == ')';
		s += *s == ',';
	}
	error(cx, n->span, E_PROPERTY, "%s: the signature has to say the shapes of %d argument%s",
	      n->op->name, n->nin, n->nin == 1 ? "" : "s");
	return false;
}

/* The core argument, of `rank` dims, that stands for all items of the batch v. If v is
 * ExpandDims(s) of a scalar s, it is s itself: the length of a Convolve1d depends on the value of
 * its argument full_mode. A constant that is the same for all items is a constant: those of a Split
 * say its lengths. */
static struct value *core_argument(struct ctx *cx, struct value *v, uint32_t rank)
{
	const struct type *t = &v->type;
	struct value *scalar = v, *item;
	if (t->rank == rank)
		return v;
	while (!rank && is_call(scalar->def, OP_ExpandDims))
		scalar = scalar->def->in[0];
	if (!rank && !scalar->type.rank)
		return scalar;
	if (v->data && !v->data->name && !is_complex((enum dtype)t->dtype)) {
		struct tensor *data = tensor_new(cx, v->data->dtype, (int)rank,
						 v->data->shape + (t->rank - rank));
		data->data = v->data->data;
		data->splat = v->data->splat;
		if (data->data && data->count == v->data->count)
			return graph_constant(cx, data, v->span);
	}
	item = new (cx->arena, struct value);
	item->type = (struct type){t->dtype, (uint8_t)rank, t->dims + (t->rank - rank)};
	dim same = rank ? DIM_NONE : equal_elements(cx, v);
	if (same) {
		item->known = known_new(cx, 1);
		item->known->at[0] = same;
	}
	return item;
}

/* An inferred node of the core op, outside of any block; NULL: reported */
static struct node *new_core_node(struct ctx *cx, struct node *n, const uint32_t *ranks)
{
	const struct opref *ref = prop(cx, n, "core_op")->u.op;
	struct node *c = new (cx->arena, struct node);
	c->op = ref->op;
	c->props = ref->props;
	c->span = n->span;
	c->nin = n->nin;
	c->in = new_array(cx->arena, struct value *, n->nin);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (n->in[i]->type.rank < ranks[i]) {
			want_rank(cx, n, i, ranks[i]);
			return NULL;
		}
		c->in[i] = core_argument(cx, n->in[i], ranks[i]);
	}
	c->nout = (uint16_t)op_results(cx, c);
	c->out = new_array(cx->arena, struct value *, c->nout + 1u);
	for (uint32_t i = 0; i < c->nout; i++)
		c->out[i] = new (cx->arena, struct value);
	return c->nout && infer_node(cx, c) ? c : NULL;
}

struct node *blockwise_core(struct ctx *cx, struct node *n)
{
	const struct opref *ref = prop(cx, n, "core_op")->u.op;
	uint32_t *ranks = new_array(cx->arena, uint32_t, n->nin);
	if (ref->op && ref->op != n->op)
		return read_core_ranks(cx, n, ranks) ? new_core_node(cx, n, ranks) : NULL;
	if (ref->op)
		error(cx, n->span, E_PROPERTY, "%s: its core op is one already", n->op->name);
	else
		error(cx, n->span, E_UNSUPPORTED, "%s: the core must be an op, not a fn",
		      n->op->name);
	return NULL;
}

uint32_t nr_blockwise(struct ctx *cx, struct node *n)
{
	const struct node *c = blockwise_core(cx, n);
	return c ? c->nout : 0;
}

bool sh_blockwise(struct ctx *cx, struct node *n)
{
	const struct node *c = blockwise_core(cx, n);
	if (!c)
		return false;
	struct value **batch = new_array(cx->arena, struct value *, n->nin);
	uint32_t rank = 0;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct type *t = &n->in[i]->type;
		batch[i] = new (cx->arena, struct value);
		batch[i]->type = (struct type){t->dtype, t->rank - c->in[i]->type.rank, t->dims};
		rank = batch[i]->type.rank > rank ? batch[i]->type.rank : rank;
	}
	dim *b = new_dims(cx, rank);
	if (!broadcast_dims(cx, n, batch, n->nin, b, rank))
		return false;
	for (uint32_t i = 0; i < n->nout && i < c->nout; i++) {
		const struct type *t = &c->out[i]->type;
		dim *d = new_dims(cx, rank + t->rank);
		for (uint32_t k = 0; k < rank; k++)
			d[k] = b[k];
		for (uint32_t k = 0; k < t->rank; k++) {
			/* a size of the core result becomes a size of the result */
			struct dim_view v = dim_view(cx, t->dims[k]);
			bool own = v.form == DIM_ATOM && v.source == c->out[i];
			d[rank + k] =
				own ? dim_fresh(cx, SOURCE_SIZE, n->out[i], rank + k) : t->dims[k];
		}
		set_type(n, i, (enum dtype)t->dtype, rank + t->rank, d);
	}
	return true;
}

/* --- Einsum --- */

struct subscripts {
	dim letter[128];     /* the dim that each letter stands for */
	uint32_t count[128]; /* how often each letter occurs in the operands */
	dim dots[MAX_RANK];  /* the dims of "...", aligned on the right */
	uint32_t ndots;
};

struct letters {
	uint32_t all[128];         /* how often each letter occurs in the operands */
	bool result[128], written; /* does it occur in the result? has the text a result? */
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void count_letters(const char *s, struct letters *l)
{
	for (; *s; s++) {
		l->written |= *s == '-';
		if (is_letter(*s) && l->written)
			l->result[(int)*s] = true;
		else if (is_letter(*s))
			l->all[(int)*s]++;
	}
}

/* The dtype in which PyTensor multiplies an operand of dtype t. PyTensor first sums over the
 * letters that no other bind_operand and not the result have, and takes diagonals, also by a sum; a
 * sum of integers has 64 bits. *s: the text of the operand, is moved to the next one. */
static enum dtype einsum_operand_dtype(enum dtype t, const char **s, const struct letters *l)
{
	bool sums = false, own[128] = {false};

	for (; **s && **s != ',' && **s != '-'; ++*s) {
		int c = **s;
		if (!is_letter(**s))
			continue;
		sums |= own[c] || (l->all[c] == 1 && l->written && !l->result[c]);
		own[c] = true;
	}
	*s += **s == ',';
	if (!sums || !is_discrete(t))
		return t;
	return dtypes[t].kind == KIND_UINT ? DT_UINT64 : DT_INT64;
}

/* Are there two of the n dtypes whose product has another dtype than t? */
static bool has_narrow_pair(const enum dtype *own, uint32_t n, enum dtype t)
{
	uint32_t count[DT_COUNT] = {0};

	for (uint32_t i = 0; i < n; i++)
		count[own[i]]++;
	for (int a = 0; a < DT_COUNT; a++)
		for (int c = a; c < DT_COUNT && count[a]; c++)
			if (count[c] > (c == a) && dtype_upcast((enum dtype)a, (enum dtype)c) != t)
				return true;
	return false;
}

/* A product of two integers wraps in the common dtype of the two, and PyTensor does not say which
 * operands it multiplies first. So any two integers must have the dtype of the result as common
 * dtype. If the result is a float, one integer bind_operand is harmless. */
enum dtype ty_einsum(struct ctx *cx, struct node *n)
{
	enum dtype t = ty_upcast(cx, n), *own = new_array(cx->scratch, enum dtype, n->nin);
	const char *s = prop_str(cx, n, "subscripts");
	struct letters letters = {0};
	uint32_t others = 0;

	if (!t)
		return t;
	count_letters(s, &letters);
	for (uint32_t i = 0; i < n->nin; i++)
		own[i] = einsum_operand_dtype((enum dtype)n->in[i]->type.dtype, &s, &letters);
	t = own[0];
	for (uint32_t i = 1; i < n->nin; i++)
		t = dtype_upcast(t, own[i]);
	for (uint32_t i = 0; i < n->nin; i++)
		others += is_discrete(own[i]) && own[i] != t;
	if (is_discrete(t) ? !has_narrow_pair(own, n->nin, t) : others < 2)
		return t;
	error(cx, n->span, E_DTYPE,
	      "%s: its products of integers depend on their order: cast the operands to %s",
	      op_label(cx, n), dtypes[t].name);
	return DT_NONE;
}

static bool subscripts_error(struct ctx *cx, struct node *n, const char *what)
{
	error(cx, n->span, E_SHAPE, "%s: %s", op_label(cx, n), what);
	return false;
}

/* Broadcasts *have, the length of a letter so far, with d: 1 broadcasts, other lengths are equal.
 */
static bool bind_letter(struct ctx *cx, struct node *n, dim *have, dim d)
{
	if (!*have || dim_says_one(cx, *have))
		*have = d;
	else if (!dim_says_one(cx, d) && !dim_meet(cx, have, d, n->span))
		return subscripts_error(cx, n, "the lengths of one letter differ");
	return true;
}

/* Copies the text of an operand or of the result into term, without blanks and with "..." as one
 * dot. false: it is not letters and at most one "..." */
static bool read_term(const char *s, const char *end, char term[MAX_RANK + 4], uint32_t *letters)
{
	uint32_t n = 0;
	bool dots = false;

	*letters = 0;
	for (; s < end; s++) {
		if (*s == ' ')
			continue;
		if (*letters == MAX_RANK)
			return false;
		if (*s == '.') {
			if (dots || end - s < 3 || s[1] != '.' || s[2] != '.')
				return false;
			dots = true;
			s += 2;
		} else if (!is_letter(*s)) {
			return false;
		} else {
			++*letters;
		}
		term[n++] = *s;
	}
	term[n] = 0;
	return true;
}

/* Binds the letters [s, end) of one operand to the dims of t. false: reported */
static bool bind_operand(struct ctx *cx, struct node *n, struct subscripts *e, struct type t,
			 const char *s, const char *end)
{
	char term[MAX_RANK + 4];
	uint32_t letters, at = 0;

	if (!read_term(s, end, term, &letters))
		return subscripts_error(cx, n, "an operand is letters and at most one '...'");
	if (letters > t.rank || (letters < t.rank && !strchr(term, '.'))) {
		error(cx, n->span, E_RANK, "%s: '%.*s' has %u letter%s, but the operand is %s",
		      op_label(cx, n), (int)(end - s), s, letters, letters == 1 ? "" : "s",
		      type_str(cx, t));
		return false;
	}
	for (const char *p = term; *p; p++) {
		uint32_t more = t.rank - letters;
		if (*p != '.') {
			if (!bind_letter(cx, n, &e->letter[(int)*p], t.dims[at++]))
				return false;
			e->count[(int)*p]++;
			continue;
		}
		for (uint32_t i = 0; i < more; i++)
			if (!bind_letter(cx, n, &e->dots[MAX_RANK - more + i], t.dims[at++]))
				return false;
		e->ndots = more > e->ndots ? more : e->ndots;
	}
	return true;
}

/* Without "->" the result has the dims of "...", then the letters that occur once, sorted. */
static void implied_result(const struct subscripts *e, char term[3 + 128])
{
	uint32_t n = 0;

	if (e->ndots)
		term[n++] = '.';
	for (int c = 'A'; c <= 'z'; c++)
		if (e->count[c] == 1)
			term[n++] = (char)c;
	term[n] = 0;
}

bool sh_einsum(struct ctx *cx, struct node *n)
{
	struct subscripts *e = new (cx->scratch, struct subscripts);
	const char *s = prop_str(cx, n, "subscripts"), *arrow = strstr(s, "->");
	const char *end = arrow ? arrow : s + strlen(s);
	char term[3 + 128];
	uint32_t letters, rank = 0;
	dim *d = new_dims(cx, 2 * MAX_RANK);

	for (uint32_t i = 0; i < n->nin; i++) {
		const char *comma = memchr(s, ',', (size_t)(end - s));
		if ((comma == NULL) != (i + 1 == n->nin))
			return subscripts_error(
				cx, n,
				comma ? "the subscripts name more operands than are given"
				      : "the subscripts name fewer operands than are given");
		if (!bind_operand(cx, n, e, n->in[i]->type, s, comma ? comma : end))
			return false;
		s = comma ? comma + 1 : end;
	}
	if (!arrow)
		implied_result(e, term);
	else if (!read_term(arrow + 2, arrow + strlen(arrow), term, &letters))
		return subscripts_error(cx, n, "the result is letters and at most one '...'");
	if (e->ndots && !strchr(term, '.'))
		return subscripts_error(cx, n, "the result needs the '...' too");
	for (const char *p = term; *p; p++) {
		if (*p != '.' && (!e->letter[(int)*p] || strchr(p + 1, *p)))
			return subscripts_error(cx, n,
						"each letter of the result is one of the "
						"operands', once");
		for (uint32_t i = MAX_RANK - e->ndots; *p == '.' && i < MAX_RANK; i++)
			d[rank++] = e->dots[i];
		if (*p != '.')
			d[rank++] = e->letter[(int)*p];
	}
	if (rank > MAX_RANK)
		return subscripts_error(cx, n, "the result has too many dims");
	return set_dims(n, rank, d);
}

/*
 * uses.h: who reads a value. A use is an input of a node, a result of a block, or what the graph
 * itself holds: the next value of a state, or a value that checks will read. There are three ways
 * to ask, by what they cost:
 *
 * next_use() goes through the uses in a block and in all that is in it. It keeps nothing. A pass
 * that looks once fills its own table:
 *
 *	for (struct use_walk w = {.root = b}; next_use(&w);)
 *		reads[w.value->id]++;
 *
 * find_uses() makes a table, by value, of the uses in a graph. It tells of the graph as it was:
 * nodes that a pass makes or changes later are not in it, and asking for a value that was made
 * later is a bug. A pass that asks again after changes makes the table anew. It lives until the
 * pass ends.
 *
 *	struct uses uses = find_uses(cx, g);
 *	for_uses (u, &uses, v)
 *		look_at(u->node);
 *
 * value->uses counts the uses of values of the ONNX level. A node counts what it reads when a
 * builder puts it into a block (lower/build.h), and passes keep the counts by the functions at the
 * end. A count may be too high, never too low: what has one use by its count has no other.
 * drop_unread() counts anew what is left. A graph that is opened again (build_reopen) has no uses:
 * its nodes are put into their blocks once more.
 */
#ifndef PTGC_GRAPH_USES_H
#define PTGC_GRAPH_USES_H

#include "graph/graph.h"

struct use {
	struct node *node;   /* that reads the value; NULL: `block` gives it back */
	struct block *block; /* of the node, or whose result it is; NULL: the graph holds it */
	uint32_t index;      /* of the node's inputs or the block's results */
};

struct use_walk {
	const struct block *root;
	const struct graph *graph; /* of which root is the block: what it holds, too; or NULL */
	/* what it came to */
	struct value *value;
	struct use use;
	/* how far it is */
	struct walk walk;
	uint32_t next, held;
};
/* Goes on to the next use; false: there are no more. Omitted inputs are none. Uses come in the
 * order of walk(): of a node before those in its bodies, results of a block behind its nodes. */
bool next_use(struct use_walk *w);

struct uses {
	struct use *at;  /* all, by value */
	uint32_t *first; /* by value id: where its uses begin; those of the next value follow */
	uint32_t nvalues;
	const struct block *block; /* the graph's own */
};
struct uses find_uses(struct ctx *cx, const struct graph *g);
const struct use *first_use(const struct uses *t, const struct value *v);
uint32_t count_uses(const struct uses *t, const struct value *v);
#define for_uses(u, t, v)                                                                          \
	for (const struct use *u = first_use(t, v), *u##_end = u + count_uses(t, v); u < u##_end;  \
	     u++)
/* The node that alone reads v, by one input; NULL: none, several, or not only nodes do. */
struct node *only_reader(const struct uses *t, const struct value *v);
/* Does something else than a node of the graph's own block use v: a node of an inner block, or a
 * block or the graph that gives it back? */
bool escapes(const struct uses *t, const struct value *v);

/* Nothing uses v: all that does will be counted from now on. */
static inline void clear_uses(struct value *v)
{
	v->uses = 0;
	v->is_result = v->is_inner_result = false;
}
static inline bool is_used_once(const struct value *v) /* and no block gives it back */
{
	return v->uses == 1 && !v->is_result;
}
/* n reads v as input i, or other values as all of its inputs. */
void set_input(struct node *n, uint32_t i, struct value *v);
void set_inputs(struct node *n, struct value **in, uint32_t nin);
/* The block gives v, a value of its own, back as result i from now on: in place of another, or
 * before it. */
void put_result(struct block *b, uint32_t i, struct value *v);
void add_result(struct ctx *cx, struct block *b, uint32_t i, struct value *v);
/* Something will read v that is not written yet: the node of v must live until then. */
void reserve_use(struct value *v);
/* n is dead from now on, and so are nodes that nothing but n read. */
void drop_node(struct node *n);
/* What reads old reads v from now on: resolve() says so, where an input or a result is still old.
 */
void replace_all_uses(struct value *old, struct value *v);
/* The same; v, if a node makes it and it has no name, is called as old is, and what is known of the
 * elements of old is known of v. */
void take_place(struct value *old, struct value *v);
/* The nodes in b, and in blocks in it, read what stands for their inputs. */
void resolve_inputs(struct block *b);

#endif

/* repeats.h: what repeats.c, axes.c and classes.c share */
#ifndef PTGC_TYPED_REPEATS_H
#define PTGC_TYPED_REPEATS_H

#include "graph/uses.h"
#include "ops/rules.h"
#include "typed/typed.h"

#define MAX_CLASSES 4
#define MAX_MASKS   8

struct class
{ /* some of the places along the axis of a region, without those that repeat */
	int64_t distinct;
	int64_t *first; /* first[j] is the first of the places that are place j of the class */
	double *count;  /* and count[j] is how many they are */
};

struct region {
	int64_t length;
	bool failed;  /* the region stays as it was */
	bool repeats; /* enough of it to be worth a product with counts */
	bool mixed;   /* classes.c: a value must have one shape in all classes, and has not */
	uint32_t nsums, nclasses;
	struct class class[MAX_CLASSES];
	const uint8_t *mask[MAX_MASKS]; /* of `length` bools */
	uint32_t nmasks;
	double cost[2]; /* nanoseconds of all places together, of the classes */
};

struct spot { /* of a value in a region; of others `region` is 0 */
	uint32_t region;
	uint32_t axis;
};

struct end { /* a reduction over the axis of a region */
	struct node *node;
	uint32_t axis;
};

/* What a value of a region is in a class */
enum in_class {
	AS_BEFORE, /* an array whose axis is the class */
	CHOSEN,    /* an argument of Switch, of the same type */
	SHORTER,   /* the same, but of lengths 1 where AS_BEFORE has others */
	ZERO       /* SHORTER, and 0 */
};

struct repeats {
	struct ctx *cx;
	struct costs costs;
	struct block *block; /* that is made anew */
	const bool *needed;
	uint32_t nvalues;
	struct uses uses;
	struct spot *place; /* in regions[place.region - 1] */
	vec(struct region) regions;
	vec(struct value *) todo;
	vec(struct constant_use {
		const struct value *v;
		uint32_t axis;
	}) constants;
	vec(struct end) found;
	uint64_t missed; /* values that were looked at in vain */
	uint64_t looked; /* bytes of places that were compared */
	/* the walk, by value id */
	struct end *ends; /* of the result of a reduction */
	/* by value id * MAX_CLASSES + class: what a value of a region becomes, a constant at `spot`
	 */
	struct value **become;
	struct spot *spot; /* by value id, of constants */
	uint8_t *state;
	bool *live; /* does a reduction need it? */
};

/* axes.c */
bool has_axis(const int *axes, int count, int axis);
bool is_view_or_check(const struct node *n);

/* repeats.c */
/* What n, of a region, takes for so many places */
double cost_in(struct repeats *r, const struct node *n, int64_t places);

/* classes.c: parts regions by the masks of their Switches, where the classes are cheaper. */
void part_regions(struct repeats *r, struct block *b);
/* The argument of n, a Switch, that is taken throughout the class; 0: n depends on more */
uint32_t choice_in(struct repeats *r, struct node *n, uint32_t c);

#endif

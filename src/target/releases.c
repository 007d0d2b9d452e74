/*
 * releases.c: the releases of ONNX Runtime (releases.def), and which of them a model is for: from
 * cx->opt.runtime on to the newest, so that a model stays right when the runtime is updated.
 */
#include "target/target.h"

static const struct release releases[] = {
#define RELEASE(n, version, opset, ml, ir) {n, version, opset, ml, ir},
#include "target/releases.def"
};

const struct release *find_release(int n)
{
	for (size_t i = 0; i < countof(releases); i++)
		if (releases[i].n == n)
			return &releases[i];
	return NULL;
}

int oldest_release(void)
{
	return releases[0].n;
}

int newest_release(void)
{
	return releases[countof(releases) - 1].n;
}

int least_release_of_opset(int opset)
{
	size_t i = 0;

	while (i < countof(releases) && releases[i].opset < opset)
		i++;
	return i < countof(releases) ? releases[i].n : NEXT_RELEASE;
}

int ml_version(const struct ctx *cx)
{
	if (cx->opt.ml_opset)
		return cx->opt.ml_opset;
	return cx->opt.target == PTGC_ONNX ? MAX_ML_OPSET : find_release(cx->opt.runtime)->ml_opset;
}

int least_release_of_ml(int version)
{
	size_t i = 0;

	while (i + 1 < countof(releases) && releases[i].ml_opset < version)
		i++;
	return releases[i].n;
}

release_set releases_from(int n)
{
	return RELEASES(n, newest_release());
}

int least_release(release_set set)
{
	int n = newest_release() + 1;

	while (n > oldest_release() && set & RELEASES(n - 1, n - 1))
		n--;
	return n;
}

release_set target_releases(const struct ctx *cx)
{
	return releases_from(cx->opt.runtime);
}

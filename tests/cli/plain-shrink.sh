# a file of weights that becomes shorter once it is mapped, or while the model is written: exit 2,
# words that say so, and nothing is left behind
cat >cut.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static void cut(const char *when)
{
	if (!strcmp(getenv("CUT"), when))
		(void)!truncate("w.npy", 0);
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
	void *p = real(at, n, prot, flags, fd, offset);
	if (fd >= 0 && n > 100000)
		cut("mapped");
	return p;
}
int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	if (flags & O_EXCL)
		cut("written");
	return real(path, flags, 0666);
}
C
${CC:-gcc} -shared -fPIC -o cut.so cut.c -ldl || exit
weights() {
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (100000,), }"
	head -c 800000 /dev/zero
}
for value in 'file("w.npy")' 'Cast{float32}(file("w.npy"))[::2]' 'Unique(file("w.npy"))'; do
	echo "graph g(x: float64[n]) -> (y) { y = Sum(x) + $value }" >m.ptg
	for cut in mapped written; do
		for data in '' --external-data; do
			weights >w.npy
			CUT=$cut LD_PRELOAD=./cut.so ptgc m.ptg $data
			echo "= $?: $(ls -A | tr '\n' ' ')"
		done
	done
done

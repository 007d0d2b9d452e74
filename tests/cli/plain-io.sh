# each call of the system that can fail does, once: exit 2 and words that say what, nothing is left
# behind, and an older output stays; or, where there is another way, the same model
cat >fail.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
static int fails(const char *call)
{
	static int n;
	const char *want = getenv("FAIL");
	size_t len = strlen(call);
	if (!want || strncmp(want, call, len) || want[len] != ':' || ++n != atoi(want + len + 1))
		return 0;
	errno = EIO;
	return 1;
}
#define REAL(type, name, ...) ((type)dlsym(RTLD_NEXT, name))(__VA_ARGS__)
int open(const char *path, int flags, ...)
{
	return fails("open") ? -1 : REAL(int (*)(const char *, int, ...), "open", path, flags, 0666);
}
ssize_t read(int fd, void *p, size_t n)
{
	return fails("read") ? -1 : REAL(ssize_t (*)(int, void *, size_t), "read", fd, p, n);
}
ssize_t write(int fd, const void *p, size_t n)
{
	return fails("write") ? -1 : REAL(ssize_t (*)(int, const void *, size_t), "write", fd, p, n);
}
int close(int fd)
{
	int real = REAL(int (*)(int), "close", fd);
	return fails("close") ? -1 : real;
}
int rename(const char *from, const char *to)
{
	return fails("rename") ? -1 : REAL(int (*)(const char *, const char *), "rename", from, to);
}
int link(const char *from, const char *to)
{
	return fails("link") ? -1 : REAL(int (*)(const char *, const char *), "link", from, to);
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0 && fails("mmap"))
		return (void *)-1;
	return REAL(void *(*)(void *, size_t, int, int, int, off_t), "mmap", at, n, prot, flags, fd,
		    offset);
}
ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags)
{
	return fails("copy_file_range") ? -1
		: REAL(ssize_t (*)(int, off_t *, int, off_t *, size_t, unsigned), "copy_file_range",
		       in, from, out, to, n, flags);
}
C
${CC:-gcc} -shared -fPIC -o fail.so fail.c -ldl || exit
mkdir work && cd work || exit
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (100000,), }"
	head -c 800000 /dev/zero
} >w.npy
echo 'fn Twice(x: F) -> (y) { y = x + x }' >more.ptg
printf '%s\n' 'use "more.ptg"' 'graph g(x: float64[?]) -> (y) { y = Twice(x) + file("w.npy") }' >m.ptg
ptgc m.ptg -o good.onnx
once() { # expected outputs, command...
	outputs=$1
	shift
	for call in open read write close rename link mmap copy_file_range; do
		for n in 1 2 3 4 5 6 7 8 9 10; do
			for o in $outputs; do echo old >"$o"; done
			FAIL=$call:$n LD_PRELOAD=../fail.so "$@" >out 2>err </dev/null
			code=$?
			if [ $code = 0 ]; then
				for o in $outputs; do cmp "$o" "${o#new-}" || echo "$call $n: another $o"; done
				continue
			fi
			echo "$call $n: exit $code: $(head -n 1 err)"
			for o in $outputs; do [ "$(head -c 3 "$o")" = old ] || echo "$o has changed"; done
			echo *.tmp* .[!.]* | grep -v '^\*.tmp\* \.\[!\.\]\*$'
			[ -n "$outputs" ] || continue
			# once more with nothing there: nothing is there behind it either
			rm $outputs
			FAIL=$call:$n LD_PRELOAD=../fail.so "$@" >out 2>err </dev/null && continue
			for o in $outputs .[!.]*; do [ ! -e "$o" ] || echo "$call $n: $o is left"; done
		done
	done
}
echo '= a model'
once new-good.onnx ptgc m.ptg -o new-good.onnx
echo '= a model, its data and its dependencies'
ptgc m.ptg -o good.onnx --external-data=new-good.data -MD -MF good.d -MT model
mv new-good.data good.data
once 'new-good.onnx new-good.data new-good.d' \
	ptgc m.ptg -o new-good.onnx --external-data=new-good.data -MD -MF new-good.d -MT model
rm new-good.*
echo '= to standard output'
once '' ptgc m.ptg -o -
echo '= a dump'
once '' ptgc dump good.onnx
ls

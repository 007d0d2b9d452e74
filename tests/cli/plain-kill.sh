# kill -9 before each call that changes a file: whoever reads the model finds the old one with its
# weights or the new one with its own, and the next run leaves no trace. SIGTERM there: the old pair
# and the status of the signal, or the new pair and 0; and no temporary file
cat >kill.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
static void here(void)
{
	static int n;
	const char *at = getenv("AT");
	if (at && ++n == atoi(at))
		raise(atoi(getenv("SIGNAL")));
}
#define REAL(type, name, ...) ((type)dlsym(RTLD_NEXT, name))(__VA_ARGS__)
int open(const char *path, int flags, ...)
{
	if (flags & O_CREAT)
		here();
	return REAL(int (*)(const char *, int, ...), "open", path, flags, 0666);
}
ssize_t write(int fd, const void *p, size_t n)
{
	here();
	return REAL(ssize_t (*)(int, const void *, size_t), "write", fd, p, n);
}
ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags)
{
	here();
	return REAL(ssize_t (*)(int, off_t *, int, off_t *, size_t, unsigned), "copy_file_range", in,
		    from, out, to, n, flags);
}
int close(int fd)
{
	here();
	return REAL(int (*)(int), "close", fd);
}
int flock(int fd, int how)
{
	here();
	return REAL(int (*)(int, int), "flock", fd, how);
}
int rename(const char *from, const char *to)
{
	here();
	return REAL(int (*)(const char *, const char *), "rename", from, to);
}
int link(const char *from, const char *to)
{
	here();
	return REAL(int (*)(const char *, const char *), "link", from, to);
}
int unlink(const char *path)
{
	here();
	return REAL(int (*)(const char *), "unlink", path);
}
int unlinkat(int dir, const char *path, int flags)
{
	here();
	return REAL(int (*)(int, const char *, int), "unlinkat", dir, path, flags);
}
C
${CC:-gcc} -shared -fPIC -o kill.so kill.c -ldl || exit
version() { # number: the model of these weights
	{
		printf '\223NUMPY\001\000\166\000'
		printf '%-117s\n' "{'descr': '<u1', 'fortran_order': False, 'shape': (300000,), }"
		yes "$1" | head -c 300000
	} >w.npy
}
compile() {
	ptgc m.ptg -o out/m.onnx --external-data -MD -MF out/m.d
}
weights_of() {
	ptgc dump "$1" | sed -n 's/.*"location": "\([^"]*\)".*/\1/p'
}
echo 'graph g(x: uint8[?n]) -> (y) { y = x + file("w.npy") }' >m.ptg
mkdir out start
for v in 1 2 3 4; do # in `start`: the second version, and the one before it
	version $v
	compile
	cp out/m.onnx "$v.onnx" && cp "out/$(weights_of $v.onnx)" "$v.data"
	[ $v = 2 ] && cp -p out/* start
done
is_pair() { # version
	cmp -s out/m.onnx "$1.onnx" && cmp -s "out/$(weights_of "$1.onnx")" "$1.data"
}
temporary() {
	find out -name '.ptgc*' | grep -q .
}
run() { # signal
	points=0 before=0 after=0 left=0
	while points=$((points + 1)) && [ $points -lt 200 ]; do
		rm -rf out && cp -rp start out
		version 3
		AT=$points SIGNAL=$1 LD_PRELOAD=./kill.so ptgc m.ptg -o out/m.onnx --external-data -MD \
			-MF out/m.d 2>err
		code=$?
		if is_pair 2; then
			before=$((before + 1)) found=2
		elif is_pair 3; then
			after=$((after + 1)) found=3
		else
			echo "point $points: neither the old pair nor the new one" && ls -A out
		fi
		temporary && left=$((left + 1))
		[ $1 = 9 ] || { [ $code = 0 ] && [ $found = 3 ]; } || { [ $code = 143 ] && [ $found = 2 ]; } ||
			echo "point $points: exit $code, but version $found is in place: $(cat err)"
		[ $1 = 9 ] || ! temporary || echo "point $points: a temporary file is left"
		version 4
		compile
		is_pair 4 || echo "point $points: the next run made something else"
		temporary && echo "point $points: the next run left temporary files" && ls -A out
		# its own weights, and those of the version that it replaced
		[ "$(ls out | grep -c '^m.onnx-')" = 2 ] && [ -e "out/$(weights_of $found.onnx)" ] ||
			echo "point $points: which weights are these? $(ls out)"
		[ $code = 0 ] && [ $1 = 9 ] && break
		[ $1 != 9 ] && [ $points -ge $last ] && break
	done
	last=$points
	echo "the old pair at some: $((before > 9)), the new one at some: $((after > 1)), temporary files at some: $((left > 9))"
}
run 9
run 15
echo '= a file that someone else is writing, or that is called otherwise, stays'
rm -rf out && mkdir out
touch out/.ptgc-1-0.tmp out/.ptgc-2-0.tmp out/.ptgc-3.tmp out/.ptgc-4-0.tmp.x
touch out/m.onnx-0123456789abcdef.data out/m.onnx-0123456789abcdeg.data out/m-0123456789abcdef.data
touch out/n.onnx-0123456789abcdef.data out/m.onnx-0123456789abcdef.data.x out/m.onnx.data
flock out/.ptgc-2-0.tmp ptgc m.ptg -o out/m.onnx
ls -A out

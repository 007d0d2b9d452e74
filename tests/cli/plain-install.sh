# make install: what is there, and that a C program can use it, by pkg-config, static and shared
unset MAKEFLAGS
make -s -C "$TOP" install DESTDIR="$PWD/stage" PREFIX=/usr >/dev/null
(cd stage && find . -type f -o -type l | LC_ALL=C sort | sed 's/so\.[0-9.]*/so.VERSION/')
cat >use.c <<'END'
#include <ptgc.h>
#include <stdio.h>
#include <string.h>

int error(int x); /* names of the library's inside are free */
int error(int x) { return x; }

int main(void)
{
	const char *text = "graph g(x: float64[n]) -> (y) { y = Exp(x) }";
	struct ptgc_options opt = PTGC_OPTIONS_INIT;
	opt.flags = (const char *const[]){ "Werror", NULL };
	size_t size;
	struct ptgc_result *r = ptgc_compile(text, strlen(text), &opt);
	if (!ptgc_ok(r) || !ptgc_model(r, &size) || !size)
		return printf("%s", ptgc_messages(r, false)), 1;
	ptgc_free(r);
	text = "graph g(x: float64[n]) -> (y) {\n  y = Exq(x)\n}";
	r = ptgc_compile(text, strlen(text), NULL);
	struct ptgc_diagnostic d = ptgc_diagnostic(r, 0);
	printf("%zu: %s %s %s:%u:%u+%u %s\n", ptgc_diagnostic_count(r), d.code, d.name, d.file,
	       d.line, d.column, d.length, d.text);
	ptgc_free(r);
	return error(0);
}
END
export PKG_CONFIG_SYSROOT_DIR="$PWD/stage" PKG_CONFIG_PATH="$PWD/stage/usr/lib/pkgconfig"
flags=$(pkg-config --cflags --libs ptgc)
${CC:-gcc} -Wall -Werror use.c $flags -I"$PWD/stage/usr/include" -L"$PWD/stage/usr/lib" -o shared &&
	LD_LIBRARY_PATH=stage/usr/lib ./shared
${CC:-gcc} -Wall -Werror use.c -Istage/usr/include stage/usr/lib/libptgc.a -lprotobuf-c -lm -o static && ./static
echo '--- what the shared library exports beside ptgc_*'
nm -D --defined-only stage/usr/lib/libptgc.so | awk '$3 !~ /^ptgc_/ { print $3 }'
nm -g --defined-only stage/usr/lib/libptgc.a | awk 'NF == 3 && $3 !~ /^ptgc_/ { print $3 }'
make -s -C "$TOP" uninstall DESTDIR="$PWD/stage" PREFIX=/usr >/dev/null
find stage -type f -o -type l
echo '--- places with spaces'
make -s -C "$TOP" install DESTDIR="$PWD/my stage" PREFIX='/opt/my tools' >/dev/null
(cd 'my stage/opt/my tools' && find . -type f -o -type l | wc -l)
PKG_CONFIG_SYSROOT_DIR= PKG_CONFIG_PATH="$PWD/my stage/opt/my tools/lib/pkgconfig" pkg-config --cflags --libs ptgc
make -s -C "$TOP" uninstall DESTDIR="$PWD/my stage" PREFIX='/opt/my tools'
find 'my stage' -type f -o -type l
unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
make -C "$TOP" B='b d' 2>&1 | grep -o "B='b d'.*"
echo '--- what the environment says about the compiler'
CC=gcc CPPFLAGS=-DOWN CFLAGS='-O3 -flto' LDFLAGS=-Wl,-z,now make -n -C "$TOP" V=1 B="$PWD/b" "$PWD/b/libptgc.a" |
	grep -o -e 'gcc.*arena.c$' -e '-nostdlib -r.*-o' | sed "s|$PWD/||g"

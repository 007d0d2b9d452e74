#!/bin/sh
# deb.sh DIR: Debian packages of the working tree in DIR, and the source package. They pass lintian, and are tried in
# an empty root: the command compiles an example, programs link with both libraries.
# DEBFULLNAME and DEBEMAIL say who packages; SOURCE_DATE_EPOCH is the time in the packages, by default that
# of the last commit.
set -eu
cd "$(dirname "$0")/.."
for tool in dh lintian; do
	command -v "$tool" >/dev/null || { echo "make deb needs $tool: apt-get install debhelper lintian"; exit 1; }
done
mkdir -p "$1"
dir=$(realpath "$1")
version=$(sed -n 's/^#define PTGC_VERSION "\(.*\)"/\1/p' src/ptgc.h)
so=${version%%.*}
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
# no bug of Debian's asks for the package; and without DEBEMAIL the packages are not for an archive
suppress=initial-upload-closes-no-bugs
[ -n "${DEBEMAIL-}" ] || suppress=$suppress,bogus-mail-host,bogus-mail-host-in-debian-changelog
who="${DEBFULLNAME:-ptgc authors} <${DEBEMAIL:-ptgc@localhost}>"
export SOURCE_DATE_EPOCH

rm -rf "$dir"/*
src=$dir/ptgc-$version
mkdir "$src"
{ git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print; } |
	tar -cf - --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -T - | tar -xf - -C "$src"
tar -czf "$dir/ptgc_$version.orig.tar.gz" --sort=name --owner=0 --group=0 --numeric-owner \
	--mtime="@$SOURCE_DATE_EPOCH" -C "$dir" "ptgc-$version"
cp -r tools/debian "$src/debian"
mv "$src/debian/libptgc.install" "$src/debian/libptgc$so.install"
sed -i "s/@MAINTAINER@/$who/; s/@SOVERSION@/$so/" "$src/debian/control"
printf 'ptgc (%s-1) unstable; urgency=medium\n\n  * New upstream version.\n\n -- %s  %s\n' \
	"$version" "$who" "$(date -uRd "@$SOURCE_DATE_EPOCH")" >"$src/debian/changelog"
(cd "$src" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc >"$dir/build.log" 2>&1) ||
	{ tail -40 "$dir/build.log"; exit 1; }
lintian --allow-root --fail-on error,warning --suppress-tags "$suppress" "$dir"/*.changes

root=$dir/root
for deb in "$dir"/*.deb; do
	case $deb in *-dbgsym_*) ;; *) dpkg -x "$deb" "$root" ;; esac
done
libs=$(dirname "$(find "$root" -name libptgc.a)")
"$root/usr/bin/ptgc" examples/digits/digits.ptg -o "$dir/digits.onnx"
cat >"$dir/use.c" <<'END'
#include <ptgc.h>
#include <string.h>
int main(void)
{
	const char *text = "graph g(x: float32[n]) -> (y) { y = Exp(x) }";
	struct ptgc_result *r = ptgc_compile(text, strlen(text), NULL);
	int ok = ptgc_ok(r);
	ptgc_free(r);
	return !ok;
}
END
flags="-I$root/usr/include $dir/use.c"
# shellcheck disable=SC2086 # flags are words
{
	cc $flags -o "$dir/shared" -L"$libs" -lptgc && LD_LIBRARY_PATH=$libs "$dir/shared"
	cc $flags -o "$dir/static" "$libs/libptgc.a" -lprotobuf-c -lm && "$dir/static"
}
ls -l "$dir"/*.deb

#!/bin/sh
# maths.sh [points]: the functions of lib/c by themselves: no warning in C99, C11 and C++11; what
# tests/c/maths.c tests, with -O3, and with -O1 under the sanitizers; the same bits of all results by
# gcc, clang and, where gcc and qemu for it are installed, aarch64. The last line is "N passed, M failed".
# B: folder of the build. PTGC_FULL=1: 100 times the points.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}"
points=${1:-${PTGC_FULL:+2000000}}
: "${points:=20000}"
out=$B/c
mkdir -p "$out"
passed=0 failed=0

result() { # name, status
	if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $1"; fi
}

has() {
	command -v "$1" >/dev/null
}

same="-O3 -ffp-contract=off"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Werror"
places="-Ilib/c -Itests/c"

for compiler in 'gcc -std=c99 -xc' 'gcc -std=c11 -xc' 'clang -std=c99 -xc' 'g++ -std=c++11 -xc++' \
	'clang++ -std=c++11 -xc++'; do
	has "${compiler%% *}" || continue
	clean=0
	for header in lib/c/*.h; do
		# shellcheck disable=SC2086
		echo "#include \"${header##*/}\"" | $compiler $same $warnings $places -fsyntax-only - || clean=1
	done
	result "warnings of $compiler" "$clean"
done

build() { # program, compiler and flags...
	program=$1
	shift
	rm -f "$out/$program"
	# shellcheck disable=SC2086
	"$@" $places -o "$out/$program" -Wall -Wextra
}

# shellcheck disable=SC2086
build maths gcc $same tests/c/maths.c -lquadmath -lm && "$out/maths" "$points"
result "errors and ends (tests/c/maths.c)" $?
build maths-san gcc -O1 -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=all \
	tests/c/maths.c -lquadmath -lm && "$out/maths-san" $((points / 10)) >"$out/maths-san.txt"
result "sanitizers (tests/c/maths.c)" $?

# ptgc_product(), built by what is named: the bits that lib/c/product.h promises
products() { # name, command of the compiler, flags...
	title=$1
	shift
	# shellcheck disable=SC2086
	build products "$@" -ffp-contract=off tests/c/products.c $blas -lm && $run "$out/products" 200
	result "products: $title" $?
}
run='' blas=''
products "gcc" gcc -O3
products "gcc -march=native" gcc -O3 -march=native
products "sanitizers" gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
has clang && products "clang" clang -O3
has aarch64-linux-gnu-gcc && has qemu-aarch64 && run=qemu-aarch64 products "aarch64" aarch64-linux-gnu-gcc -O3 -static
for library in -lopenblas '-lcblas -lblas'; do
	# shellcheck disable=SC2086
	echo '#include <cblas.h>
	int main(void) { cblas_dgemm(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); }' |
		gcc -w -o "$out/blas" -xc - $library 2>/dev/null || continue
	blas=$library products "PTGC_BLAS" gcc -O3 -DPTGC_BLAS
	break
done
for number in TILE_ROWS TILE_COLUMNS TILE_THIN THIN_TERMS; do
	awk -v n="$number" '$2 == n || $2 == "PTGC_" n { print n, $3 }' src/c/products.c lib/c/product.h
done | sort | uniq -c | awk '$1 != 2 { exit 1 }'
result "src/c/products.c has the numbers of lib/c/product.h" $?
tools/float_c.sh lib/c/product.h | tr -d ' \t\n' >"$out/productf.txt"
tr -d ' \t\n' <lib/c/productf.h | cmp -s - "$out/productf.txt"
result "lib/c/productf.h is tools/float_c.sh lib/c/product.h" $?

# shellcheck disable=SC2086
build maths-libm gcc $same -DPTGC_LIBM tests/c/maths.c -lquadmath -lm && "$out/maths-libm" $((points / 10)) >"$out/maths-libm.txt"
result "PTGC_LIBM" $?

# shellcheck disable=SC2086
build special.so gcc $same -fPIC -shared tests/c/shared.c -lm &&
	"${PYTHON:-.venv/bin/python}" tests/c/special.py "$out/special.so" $((points / 200))
result "special functions (tests/c/special.py)" $?

# shellcheck disable=SC2086
build bits gcc $same tests/c/bits.c -lm && "$out/bits" "$points" >"$out/bits.txt"
result "bits" $?
compare() { # name, command...
	title=$1
	shift
	"$@" "$points" | diff "$out/bits.txt" -
	result "bits: $title" $?
}
# shellcheck disable=SC2086
build bits-native gcc $same -march=native tests/c/bits.c -lm
compare "gcc -march=native" "$out/bits-native"
build bits-O0 gcc -O0 -ffp-contract=off tests/c/bits.c -lm
compare "gcc -O0" "$out/bits-O0"
# shellcheck disable=SC2086
if has clang; then
	# shellcheck disable=SC2086
	build bits-clang clang $same tests/c/bits.c -lm
	compare clang "$out/bits-clang"
fi
if has aarch64-linux-gnu-gcc && has qemu-aarch64; then
	# shellcheck disable=SC2086
	build bits-aarch64 aarch64-linux-gnu-gcc $same -static tests/c/bits.c -lm
	compare aarch64 qemu-aarch64 "$out/bits-aarch64"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

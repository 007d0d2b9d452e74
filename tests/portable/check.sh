#!/bin/sh
# check.sh: the bytes of a model depend on its text alone, not on the C compiler or library. Three tests: no two calls
# that change a compilation stand where C leaves their order open (order.py); no function of libm is called but those that
# IEEE 754 says to the bit; gcc and clang build compilers that make the same models (models.sh).
# B: the build; CLANG: a build of it by clang.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0

result() { # name, status
	if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $1"; fi
}

only_exact_maths() { # the linker names what is missing without libm
	inexact=$(${CC:-gcc} -shared -Wl,-z,defs -o /dev/null $(find "$B/obj" -name '*.o') -lprotobuf-c 2>&1 |
		sed -n "s/.*undefined reference to [\`']\([a-z0-9]*\)'.*/\1/p" | sort -u |
		grep -vxE 'fe[gs]etround|(fabs|fma|fmod|frexp|ldexp|nextafter|nearbyint|rint|floor|ceil|trunc|round|sqrt)f?')
	[ -z "$inexact" ] || { echo "not the same on all machines: $inexact"; return 1; }
}

same_models() {
	PTGC=$B/ptgc tests/portable/models.sh >"$B/log/models.txt"
	[ "$(wc -l <"$B/log/models.txt")" -gt 400 ] && PTGC=$CLANG/ptgc tests/portable/models.sh "$B/log/models.txt"
}

python3 tests/portable/order.py
result "the order of calls (tests/portable/order.py)" $?
only_exact_maths
result "functions of libm" $?
same_models
result "models of gcc and clang differ" $?
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# float_c.sh FILE: a header of lib/c for doubles as one for floats. The names of its functions end in f, and it
# includes the other one, of which it takes the macros. `| clang-format >FILEf.h`
set -eu
name=$(basename "$1" .h)
upper=$(echo "$name" | tr '[:lower:]' '[:upper:]')
printf '/* The functions of %s.h for floats. Made by tools/float_c.sh: do not edit. */\n' "$name"
sed -e '/^\/\*/,/\*\/$/{1,/\*\/$/d}' -e '/^#include "bits.h"/d' -e "s/^#include \"base.h\"/#include \"$name.h\"/" \
	-e "s/PTGC_C_${upper}_H/PTGC_C_${upper}F_H/" -e '/^#define PTGC_[BT]/,/^$/d' -e 's/\bdouble\b/float/g' \
	-e 's/\b\(ptgc_[a-z0-9_]*\)\b/\1f/g' -e 's/cblas_dgemm/cblas_sgemm/g' "$1"

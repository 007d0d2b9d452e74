#!/bin/sh
# embed.sh FILE...: C source of lib_files[], the library's texts sorted by name (see src/all.h).
set -eu
export LC_ALL=C
# shellcheck disable=SC2046 # words
[ $# -eq 0 ] || set -- $(printf '%s\n' "$@" | sort)
printf '/* made by tools/embed.sh */\n#include "all.h"\n'
i=0
for f; do
	printf '\nstatic const char text%d[] = ""\n' "$i"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/.*/"&\\n"/' "$f"
	printf ';\n'
	i=$((i + 1))
done
printf '\nconst struct lib_file lib_files[] = {\n'
i=0
for f; do
	printf '\t{"%s", text%d, sizeof(text%d) - 1},\n' "${f##*/}" "$i" "$i"
	i=$((i + 1))
done
printf '\t{NULL, NULL, 0},\n};\n'

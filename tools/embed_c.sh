#!/bin/sh
# embed_c.sh FILE...: C source of c_library[], the headers of lib/c as strings (see src/c/internal.h),
# each behind those that it includes.
set -eu
printf '/* made by tools/embed_c.sh */\n#include "c/internal.h"\n\nconst struct c_header c_library[] = {\n'
for f; do
	printf '%s %s\n' "$f" "$f"
	sed -n "s|^#include \"\(.*\)\"|${f%/*}/\1 $f|p" "$f"
done | tsort | while read -r f; do
	printf '{"%s",\n' "${f##*/}"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/.*/"&\\n"/' "$f"
	printf '},\n'
done
printf '{NULL, NULL},\n};\n'

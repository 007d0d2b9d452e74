#!/bin/sh
# embed_c.sh FILE...: C source of c_library[], the chunks of the headers of lib/c (see src/c/internal.h),
# each header behind those that it includes. A chunk ends before an empty line that no function has inside;
# one that defines no name, or begins with #ifndef, is left out.
set -eu
printf '/* made by tools/embed_c.sh */\n#include "c/internal.h"\n\nconst struct c_chunk c_library[] = {\n'
for f; do
	printf '%s %s\n' "$f" "$f"
	sed -n "s|^#include \"\(.*\)\"|${f%/*}/\1 $f|p" "$f"
done | tsort | xargs awk '
	function name_in(line) { # that the line defines: not the struct of a result
		if (!match(line, /^(static|PTGC_INLINE|PTGC_CALL|PTGC_RARE|#define|struct) /))
			return ""
		if (line !~ /^struct /)
			gsub(/struct [A-Za-z0-9_]*/, "", line)
		line = substr(line, RLENGTH + 1)
		return match(line, /(ptgc|PTGC)_[A-Za-z0-9_]*/) ? substr(line, RSTART, RLENGTH) " " : ""
	}
	function put() {
		if (names != "" && text !~ /^"#ifndef/)
			printf "{\n%s,\"%s\"},\n", text, names
		text = names = ""
		empty = 0
	}
	FNR == 1 || (empty && $0 !~ /^[\t}]/) { put() }
	$0 == "" { empty++; next }
	{
		for (; empty; empty--)
			text = text "\"\\n\"\n"
		names = names name_in($0)
		gsub(/[\\"]/, "\\\\&")
		gsub(/\t/, "\\t")
		text = text "\"" $0 "\\n\"\n"
	}
	END { put() }'
printf '{NULL, NULL},\n};\n'

#!/bin/sh
# embed.sh FILE...: C source of lib_texts[], the library's fns sorted by name (see src/elab/elab.h). A fn
# begins a line and ends where the next one begins; the header of its file stands in front of it. Fns of a
# file use/mcmc.ptg are those that a text sees after `use <mcmc>`.
set -eu
export LC_ALL=C
printf '/* made by tools/embed.sh */\n#include "elab/elab.h"\n'
[ $# -eq 0 ] || sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' "$@" | awk '
	/^ptg / { header = $0 }
	/^fn / {
		name = $2
		sub(/[^A-Za-z0-9_].*/, "", name)
		printf "%s\nstatic const char text_%s[] = \"%s\\n\"\n", inside, name, header
		inside = ";\n"
	}
	inside && !/^(#|$|ptg )/ { print "\"" $0 "\\n\"" }
	END { printf "%s", inside }'
printf '\nconst struct lib_text lib_texts[] = {\n'
[ $# -eq 0 ] || awk '
	FNR == 1 {
		of = "NULL"
		if (FILENAME ~ /(^|\/)use\//) {
			of = FILENAME
			gsub(/.*\/|\.ptg$/, "", of)
			of = "\"" of "\""
		}
	}
	/^fn / {
		name = $2
		sub(/[^A-Za-z0-9_].*/, "", name)
		print name, of
	}' "$@" | sort | sed 's/\(.*\) \(.*\)/\t{"\1", text_\1, sizeof(text_\1) - 1, \2},/'
printf '\t{NULL, NULL, 0, NULL},\n};\n'
printf 'const size_t lib_count = sizeof(lib_texts) / sizeof(lib_texts[0]) - 1;\n'

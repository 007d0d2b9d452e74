# which folders of src the files of each folder include, their own aside
cd "$TOP/src" || exit
grep -H '^#include "' ./*.[ch] */*.[ch] */*/*.[ch] | sed -n -E 's|^(\./)?([^:]*):#include "([^"]*)".*|\2 \3|p' |
	while read -r file header; do
		case $file in */*) from=${file%/*} ;; *) from=top ;; esac
		case $header in *.def | *.tab.h | *.lex.h | *.pb-c.h) continue ;; */*) to=${header%/*} ;; *) to=top ;; esac
		[ "$from" = "$to" ] || echo "$from $to"
	done | LC_ALL=C sort -u | awk '
		$1 != before { if (before) print line; line = $1 ":"; before = $1 }
		{ line = line " " $2 }
		END { print line }'

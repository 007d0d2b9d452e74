# Layers: a folder of src/ includes and calls only folders that stand before it here; '.' is api.c.
layers='base syntax dims data graph onnx target ops elab typed why complex lower lower/check lower/ops rewrite ort c emit . cmd'
objects=${PTGC%/*}/obj
cd "$TOP/src" || exit

# lines "from to why" between folders: an include, or a symbol that another folder defines
{
	grep -rn '^#include "' --include='*.[ch]' . | sed 's|^\./||' | awk -F: '
		{ file = $1; split($3, part, "\""); print file, part[2], "includes", part[2] }' |
		grep -v ' [a-z.-]*\(tab\|pb-c\)\.h '
	find . -name '*.c' | sed 's|^\./||' | while read -r c; do
		nm "$objects/${c%.c}.o" | awk -v c="$c" '
			$2 ~ /^[TDRB]$/ { print "defines", $3, c }
			$1 == "U" { print "needs", $2, c }'
	done | sort | awk '
		$1 == "defines" { home[$2] = $3; next }
		$2 in home && home[$2] != $3 { print $3, home[$2], "calls", $2 }'
} | awk -v layers="$layers" '
	function folder(path) { return sub("/[^/]*$", "", path) ? path : "." }
	BEGIN { n = split(layers, name, " "); for (i = 1; i <= n; i++) rank[name[i]] = i }
	{
		from = folder($1); to = folder($2)
		if (to == "." && $2 == "ptgc.h")
			next
		if (!(from in rank)) print "no layer has the folder " from
		else if (!(to in rank)) print "no layer has the folder " to
		else if (rank[from] < rank[to]) print "up: " $1 " " $3 " " $4 " (" $2 ")"
	}' | sort -u

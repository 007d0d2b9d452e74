#!/bin/sh
# doc.sh [-u]: the documentation is true. Every ```ptg block of a .md file compiles without a warning, at
# the default opset; every ```ptg-error block is rejected with the code that stands on the line
# before it. Both are as `ptgc fmt` writes them, but for the header that it puts before a part of a
# file. ```console blocks are run, and print what stands below each command. The list of messages in
# doc/language.md, doc/ops.md and the numbers of tools/doc_facts.sh are the compiler's (-u writes them);
# doc/adding-an-op.md keeps to its 40 lines.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${PTGC:=build/ptgc}" "${PYTHON:=.venv/bin/python}"
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
result() { # status, what
	if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $2"; fi
}

# The blocks of one file, without what indents them in a list, each as tmp/<line>.ptg or tmp/<line>.bad with its code in <line>.code.
blocks() {
	rm -rf "$tmp"/*
	awk -v dir="$tmp" '
		/^ *```/ { match($0, /^ */); indent = RLENGTH }
		/^ *```ptg$/ { out = dir "/" NR ".ptg"; next }
		/^ *```ptg-error$/ { out = dir "/" NR ".bad"; print before > (dir "/" NR ".code"); next }
		/^ *```/ { out = ""; next }
		out { print substr($0, indent + 1) > out }
		{ before = $0 }' "$1"
}

# Is a block canonical? One that fmt refuses must be a ```ptg-error.
canonical() { # document, file
	line=$(basename "${2%.*}")
	if "$PTGC" fmt <"$2" >"$tmp/formatted" 2>/dev/null; then
		head -n 1 "$2" | grep -q '^ptg ' || sed -i '1,2d' "$tmp/formatted"
		diff -u "$2" "$tmp/formatted"
		result $? "$1:$line is not as ptgc fmt writes it"
	else
		[ "${2##*.}" = bad ]
		result $? "$1:$line is refused by ptgc fmt"
	fi
}

# The console blocks of one file, run one after the other in an empty folder that has the examples.
consoles() {
	mkdir "$tmp/run" "$tmp/bin"
	ln -s "$PWD/examples" "$tmp/run/examples"
	ln -s "$(realpath "$PTGC")" "$tmp/bin/ptgc"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$(cd "${PYTHON%/*}" && pwd)/${PYTHON##*/}" >"$tmp/bin/python3"
	chmod +x "$tmp/bin/python3"
	awk '/^```console$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$1" >"$tmp/wanted"
	export PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1
	(cd "$tmp/run" && PATH="$tmp/bin:$PATH" && while IFS= read -r line; do
		case $line in "\$ "*) ;; *) continue ;; esac
		printf '%s\n' "$line"
		command=${line#??}
		case $line in *"<<'END'") # the lines to END are a file that the command reads
			while IFS= read -r line; do
				printf '%s\n' "$line"
				command="$command
$line"
				[ "$line" = END ] && break
			done ;;
		esac
		sh -c "$command" 2>&1 </dev/null
	done <"$tmp/wanted") >"$tmp/printed"
	diff -u "$tmp/wanted" "$tmp/printed"
	result $? "what $1 shows is not what the commands print"
}

for doc in README.md doc/*.md; do
	blocks "$doc"
	for f in "$tmp"/*.ptg; do
		[ -e "$f" ] || continue
		line=$(basename "$f" .ptg)
		"$PTGC" -Werror --allow examples/digits "$f" -o "$tmp/out.onnx" >"$tmp/err" 2>&1
		code=$?
		[ "$code" = 0 ] || cat "$tmp/err"
		result "$code" "$doc:$line does not compile"
		canonical "$doc" "$f"
	done
	for f in "$tmp"/*.bad; do
		[ -e "$f" ] || continue
		line=$(basename "$f" .bad)
		"$PTGC" "$f" -o "$tmp/out.onnx" >"$tmp/err" 2>&1
		[ $? = 1 ] && grep -q "error: .*\[$(cat "$tmp/$line.code")\]" "$tmp/err" &&
			[ "$(grep -c 'error: ' "$tmp/err")" = 1 ]
		result $? "$doc:$line is not rejected with $(cat "$tmp/$line.code"): $(cat "$tmp/err")"
		canonical "$doc" "$f"
	done
	if grep -q '^```console$' "$doc"; then consoles "$doc"; fi
done

sed '/^## 19/q' doc/language.md >"$tmp/language"
sed -n '/^## 19/,/^- \*\*PTG/p' doc/language.md | sed '1d; /^- \*\*PTG/d' >>"$tmp/language"
tools/doc_codes.sh >>"$tmp/language"
sed -n '/^## 20/,$p' doc/language.md | sed '1i\
' >>"$tmp/language"
"$PTGC" --ops=markdown >"$tmp/ops"
if [ "${1-}" = -u ]; then cp "$tmp/language" doc/language.md; cp "$tmp/ops" doc/ops.md; fi
cmp -s "$tmp/language" doc/language.md
result $? "the messages in doc/language.md are not those of src/base/diag.def: make doc"
cmp -s "$tmp/ops" doc/ops.md
result $? "doc/ops.md is not what ptgc --ops=markdown prints: make doc"
tools/doc_facts.sh >"$tmp/facts"
for f in README.md doc/*.md doc/ptgc.1 python/README.md python/ptgc/*.py src/ptgc.h; do
	sed -f "$tmp/facts" "$f" >"$tmp/stated"
	cat "$f" >>"$tmp/stating"
	cmp -s "$tmp/stated" "$f" && continue
	if [ "${1-}" = -u ]; then cat "$tmp/stated" >"$f"; else diff "$f" "$tmp/stated"; fi
	[ "${1-}" = -u ]
	result $? "a number in $f is not the compiler's: make doc"
done
while IFS=/ read -r _ pattern _; do
	grep -q "$pattern" "$tmp/stating"
	result $? "no document says '$pattern': tools/doc_facts.sh"
done <"$tmp/facts"
version=$("$PTGC" --version | sed 's/^ptgc //')
for f in CHANGELOG.md python/CHANGELOG.md; do
	[ "$(sed -n 's/^## //p' "$f" | head -n 1)" = "$version" ]
	result $? "the newest heading of $f is not $version"
done
# A cell that holds a paragraph is for the text below its table. doc/coverage.md has lists of ops.
for f in README.md CONTRIBUTING.md doc/*.md */README.md lib/c/README.md; do
	[ "$f" = doc/coverage.md ] && continue
	awk -v file="$f" '/^\|/ {
		gsub(/\\\|/, "/")
		n = split($0, cell, "|")
		for (i = 2; i < n; i++)
			if (length(cell[i]) > 202) { print file ":" NR ": a cell of " length(cell[i]) " characters"; bad = 1 }
	}
	END { exit bad }' "$f"
	result $? "a table cell of $f has more than 200 characters"
done
[ "$(wc -l <doc/adding-an-op.md)" -le 40 ]
result $? "doc/adding-an-op.md has more than 40 lines"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

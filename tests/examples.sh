#!/bin/sh
# examples.sh: every example compiles, at the oldest, the default and the newest opset that it says
# it works at, and what comes out passes ONNX's checker and loads in ONNX Runtime.
# A line "# opset: 17" in an example is the oldest one; without it, 13.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${PTGC:=build/ptgc}" "${PYTHON:=.venv/bin/python}"
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
for f in examples/*.ptg examples/*/*.ptg; do
	[ -e "$f" ] || continue
	oldest=$(sed -n 's/^# opset: \([0-9]*\)$/\1/p;20q' "$f")
	name=$(basename "$f" .ptg)
	for opset in "${oldest:-13}" 18 26; do
		if "$PTGC" --opset "$opset" -Werror "$f" -o "$tmp/$name-$opset.onnx" >&2; then
			echo "$tmp/$name-$opset.onnx" >>"$tmp/list"
		else
			echo "failed: ptgc --opset $opset $f"
			failed=$((failed + 1))
		fi
	done
done
if [ -s "$tmp/list" ]; then
	"$PYTHON" tests/check_models.py <"$tmp/list" >"$tmp/out" 2>&1
	cat "$tmp/out"
	bad=$(grep -c '^failed: ' "$tmp/out")
	ok=$(grep -c '^ok: ' "$tmp/out")
	all=$(wc -l <"$tmp/list")
	passed=$ok failed=$((failed + all - ok))
	[ $((ok + bad)) = "$all" ] || echo "failed: tests/check_models.py stopped early"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# examples.sh: every example compiles, at the oldest, the default and the newest opset,
# and what comes out passes ONNX's checker and loads in ONNX Runtime. Its Makefile builds
# it, and run.py is content with what ONNX Runtime makes of it: it compares with NumPy.
# The oldest opset is 13, or the one that the compiler asks for there.
# WRAP: an emulator that runs the compiler.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${PTGC:=build/ptgc}" "${PYTHON:=.venv/bin/python}"
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
newest=$(sed -n 's/^ONNX_OPSET(\([0-9]*\),.*/\1/p' src/base/opsets.def | tail -n 1)
passed=0 failed=0
if [ -n "${WRAP-}" ]; then # makefiles want one command
	printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$WRAP" "$(realpath "$PTGC")" >"$tmp/ptgc"
	chmod +x "$tmp/ptgc"
	PTGC=$tmp/ptgc
fi
for f in examples/*/*.ptg; do
	grep -q '^graph ' "$f" || continue # it is there to be used by another one
	oldest=$("$PTGC" --opset 13 "$f" -o "$tmp/oldest.onnx" 2>&1 | sed -n 's/.* needs opset \([0-9]*\),.*/\1/p' | sort -n | tail -n 1)
	name=${f#examples/} name=$(echo "${name%.ptg}" | tr / -)
	for opset in "${oldest:-13}" 18 "$newest"; do
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
PTGC=$(realpath "$PTGC") PYTHON=$(cd "${PYTHON%/*}" && pwd)/${PYTHON##*/}
export PTGC PYTHON
unset MAKEFLAGS MFLAGS MAKELEVEL
cp -r examples "$tmp"
for run in "$tmp"/examples/*/run.py; do
	[ -e "${run%/*}/Makefile" ] || continue
	name=$(basename "${run%/run.py}")
	if make -s -C "${run%/*}" run >"$tmp/out" 2>&1; then
		passed=$((passed + 1))
	else
		cat "$tmp/out"
		echo "failed: make -C examples/$name run"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

#!/bin/sh
# demo.sh: compiles each example with its data and runs it on ONNX Runtime. Called by 'make demo'.
set -eu
cd "$(dirname "$0")/.."
: "${B:=build}" "${PTGC:=build/ptgc}" "${PYTHON:=.venv/bin/python}"
mkdir -p "$B/demo"
for run in examples/*/run.py; do
	dir=${run%/*}
	name=${dir##*/}
	[ -e "$dir/$name.ptg" ] || continue
	printf '\n\033[1m%s\033[0m\n' "$ ptgc $dir/$name.ptg -o $B/demo/$name.onnx" | { [ -t 1 ] && cat || sed 's/\x1b\[[0-9]*m//g'; }
	"$PTGC" "$dir/$name.ptg" -o "$B/demo/$name.onnx"
	"$PYTHON" "$run" "$B/demo/$name.onnx"
done

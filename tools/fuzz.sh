#!/bin/sh
# fuzz.sh FOLDER SECONDS PTGC: fuzzes the compiler with libFuzzer under ASan and UBSan for so many
# seconds. The seeds are the .ptg files of the tree and random loops, the dictionary has the words of
# PTGC's op table. What crashes, leaks or takes 10 seconds is kept in FOLDER as crash-*, leak-*,
# timeout-*, and the exit status is not 0.
# JOBS: processes (default: one a core). What is needed besides the compiler: tools/setup.sh fuzz.
set -eu
dir=$1 seconds=$2 ptgc=$3
cd "$(dirname "$0")/.."
mkdir -p "$dir/corpus"
unset MAKEFLAGS MFLAGS MAKELEVEL

# Each seed under a name of its own: tests/op/Add.ptg and tests/bad/Add.ptg are two.
python3 tests/run/wild_loops.py 300 "$dir/loops"
for seed in tests/*/*.ptg examples/*/*.ptg lib/*/*.ptg "$dir"/loops/*.ptg; do
	cp "$seed" "$dir/corpus/$(echo "$seed" | tr / _)"
done
{
	"$ptgc" --ops | sed -n 's/^  \([A-Za-z].*\)/\1/p' | sed 's/   .*//' |
		grep -oE '[A-Za-z_][A-Za-z_0-9]*[({=]?|"[^"]*"'
	sed -n 's/^ONNX_OP(\([A-Za-z]*\),.*/onnx.\1(/p' src/onnx/operators.def
	sed -n 's/^DTYPE([A-Z_0-9]*, *"\([a-z0-9]*\)".*/\1/p' src/base/dtypes.def
	printf '%s\n' graph fn use state next until loop while in if else None True False inf nan infj \
		'ptg 1' 'floatX=' 'infix=onnx' 'file(' 'bytes("' 'dtype(' 'rank(' '.set(' '.inc(' '->' '==' '**' '//' '::-1' \
		'...' '[...b]' '[n, ?]' '(1,)' '{axis=0}' 0x1p-3 1e308 9223372036854775807 18446744073709551615
} | sort -u | sed 's/["\\]/\\&/g; s/.*/"&"/' >"$dir/words"

make B="$dir" CC=clang SAN=fuzzer-no-link,address,undefined CFLAGS='-O1 -g -DARENA_EXACT' \
	FUZZ_FLAGS=-fsanitize=fuzzer "$dir/fuzzer"
exec "$dir/fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=16384 \
	-fork="${JOBS:-$(nproc)}" -ignore_crashes=0 -dict="$dir/words" -artifact_prefix="$dir/" "$dir/corpus"

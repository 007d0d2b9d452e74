#!/bin/sh
# fuzz.sh FOLDER SECONDS SEED...: fuzzes the compiler. With clang and libFuzzer: from the seeds, for
# so many seconds, on all cores; inputs that crash it stay in FOLDER. Else: the seeds and variants.
set -eu
dir=$1 seconds=$2
shift 2
mkdir -p "$dir/corpus"
unset MAKEFLAGS MFLAGS MAKELEVEL
probe='#include <stddef.h>
int LLVMFuzzerTestOneInput(const char *d, size_t n); int LLVMFuzzerTestOneInput(const char *d, size_t n) { return !d + !n; }'
if echo "$probe" | clang -fsanitize=fuzzer,address -x c - -o "$dir/probe" 2>/dev/null; then
	make B="$dir" CC=clang SAN=fuzzer-no-link,address,undefined CFLAGS='-O1 -g' WERROR= \
		FUZZ_FLAGS=-fsanitize=fuzzer "$dir/fuzzer"
	cp "$@" "$dir/corpus" 2>/dev/null || true
	exec "$dir/fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=16384 \
		-fork="$(nproc)" -ignore_crashes=0 -artifact_prefix="$dir/" "$dir/corpus"
fi
echo 'fuzz: no clang with libFuzzer here (apt-get install clang): only the seeds and variants of them'
make B="$dir" SAN=address,undefined CFLAGS='-O1 -g' FUZZ_FLAGS=-DFUZZ_MAIN "$dir/fuzzer"
exec "$dir/fuzzer" "$@"

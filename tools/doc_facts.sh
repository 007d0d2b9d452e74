#!/bin/sh
# doc_facts.sh: numbers that documents say and the compiler knows, as a sed script that puts them where they
# stand. tests/doc.sh applies it: `make doc` writes what has changed, and a stale number fails.
set -eu
: "${PTGC:=build/ptgc}"
opsets=$("$PTGC" --help | sed -n 's/^  --opset .* \([0-9]* to [0-9]*\); default .*/\1/p')
ml=$("$PTGC" --help | sed -n 's/^  --opset .*, \(1 to [0-9]*\)$/\1/p')
newest=$(sed -n 's/^RELEASE(\([0-9]*\),.*/\1/p' src/target/releases.def | tail -n 1)
known=$("$PTGC" --ops | sed -n 's/^\([0-9]* ops\): \([0-9]*\) are converted.*/\1 \2/p')
version=$(sed -n 's/^#define PTGC_VERSION "\(.*\)"/\1/p' src/ptgc.h)
[ -n "$version" ] && [ -n "$opsets" ] && [ -n "$ml" ] && [ -n "$newest" ] && [ -n "$known" ]
cat <<SED
s/^__version__ = "[0-9.]*"/__version__ = "$version"/
s/^\.TH PTGC 1 "" "ptgc [0-9.]*"/.TH PTGC 1 "" "ptgc $version"/
s/ptgc is at version [0-9]*\.[0-9]*/ptgc is at version ${version%.*}/
s/libptgc\.so\.[0-9]*\.[0-9]*\.[0-9]*/libptgc.so.$version/
s/\b${opsets%% *} to [0-9][0-9]*;/$opsets;/g
s/ONNX opsets ${opsets%% *} to [0-9][0-9]*/ONNX opsets $opsets/g
s/\(of that domain\|domain ai\.onnx\.ml\), 1 to [0-9][0-9]*/\1, $ml/g
s/\b1\.\(17\|29\) to 1\.[0-9][0-9]*, the newest release/1.\1 to 1.$newest, the newest release/g
s/knows [0-9]* ops of PyTensor by name and converts [0-9]*/knows ${known% *} of PyTensor by name and converts ${known##* }/
SED

#!/bin/sh
# models.sh: a line for each text of tests and examples: the sum of the model that $PTGC makes of it, or of the
# messages. Builds by different compilers, and for different machines, must give the same lines. WRAP: an emulator.
set -u
PTGC=$(realpath "$PTGC")
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C

for text in tests/op/*.ptg tests/bad/*.ptg examples/*/*.ptg; do
	options=$(sed -n 's/^# ptgc: //p;20q' "$text")
	# shellcheck disable=SC2086 # options are words
	printf '%s %s\n' "$(${WRAP-} "$PTGC" $options --allow examples "$text" -o - 2>&1 | sha256sum)" "$text"
done

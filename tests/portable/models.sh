#!/bin/sh
# models.sh: a line for each text of tests and examples: the sum of the model that $PTGC makes of it, or of the
# messages. Builds by different compilers, and for different machines, must give the same lines. WRAP: an emulator.
# models.sh FILE: compares with the lines of another build in FILE, shows what differs and counts.
set -u
PTGC=$(realpath "$PTGC")
[ $# = 0 ] || exec <"$1" || exit 2
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C

sums() {
	for text in tests/op/*.ptg tests/bad/*.ptg examples/*/*.ptg; do
		options=$(sed -n 's/^# ptgc: //p;20q' "$text")
		# shellcheck disable=SC2086 # options are words
		printf '%s %s\n' "$(${WRAP-} "$PTGC" $options --allow examples "$text" -o - 2>&1 </dev/null | sha256sum)" "$text"
	done
}

if [ $# = 0 ]; then
	sums
	exit
fi
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/wanted"
sums >"$tmp/given"
diff "$tmp/wanted" "$tmp/given"
total=$(wc -l <"$tmp/wanted") same=$(grep -cxFf "$tmp/wanted" "$tmp/given")
echo "$same passed, $((total - same)) failed"
[ "$same" = "$total" ]

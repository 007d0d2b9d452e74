#!/bin/sh
# run.sh [node]: the tests of the page in $B/web, or those alone that need no browser. Each program
# counts its tests; the last line adds them up.
# Pictures of the page and what its models computed stay in $B/web-test.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}" "${PYTHON:=.venv/bin/python}"
export B
rm -rf "$B/web-test" && mkdir -p "$B/web-test"
passed=0 failed=0
for t in 'node tests/web/logic.mjs' 'node tests/web/browser.mjs' "$PYTHON tests/web/compare.py"; do
	[ "${1-} $t" != 'node node tests/web/browser.mjs' ] || continue
	$t >"$B/web-test/log" 2>&1 || true
	grep -v '^[0-9]* passed, [0-9]* failed$' "$B/web-test/log"
	last=$(tail -n 1 "$B/web-test/log")
	p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed.*/\1/p') f=$(echo "$last" | sed -n 's/.* \([0-9]*\) failed$/\1/p')
	[ -n "$p" ] || echo "failed: $t died"
	passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

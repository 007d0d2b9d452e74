#!/bin/sh
# doc_codes.sh: the list of messages of doc/language.md, from src/base/diag.def. Printed, one heading each.
set -eu
cd "$(dirname "$0")/.."
${CC:-gcc} -E -P -x c - <<'C' | sed -n 's/^@ *//p' | sed -e 's/ *$//' |
#define PTGC_ERROR error
#define PTGC_WARNING warning
#define E_OFF off
#define DIAG(id, number, severity, name, ...) @ number severity name __VA_ARGS__
#include "src/base/diag.def"
C
	sort -n | awk '{
		number = $1; severity = $2; name = $3; gsub(/"/, "", name)
		text = $0
		sub(/^[0-9]+ [a-z]+ "[^"]*" */, "", text)
		sub(/, *[.]cause = .*/, "", text)
		gsub(/" +"/, "", text); sub(/^"/, "", text); sub(/"$/, "", text)
		gsub(/\\\\/, "\001", text); gsub(/\\n/, " ", text); gsub(/\\"/, "\"", text)
		gsub(/[*_<|]/, "\\\\&", text); gsub(/\001/, "\\\\", text)
		printf "- **PTG%04d** %s%s: %s\n", number, name, severity == "error" ? "" : " (" severity ")", text
	}'

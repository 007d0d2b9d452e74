#!/bin/sh
# check.sh layer...: runs layers of tests and adds them up, with the seconds that each took. The last
# line is "N passed, N failed".
# Layers: style unit golden cli doc portable maths native compilers examples python grid runtimes web asan fuzz. A layer without
# a single test has failed.
# s390x, aarch64, clang, gcc-lto and clang-lto are the layers of another build, in B/s390x and so on.
# B: folder of the build; PYTHON: the Python of .venv; both come from the Makefile.
# Tests that are sampled try another third with each commit, all of them with three in a row; PTGC_SHARE=0, 1 or
# 2 tries the same third again.
# Leaves the counts of each layer in B/log/counts.tsv, from which tests/portable/page.py makes a table.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${B:=build}" "${PYTHON:=.venv/bin/python}"
export B PYTHON PTGC PTGC_SHARE; PTGC=$(realpath "$B/ptgc")
: "${PTGC_SHARE:=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % 3))}"
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 table=
mkdir -p "$B/log"
counts=$(realpath "$B/log")/counts.tsv
: >"$counts"

unit() { # each program counts its own tests; one that dies is a failure besides
	p=0 f=0
	for t in "$B"/unit/test_*; do
		case $t in *.d | *\*) continue ;; esac
		# shellcheck disable=SC2086
		${WRAP-} "$t" >"$B/log/one.txt" 2>&1
		code=$?
		n=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$B/log/one.txt")
		m=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$B/log/one.txt")
		p=$((p + ${n:-0})) f=$((f + ${m:-0}))
		[ "$code" = 0 ] && continue
		cat "$B/log/one.txt"
		[ "${m:-0}" -gt 0 ] || f=$((f + 1))
		echo "failed: $t (exit status $code)"
	done
	echo "$p passed, $f failed"
}

style() { # what .pre-commit-config.yaml runs, in the same versions
	p=0 f=0
	ruff=$(sed -n 's/^ruff==//p' tests/requirements.txt)
	if "${PYTHON%/*}/ruff" check -q . && grep -q "rev: v$ruff$" .pre-commit-config.yaml; then
		p=$((p + 1))
	else
		f=$((f + 1)) && echo "failed: ruff $ruff, which tests/requirements.txt and .pre-commit-config.yaml name"
	fi
	if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then # others format in other ways
		if clang-format --dry-run -Werror src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] python/native/*.c; then
			p=$((p + 1))
		else
			f=$((f + 1)) && echo "failed: make format"
		fi
	fi
	echo "$p passed, $f failed"
}

golden() {
	tests/run.sh op/ bad/ fmt/
}

cli() {
	tests/run.sh cli/
}

models() { # the bytes of the build that the others are compared with
	tests/portable/models.sh "$plain/log/models.txt"
}

portable() {
	tests/portable/check.sh
}

doc() {
	tests/doc.sh
}

maths() { # the functions that generated C calls
	tests/c/maths.sh
}

native() { # models as C beside ONNX Runtime; lengths, indices and sizes at their ends
	p=0 f=0
	for way in same.py bounds.py sizes.py rows.py; do add_up "$PYTHON" "tests/c/$way"; done
	echo "$p passed, $f failed"
}

compilers() { # the same C by each compiler and on aarch64, with the same bits, and under the address sanitizer
	p=0 f=0
	for way in gcc clang g++ address aarch64; do add_up "$PYTHON" tests/c/same.py --by "$way"; done
	echo "$p passed, $f failed"
}

add_up() { # a command whose last line counts: its numbers go to p and f
	"$@" >"$B/log/one.txt" 2>&1
	sed '$d' "$B/log/one.txt"
	counted=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/p=$((p + \1)) f=$((f + \2))/p' "$B/log/one.txt")
	eval "${counted:-f=\$((f + 1))}"
}

examples() {
	tests/examples.sh
}

pytest() { # folders or files: pytest's closing line, in our words
	if ! "$PYTHON" -c 'import pytensor' 2>/dev/null; then
		echo "the tests against PyTensor need Python 3.12 or newer and PyTensor 3.3: see tools/setup.sh"
		echo "0 passed, 1 failed"
		return
	fi
	echo "of sampled tests the third PTGC_SHARE=$PTGC_SHARE"
	PYTHONPATH="$PWD/python" "$PYTHON" -m pytest -q -n 2 --timeout="${TEST_TIMEOUT:-300}" \
		--rootdir=. -p no:cacheprovider --tb=short "$@" 2>&1 | tee "$B/log/pytest.txt"
	last=$(tail -n 1 "$B/log/pytest.txt" 2>/dev/null)
	count() { echo "$last" | sed -n "s/.*[^0-9]\([0-9][0-9]*\) $1.*/\1/p;s/^\([0-9][0-9]*\) $1.*/\1/p" | head -n 1; }
	p=$(count passed) f=$(count failed) e=$(count error)
	# pytest that dies says nothing of what failed
	case $last in *passed*in* | *failed*in* | *error*in*) ;; *) e=1 ;; esac
	echo "${p:-0} passed, $((${f:-0} + ${e:-0})) failed"
}

python() {
	pytest tests/run python/tests
}

grid() {
	pytest tests/run/test_grid.py
}

web() { # the page's module in Node; make check-web has the browser
	if tools/setup.sh web && web/build.sh; then
		tests/web/run.sh node
	else
		echo "0 passed, 1 failed"
	fi
}

runtimes() { # as doc/runtimes.md says
	if tools/setup.sh runtimes; then
		PYTHONPATH="$PWD/python" "$PYTHON" tests/runtimes/suite.py check
	else
		echo "0 passed, 1 failed"
	fi
}

fuzz() { # one test: texts that are the same in every run; make fuzz goes on with random ones
	mkdir -p "$B/fuzz"
	if "$PYTHON" tests/run/random_loops.py 1500 "$B/fuzz/loops" && "$PYTHON" tests/run/wild_loops.py 500 "$B/fuzz/loops" &&
		LC_ALL=C sh -c '"$0" "$@" tests/*/*.ptg examples/*/*.ptg lib/*/*.ptg "$3"/loops/*.ptg' "$B/asan/corpus" \
			"${FUZZ_COUNT:-30000}" "$(nproc)" "$B/fuzz" >"$B/log/fuzzer.txt" 2>&1; then
		cat "$B/log/fuzzer.txt"
		echo "1 passed, 0 failed"
	else
		tail -n 40 "$B/log/fuzzer.txt"
		echo "failed: fuzzing; the whole log is $B/log/fuzzer.txt"
		echo "0 passed, 1 failed"
	fi
}

layer() { # title, function
	printf '\n== %s\n' "$1"
	seconds=$(date +%s)
	"$2" 2>&1 | tee "$B/log/$2.txt" | sed '$d'
	line=$(tail -n 1 "$B/log/$2.txt")
	p=$(echo "$line" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p')
	f=$(echo "$line" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p')
	note=
	if [ -z "$p" ]; then
		p=0 f=1 note=' (it died)'
		echo "$line"
	elif [ $((p + f)) = 0 ]; then
		f=1 note=' (no test was run)'
	fi
	seconds=$(($(date +%s) - seconds))
	echo "$p of $((p + f))$note in $seconds s"
	passed=$((passed + p)) failed=$((failed + f))
	printf '%s\t%d\t%d\n' "$1" "$p" "$f" >>"$counts"
	table="$table$(printf '%-20s %5d passed %5d failed %5d s%s' "$1" "$p" "$f" "$seconds" "$note")
"
}

asan_layers() {
	plain=$B
	B=$plain/asan PTGC=$(realpath "$plain/asan/ptgc")
	export B PTGC SAN=1 ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
	mkdir -p "$B/log"
	for l in unit golden cli; do layer "$l, sanitized" "$l"; done
	B=$plain PTGC=$(realpath "$plain/ptgc")
	unset SAN
}

other_layers() { # name of a build: unit and golden tests, its models, and what emulates its machine the examples too
	plain=$B layers='unit golden models'
	[ -n "${plain_models-}" ] || PTGC=$plain/ptgc tests/portable/models.sh >"$plain/log/models.txt"
	plain_models=made
	case $1 in
	s390x | aarch64)
		layers="$layers examples"
		export WRAP="timeout 1200 qemu-$1"
		;;
	esac
	B=$plain/$1 PTGC=$(realpath "$plain/$1/ptgc")
	mkdir -p "$B/log"
	for l in $layers; do layer "$l, $1" "$l"; done
	B=$plain PTGC=$(realpath "$plain/ptgc")
	unset WRAP
}

for l; do
	case $l in
	asan) asan_layers ;;
	s390x | aarch64 | clang | gcc-lto | clang-lto) other_layers "$l" ;;
	*) layer "$l" "$l" ;;
	esac
done
printf '\n%s\n%d passed, %d failed\n' "$table" "$passed" "$failed"
[ "$failed" = 0 ]

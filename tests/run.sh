#!/bin/sh
# run.sh [-u] [name...]: the golden tests. The folder and the sibling's extension say what is run:
#
#   op/X.ptg   --dump=onnx gives X.onnxtxt, or where a statement became more than 40 nodes, X.nodes
#              (fold.awk); stderr is empty, or X.err; two compilations, one with -fverify-each: same bytes
#   op/X.ptg   --dump=ast, typed, lowered give X.ast, X.typed, X.lowered, where there is one
#   bad/X.ptg  is rejected (exit 1) with X.err on stderr and nothing on stdout
#   fmt/X.ptg  is what 'ptgc fmt' prints for it, and for X.in where there is one
#   cli/X.sh   prints X.out (both streams), run in an empty folder with ptgc in the PATH
#
# A line "# ptgc: --opset=13" in a .ptg file gives options. Names select: a folder or a part of a path.
# -u writes what was printed as what is expected. PTGC: the command; WRAP: run it under that (valgrind).
set -u
PTGC=$(realpath "${PTGC:-$(dirname "$0")/../build/ptgc}")
cd "$(dirname "$0")" || exit 2
export PTGC TOP="${PWD%/*}"
export LC_ALL=C ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
unset MAKEFLAGS MFLAGS MAKELEVEL NO_COLOR
update='' passed=0 failed=0 list=
[ "${1-}" = -u ] && update=1 && shift
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" && ln -s "$PTGC" "$tmp/bin" # its own folder has others, named after compilers
export PATH="$tmp/bin:$PATH"

# shellcheck disable=SC2086 # options are words
run() { # options and files of ptgc; standard output to $tmp/out, error to $tmp/err
	${WRAP-timeout 120} "$PTGC" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	code=$?
}
expect() { # expected file, file that has what was printed
	if [ -n "$update" ]; then
		cmp -s "$1" "$2" || { echo "updated $1"; cp "$2" "$1"; }
	else
		diff -u -L "$1" -L printed "$1" "$2" >&2
	fi
}
status() { # expected
	[ "$code" = "$1" ] || { echo "$test: exit status $code instead of $1" >&2; cat "$tmp/err" >&2; false; }
}
check_op() {
	run --dump=onnx -fverify-each $options "$test"
	status 0 || return
	awk -f fold.awk "$tmp/out" >"$tmp/folded"
	if [ -s "$tmp/folded" ]; then
		is=nodes is_not=onnxtxt
		mv "$tmp/folded" "$tmp/out"
	else
		is=onnxtxt is_not=nodes
	fi
	[ -z "$update" ] || rm -f "$base.$is_not"
	[ ! -e "$base.$is_not" ] || { echo "$base.$is_not is no longer written" >&2; return 1; }
	expect "$base.$is" "$tmp/out" || return
	if [ -e "$base.err" ]; then expect "$base.err" "$tmp/err"; else diff /dev/null "$tmp/err" >&2; fi || return
	for each in verify-each no-verify-each; do
		run -f$each $options "$test" -o "$tmp/$each.onnx"
		status 0 || return
	done
	cmp "$tmp/verify-each.onnx" "$tmp/no-verify-each.onnx" >&2 || return
	for stage in ast typed lowered; do
		[ -e "$base.$stage" ] || continue
		run --dump=$stage $options "$test"
		status 0 && expect "$base.$stage" "$tmp/out" || return
	done
}
check_bad() {
	run -fverify-each $options "$test" -o -
	status 1 && expect "$base.err" "$tmp/err" && diff /dev/null "$tmp/out" >&2
}
check_fmt() {
	input=$test
	[ -e "$base.in" ] && input=$base.in
	run fmt "$input"
	status 0 && expect "$test" "$tmp/out" || return
	run fmt "$test"
	status 0 && diff -u "$test" "$tmp/out" >&2
}
check_cli() {
	case $test in cli/plain-*) [ -z "${SAN-}" ] || return 77 ;; esac
	mkdir "$tmp/empty"
	(cd "$tmp/empty" && sh "$TOP/tests/$test" >../out 2>&1 </dev/null; echo "exit $?" >>../out)
	rm -rf "$tmp/empty"
	sed -i '$ { /^exit 0$/d }' "$tmp/out"
	expect "$base.out" "$tmp/out"
}

for test in op/*.ptg bad/*.ptg fmt/*.ptg cli/*.sh; do
	[ -e "$test" ] || continue
	wanted=$#
	for name; do case $test in *"$name"*) wanted=0 ;; esac; done
	[ "$wanted" = 0 ] || continue
	base=${test%.*}
	options=$(sed -n 's/^# ptgc: //p;20q' "$test")
	"check_${test%%/*}"
	case $? in
	0) passed=$((passed + 1)) ;;
	77) ;; # does not apply to this build
	*) failed=$((failed + 1)) list="$list $test" ;;
	esac
done
[ -z "$list" ] || printf 'failed: %s\n' "$list" | fold -s -w 100
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

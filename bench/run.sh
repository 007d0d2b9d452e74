#!/bin/sh
# All benchmarks, each beside its peer in the same run; what they print becomes doc/performance.md, and the table of
# doc/nuts.md. `make bench` calls it, which takes hours. `make bench QUICK=1` runs a row or two of each, in some
# minutes, and leaves the pages as they are. Most run in an environment of their own, build/bench-venv, which has the
# peers; without it those are left out, and the pages stay as they are.
# shellcheck disable=SC2086 # options are words
set -eu
cd "$(dirname "$0")/.."
: "${QUICK=}" "${PYTHON:=.venv/bin/python}" "${B:=build}"
venv=$B/bench-venv page=$B/performance.md
export PYTHONPATH=python

fill() {
	cmp -s bench/requirements.txt "$venv/requirements" && return
	echo "installing the peers in $venv (once)"
	rm -rf "$venv"
	"$PYTHON" -m venv "$venv" &&
		"$venv/bin/python" -m pip install -q --disable-pip-version-check -r bench/requirements.txt &&
		cp bench/requirements.txt "$venv/requirements"
}

head='import importlib.metadata as m
names = ("onnxruntime", "pytensor", "pymc", "jax", "numba", "jax2onnx")
print(f"""# Performance
`make bench` makes this page: do not edit it. Machines differ, so compare only the ratios of one run.
Versions: {", ".join(f"{p} {m.version(p)}" for p in names)}.""")'
about='import ast, sys
title, _, text = ast.get_docstring(ast.parse(open(sys.argv[1]).read())).partition("\n\n")
print(f"\n## {title}\n{text}\n")'

# section PYTHON NAME FENCE [OPTION ...]: a benchmark, below what its file says of it
section() {
	python=$1 name=$2 fence=$3 part=$B/performance-part.md
	shift 3
	"$python" -c "$about" "bench/$name.py" >"$part"
	printf '%s' "$fence" >>"$part"
	"$python" "bench/$name.py" "$@" >>"$part"
	printf '%s' "$fence" >>"$part"
	cat "$part"
	cat "$part" >>"$page"
}

# The same by the Python of the peers, if there is one
peer() {
	[ -z "$peers" ] || section "$peers" "$@"
}

text='```
'
: >"$page"
peers=
if fill; then
	peers=$venv/bin/python
	"$peers" -c "$head" >"$page"
else
	echo "no environment for the peers: models.py, points.py, native.py, memory.py, odes.py, linalg.py, backends.py and nuts.py are left out"
fi
peer models "" --ops --first ${QUICK:+eight_schools}
peer points "" ${QUICK:+eight_schools}
peer native "" --peers ${QUICK:+eight_schools}
peer memory "" ${QUICK:+eight_schools}
peer odes ""
section "$PYTHON" networks "" ${QUICK:+mlp}
peer linalg "" ${QUICK:+--sizes 4 --batches 1,4 Cholesky}
section "$PYTHON" special "" ${QUICK:+Gammaln}
section "$PYTHON" streams "" ${QUICK:+--draws 10000 normal}
peer backends "$text" ${QUICK:+ONNX}
section "$PYTHON" graphs "$text" ${QUICK:+10000}
section "$PYTHON" weights "$text" ${QUICK:+10}
if [ "$peers" ] && [ "$QUICK" ]; then
	"$peers" bench/nuts.py eight_schools
elif [ "$peers" ]; then
	"$peers" bench/nuts.py --page doc/nuts.md
	mv "$page" doc/performance.md
fi
rm -f "$B/performance-part.md" "$page"

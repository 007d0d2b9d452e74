#!/bin/sh
# All benchmarks, each beside its peer in the same run; what they print becomes doc/performance.md. `make bench`
# calls it; nuts.py fills the table of doc/nuts.md. backends.py, linalg.py, models.py, nuts.py, odes.py and points.py run in an
# environment of their own, build/bench-venv, which has the peers; without it they are left out, and the page stays as
# it is.
set -eu
cd "$(dirname "$0")/.."
: "${PYTHON:=.venv/bin/python}" "${B:=build}"
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
Made by `make bench`: do not edit. Machines differ, and only the ratios of one run are worth comparing.
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

text='```
'
: >"$page"
if fill; then
	"$venv/bin/python" -c "$head" >"$page"
	section "$venv/bin/python" models "" --ops --first
	section "$venv/bin/python" points ""
	section "$venv/bin/python" memory ""
	section "$venv/bin/python" odes ""
	section "$PYTHON" networks ""
	section "$venv/bin/python" linalg ""
	section "$PYTHON" special ""
	section "$PYTHON" streams ""
	section "$venv/bin/python" backends "$text"
	"$venv/bin/python" bench/nuts.py --page doc/nuts.md
else
	echo "no environment for the peers: models.py, points.py, memory.py, odes.py, linalg.py, backends.py and nuts.py are left out"
	section "$PYTHON" networks ""
	section "$PYTHON" special ""
	section "$PYTHON" streams ""
fi
section "$PYTHON" graphs "$text"
section "$PYTHON" weights "$text"
[ ! -x "$venv/bin/python" ] || mv "$page" doc/performance.md
rm -f "$B/performance-part.md" "$page"

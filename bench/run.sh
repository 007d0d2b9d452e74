#!/bin/sh
# All benchmarks, each beside its peer in the same run. `make bench` calls it.
set -eu
cd "$(dirname "$0")/.."
: "${PYTHON:=.venv/bin/python}"
"$PYTHON" -c 'import jax' 2>/dev/null || "$PYTHON" -m pip install -q jax || echo "no jax: that mode is left out"
for b in graphs weights backends; do
	printf '\n== %s\n' "$b"
	PYTHONPATH=python "$PYTHON" "bench/$b.py"
done

#!/bin/sh
# run.sh: the tests of examples/batch, in an environment of their own, $B/batch-venv. 'make check-batch' calls it.
set -eu
cd "$(dirname "$0")/../.."
: "${B:=build}" "${PTGC:=build/ptgc}" "${PYTHON:=.venv/bin/python}"
venv=$B/batch-venv
if ! cmp -s examples/batch/requirements.txt "$venv/requirements"; then
	echo "installing Dask, Ray and PyArrow in $venv (once)"
	rm -rf "$venv"
	"$PYTHON" -m venv "$venv"
	"$venv/bin/python" -m pip install -q --disable-pip-version-check -r examples/batch/requirements.txt pytest
	cp examples/batch/requirements.txt "$venv/requirements"
fi
mkdir -p "$B/batch"
"$PTGC" examples/batch/score.ptg -o "$B/batch/score.onnx"
"$PTGC" examples/digits/digits.ptg -o "$B/batch/digits.onnx"
B=$B exec "$venv/bin/python" -m pytest -q -p no:cacheprovider --rootdir=. tests/batch

#!/bin/sh
# All distributions of PyMC and what its users do with models, in mode ONNX, beside PyTensor without ONNX: some
# minutes. Writes doc/pymc-distributions.md; fails where something differs. `make check-pymc` calls it. PyMC is installed in an
# environment of its own, build/pymc-venv.
set -eu
cd "$(dirname "$0")/../.."
: "${PYTHON:=.venv/bin/python}" "${B:=build}"
venv=$B/pymc-venv
export PYTHONPATH=python

if ! cmp -s tests/pymc/requirements.txt "$venv/requirements"; then
	echo "installing PyMC in $venv (once)"
	rm -rf "$venv"
	"$PYTHON" -m venv "$venv"
	"$venv/bin/python" -m pip install -q --disable-pip-version-check -r tests/pymc/requirements.txt
	cp tests/pymc/requirements.txt "$venv/requirements"
fi
B=$B tools/setup.sh node
python=$venv/bin/python failed=0
"$python" tests/pymc/sweep.py "$venv/float64" || failed=1
PYTENSOR_FLAGS=floatX=float32 "$python" tests/pymc/sweep.py --truth "$venv/float64" "$venv/float32" || failed=1
"$python" tests/pymc/usage.py "$venv/uses" || failed=1
"$python" tests/pymc/printed.py || failed=1
"$python" tests/pymc/by_hand.py || failed=1
"$python" tests/pymc/files.py || failed=1
"$python" tests/pymc/runs.py || failed=1
NODE_MODULES=$B/runtimes/npm-node/node_modules "$python" tests/pymc/guide.py || failed=1
"$python" tests/pymc/posterior_models.py || failed=1
"$python" tests/pymc/page.py "$venv/float64" "$venv/float32" "$venv/uses"
exit $failed

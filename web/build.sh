#!/bin/sh
# build.sh [sizes]: the page in $B/web: the module, the models, ONNX Runtime Web. Called by 'make web'.
# The sizes are bytes, and bytes after gzip, as many servers send them.
set -eu
cd "$(dirname "$0")/.."
: "${B:=build}" "${PTGC:=build/ptgc}"
MODELS='digits/digits pymc/eight_schools kmeans/kmeans kalman/kalman'
TEXTS='kmeans/distance'
runtime=$B/runtimes/npm/node_modules/onnxruntime-web/dist

to=$B/web
mkdir -p "$to"
cp web/index.html web/page.mjs "$to"
for m in $MODELS; do
	"$PTGC" --strip "examples/$m.ptg" -o "$to/${m#*/}.onnx"
done
for m in $MODELS $TEXTS; do
	cp "examples/$m.ptg" "$to"
done
cp examples/digits/test-images.npy examples/digits/test-labels.npy "$to"
cp "$runtime/ort.wasm.bundle.min.mjs" "$runtime/ort-wasm-simd-threaded.wasm" "$to"

[ "${1-}" = sizes ] || exit 0
size() { # title, files
	title=$1 && shift
	printf '  %-20s %10d bytes %10d gzipped\n' "$title" "$(cat "$@" | wc -c)" "$(cat "$@" | gzip -9 | wc -c)"
}
cd "$to"
size 'ONNX Runtime Web' ort*
size 'page' index.html page.mjs
size 'models' ./*.onnx
size 'texts, test images' ./*.ptg ./*.npy

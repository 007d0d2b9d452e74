# the canonical form of a text is the same text again, and the same model, to the byte
compare() { # file in this folder, with its options
	options=$(sed -n 's/^# ptgc: //p;20q' "$1")
	ptgc fmt "$1" >"$tmp/1.ptg" && ptgc fmt "$tmp/1.ptg" >"$tmp/2.ptg" && cmp "$tmp/1.ptg" "$tmp/2.ptg" &&
		ptgc --strip $options - -o "$tmp/1.onnx" <"$1" 2>"$tmp/1.err" &&
		ptgc --strip $options - -o "$tmp/2.onnx" <"$tmp/1.ptg" 2>"$tmp/2.err" &&
		cmp "$tmp/1.onnx" "$tmp/2.onnx" && n=$((n + 1)) || echo "differs: $1"
}
tmp=$PWD n=0
for folder in "$TOP"/tests/op "$TOP"/tests/stable/programs "$TOP"/examples/*/; do
	cd "$folder" || exit 1
	for f in *.ptg; do
		grep -qs '^graph ' "$f" && compare "$f"
	done
done
[ "$n" -gt 350 ] || echo "only $n texts"

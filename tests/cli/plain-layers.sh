# who sees the inner headers, directly or through others: a layer knows those below it alone
cd "$TOP/src" || exit
${CC:-gcc} -MM -MG -I. *.c lower/*.c emit/*.c cmd/*.c | sed -e ':a' -e '/\\$/N; s/\\\n//; ta' |
	sed 's|[a-z]*/\.\./||g' >"$OLDPWD/deps"
cd "$OLDPWD" || exit
for header in parse ast dim rules elab elaborate onnx_infer lower/lower lower/low rewrite \
	emit/output emit/emit api; do
	echo "$header.h:" $(awk -v h="$header.h" '{ for (i = 3; i <= NF; i++) if ($i == h) print $2 }' deps |
		sed -E 's/\.c$//; s|^(lower)/.*|\1/*|; s/^(elab|rules|onnx_infer)_.*/\1*/' | uniq)
done

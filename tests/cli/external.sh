# --external-data: weights in a file beside the model
cat >m.ptg <<'END'
graph g(x: float64[1000]) -> (y) { y = x + Exp(float64[1000](1.5)) + float64([1, 2, 3])[0] }
END
head -c 8000 /dev/zero | base64 -w 0 >zeros
echo "graph h(x: float64[1000]) -> (y) { y = x + float64[1000](bytes(\"$(cat zeros)\")) }" >w.ptg
rm zeros
ptgc w.ptg --external-data && ls && cat w.onnx-*.data | wc -c
ptgc dump w.onnx | grep -c "$(ls w.onnx-*.data)"
ptgc w.ptg -o v.onnx --external-data=weights.bin && ls
ptgc dump v.onnx | grep -c weights.bin
ptgc w.ptg -o /dev/full --external-data
echo "= $?"
echo '= a * in a name becomes the hash too'
ptgc w.ptg -o s.onnx --external-data='s*.bin' && ls s*.bin
echo '= the rule for make names the model alone'
ptgc w.ptg --external-data -MD && cat w.d
ls -A

# --external-data: weights in a file beside the model
cat >m.ptg <<'END'
graph g(x: float64[1000]) -> (y) { y = x + Exp(float64[1000](1.5)) + float64([1, 2, 3])[0] }
END
head -c 8000 /dev/zero | base64 -w 0 >zeros
echo "graph h(x: float64[1000]) -> (y) { y = x + float64[1000](bytes(\"$(cat zeros)\")) }" >w.ptg
rm zeros
ptgc w.ptg --external-data && ls && wc -c <w.onnx.data
ptgc w.ptg -o v.onnx --external-data=weights.bin && ls
ptgc dump v.onnx | grep -c weights.bin
ptgc w.ptg -o /dev/full --external-data
echo "= $?"
ls -A

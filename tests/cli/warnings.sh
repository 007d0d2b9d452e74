# -W: warnings go on and off, and become errors
cat >m.ptg <<'END'
graph g(x: float64[n]) -> (y) {
  unused = Exp(x)
  y = Log(x)
}
END
for flag in -Wunused -Wno-unused -Werror -Werror=unused '-Werror -Wno-error=unused' '-Werror -Wno-unused'; do
	echo "\$ ptgc $flag"
	ptgc $flag m.ptg -o m.onnx
	echo "= $?"
done

# Room for arrays whose length only the run knows is taken where the length is known, outside of the loop whose steps
# make them. What is not in use at the same time has the same room: a and c, b and what is next.
cat >steps.ptg <<'END'
ptg 1 infix=onnx

graph g(x: float64[n], k: int64[]) -> (y) {
  z = onnx.Compress(x, x > 0)
  y = loop (i in 0:k, s = z) -> (s) {
    a = onnx.CumSum(s, 0)
    b = onnx.CumSum(a * a, 0)
    c = onnx.CumSum(b + s, 0)
    next s = c / 2
  }
}
END
$PTGC --target=c --strip steps.ptg -o steps.c
sed '1,/size_t top = /d' steps.c | grep 'z_0 = \|room(\|(w + \|int64_t step\|top\|out->'
echo
# Where a length changes from step to step, room is taken in the step; what a branch of an if makes has its room there.
cat >grows.ptg <<'END'
ptg 1 infix=onnx

graph g(x: float64[n], k: int64[]) -> (y) {
  z = onnx.Compress(x, x > 0)
  y = loop (i in 0:k, s: float64[?] = z) -> (s) {
    a = onnx.CumSum(s, 0)
    b = if i < 3 {
      c = onnx.CumSum(a * a, 0)
      b = onnx.ReduceSum{keepdims=0}(c * s) + onnx.Gather(c, 0)
    } else {
      b = float64(1)
    }
    next s = onnx.Concat{axis=0}(a, b[None])
  }
}
END
$PTGC --target=c --strip grows.ptg -o grows.c
sed '1,/size_t top = /d' grows.c | grep 'z_0 = \|room(\|(w + \|int64_t step\|top\|out->\|if (step\|if (t\|else'

# where nodes come from: in a fn the places of the calls, the outermost first; of many those in the middle are left out;
# in a 'for' the step
cat >m.ptg <<'END'
ptg 1

fn Layer(x: F[n, k], w: F[k]) -> (y: F[n, k]) {
  y = Block(x + w) * w
}

fn Block(x: F) -> (y: F) {
  y = Erfcx(x)
}

fn Apply{f: fn}(x: F) -> (y: F) {
  y = f(x)
}

fn half(x: F) -> (y: F) {
  y = x / 2
}

graph main(x: float32[n, 4], w: float32[4]) -> (y, z, s) {
  h = Layer(x, w)
  y = Layer(h, w)
  z = Apply{f=half}(x)
  s = loop (r in x, s = float32[4](0)) -> (s) {
    next s = half(s + r)
  }
}
END
cat >for.ptg <<'END'
ptg 1

fn Layer(x: F[n, k], W: F[k, k]) -> (y: F[n, k]) {
  y = Tanh(x @ W)
}

graph net(x: float32[n, 4], W: float32[4, 4]) -> (y) {
  y = for (i in 0:2, h = x) -> (h) {
    t = for (w in [0.5, 2], s = Layer(h, W)) -> (s) {
      next s = Exp(w * s)
    }
    next h = t
  }
}
END
cat >deep.ptg <<'END'
ptg 1

fn F0(x: F) -> (y) { y = x + 1 }
fn F1(x: F) -> (y) { y = F0(x) }
fn F2(x: F) -> (y) { y = F1(x) }
fn F3(x: F) -> (y) { y = F2(x) }
fn F4(x: F) -> (y) { y = F3(x) }
fn F5(x: F) -> (y) { y = F4(x) }
fn F6(x: F) -> (y) { y = F5(x) }
fn F7(x: F) -> (y) { y = F6(x) }
fn F8(x: F) -> (y) { y = F7(x) }
graph main(x: float32[n]) -> (a, b) {
  a = F6(x)
  b = F8(x * 2)
}
END
places() {
	grep -aoE "$1\.ptg:[0-9]+:[0-9]+(\[[0-9]+])?( ($1\.ptg:[0-9]+:[0-9]+(\[[0-9]+])?|\.\.\.))*" "$1.onnx" | sort -u
}
ptgc m.ptg && places m
ptgc deep.ptg && places deep
ptgc for.ptg && places for
ptgc --strip m.ptg && places m

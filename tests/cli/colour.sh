# colour: never to a file unless asked for
printf 'graph g(x: float64[n]) -> (y) {\n  y = Exq(x)\n}\n' >m.ptg
ptgc m.ptg 2>&1 | cat -v
ptgc --color=always m.ptg 2>&1 | cat -v
ptgc --color always m.ptg 2>&1 | cat -v | head -n 1
TERM=xterm ptgc --color=auto m.ptg 2>&1 | cat -v | head -n 1

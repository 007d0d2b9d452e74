# Lines of the text are comments of the C, whatever is in them.
{
	printf 'ptg 1\ngraph g(x: float64[2, 2]) -> (y, z) {\n'
	printf '  v = Exp(x)\n'
	printf '  y = v @ v @ x  # @1@ v\n'
	printf '  z = v * y  # \001 and 1\n}\n'
} >g.ptg
ptgc --target=c -o - g.ptg | grep -e '@' -e '= (double' -e 'return 0'

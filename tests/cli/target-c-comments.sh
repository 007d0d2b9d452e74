# Lines of the text are comments of the C, whatever is in them.
{
	printf 'ptg 1\ngraph g(x: float64[2, 2]) -> (y, z) {\n'
	printf '  v = Exp(x)\n'
	printf '  y = v @ v @ x  # @1@ v\n'
	printf '  z = v * y  # \001 and 1\n}\n'
} >g.ptg
ptgc --target=c -o - g.ptg | grep -e '@' -e '= (double' -e 'return 0'
# Nor are names and messages, also where trigraphs are on, as with -std=c99
cat >t.ptg <<'END'
ptg 1
graph t(x: float64[`a*/b`, `??/n`], `z??/ */`: float64[`a*/b`], i: int64[]) -> (y, `w */ "q"??/`) {
  y = x[i]  # why??/
  `w */ "q"??/` = Assert{msg="what??! \\ ??/ \"q\" \t??'"}(`z??/ */`, All(`z??/ */` > 0))  # \
}
END
ptgc -fentry t.ptg -o t.c
grep -h '?.*["*]' t.h t.c | grep -v INT64_MAX
flags='-Wall -Wextra -Wpedantic -Wconversion -Werror -c t.c -o t.o'
gcc -std=c99 $flags && gcc -std=gnu11 $flags && g++ -std=c++11 -x c++ $flags && echo compiled
# A header whose name no #include can have
for name in 'a"b.c' 'a\b.c' 'a??-b.c'; do
	ptgc t.ptg -o "$name"
	echo "= $?"
done
ls *.c

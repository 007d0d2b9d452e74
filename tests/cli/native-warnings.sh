# No compiler warns of these, with or without rewrites.
take() { # name; the text is the input
	cat >$1.ptg
	for level in -O0 -O1; do
		$PTGC $level -Wno-unused --target=c -o $1.c $1.ptg || continue
		for cc in gcc clang; do
			command -v $cc >$cc.txt || continue
			$cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -c -o $1.o $1.c || echo "$1 $level $cc"
		done
	done
	echo $1
}
take product <<END # of lengths, more than an int holds: they are no variables, and have the type int
graph m(x: uint8[3, 2147483647]) -> (y) { y = x + 1 }
END
take least <<END # an integer that has no digits
graph m(k: int64[]) -> (y) {
  y = if k > 0 {
    t = ARange{dtype=int64}(int64(0), k, int64(1))
    y = t[::-1]
  } else {
    y = ARange{dtype=int64}(int64(0), int64(3), int64(1))
  }
}
END

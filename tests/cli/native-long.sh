# The loops of a long run() are functions; those that differ in names alone are one. A short one keeps its loops.
$PTGC --target=c --strip "$TOP/examples/random/particles.ptg" -o long.c
flags='-Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -ffp-contract=off -c'
gcc -std=c99 $flags long.c -o c.o && g++ -std=c++11 $flags -x c++ long.c -o cc.o && echo no warning
sed -n '/^PTGC_CALL int64_t particles_loop_4(/,/^}/p' long.c
functions=$(grep -c '^PTGC_CALL .* particles_loop' long.c)
calls=$(grep -c '^	.*particles_loop[_0-9]*(' long.c)
[ "$functions" -lt "$calls" ] && echo fewer functions than calls
sed -n '/^\/\* what follows is long/,/^int/p' long.c
$PTGC --target=c --strip "$TOP/examples/pymc/linear_regression.ptg" -o short.c
grep -c '_loop' short.c
LC_ALL=C tr -d '\n\t -~' <long.c | wc -c
LC_ALL=C tr -d '\n\t -~' <short.c | wc -c

# Of the many loops of a sampler the few that do the most stand before the request for less: those over the 100 data.
$PTGC --target=c --strip "$TOP/examples/nuts/regression.ptg" -o nuts.c
sed '/^\/\* what follows is long/,$d' nuts.c >heavy.c
sed '1,/^\/\* what follows is long/d' nuts.c >light.c
heavy=$(grep -c '^PTGC_CALL .* regression_loop' heavy.c)
light=$(grep -c '^PTGC_CALL .* regression_loop' light.c)
[ "$heavy" -gt 3 ] && [ $((heavy * 10)) -lt "$light" ] && echo few of many
grep -q '^		for (.* < 100; ' heavy.c && echo those over the data
lines=$(sed '1,/^PTGC_CALL .* regression_loop/d' heavy.c | wc -l)
[ "$lines" -lt 200 ] && echo few lines
# What is run once, and run() itself, ask for no optimiser; loops in the loop over steps do. Elementary functions are
# calls in both.
grep -q '^PTGC_APART double ptgc_lgamma_call(double x)' light.c && echo a function apart
grep '	.*ptgc_exp(' light.c | grep -vc 'return ptgc_exp(x);'
sed '1,/push_options/d; /^int regression_run(/,$d' light.c >cold.c
cold=$(grep -c '^	for (' cold.c)
all=$(grep -c '^	for (' light.c)
[ "$cold" -gt 100 ] && [ $((cold * 2)) -lt "$all" ] && echo those that are run once
sed '/^int regression_run(/,$d' light.c | grep '^#pragma GCC optimize' | cut -c 1-29
# Loops that follow one another are one function.
[ $((light * 2)) -lt "$all" ] && echo several in a function
# Loops that only copy are calls.
[ "$(grep -c '	ptgc_copy(' nuts.c)" -gt 100 ] && echo copies
grep -q '^	*[a-z_0-9]*\[i\] = [a-z_0-9]*\[i\];$' light.c || echo and no loops

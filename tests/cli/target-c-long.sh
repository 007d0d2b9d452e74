# A function that is long asks gcc for -Og by itself; another one does not
$PTGC --strip "$TOP/examples/nuts/line.ptg" -o line.c
grep -c 'optimize("Og"' line.c
$PTGC --strip "$TOP/examples/kalman/kalman.ptg" -o kalman.c
grep -c 'optimize("Og"' kalman.c

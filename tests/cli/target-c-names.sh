# Names of the text that are macros of C's headers: a program may include all of them before the model's header.
names='BUFSIZ CHAR_BIT CLOCKS_PER_SEC DBL_EPSILON DBL_MAX DECIMAL_DIG EDOM EILSEQ EOF ERANGE EXIT_FAILURE FE_INVALID FILENAME_MAX
FLT_RADIX HUGE_VAL I INFINITY INT8_MIN LC_ALL LDBL_DIG L_tmpnam NAN NULL SEEK_SET SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM
SIG_DFL WEOF complex errno linux math_errhandling stdin stdout unix double class w in SIGMA E1 TIME'
list=$(printf '%s: float64, ' $names) sum=$(printf ' + %s' $names)
echo "graph m(${list%, }) -> (y) { y = 0.0$sum }" | sed 's/float64/float64[]/g' >m.ptg
$PTGC m.ptg -o m.c || exit
sed -n '/^struct m_in/,/^}/s/.*double \(.*\);.*/\1/p' m.h | paste -sd ' ' | fold -sw 130
for h in assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio stdlib \
	string tgmath time wchar wctype; do echo "#include <$h.h>"; done >all.c
echo '#include "m.h"' >>all.c
gcc -std=c99 -Wall -Werror -c all.c && gcc -std=gnu17 -Wall -Werror -c all.c && gcc -std=c99 -c m.c && echo compiled
# A name may hold what begins a comment, or a name of lib/c.
printf 'ptg 1\ngraph g(`/* ptgc_exp(x)`: float64[n, 7], b: float64[7, 3]) -> (y) {\n  y = Exp(`/* ptgc_exp(x)` @ b)\n}\n' >open.ptg
$PTGC open.ptg -fentry -o open.c && gcc -Wall -Wextra -Werror -O1 -ffp-contract=off -c open.c -o open.o && grep -c 'in.*/\* ptgc_exp(x)' open.c

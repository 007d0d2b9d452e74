/* With PTGC_LIBM the functions that libm has are libm's: no promise of lib/c about bits and errors holds
   for them then. What lib/c itself calls stays as it is. Each name stands by itself,
   so that one which the code reads does not bring the other one's function along. */
#ifndef PTGC_C_LIBM_H
#define PTGC_C_LIBM_H

#include "arc.h"
#include "erf.h"
#include "exp.h"
#include "log.h"
#include "pow.h"
#include "tanh.h"
#include "trig.h"

#ifdef PTGC_LIBM
#define ptgc_exp exp
#endif

#ifdef PTGC_LIBM
#define ptgc_expf expf
#endif

#ifdef PTGC_LIBM
#define ptgc_expm1 expm1
#endif

#ifdef PTGC_LIBM
#define ptgc_expm1f expm1f
#endif

#ifdef PTGC_LIBM
#define ptgc_exp2 exp2
#endif

#ifdef PTGC_LIBM
#define ptgc_exp2f exp2f
#endif

#ifdef PTGC_LIBM
#define ptgc_log log
#endif

#ifdef PTGC_LIBM
#define ptgc_logf logf
#endif

#ifdef PTGC_LIBM
#define ptgc_log1p log1p
#endif

#ifdef PTGC_LIBM
#define ptgc_log1pf log1pf
#endif

#ifdef PTGC_LIBM
#define ptgc_log2 log2
#endif

#ifdef PTGC_LIBM
#define ptgc_log2f log2f
#endif

#ifdef PTGC_LIBM
#define ptgc_log10 log10
#endif

#ifdef PTGC_LIBM
#define ptgc_log10f log10f
#endif

#ifdef PTGC_LIBM
#define ptgc_asin asin
#endif

#ifdef PTGC_LIBM
#define ptgc_asinf asinf
#endif

#ifdef PTGC_LIBM
#define ptgc_acos acos
#endif

#ifdef PTGC_LIBM
#define ptgc_acosf acosf
#endif

#ifdef PTGC_LIBM
#define ptgc_atan atan
#endif

#ifdef PTGC_LIBM
#define ptgc_atanf atanf
#endif

#ifdef PTGC_LIBM
#define ptgc_atan2 atan2
#endif

#ifdef PTGC_LIBM
#define ptgc_atan2f atan2f
#endif

#ifdef PTGC_LIBM
#define ptgc_asinh asinh
#endif

#ifdef PTGC_LIBM
#define ptgc_asinhf asinhf
#endif

#ifdef PTGC_LIBM
#define ptgc_acosh acosh
#endif

#ifdef PTGC_LIBM
#define ptgc_acoshf acoshf
#endif

#ifdef PTGC_LIBM
#define ptgc_atanh atanh
#endif

#ifdef PTGC_LIBM
#define ptgc_atanhf atanhf
#endif

#ifdef PTGC_LIBM
#define ptgc_erf erf
#endif

#ifdef PTGC_LIBM
#define ptgc_erff erff
#endif

#ifdef PTGC_LIBM
#define ptgc_erfc erfc
#endif

#ifdef PTGC_LIBM
#define ptgc_erfcf erfcf
#endif

#ifdef PTGC_LIBM
#define ptgc_sinh sinh
#endif

#ifdef PTGC_LIBM
#define ptgc_sinhf sinhf
#endif

#ifdef PTGC_LIBM
#define ptgc_cosh cosh
#endif

#ifdef PTGC_LIBM
#define ptgc_coshf coshf
#endif

#ifdef PTGC_LIBM
#define ptgc_tanh tanh
#endif

#ifdef PTGC_LIBM
#define ptgc_tanhf tanhf
#endif

#ifdef PTGC_LIBM
#define ptgc_sin sin
#endif

#ifdef PTGC_LIBM
#define ptgc_sinf sinf
#endif

#ifdef PTGC_LIBM
#define ptgc_cos cos
#endif

#ifdef PTGC_LIBM
#define ptgc_cosf cosf
#endif

#ifdef PTGC_LIBM
#define ptgc_tan tan
#endif

#ifdef PTGC_LIBM
#define ptgc_tanf tanf
#endif

#ifdef PTGC_LIBM
#define ptgc_pow pow
#endif

#ifdef PTGC_LIBM
#define ptgc_powf powf
#endif

#endif

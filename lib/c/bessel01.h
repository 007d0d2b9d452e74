/* i0, i1, i0e, i1e (i0 and i1 times exp(-|x|)), j0, j1 and their float forms. Without branches but
   for j0 and j1 of large arguments. Method: I by a polynomial in x^2/4 up to 7.5, as its series
   (10.25.2 of https://dlmf.nist.gov), then exp(x)/sqrt(x) times one of 1/x - 1/15 (10.40.1). J by a
   rational function in x^2 up to 8, times its first two zeros, in two parts each; then by Hankel's
   expansion (10.17.3) with rational functions of 1/x^2. The fits are those of
   lib/special/bessel01.ptg. Bounds: see the table in README.md. */
#ifndef PTGC_C_BESSEL01_H
#define PTGC_C_BESSEL01_H

#include "exp.h"
#include "trig.h"

/* fit_c.py: i0 */
PTGC_INLINE double ptgc_fit_i0(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 1.0 + 0.9999999999999994 * x;
	const double a1 = 0.25000000000000405 + 0.027777777777765786 * x;
	const double a2 = 0.0017361111111289008 + 6.944444442917146e-05 * x;
	const double a3 = 1.9290123539578095e-06 + 3.9367595899672067e-08 * x;
	const double a4 = 6.151194782557523e-10 + 7.593927854330065e-12 * x;
	const double a5 = 7.59567486097642e-14 + 6.262046878283783e-16 * x;
	const double a6 = 4.441663186422351e-18 + 2.259816117904415e-20 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + 2.0121160707373825e-22 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: i0_large */
PTGC_INLINE double ptgc_fit_i0_large(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8;
	const double a0 = 0.4024011549800442 + 0.05406183183092854 * x;
	const double a1 = 0.03545220068184573 + 0.04731902802646583 * x;
	const double a2 = 0.10415774877282791 + 0.35325703644965617 * x;
	const double a3 = 1.8439190365127702 + 13.878661614628598 * x;
	const double a4 = 103.29295123481317 - 34.08595854139561 * x;
	const double a5 = -19203.979102713904 - 250523.9336135632 * x;
	const double a6 = 1050259.9233331927 + 51462021.8280149 * x;
	const double a7 = 45985015.71900384 - 8236142565.60286 * x;
	const double a8 = -19132668358.556557 + 1111595514898.56 * x;
	const double a9 = 2502633853499.6367 - 114207421792986.86 * x;
	const double a10 = -179555576013440.1 + 7577009138724283.0 * x;
	const double a11 = 5757498277402066.0 - 2.3666757372210816e+17 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + a7 * x2;
	const double b4 = a8 + a9 * x2;
	const double b5 = a10 + a11 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	const double c2 = b4 + b5 * x4;
	const double d0 = c0 + c1 * x8;
	return d0 + c2 * x16;
}

/* fit_c.py: i1 */
PTGC_INLINE double ptgc_fit_i1(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.5 + 0.24999999999999997 * x;
	const double a1 = 0.04166666666666689 + 0.003472222222221613 * x;
	const double a2 = 0.00017361111111194387 + 5.787037036369659e-06 * x;
	const double a3 = 1.3778659646103583e-07 + 2.460474813532174e-09 * x;
	const double a4 = 3.4173290873218935e-11 + 3.796982117129696e-13 * x;
	const double a5 = 3.452408385366974e-15 + 2.6102840921743183e-17 * x;
	const double a6 = 1.703753023092834e-19 + 8.182600680552175e-22 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + 6.585740221654423e-24 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: i1_large */
PTGC_INLINE double ptgc_fit_i1_large(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8;
	const double a0 = 0.38874750833923855 - 0.15646418163697082 * x;
	const double a1 = -0.056907127641080246 - 0.06366807923793064 * x;
	const double a2 = -0.1283317494332232 - 0.4119033032319174 * x;
	const double a3 = -2.067288779110104 - 15.197256009744947 * x;
	const double a4 = -113.2491655425307 - 13.76594472121565 * x;
	const double a5 = 19869.279479025307 + 268240.99528242025 * x;
	const double a6 = -972080.6678023105 - 53803607.503112 * x;
	const double a7 = -68862481.30735491 + 8536077154.056433 * x;
	const double a8 = 22582373908.35482 - 1151489170434.6504 * x;
	const double a9 = -2860754423412.219 + 118726534593230.69 * x;
	const double a10 = 202996670017929.66 - 7916617913420000.0 * x;
	const double a11 = -6477326911775026.0 + 2.4859675128510374e+17 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + a7 * x2;
	const double b4 = a8 + a9 * x2;
	const double b5 = a10 + a11 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	const double c2 = b4 + b5 * x4;
	const double d0 = c0 + c1 * x8;
	return d0 + c2 * x16;
}

/* fit_c.py: j0_bent */
PTGC_INLINE double ptgc_fit_j0_bent(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 3.0920071659133925 - 1.9263764776289118 * x;
	const double a1 = -1.6556466533672074 + 1.2984134685506357 * x;
	const double a2 = -0.07480789927408577 - 0.17730930471777154 * x;
	const double a3 = 0.08057836057878517 - 0.01906273225250195 * x;
	const double a4 = 0.0030233191098179373 - 0.000353413845287375 * x;
	const double a5 = 3.2086929427750776e-05 - 2.3419537654519307e-06 * x;
	const double a6 = 1.4088378766807236e-07 - 7.120697142020963e-09 * x;
	const double a7 = 3.08546504654149e-10 - 1.1482685952543928e-11 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + a7 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: j0_cos_p */
PTGC_INLINE double ptgc_fit_j0_cos_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 2.103946019515058e-05 + 0.0024489589372687685 * x;
	const double a1 = 0.08040524491723121 + 0.8475034899700753 * x;
	const double a2 = 2.399778083310148 + 0.8896903347476142 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: j0_cos_q */
PTGC_INLINE double ptgc_fit_j0_cos_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 2.103946019515058e-05 + 0.00245043827431374 * x;
	const double a1 = 0.08057518173875934 + 0.8529061557581236 * x;
	const double a2 = 2.451986457429103 + x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: j0_sin_p */
PTGC_INLINE double ptgc_fit_j0_sin_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = -1.3043276128543074e-05 - 0.0013602443762175264 * x;
	const double a1 = -0.038270295232709126 - 0.31679495919378653 * x;
	const double b0 = a0 + a1 * x2;
	return b0 - 0.5524884265331413 * x4;
}

/* fit_c.py: j0_sin_q */
PTGC_INLINE double ptgc_fit_j0_sin_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.00010434620902834462 + 0.010943095366592142 * x;
	const double a1 = 0.3123847489327386 + 2.6989577485734975 * x;
	const double a2 = 5.564670036852165 + x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: j1_bent */
PTGC_INLINE double ptgc_fit_j1_bent(double x)
{
	const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
	const double a0 = 0.5272512560986177 - 0.08048552782149958 * x;
	const double a1 = -0.2692116011166747 + 0.10536262223440117 * x;
	const double a2 = 0.015531061786535131 - 0.02001450811803145 * x;
	const double a3 = 0.006576740619040324 - 0.0012875636304833001 * x;
	const double a4 = 0.000176773136535154 - 1.8322961065324032e-05 * x;
	const double a5 = 1.4984193552028376e-06 - 9.96385435892697e-08 * x;
	const double a6 = 5.509184881491817e-09 - 2.577583284930561e-10 * x;
	const double a7 = 1.0394026585401353e-11 - 3.6205465380746047e-13 * x;
	const double b0 = a0 + a1 * x2;
	const double b1 = a2 + a3 * x2;
	const double b2 = a4 + a5 * x2;
	const double b3 = a6 + a7 * x2;
	const double c0 = b0 + b1 * x4;
	const double c1 = b2 + b3 * x4;
	return c0 + c1 * x8;
}

/* fit_c.py: j1_cos_p */
PTGC_INLINE double ptgc_fit_j1_cos_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 3.253079979289864e-05 + 0.003716940345468097 * x;
	const double a1 = 0.11907143153162406 + 1.21381883930105 * x;
	const double a2 = 3.295145139240933 + 1.2569701719153048 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: j1_cos_q */
PTGC_INLINE double ptgc_fit_j1_cos_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 3.253079979289864e-05 + 0.003713128142367367 * x;
	const double a1 = 0.11864099012422274 + 1.2004290047546267 * x;
	const double a2 = 3.1692890313370943 + x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

/* fit_c.py: j1_sin_p */
PTGC_INLINE double ptgc_fit_j1_sin_p(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.00010612183337509793 + 0.01083531636676013 * x;
	const double a1 = 0.2963745712596429 + 2.3607465376899492 * x;
	const double b0 = a0 + a1 * x2;
	return b0 + 3.913530974388719 * x4;
}

/* fit_c.py: j1_sin_q */
PTGC_INLINE double ptgc_fit_j1_sin_q(double x)
{
	const double x2 = x * x, x4 = x2 * x2;
	const double a0 = 0.00028299155566692785 + 0.028971557481529048 * x;
	const double a1 = 0.7980446288353649 + 6.493598974936333 * x;
	const double a2 = 11.754413780123127 + x;
	const double b0 = a0 + a1 * x2;
	return b0 + a2 * x4;
}

PTGC_INLINE double ptgc_i0e(double x)
{
	const double a = fabs(x), b = a > 8 ? 8 : a;
	const double near = ptgc_fit_i0(b * b * 0.25) * ptgc_exp(-b);
	const double w = 1 / a;
	const double far = ptgc_fit_i0_large(w - 0.06666666666666667) / sqrt(a);
	return a < 7.5 ? near : far;
}

/* As SciPy has them: infinite where exp(|x|) is, NaN for infinities */
PTGC_INLINE double ptgc_i0(double x)
{
	const double a = fabs(x), b = a > 1e3 ? 1e3 : a;
	const double near = ptgc_fit_i0(b * b * 0.25);
	const double far = ptgc_exp(a) * (ptgc_fit_i0_large(1 / b - 0.06666666666666667) / sqrt(b));
	return a < 7.5 ? near : far + (a - a);
}

PTGC_INLINE double ptgc_i1e(double x)
{
	const double a = fabs(x), b = a > 8 ? 8 : a;
	const double near = b * (ptgc_fit_i1(b * b * 0.25) * ptgc_exp(-b));
	const double w = 1 / a;
	const double far = ptgc_fit_i1_large(w - 0.06666666666666667) / sqrt(a);
	const double y = a < 7.5 ? near : far;
	return x < 0 ? -y : y;
}

PTGC_INLINE double ptgc_i1(double x)
{
	const double a = fabs(x), b = a > 1e3 ? 1e3 : a;
	const double near = b * ptgc_fit_i1(b * b * 0.25);
	const double far = ptgc_exp(a) * (ptgc_fit_i1_large(1 / b - 0.06666666666666667) / sqrt(b));
	const double y = a < 7.5 ? near : far + (a - a);
	return x < 0 ? -y : y;
}

/* sin(a) and cos(a) of one reduction */
PTGC_INLINE double ptgc_sin_and_cos(double a, double *cosine)
{
	const struct ptgc_turn t = a < PTGC_TRIG_NEAR ? ptgc_turn_near(a) : ptgc_turn_far(a);
	*cosine = ptgc_turn_sin(t, 1);
	return ptgc_turn_sin(t, 0);
}

PTGC_INLINE double ptgc_j0(double x)
{
	const double a = fabs(x);
	if (a < 8) {
		const double z = a * a;
		const double first =
			(a - 2.404825557695773 + 1.176691651530894e-16) * (a + 2.404825557695773);
		const double second =
			(a - 5.520078110286311 - 8.088597146146722e-17) * (a + 5.520078110286311);
		return first * second * (ptgc_fit_j0_bent(z * 0.03125 - 1) / ((z + 20) * (z + 20)));
	}
	if (!(a < HUGE_VAL))
		return x - x;
	const double w = 1 / a, u = w * w;
	double k;
	const double s = ptgc_sin_and_cos(a, &k);
	const double even = ptgc_fit_j0_cos_p(u) / ptgc_fit_j0_cos_q(u);
	const double odd = ptgc_fit_j0_sin_p(u) / ptgc_fit_j0_sin_q(u);
	return sqrt(w * 0.3183098861837907) * (even * (k + s) - w * odd * (s - k));
}

PTGC_INLINE double ptgc_j1(double x)
{
	const double a = fabs(x);
	if (a < 8) {
		const double z = a * a;
		const double first = (a - 3.8317059702075125 + 1.5269184090088067e-16) *
				     (a + 3.8317059702075125);
		const double second =
			(a - 7.015586669815619 + 9.414165653410389e-17) * (a + 7.015586669815619);
		return x * (first * second *
			    (ptgc_fit_j1_bent(z * 0.03125 - 1) / ((z + 20) * (z + 20))));
	}
	if (!(a < HUGE_VAL))
		return x - x;
	const double w = 1 / a, u = w * w;
	double k;
	const double s = ptgc_sin_and_cos(a, &k);
	const double even = ptgc_fit_j1_cos_p(u) / ptgc_fit_j1_cos_q(u);
	const double odd = ptgc_fit_j1_sin_p(u) / ptgc_fit_j1_sin_q(u);
	const double y = sqrt(w * 0.3183098861837907) * (even * (s - k) + w * odd * (s + k));
	return x < 0 ? -y : y;
}

PTGC_INLINE float ptgc_i0f(float x)
{
	return (float)ptgc_i0((double)x);
}

PTGC_INLINE float ptgc_i0ef(float x)
{
	return (float)ptgc_i0e((double)x);
}

PTGC_INLINE float ptgc_i1f(float x)
{
	return (float)ptgc_i1((double)x);
}

PTGC_INLINE float ptgc_i1ef(float x)
{
	return (float)ptgc_i1e((double)x);
}

PTGC_INLINE float ptgc_j0f(float x)
{
	return (float)ptgc_j0((double)x);
}

PTGC_INLINE float ptgc_j1f(float x)
{
	return (float)ptgc_j1((double)x);
}

#endif

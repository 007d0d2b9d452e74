/* owens_t(h, a), Owen's T function, and its float form.
   Method: exp(-h^2/2)/(2 pi) times the integral of exp(-h^2 x^2/2)/(1 + x^2) from 0 to a <= 1, or
   to where its rest is too small to count, by Gauss's rule of 44 points, of which an even integrand
   needs half. For a > 1 it is (P + Q)/2 - P Q - T(a h, 1/a), where P and Q are what the normal
   distribution has above h and a h. As lib/special/erf.ptg. Bound: see the table in README.md. */
#ifndef PTGC_C_OWENS_T_H
#define PTGC_C_OWENS_T_H

#include "erf.h"

/* fit_c.py: gauss22_squares */
/* clang-format off */
static const double ptgc_fit_gauss22_squares[22] = {
	0.9970825322877294, 0.9846918221068007, 0.9626589195521508, 0.9314173352456184,
	0.8915882505797682, 0.843964233306993, 0.789493092606559, 0.729258945383939,
	0.664460620513279, 0.5963877923314767, 0.5263953098260302, 0.45587623002155797,
	0.38623409147135285, 0.31885497938649765, 0.25507993826050746, 0.19617828100162096,
	0.14332232577187554, 0.09756406333037393, 0.059814219262155285, 0.03082412781221608,
	0.01117077808679162, 0.0012453302455108974,
};
/* clang-format on */

/* fit_c.py: gauss22_weights */
/* clang-format off */
static const double ptgc_fit_gauss22_weights[22] = {
	0.0037454048031127776, 0.008700481367524843, 0.013619586755579985, 0.01847148173681475,
	0.02323148190201921, 0.02787578282128101, 0.03238122281206982, 0.03672534781380887,
	0.04088651231034622, 0.04484398408197003, 0.048578046448352036, 0.05207009609170446,
	0.055302735563728056, 0.05825985987759549, 0.06092673670156197, 0.06329007973320386,
	0.06533811487918144, 0.06706063890629366, 0.06844907026936665, 0.06949649186157258,
	0.07019768547355822, 0.07054915778935407,
};
/* clang-format on */

/* exp(-h^2/2) for h <= 40, where it is 0 */
static inline double ptgc_half_gauss(double h)
{
	const struct ptgc_wide square = ptgc_two_product(h, h);
	return ptgc_exp_wide(-0.5 * square.high, -0.5 * square.low);
}

static inline double ptgc_owens_t_to_1(double h, double a)
{
	const double s = h * a < 8.7 ? a : 8.7 / h;
	const double v = s * s, z = h * s * (h * s) * -0.5;
	double sum = 0;
	for (int i = 0; i < 22; i++)
		sum += ptgc_exp(z * ptgc_fit_gauss22_squares[i]) /
		       (1 + v * ptgc_fit_gauss22_squares[i]) * ptgc_fit_gauss22_weights[i];
	return ptgc_half_gauss(h) * s * sum * 0.15915494309189535;
}

static inline double ptgc_owens_t(double h, double a)
{
	const double b = fabs(h), x = b > 40 ? 40 : b, m = fabs(a);
	double y;
	if (h != h || a != a)
		return (double)NAN;
	if (m <= 1) {
		y = ptgc_owens_t_to_1(x, m);
	} else {
		const double p0 = x == 0 ? 0 : x * m, product = p0 > 40 ? 40 : p0;
		const double half = ptgc_half_gauss(x);
		const double p = ptgc_erfc_far(x * 0.7071067811865476, 1) * half * 0.25;
		const double q =
			ptgc_erfc_far(product * 0.7071067811865476, 1) * ptgc_half_gauss(product);
		y = p + (0.25 - p) * q - ptgc_owens_t_to_1(product, 1 / m);
	}
	return a >= 0 ? y : -y;
}

static inline float ptgc_owens_tf(float h, float a)
{
	return (float)ptgc_owens_t((double)h, (double)a);
}

#endif

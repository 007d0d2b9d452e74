# -DPTGC_LIBM: libm's functions in place of those of lib/c; -DPTGC_BLAS: large products to a CBLAS, of which a stub says so here
cat >model.ptg <<'END'
ptg 1
graph model(x: float64[40, 40], f: float32[40, 40]) -> (y, g) {
  y = Exp(x) @ Pow(x, 1.5)
  g = f @ Tanh(f)
}
END
$PTGC model.ptg -o model.c
flags='-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -ffp-contract=off -I.'
cat >cblas.h <<'END'
#ifndef CBLAS_H
#define CBLAS_H
enum { CblasRowMajor = 101, CblasNoTrans = 111, CblasTrans = 112 };
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
#endif
END
for defined in '' -DPTGC_LIBM -DPTGC_BLAS '-DPTGC_LIBM -DPTGC_BLAS'; do
	gcc $flags $defined -c model.c -o model.o && echo "${defined:-nothing}: $(nm model.o | sed -n 's/.* U //p' | grep -E '^(exp|pow|tanhf?|cblas_[ds]gemm)$' | tr '\n' ' ')"
	clang $flags $defined -fsyntax-only model.c
	g++ ${flags#-std=c99} -std=c++11 -x c++ -fsyntax-only $defined model.c
done

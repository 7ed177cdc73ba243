/*
 * What numpy needs of Windows' C library and wine has not: functions of complex numbers, in terms of those of mingw.
 *
 * Windows passes complex numbers as structures; `wine.py` exports each function under the name without `shim_`.
 */
#include <complex.h>

typedef struct { double part[2]; } wide;
typedef struct { float part[2]; } narrow;

static double complex of_wide(wide z) { return __builtin_complex(z.part[0], z.part[1]); }
static float complex of_narrow(narrow z) { return __builtin_complex(z.part[0], z.part[1]); }
static wide to_wide(double complex z) { return (wide){{creal(z), cimag(z)}}; }
static narrow to_narrow(float complex z) { return (narrow){{crealf(z), cimagf(z)}}; }

#define MAPS(name)                                                                                                     \
    wide shim_##name(wide z) { return to_wide(name(of_wide(z))); }                                                     \
    narrow shim_##name##f(narrow z) { return to_narrow(name##f(of_narrow(z))); }
#define MEASURES(name)                                                                                                 \
    double shim_##name(wide z) { return name(of_wide(z)); }                                                            \
    float shim_##name##f(narrow z) { return name##f(of_narrow(z)); }

MAPS(cacos) MAPS(cacosh) MAPS(casin) MAPS(casinh) MAPS(catan) MAPS(catanh) MAPS(ccos) MAPS(ccosh) MAPS(cexp) MAPS(clog)
MAPS(conj) MAPS(cproj) MAPS(csin) MAPS(csinh) MAPS(csqrt) MAPS(ctan) MAPS(ctanh)
MEASURES(cabs) MEASURES(carg) MEASURES(cimag) MEASURES(creal)

wide shim_cpow(wide x, wide y) { return to_wide(cpow(of_wide(x), of_wide(y))); }
narrow shim_cpowf(narrow x, narrow y) { return to_narrow(cpowf(of_narrow(x), of_narrow(y))); }

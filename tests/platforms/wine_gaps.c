/*
 * What packages need of Windows and wine 8 has not: functions of complex numbers and one of random bytes.
 *
 * NumPy looks at some of these when it is imported, and nothing here depends on their last digits, so plain formulas
 * will do.  Windows passes complex numbers as structures; `wine.py` exports each function without its prefix `gap_`.
 */
#include <math.h>
#include <stddef.h>

typedef double _Complex number;
typedef struct { double part[2]; } wide;
typedef struct { float part[2]; } narrow;

/* of advapi32: fills a buffer with random bytes */
unsigned char SystemFunction036(void *bytes, unsigned long size);

int gap_ProcessPrng(unsigned char *bytes, size_t size) { return SystemFunction036(bytes, (unsigned long)size); }

static number of(double re, double im) { return __builtin_complex(re, im); }
static double re_of(number z) { return __real__ z; }
static double im_of(number z) { return __imag__ z; }
static number turned(number z) { return of(-im_of(z), re_of(z)); }       /* i z */
static number turned_back(number z) { return of(im_of(z), -re_of(z)); }  /* -i z */

static double of_abs(number z) { return hypot(re_of(z), im_of(z)); }
static double of_arg(number z) { return atan2(im_of(z), re_of(z)); }
static number of_conj(number z) { return of(re_of(z), -im_of(z)); }
static number of_proj(number z) { return isinf(of_abs(z)) ? of(INFINITY, copysign(0, im_of(z))) : z; }
static number of_exp(number z) { return exp(re_of(z)) * of(cos(im_of(z)), sin(im_of(z))); }
static number of_log(number z) { return of(log(of_abs(z)), of_arg(z)); }
static number of_sqrt(number z)
{
    double size = of_abs(z);
    return of(sqrt((size + re_of(z)) / 2), copysign(sqrt((size - re_of(z)) / 2), im_of(z)));
}
static number of_sinh(number z)
{
    return of(sinh(re_of(z)) * cos(im_of(z)), cosh(re_of(z)) * sin(im_of(z)));
}
static number of_cosh(number z)
{
    return of(cosh(re_of(z)) * cos(im_of(z)), sinh(re_of(z)) * sin(im_of(z)));
}
static number of_tanh(number z) { return of_sinh(z) / of_cosh(z); }
static number of_asinh(number z) { return of_log(z + of_sqrt(z * z + 1)); }
static number of_acosh(number z) { return of_log(z + of_sqrt(z + 1) * of_sqrt(z - 1)); }
static number of_atanh(number z) { return (of_log(1 + z) - of_log(1 - z)) / 2; }
static number of_sin(number z) { return turned_back(of_sinh(turned(z))); }
static number of_cos(number z) { return of_cosh(turned(z)); }
static number of_tan(number z) { return turned_back(of_tanh(turned(z))); }
static number of_asin(number z) { return turned_back(of_asinh(turned(z))); }
static number of_acos(number z) { return acos(-1.0) / 2 - of_asin(z); }
static number of_atan(number z) { return turned_back(of_atanh(turned(z))); }

static number read_wide(wide z) { return of(z.part[0], z.part[1]); }
static number read_narrow(narrow z) { return of(z.part[0], z.part[1]); }
static wide to_wide(number z) { return (wide){{re_of(z), im_of(z)}}; }
static narrow to_narrow(number z) { return (narrow){{(float)re_of(z), (float)im_of(z)}}; }

#define MAPS(name)                                                                                                     \
    wide gap_c##name(wide z) { return to_wide(of_##name(read_wide(z))); }                                              \
    narrow gap_c##name##f(narrow z) { return to_narrow(of_##name(read_narrow(z))); }
#define MEASURES(name, function)                                                                                       \
    double gap_c##name(wide z) { return function(read_wide(z)); }                                                      \
    float gap_c##name##f(narrow z) { return (float)function(read_narrow(z)); }

MAPS(acos) MAPS(acosh) MAPS(asin) MAPS(asinh) MAPS(atan) MAPS(atanh) MAPS(cos) MAPS(cosh) MAPS(exp) MAPS(log)
MAPS(proj) MAPS(sin) MAPS(sinh) MAPS(sqrt) MAPS(tan) MAPS(tanh)
MEASURES(abs, of_abs) MEASURES(arg, of_arg) MEASURES(imag, im_of) MEASURES(real, re_of)

wide gap_conj(wide z) { return to_wide(of_conj(read_wide(z))); }
narrow gap_conjf(narrow z) { return to_narrow(of_conj(read_narrow(z))); }
wide gap_cpow(wide x, wide y) { return to_wide(of_exp(read_wide(y) * of_log(read_wide(x)))); }
narrow gap_cpowf(narrow x, narrow y) { return to_narrow(of_exp(read_narrow(y) * of_log(read_narrow(x)))); }

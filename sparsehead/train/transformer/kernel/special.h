/* exp and the Gaussian distribution function, written so that compilers vectorise the loops that call them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef DOUBLE
typedef float real;
/* exp(x) for x <= 0: 2^n e^r with |r| <= ln(2)/2; below -87 the smallest normal number. NaN stays NaN. */
static inline real exp_negative(real x)
{
    x = x < -87.0f ? -87.0f : x;
    real n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* adding 1.5 * 2^23 rounds to a whole number */
    real r = (x - n * 0.693359375f) + n * 2.12194440e-4f;   /* ln 2 in two parts */
    real p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits = ((int32_t)n + 127) << 23;
    real scale;
    memcpy(&scale, &bits, 4);
    return p * scale;
}

/* x Phi(x) and its derivative. Phi(-y) = e^{-y^2/2} q(1 / (1 + 0.28 y)) for y >= 0, q fitted to 2e-10. */
static inline void gelu(real x, real *value, real *slope)
{
    real y = x < 0 ? -x : x;
    real density = exp_negative(-0.5f * y * y), t = 1.0f / (1.0f + 0.28f * y);
    real q = 0.0397750278523775f;
    q = q * t - 0.21608605283924215f;
    q = q * t + 0.3924753354899178f;
    q = q * t - 0.24179949756014882f;
    q = q * t + 0.23796792208067205f;
    q = q * t + 0.057346250799546084f;
    q = q * t + 0.11911008228770048f;
    q = q * t + 0.11121093204221408f;
    real tail = q * t * density, phi = x < 0 ? tail : 1.0f - tail;
    *value = x * phi;
    *slope = phi + x * density * 0.3989422804014327f;
}
#else
typedef double real;
static inline real exp_negative(real x) { return exp(x); }
static inline void gelu(real x, real *value, real *slope)
{
    real phi = 0.5 * erfc(-x * 0.70710678118654752440);
    *value = x * phi;
    *slope = phi + x * exp(-0.5 * x * x) * 0.39894228040143267794;
}
#endif

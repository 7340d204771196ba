/* exp and the Gaussian distribution function, written so that compilers vectorise the loops that call them; and
   numbers too small to be normal. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* While the kernel runs, subnormal numbers count as zero: where attention saturates there are many of them, and
   arithmetic with one takes a hundred times longer. `flush_subnormals` returns what `restore` puts back. */
#if defined(__SSE2__)
static unsigned flush_subnormals(void)
{
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040); /* results (bit 15) and operands (bit 6) */
    return before;
}
static void restore(unsigned before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
static unsigned flush_subnormals(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1u << 24));
    return (unsigned)before;
}
static void restore(unsigned before) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)before)); }
#else
static unsigned flush_subnormals(void) { return 0; }
static void restore(unsigned before) { (void)before; }
#endif

#ifndef DOUBLE
typedef float real;
/* exp(x) for x <= 0: 2^n e^r with |r| <= ln(2)/2; below -87 the smallest normal number. NaN stays NaN. */
static inline real exp_negative(real x)
{
    x = x < -87.0f ? -87.0f : x;
    real rounded = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23 + n for a whole number n; its last bits are those of n */
    real n = rounded - 12582912.0f;
    real r = (x - n * 0.693359375f) + n * 2.12194440e-4f;   /* ln 2 in two parts */
    real p = 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t bits; /* unsigned, and never converted from n: NaN has no whole number */
    memcpy(&bits, &rounded, 4);
    bits = (bits - 0x4B400000u + 127u) << 23;
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

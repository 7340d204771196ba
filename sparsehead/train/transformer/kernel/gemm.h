/* C = A B (+ C): small matrices, one thread, operands packed into panels. */
#include <stddef.h>

#define SIMD _Pragma("omp simd")
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define SUM(...) PRAGMA(omp simd reduction(+ : __VA_ARGS__))

#define MR 6
#ifndef VEC
#define VEC 32 /* bytes of a vector */
#endif
typedef real vec __attribute__((vector_size(VEC), aligned(4), may_alias));
#define LANES ((long)(VEC / sizeof(real)))
#define NR (2 * LANES)
#define KC 256
#define NC 512

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long padded(long n, long to) { return (n + to - 1) / to * to; }

/* Element (i, j) of an operand lies at p[i * row + j * column]. */
typedef struct { const real *p; long row, column; } operand;

/* Panels of `width` rows (of A) or columns (of B): out[panel][k][width], zeros beyond the edge. */
static void pack(real *restrict out, const real *restrict p, long along, long across, long n, long K, long width)
{
    for (long i0 = 0; i0 < n; i0 += width) {
        long w = least(width, n - i0);
        const real *restrict q = p + i0 * along;
        if (w < width) memset(out, 0, sizeof(real) * K * width);
        if (along == 1) {
            if (w == NR && width == NR)
                for (long k = 0; k < K; k++)
                    for (long i = 0; i < NR; i++) out[k * NR + i] = q[k * across + i];
            else if (w == MR && width == MR)
                for (long k = 0; k < K; k++)
                    for (long i = 0; i < MR; i++) out[k * MR + i] = q[k * across + i];
            else
                for (long k = 0; k < K; k++)
                    for (long i = 0; i < w; i++) out[k * width + i] = q[k * across + i];
        } else if (w == NR && width == NR) {
            for (long k = 0; k < K; k++)
                for (long i = 0; i < NR; i++) out[k * NR + i] = q[i * along + k * across];
        } else if (w == MR && width == MR) {
            for (long k = 0; k < K; k++)
                for (long i = 0; i < MR; i++) out[k * MR + i] = q[i * along + k * across];
        } else {
            for (long k = 0; k < K; k++)
                for (long i = 0; i < w; i++) out[k * width + i] = q[i * along + k * across];
        }
        out += K * width;
    }
}

/* One 6 x NR tile: twelve accumulators live in registers. */
static void tile(long K, const real *restrict a, const real *restrict b, real *restrict c, long ldc, int add,
                 long rows, long columns)
{
    vec s[MR][2];
    for (int i = 0; i < MR; i++) s[i][0] = s[i][1] = (vec){0};
    for (long k = 0; k < K; k++, a += MR, b += NR) {
        vec b0 = *(const vec *)b, b1 = *(const vec *)(b + LANES);
#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            s[i][0] += a[i] * b0;
            s[i][1] += a[i] * b1;
        }
    }
    if (rows == MR && columns == NR) {
#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            vec *o = (vec *)(c + i * ldc), *o1 = (vec *)(c + i * ldc + LANES);
            if (add) s[i][0] += *o, s[i][1] += *o1;
            *o = s[i][0];
            *o1 = s[i][1];
        }
        return;
    }
    real edge[MR * NR];
    for (int i = 0; i < MR; i++) {
        memcpy(edge + i * NR, &s[i][0], VEC);
        memcpy(edge + i * NR + LANES, &s[i][1], VEC);
    }
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) c[i * ldc + j] = edge[i * NR + j] + (add ? c[i * ldc + j] : 0);
}

/* C (M x N, rows ldc apart) = A B, added to C if `add`. */
static void gemm(long M, long N, long K, operand A, operand B, real *C, long ldc, int add, real *scratch)
{
    real *a = scratch, *b = scratch + padded(M, MR) * KC;
    for (long j0 = 0; j0 < N; j0 += NC)
        for (long k0 = 0; k0 < K; k0 += KC) {
            long nc = least(NC, N - j0), kc = least(KC, K - k0);
            pack(a, A.p + k0 * A.column, A.row, A.column, M, kc, MR);
            pack(b, B.p + k0 * B.row + j0 * B.column, B.column, B.row, nc, kc, NR);
            for (long j = 0; j < nc; j += NR)
                for (long i = 0; i < M; i += MR)
                    tile(kc, a + i * kc, b + j * kc, C + i * ldc + j0 + j, ldc, add || k0, least(MR, M - i),
                         least(NR, nc - j));
        }
}
static inline long gemm_scratch(long M) { return padded(M, MR) * KC + KC * padded(NC, NR); }

/* C = A B (+ C): small matrices, one thread, B packed into panels, and A where its rows do not lie one behind the other. */
#include <stddef.h>

#define SIMD _Pragma("omp simd")
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define SUM(...) PRAGMA(omp simd reduction(+ : __VA_ARGS__))

#define MR 6
#ifndef VEC
#define VEC 32 /* bytes of a vector */
#endif
typedef real vec __attribute__((vector_size(VEC), aligned(4), may_alias));
#ifdef DOUBLE
typedef long lane;
#else
typedef int lane;
#endif
typedef lane lanes __attribute__((vector_size(VEC)));
#define LANES ((long)(VEC / sizeof(real)))
#define VECTORS (VEC == 64 ? 4 : 2) /* of a tile: 24 accumulators with 32 registers, 12 with 16 */
#define NR (VECTORS * LANES)
#define KC 256
#define NC 512

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long padded(long n, long to) { return (n + to - 1) / to * to; }

/* Element (i, j) of an operand lies at p[i * row + j * column]. */
typedef struct { const real *p; long row, column; } operand;

/* Of two vectors, per lane l: the first's l, or where l has bit s the second's l - s; and the first's l + s, or the
   second's l. */
static inline __attribute__((always_inline)) void stage(const int s, lanes *even, lanes *odd)
{
#pragma GCC unroll 16
    for (int l = 0; l < LANES; l++) (*even)[l] = l & s ? LANES + l - s : l, (*odd)[l] = l & s ? LANES + l : l + s;
}

/* Lane i is the sum over row i of LANES rows of LANES numbers each. */
static inline __attribute__((always_inline)) vec row_sums(const real *restrict p)
{
    vec v[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) v[i] = *(const vec *)(p + i * LANES);
#pragma GCC unroll 4
    for (int s = 1; s < LANES; s *= 2) {
        lanes even, odd;
        stage(s, &even, &odd);
#pragma GCC unroll 16
        for (int i = 0; i < LANES / s; i += 2)
            v[i / 2] = __builtin_shuffle(v[i], v[i + 1], even) + __builtin_shuffle(v[i], v[i + 1], odd);
    }
    return v[0];
}

/* Turns a square of LANES x LANES: rows `from` apart become columns, `to` apart. */
static inline __attribute__((always_inline)) void turn(const real *restrict p, long from, real *restrict out, long to)
{
    vec v[LANES], w[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) v[i] = *(const vec *)(p + i * from);
#pragma GCC unroll 4
    for (int s = 1; s < LANES; s *= 2) {
        lanes even, odd;
        stage(s, &even, &odd);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) w[i] = i & s ? __builtin_shuffle(v[i - s], v[i], odd) : __builtin_shuffle(v[i], v[i + s], even);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) v[i] = w[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) *(vec *)(out + i * to) = v[i];
}

/* Panels of NR columns of B from q on, n in all: out[panel][k][NR], zeros beyond the edge. */
static void pack_columns(real *restrict out, const real *restrict q, long row, long column, long n, long K)
{
    for (long j0 = 0; j0 < n; j0 += NR, q += NR * column, out += K * NR) {
        long width = least(NR, n - j0), k = 0;
        if (width < NR) memset(out, 0, sizeof(real) * K * NR);
        else if (column == 1)
            for (; k < K; k++)
                for (long j = 0; j < NR; j++) out[k * NR + j] = q[k * row + j];
        else if (row == 1)
            for (; k + LANES <= K; k += LANES)
                for (long j = 0; j < NR; j += LANES) turn(q + j * column + k, column, out + k * NR + j, NR);
        for (; k < K; k++)
            for (long j = 0; j < width; j++) out[k * NR + j] = q[k * row + j * column];
    }
}

/* Panels of MR rows of A that lie side by side, rows in all: out[panel][k][MR], zeros beyond the edge. */
static void pack_rows(real *restrict out, const real *restrict q, long column, long rows, long K)
{
    for (long i0 = 0; i0 < rows; i0 += MR, q += MR, out += K * MR) {
        long height = least(MR, rows - i0);
        if (height < MR) memset(out, 0, sizeof(real) * K * MR);
        if (height == MR)
            for (long k = 0; k < K; k++)
                for (long i = 0; i < MR; i++) out[k * MR + i] = q[k * column + i];
        else
            for (long k = 0; k < K; k++)
                for (long i = 0; i < height; i++) out[k * MR + i] = q[k * column + i];
    }
}

/* What becomes of C: it is replaced, the sums start from it, or they are added to it at the end. */
enum { SET, CONTINUE, ADD };

/* C (rows x vectors) from A B; element (i, k) of A lies at a[i * row + k * column], rows of B and C ldb and ldc apart. */
static inline __attribute__((always_inline)) void register_tile(const int rows, const int vectors, long K,
                                                                const real *restrict a, const long row,
                                                                const long column, const real *restrict b,
                                                                const long ldb, real *restrict c, long ldc, const int how)
{
    vec s[24];
#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            if (how == CONTINUE) s[i * vectors + v] = *(const vec *)(c + i * ldc + v * LANES);
            else s[i * vectors + v] = (vec){0};
    for (long k = 0; k < K; k++, a += column, b += ldb) {
        vec now[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) now[v] = *(const vec *)(b + v * LANES);
#pragma GCC unroll 24
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) s[i * vectors + v] += a[i * row] * now[v];
    }
#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            vec *out = (vec *)(c + i * ldc + v * LANES);
            if (how == ADD) s[i * vectors + v] += *out;
            *out = s[i * vectors + v];
        }
}

/* A tile of at most MR rows in NR columns of packed B. */
static inline __attribute__((always_inline)) void tile(long rows, long K, const real *a, long row, const long column,
                                                       const real *b, real *c, long ldc, const int how)
{
    switch (rows) {
        case 1: register_tile(1, VECTORS, K, a, row, column, b, NR, c, ldc, how); break;
        case 2: register_tile(2, VECTORS, K, a, row, column, b, NR, c, ldc, how); break;
        case 3: register_tile(3, VECTORS, K, a, row, column, b, NR, c, ldc, how); break;
        case 4: register_tile(4, VECTORS, K, a, row, column, b, NR, c, ldc, how); break;
        case 5: register_tile(5, VECTORS, K, a, row, column, b, NR, c, ldc, how); break;
        default: register_tile(MR, VECTORS, K, a, row, column, b, NR, c, ldc, how);
    }
}

/* C (M x N, rows ldc apart) = A B, added to C if `add`. One of A's two strides is 1. */
static void gemm(long M, long N, long K, operand A, operand B, real *C, long ldc, int add, real *scratch)
{
    real *a = scratch, *b = scratch + padded(padded(M, MR) * KC, 16), edge[MR * NR] __attribute__((aligned(64)));
    for (long k0 = 0; k0 < K; k0 += KC) {
        long kc = least(KC, K - k0);
        const real *from = A.p + k0 * A.column;
        if (A.column != 1) pack_rows(a, from, A.column, M, kc);
        for (long j0 = 0; j0 < N; j0 += NC) {
            long nc = least(NC, N - j0);
            pack_columns(b, B.p + k0 * B.row + j0 * B.column, B.row, B.column, nc, kc);
            for (long j = 0; j < nc; j += NR)
                for (long i = 0; i < M; i += MR) {
                    long rows = least(MR, M - i), columns = least(NR, nc - j), whole = columns == NR;
                    real *c = C + i * ldc + j0 + j, *out = whole ? c : edge;
                    int adds = add || k0, how = whole && adds ? ADD : SET;
                    if (A.column != 1) tile(rows, kc, a + i * kc, 1, MR, b + j * kc, out, whole ? ldc : NR, how);
                    else tile(rows, kc, from + i * A.row, A.row, 1, b + j * kc, out, whole ? ldc : NR, how);
                    if (!whole)
                        for (long y = 0; y < rows; y++)
                            for (long x = 0; x < columns; x++)
                                c[y * ldc + x] = edge[y * NR + x] + (adds ? c[y * ldc + x] : 0);
                }
        }
    }
}
static inline long gemm_scratch(long M) { return padded(padded(M, MR) * KC, 16) + KC * padded(NC, NR); }

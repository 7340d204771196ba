/* One layer with dropout, and its gradient; the masks are those of dropout.py.

   Every sample has tokens of its own, x_j = keep_j (P_j + E_b) / (1 - p), j = 0 .. T with [CLS] last. As in kernel.c,
   LayerNorm is affine once its statistics are known, so nothing but x is formed. With r = 1 / sd of x,
   u = centred(g . (W_K q)) and, over j, w = softmax(r x^T u) and v = w keep / (1 - p),

       mixed tokens  Z = centred(sum_j r_j v_j x_j),      values = W_V^T (g . Z) + (c^T W_V + b_V) sum_j v_j.

   Backwards, with D = gradient at Z (centred) and s' = gradient at the scores, the gradient at the normalised token is
   G_j = sum over heads of v_j D + s'_j u, which is centred, so that at x_j it is r (G_j - xhat_j mean(G_j xhat_j)).
   Softmax needs sum_j w_j dw_j, which is Z . D + (sum_j v_j) (gradient at sum_j v_j): known before the first token.

   Matrices are [i][h] over d x H, padded to whole vectors: pd x pH. Tokens are walked in blocks that stay in cache. */

#define BLOCK 24 /* a multiple of MR */
/* Vectors of 32 bytes at every level: with sixteen heads, longer ones would be half empty. */
typedef real half __attribute__((vector_size(32), aligned(4), may_alias));
#define HALF ((long)(32 / sizeof(real)))
#define PAIR (2 * HALF)

/* ---- masks: dropout.py, word by word ---- */

typedef struct { uint32_t first, odd; } key;
enum { EMBEDDING, ATTENTION, ATTENTION_OUTPUT, MLP_OUTPUT };

static uint64_t scramble_64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static key key_of(uint64_t seed, long step, uint64_t place, long sample)
{
    uint64_t golden = 0x9E3779B97F4A7C15u;
    uint64_t x = scramble_64(scramble_64(seed + step * golden) + ((place << 32) + sample) * golden);
    return (key){(uint32_t)x, (uint32_t)(x >> 32) | 1};
}

static inline uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

/* What a row's elements are multiplied by: 0 or `scale`. Writes 2 ceil(width / 2) numbers. */
static inline void keep_row(real *restrict keep, key k, long row, long width, int32_t below, real scale)
{
    long half = (width + 1) / 2;
    uint32_t start = (uint32_t)(row * half);
    SIMD for (long i = 0; i < half; i++) {
        uint32_t x = scramble((start + (uint32_t)i) * k.odd + k.first);
        keep[i] = (int32_t)(x & 0xFFFF) >= below ? scale : 0;
        keep[half + i] = (int32_t)(x >> 16) >= below ? scale : 0;
    }
}

/* ---- products of unpacked operands ---- */

/* MR rows of C, PAIR columns: C (+)= A B, where A's element (i, k) lies at a[i * row + k * column]. */
static inline __attribute__((always_inline)) void small_tile(long K, const real *restrict a, long row, long column,
                                                             const real *restrict b, long ldb, real *restrict c,
                                                             long ldc, int add)
{
    half s[MR][2];
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        s[i][0] = add ? *(const half *)(c + i * ldc) : (half){0};
        s[i][1] = add ? *(const half *)(c + i * ldc + HALF) : (half){0};
    }
    for (long k = 0; k < K; k++, a += column, b += ldb) {
        half b0 = *(const half *)b, b1 = *(const half *)(b + HALF);
#pragma GCC unroll 6
        for (int i = 0; i < MR; i++) {
            s[i][0] += a[i * row] * b0;
            s[i][1] += a[i * row] * b1;
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
        *(half *)(c + i * ldc) = s[i][0];
        *(half *)(c + i * ldc + HALF) = s[i][1];
    }
}

/* C (rows x n) = A (rows x K, contiguous rows) B (K x n). rows is a multiple of MR, n of PAIR. */
static void rows_times(long rows, long n, long K, const real *A, const real *B, real *C)
{
    for (long i = 0; i < rows; i += MR)
        for (long j = 0; j < n; j += PAIR) small_tile(K, A + i * K, K, 1, B + j, n, C + i * n + j, n, 0);
}

/* C (pd x pH) += X^T A, X (rows x pd), A (rows x pH). Writes up to the next multiple of MR rows, and reads as far. */
static void add_outer(long rows, long pd, long pH, const real *X, const real *A, real *C)
{
    for (long i = 0; i < pd; i += MR)
        for (long j = 0; j < pH; j += PAIR) small_tile(rows, X + i, 1, pd, A + j, pH, C + i * pH + j, pH, 1);
}

/* ---- scratch ---- */

typedef struct {
    real *P, *E, *X, *score, *pair, *keep, *keep_w, *d_X, *d_a, *u, *both, *d_u, *d_P, *d_on;
    real *w, *r, *mean, *Z, *D, *total, *asked, *q, *xhat_cls, *h_cls, *r_cls, *constant, *d_constant, *d_sum, *small;
    long pd, pH, rows;
    int32_t below;
    real scale;
    uint64_t seed;
} drops;

static long lay_out_dropout(const spec *S, long m, work *W, drops *Q, real *at)
{
    long d = S->d, H = S->H, w = S->k * H, rows = padded(S->T + 1, BLOCK), pd = padded(d, PAIR), pH = padded(H, PAIR);
    long matrix = padded(pd, MR) * pH;
    real *start = at;
    Q->pd = pd, Q->pH = pH, Q->rows = rows;
    Q->below = (int32_t)rint(S->dropout * 65536);
    Q->scale = 1 / (1 - S->dropout);
#define TAKE(name, n) Q->name = take(&at, n)
    TAKE(P, rows * pd); TAKE(E, 3 * pd); TAKE(X, rows * pd + 16); TAKE(score, BLOCK * pH); TAKE(pair, BLOCK * 2 * pH);
    TAKE(keep, BLOCK * pd); TAKE(keep_w, 2 * pH); TAKE(d_X, BLOCK * pd); TAKE(d_a, BLOCK * pH); TAKE(u, m * matrix);
    TAKE(both, 2 * pH * pd); TAKE(d_u, matrix); TAKE(d_P, rows * pd); TAKE(d_on, pd);
    TAKE(w, m * rows * pH); TAKE(r, m * rows); TAKE(mean, m * rows); TAKE(Z, m * matrix); TAKE(D, matrix); TAKE(total, m * pH);
    TAKE(asked, m * pd * pH); TAKE(q, m * w); TAKE(xhat_cls, m * d); TAKE(h_cls, m * d); TAKE(r_cls, m);
    TAKE(constant, w); TAKE(d_constant, w); TAKE(d_sum, pH); TAKE(small, pH > pd ? pH : pd);
#undef TAKE
#define TAKE(name, n) W->name = take(&at, n)
    TAKE(x_cls, m * d); TAKE(keep_1, m * (d + 1)); TAKE(keep_2, m * (d + 1)); TAKE(d_y, m * d);
#undef TAKE
    lay_out_readout(S, m, 0, W, &at);
    return at - start;
}

/* ---- tokens ---- */

/* Positions as rows, and the three bit vectors; what a bag's tokens lack is zero. */
static void positions(const spec *S, const real *p, drops *Q)
{
    long T = S->T, d = S->d, pd = Q->pd;
    const real *P = p + S->P, *E = p + S->E;
    memset(Q->P, 0, sizeof(real) * Q->rows * pd);
    memset(Q->E, 0, sizeof(real) * 3 * pd);
    for (long t0 = 0; t0 < T; t0 += 16)
        for (long i = 0; i < d; i++)
            for (long t = t0; t < least(T, t0 + 16); t++) Q->P[t * pd + i] = P[i * T + t];
    for (long i = 0; i < d; i++) {
        Q->P[T * pd + i] = p[S->P_cls + i];
        if (!S->bag) Q->E[i] = E[i], Q->E[pd + i] = E[d + i];
        Q->E[2 * pd + i] = E[2 * d + i];
    }
}

/* Rows j0 .. of one sample's tokens, and what their elements were multiplied by; zeros beyond [CLS]. */
static void tokens(const spec *S, drops *Q, key k, const uint8_t *restrict bits, long j0, long rows, real *restrict X,
                   real *restrict keep)
{
    long T = S->T, pd = Q->pd;
    for (long j = j0; j < j0 + rows; j++, X += pd, keep += pd) {
        if (j > T) {
            memset(X, 0, sizeof(real) * pd);
            memset(keep, 0, sizeof(real) * pd);
            continue;
        }
        const real *restrict P = Q->P + j * pd, *restrict E = Q->E + (j == T ? 2 : bits[j]) * pd;
        real here = S->bag && j < T && !bits[j] ? 0 : 1;
        keep_row(keep, k, j, S->d, Q->below, Q->scale);
        SIMD for (long i = 0; i < pd; i++) X[i] = keep[i] * (here * P[i] + E[i]);
    }
}

/* Mean and 1/sd of token rows. */
static void statistics(const spec *S, const drops *Q, const real *restrict X, long rows, real *mean, real *r)
{
    for (long j = 0; j < rows; j++, X += Q->pd) {
        real sum = 0, square = 0;
        mean[j] = 0, r[j] = 1;
        if (!S->norm) continue;
        SUM(sum, square) for (long i = 0; i < Q->pd; i++) sum += X[i], square += X[i] * X[i];
        mean[j] = sum / S->d;
        real var = square / S->d - mean[j] * mean[j];
        r[j] = 1 / (real)sqrt((var > 0 ? var : 0) + S->eps);
    }
}

/* Columns of a pd x pH matrix minus their means over the first d rows, where there is a norm. */
static void centre(const spec *S, const drops *Q, real *restrict A)
{
    real *restrict mean = Q->small;
    if (!S->norm) return;
    memset(mean, 0, sizeof(real) * Q->pH);
    for (long i = 0; i < S->d; i++) SIMD for (long h = 0; h < Q->pH; h++) mean[h] += A[i * Q->pH + h];
    for (long h = 0; h < Q->pH; h++) mean[h] /= S->d;
    for (long i = 0; i < S->d; i++) SIMD for (long h = 0; h < Q->pH; h++) A[i * Q->pH + h] -= mean[h];
}

static inline real gain(const spec *S, const real *p, long i) { return S->norm ? p[S->g_1 + i] : 1; }

/* ---- forward ---- */

/* The sample's query, W_K q and u. */
static void ask(const spec *S, const real *p, drops *Q, key k, long n, work *W)
{
    long d = S->d, H = S->H, w = S->k * H, pd = Q->pd, pH = Q->pH, T = S->T;
    real *x = W->x_cls + n * d, *h = Q->h_cls + n * d, *q = Q->q + n * w;
    real *restrict asked = Q->asked + n * pd * pH, *restrict u = Q->u + n * padded(pd, MR) * pH;
    keep_row(Q->keep, k, T, d, Q->below, Q->scale);
    for (long i = 0; i < d; i++) h[i] = x[i] = Q->keep[i] * (Q->P[T * pd + i] + Q->E[2 * pd + i]);
    if (S->norm) {
        real *xhat = Q->xhat_cls + n * d;
        Q->r_cls[n] = normalise(x, xhat, d, S->eps);
        for (long i = 0; i < d; i++) h[i] = xhat[i] * p[S->g_1 + i] + p[S->c_1 + i];
    }
    for (long x = 0; x < w; x++) q[x] = S->bias ? p[S->b_Q + x] : 0;
    for (long i = 0; i < d; i++) {
        const real *restrict row = p + S->W_Q + i * w, z = h[i];
        SIMD for (long x = 0; x < w; x++) q[x] += z * row[x];
    }
    real over = 1 / S->temperature;
    memset(u, 0, sizeof(real) * padded(pd, MR) * pH);
    for (long i = 0; i < d; i++) {
        const real *restrict row = p + S->W_K + i * w, g = gain(S, p, i);
        real *restrict out = asked + i * pH;
        for (long x = 0; x < pH; x++) out[x] = 0;
        for (long j = 0; j < S->k; j++) SIMD for (long x = 0; x < H; x++) out[x] += row[j * H + x] * q[j * H + x] * over;
        SIMD for (long x = 0; x < pH; x++) u[i * pH + x] = out[x] * g;
    }
    centre(S, Q, u);
}

/* Attention of sample n: weights w, mixed tokens Z, the sum of the dropped weights, values. */
static void attend(const spec *S, const real *p, drops *Q, const uint8_t *bits, long step, long n, work *W)
{
    long T = S->T, d = S->d, H = S->H, w = S->k * H, pd = Q->pd, pH = Q->pH, rows = Q->rows;
    key embedding = key_of(Q->seed, step, EMBEDDING, n), attention = key_of(Q->seed, step, ATTENTION, n);
    real *restrict weight = Q->w + n * rows * pH, *restrict r = Q->r + n * rows, *mean = Q->mean + n * rows;
    real *restrict u = Q->u + n * padded(pd, MR) * pH, *restrict Z = Q->Z + n * padded(pd, MR) * pH;
    real *restrict total = Q->total + n * pH, *restrict top = Q->small, *restrict v = W->values + n * w;
    ask(S, p, Q, embedding, n, W);
    for (long x = 0; x < pH; x++) top[x] = -INFINITY;
    for (long j0 = 0; j0 < rows; j0 += BLOCK) {
        real *X = Q->X + j0 * pd, *restrict s = weight + j0 * pH;
        tokens(S, Q, embedding, bits, j0, BLOCK, X, Q->keep);
        statistics(S, Q, X, BLOCK, mean + j0, r + j0);
        rows_times(BLOCK, pH, pd, X, u, s);
        for (long j = 0; j < BLOCK && j0 + j <= T; j++) SIMD for (long x = 0; x < pH; x++) {
            s[j * pH + x] *= r[j0 + j];
            top[x] = s[j * pH + x] > top[x] ? s[j * pH + x] : top[x];
        }
    }
    for (long x = 0; x < pH; x++) total[x] = 0;
    for (long j = 0; j <= T; j++) SIMD for (long x = 0; x < pH; x++) {
        real e = exp_negative(weight[j * pH + x] - top[x]);
        weight[j * pH + x] = e;
        total[x] += e;
    }
    real *restrict over = Q->small;
    for (long x = 0; x < pH; x++) over[x] = 1 / total[x], total[x] = 0;
    memset(Z, 0, sizeof(real) * padded(pd, MR) * pH);
    for (long j0 = 0; j0 < rows; j0 += BLOCK) {
        real *restrict a = Q->score;
        memset(a, 0, sizeof(real) * BLOCK * pH);
        for (long j = 0; j < BLOCK && j0 + j <= T; j++) {
            real *restrict own = weight + (j0 + j) * pH;
            keep_row(Q->keep_w, attention, j0 + j, H, Q->below, Q->scale);
            SIMD for (long x = 0; x < pH; x++) {
                own[x] *= over[x];
                real kept = own[x] * Q->keep_w[x];
                total[x] += kept;
                a[j * pH + x] = kept * r[j0 + j];
            }
        }
        add_outer(BLOCK, pd, pH, Q->X + j0 * pd, a, Z);
    }
    centre(S, Q, Z);
    for (long j = 0; j < S->k; j++)
        SIMD for (long h = 0; h < H; h++) v[j * H + h] = Q->constant[j * H + h] * total[h];
    for (long i = 0; i < d; i++) {
        const real *restrict row = p + S->W_V + i * w, *restrict z = Z + i * pH, g = gain(S, p, i);
        for (long j = 0; j < S->k; j++) SIMD for (long h = 0; h < H; h++) v[j * H + h] += g * z[h] * row[j * H + h];
    }
}

/* ---- backward ---- */

/* Gradient at a sample's weighted sum of values, d_values: to W_V, the gain, D, and the gradient at sum_j v_j. */
static void values_gradient(const spec *S, const real *p, real *g, drops *Q, long n, work *W)
{
    long d = S->d, H = S->H, k = S->k, w = k * H, pH = Q->pH, size = padded(Q->pd, MR) * pH;
    const real *restrict dv = W->d_values + n * w, *restrict Z = Q->Z + n * size, *restrict total = Q->total + n * pH;
    real *restrict D = Q->D, *restrict d_sum = Q->d_sum;
    memset(D, 0, sizeof(real) * size);
    memset(d_sum, 0, sizeof(real) * pH);
    for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
        long x = j * H + h;
        d_sum[h] += Q->constant[x] * dv[x];
        Q->d_constant[x] += dv[x] * total[h];
    }
    for (long i = 0; i < d; i++) {
        const real *restrict row = p + S->W_V + i * w, *restrict z = Z + i * pH, gi = gain(S, p, i);
        real *restrict out = D + i * pH, *restrict d_row = g + S->W_V + i * w, d_gain = 0;
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
            out[h] += row[j * H + h] * dv[j * H + h];
            d_row[j * H + h] += gi * z[h] * dv[j * H + h];
        }
        if (!S->norm) continue;
        SUM(d_gain) for (long h = 0; h < H; h++) {
            d_gain += out[h] * z[h];
            out[h] *= gi;
        }
        g[S->g_1 + i] += d_gain;
    }
    centre(S, Q, D);
}

/* From d_u to W_K, the gain, and through the query to W_Q; leaves the gradient at x_cls (through the query) in d_x. */
static void ask_gradient(const spec *S, const real *p, real *g, drops *Q, long n, real *restrict d_x)
{
    long d = S->d, H = S->H, k = S->k, w = k * H, pH = Q->pH;
    const real *restrict q = Q->q + n * w, *restrict asked = Q->asked + n * Q->pd * pH, *h_cls = Q->h_cls + n * d;
    real d_q[w], over = 1 / S->temperature;
    memset(d_q, 0, sizeof(real) * w);
    centre(S, Q, Q->d_u);
    for (long i = 0; i < d; i++) {
        real *restrict out = Q->d_u + i * pH, gi = gain(S, p, i), d_gain = 0;
        SUM(d_gain) for (long h = 0; h < H; h++) {
            d_gain += out[h] * asked[i * pH + h];
            out[h] *= gi * over;
        }
        if (S->norm) g[S->g_1 + i] += d_gain;
        const real *restrict row = p + S->W_K + i * w;
        real *restrict d_row = g + S->W_K + i * w;
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
            d_q[j * H + h] += row[j * H + h] * out[h];
            d_row[j * H + h] += q[j * H + h] * out[h];
        }
    }
    if (S->bias) for (long x = 0; x < w; x++) g[S->b_Q + x] += d_q[x];
    for (long i = 0; i < d; i++) {
        const real *restrict row = p + S->W_Q + i * w, z = h_cls[i];
        real *restrict d_row = g + S->W_Q + i * w, sum = 0;
        SUM(sum) for (long x = 0; x < w; x++) {
            d_row[x] += z * d_q[x];
            sum += row[x] * d_q[x];
        }
        d_x[i] = sum;
    }
    if (!S->norm) return;
    const real *xhat = Q->xhat_cls + n * d;
    for (long i = 0; i < d; i++) {
        g[S->c_1 + i] += d_x[i];
        g[S->g_1 + i] += d_x[i] * xhat[i];
        d_x[i] *= p[S->g_1 + i];
    }
    through_norm(d_x, xhat, Q->r_cls[n], d);
}

/* Everything before the values of sample n: gradients of attention and tokens. */
static void attend_gradient(const spec *S, const real *p, real *g, drops *Q, const uint8_t *bits, long step, long n,
                            work *W)
{
    long T = S->T, d = S->d, H = S->H, pd = Q->pd, pH = Q->pH, rows = Q->rows, size = padded(pd, MR) * pH;
    key embedding = key_of(Q->seed, step, EMBEDDING, n), attention = key_of(Q->seed, step, ATTENTION, n);
    const real *restrict weight = Q->w + n * rows * pH, *restrict r = Q->r + n * rows, *restrict mean = Q->mean + n * rows;
    const real *restrict u = Q->u + n * size, *restrict Z = Q->Z + n * size, *restrict total = Q->total + n * pH;
    values_gradient(S, p, g, Q, n, W);
    real inner[pH], d_x[d];
    for (long h = 0; h < pH; h++) inner[h] = total[h] * Q->d_sum[h];
    for (long i = 0; i < d; i++) SIMD for (long h = 0; h < pH; h++) inner[h] += Z[i * pH + h] * Q->D[i * pH + h];
    for (long h = 0; h < pH; h++)
        for (long i = 0; i < pd; i++) {
            Q->both[h * pd + i] = Q->D[i * pH + h];
            Q->both[(pH + h) * pd + i] = u[i * pH + h];
        }
    memset(Q->d_u, 0, sizeof(real) * size);
    for (long j0 = 0; j0 < rows; j0 += BLOCK) {
        real *restrict X = Q->X, *restrict d_a = Q->d_a, *restrict pair = Q->pair, *restrict d_X = Q->d_X;
        tokens(S, Q, embedding, bits, j0, BLOCK, X, Q->keep);
        rows_times(BLOCK, pH, pd, X, Q->D, d_a);
        memset(pair, 0, sizeof(real) * BLOCK * 2 * pH);
        for (long j = 0; j < BLOCK && j0 + j <= T; j++) {
            const real *restrict own = weight + (j0 + j) * pH, rj = r[j0 + j];
            keep_row(Q->keep_w, attention, j0 + j, H, Q->below, Q->scale);
            SIMD for (long h = 0; h < pH; h++) {
                real kept = Q->keep_w[h], d_w = (rj * d_a[j * pH + h] + Q->d_sum[h]) * kept;
                real d_s = own[h] * (d_w - inner[h]);
                pair[j * 2 * pH + h] = own[h] * kept;
                pair[j * 2 * pH + pH + h] = d_s;
                d_a[j * pH + h] = rj * d_s; /* from here on the gradient at x^T u */
            }
        }
        for (long j = least(BLOCK, T + 1 - j0); j < BLOCK; j++) memset(d_a + j * pH, 0, sizeof(real) * pH);
        add_outer(BLOCK, pd, pH, X, d_a, Q->d_u);
        if (!S->trains_encoding) continue;
        rows_times(BLOCK, pd, 2 * pH, pair, Q->both, d_X);
        for (long j = 0; j < BLOCK && j0 + j <= T; j++) {
            real *restrict G = d_X + j * pd, *restrict x = X + j * pd, *restrict keep = Q->keep + j * pd, dot = 0;
            real *restrict out = Q->d_P + (j0 + j) * pd, *restrict on = Q->d_on, rj = r[j0 + j], mu = mean[j0 + j];
            if (S->norm) SUM(dot) for (long i = 0; i < pd; i++) dot += G[i] * x[i];
            dot *= rj * rj / d;
            if (j0 + j == T) { /* [CLS] has more to come, before its mask */
                for (long i = 0; i < d; i++) d_x[i] = rj * (G[i] - dot * (x[i] - mu));
                break;
            }
            if (S->bag) {
                real here = bits[j0 + j];
                SIMD for (long i = 0; i < pd; i++) out[i] += here * keep[i] * rj * (G[i] - dot * (x[i] - mu));
            } else if (bits[j0 + j])
                SIMD for (long i = 0; i < pd; i++) {
                    real at = keep[i] * rj * (G[i] - dot * (x[i] - mu));
                    out[i] += at;
                    on[i] += at;
                }
            else
                SIMD for (long i = 0; i < pd; i++) out[i] += keep[i] * rj * (G[i] - dot * (x[i] - mu));
        }
    }
    real query[d];
    ask_gradient(S, p, g, Q, n, query);
    if (!S->trains_encoding) return;
    keep_row(Q->keep, embedding, T, d, Q->below, Q->scale);
    for (long i = 0; i < d; i++)
        Q->d_P[T * pd + i] += Q->keep[i] * (d_x[i] + query[i] + (S->residual ? W->d_z[n * d + i] : 0));
}

/* What all samples' gradients have in common at the end. */
static void finish_gradient(const spec *S, const real *p, real *g, drops *Q)
{
    long T = S->T, d = S->d, w = S->k * S->H, pd = Q->pd;
    if (S->bias) memcpy(g + S->b_V, Q->d_constant, sizeof(real) * w);
    if (S->norm)
        for (long i = 0; i < d; i++) {
            real sum = 0, c = p[S->c_1 + i];
            for (long x = 0; x < w; x++) {
                g[S->W_V + i * w + x] += c * Q->d_constant[x];
                sum += p[S->W_V + i * w + x] * Q->d_constant[x];
            }
            g[S->c_1 + i] += sum;
        }
    if (!S->trains_encoding) return;
    for (long i = 0; i < d; i++) {
        real all = 0;
        for (long t = 0; t < T; t++) all += g[S->P + i * T + t] = Q->d_P[t * pd + i];
        g[S->P_cls + i] = g[S->E + 2 * d + i] = Q->d_P[T * pd + i];
        g[S->E + i] = S->bag ? 0 : all - Q->d_on[i];
        g[S->E + d + i] = S->bag ? 0 : Q->d_on[i];
    }
}

/* Margins of the m samples under the masks of this step (from 0). */
static void token_forward(const spec *S, const real *p, const uint8_t *bits, long step, real *margin, work *W, drops *Q)
{
    long T = S->T, d = S->d;
    positions(S, p, Q);
    values_constant(S, p, Q->constant);
    for (long n = 0; n < S->m; n++) {
        attend(S, p, Q, bits + n * T, step, n, W);
        keep_row(W->keep_1 + n * d, key_of(Q->seed, step, ATTENTION_OUTPUT, n), 0, d, Q->below, Q->scale);
        if (S->f) keep_row(W->keep_2 + n * d, key_of(Q->seed, step, MLP_OUTPUT, n), 0, d, Q->below, Q->scale);
    }
    act_on_values(S, S->m, W);
    read_out(S, p, S->m, W, margin);
}

/* Margins, their mean loss and its gradient g. */
static void token_step(const spec *S, const real *p, real *g, const uint8_t *bits, const real *labels, long step,
                       real *margin, real *loss, work *W, drops *Q)
{
    long m = S->m;
    token_forward(S, p, bits, step, margin, W, Q);
    *loss = losses(labels, margin, m, W->d_margin);
    memset(g, 0, sizeof(real) * S->n_trained);
    memset(Q->d_P, 0, sizeof(real) * Q->rows * Q->pd);
    memset(Q->d_on, 0, sizeof(real) * Q->pd);
    memset(Q->d_constant, 0, sizeof(real) * S->k * S->H);
    read_out_gradient(S, p, g, m, W);
    output_gradient(S, p, g, m, W);
    for (long n = 0; n < m; n++) attend_gradient(S, p, g, Q, bits + n * S->T, step, n, W);
    finish_gradient(S, p, g, Q);
}

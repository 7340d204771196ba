/* One layer with dropout, and its gradient; the masks are those of dropout.py.

   Every sample has tokens of its own, x_j = keep_j (P_j + E_b) / (1 - p), j = 0 .. T with [CLS] last. As in kernel.c,
   LayerNorm is affine once its statistics are known, so nothing but x is formed. Let r = 1 / sd of x, and let key and
   value be W_K / temperature and W_V times the gain, their columns centred over the inputs. With u = key q and, over j,
   w = softmax(r x^T u) and v = w keep / (1 - p),

       mixed tokens  Z = sum_j r_j v_j x_j,      values = value^T Z + (c^T W_V + b_V) sum_j v_j.

   Neither u nor Z need be centred: one factor of each product already is. No token is projected.

   Backwards, with D = value d_values, the gradient at Z, and s' = gradient at the scores, the gradient at the normalised
   token is G_j = sum over heads of v_j D + s'_j u, which is centred, so that at x_j it is
   r (G_j - xhat_j mean(G_j xhat_j)). Softmax needs sum_j w_j dw_j, which is Z . D + (sum_j v_j) (gradient at sum_j v_j):
   known before the first token. Gradients at key and value are summed over samples, and go to weights and gain at the end.

   Matrices are [i][h], padded to whole vectors: pd x pH; those with _t are [h][i]. Tokens are walked in blocks that stay
   in the first-level cache, and products of a block are made of tiles of C that stay in registers. */

#define GRAIN 24 /* tokens are padded to a multiple: every tile's rows divide it */
#define BLOCK 48
#ifdef DOUBLE
#define ROOT sqrt
#else
#define ROOT sqrtf
#endif
#define WIDE (VEC == 64) /* 32 registers, not 16 */

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

/* Which of H elements are kept in `rows` rows from j0 on, as 1 or 0: out[row][pH], 2 ceil(H / 2) of each row written.
   `words` is scratch. */
static inline __attribute__((always_inline)) void kept_rows(real *restrict out, key k, long j0, long rows, const long H,
                                                            const long pH, int32_t below, uint32_t *restrict words)
{
    const long half = (H + 1) / 2;
    uint32_t start = (uint32_t)(j0 * half);
    SIMD for (long i = 0; i < rows * half; i++) words[i] = scramble((start + (uint32_t)i) * k.odd + k.first);
    for (long j = 0; j < rows; j++) {
        real *restrict low = out + j * pH, *restrict high = low + half;
        const uint32_t *restrict word = words + j * half;
        SIMD for (long i = 0; i < half; i++) {
            low[i] = (int32_t)(word[i] & 0xFFFF) >= below ? 1 : 0;
            high[i] = (int32_t)(word[i] >> 16) >= below ? 1 : 0;
        }
    }
}

/* ---- products of unpacked operands ---- */

/* C (rows x pH) = X (rows x pd) u (pd x pH). rows is a multiple of GRAIN. */
static inline __attribute__((always_inline)) void tokens_times(long rows, const long pd, const long pH, const real *X,
                                                               const real *u, real *C)
{
    enum { ONE = WIDE ? 24 : 12, TWO = ONE / 2 };
    if (pH / LANES % 2)
        for (long h = 0; h < pH; h += LANES)
            for (long j = 0; j < rows; j += ONE)
                register_tile(ONE, 1, pd, X + j * pd, pd, 1, u + h, pH, C + j * pH + h, pH, SET);
    else
        for (long h = 0; h < pH; h += 2 * LANES)
            for (long j = 0; j < rows; j += TWO)
                register_tile(TWO, 2, pd, X + j * pd, pd, 1, u + h, pH, C + j * pH + h, pH, SET);
}

/* C (pd x pH) += X^T A, where X is rows x pd and the rows of A are `lda` apart. */
static inline __attribute__((always_inline)) void add_mixed(long rows, const long pd, const long pH, const real *X,
                                                            const real *A, const long lda, real *C)
{
    enum { ONE = WIDE ? 16 : 8, TWO = ONE / 2 };
    if (pH / LANES % 2)
        for (long i = 0; i < pd; i += ONE)
            for (long h = 0; h < pH; h += LANES)
                register_tile(ONE, 1, rows, X + i, 1, pd, A + h, lda, C + i * pH + h, pH, CONTINUE);
    else
        for (long i = 0; i < pd; i += TWO)
            for (long h = 0; h < pH; h += 2 * LANES)
                register_tile(TWO, 2, rows, X + i, 1, pd, A + h, lda, C + i * pH + h, pH, CONTINUE);
}

/* C (GRAIN x pd) = A (GRAIN x K) B (K x pd). */
static inline __attribute__((always_inline)) void heads_times(long K, const long pd, const real *A, const real *B, real *C)
{
    enum { MOST = WIDE ? 4 : 2 };
    long x = 0;
    for (; x + MOST * LANES <= pd; x += MOST * LANES)
        for (long j = 0; j < GRAIN; j += 6) register_tile(6, MOST, K, A + j * K, K, 1, B + x, pd, C + j * pd + x, pd, SET);
    for (; x < pd; x += LANES)
        for (long j = 0; j < GRAIN; j += 12) register_tile(12, 1, K, A + j * K, K, 1, B + x, pd, C + j * pd + x, pd, SET);
}

/* ---- scratch ---- */

typedef struct {
    real *P, *E;                              /* (rows, pd), (3, pd): positions and bit vectors over 1 - p */
    real *key, *value, *d_key, *d_value;      /* (pd, k, pH) */
    real *key_t, *value_t;                    /* (k, pH, pd) */
    real *u, *D, *d_u, *both;                 /* (pd, pH) of one sample; (2 pH, pd) D and u with heads first */
    real *X, *keep, *keep_w, *score, *G;      /* of a block tokens, masks, products; of a grain gradients */
    real *pair, *d_P;                         /* (BLOCK, 2 pH) r v and r s'; (2, rows, pd) by bit, before 1 / (1 - p) */
    real *w, *r, *mean, *over, *total, *Z;    /* of every sample: e^(s - top of its block), negative where dropped; 1 / its sum; .. */
    real *q, *d_q, *xhat_cls, *h_cls, *d_h, *r_cls; /* (m, w), (m, w), (m, d) and (m) */
    real *asked, *d_values, *inner, *d_sum, *top;   /* (k, pH), (k, pH), (pH) .. of one sample */
    real *constant, *d_constant;              /* (w) */
    real *parts;                              /* (2, BLOCK, LANES) sums over a part of each row, then over all of it */
    real *tops;                               /* (m, blocks, pH) largest score up to the end of each block */
    uint32_t *words;                          /* of masks, before they are one */
    long pd, pH, rows, blocks;
    int32_t below;
    real scale;
    uint64_t seed;
} drops;

static long lay_out_dropout(const spec *S, long m, work *W, drops *Q, real *at)
{
    long d = S->d, H = S->H, k = S->k, w = k * H, rows = padded(S->T + 1, GRAIN), pd = padded(d, 16), pH = padded(H, LANES);
    long matrix = pd * pH, blocks = (rows + BLOCK - 1) / BLOCK;
    real *start = at;
    Q->pd = pd, Q->pH = pH, Q->rows = rows, Q->blocks = blocks;
    Q->below = (int32_t)rint(S->dropout * 65536);
    Q->scale = 1 / (1 - S->dropout);
#define TAKE(name, n) Q->name = take(&at, n)
    TAKE(P, rows * pd); TAKE(E, 3 * pd); TAKE(key, k * matrix); TAKE(value, k * matrix); TAKE(d_key, k * matrix);
    TAKE(d_value, k * matrix); TAKE(key_t, k * matrix); TAKE(value_t, k * matrix); TAKE(u, matrix); TAKE(D, matrix);
    TAKE(d_u, matrix); TAKE(both, 2 * matrix); TAKE(X, BLOCK * pd); TAKE(keep, BLOCK * pd); TAKE(keep_w, BLOCK * pH + 1);
    TAKE(score, BLOCK * pH); TAKE(G, GRAIN * pd); TAKE(pair, BLOCK * 2 * pH); TAKE(d_P, 2 * rows * pd);
    TAKE(parts, 2 * BLOCK * LANES); TAKE(w, m * rows * pH); TAKE(r, m * rows); TAKE(mean, m * rows); TAKE(over, m * pH); TAKE(total, m * pH);
    TAKE(Z, m * matrix); TAKE(q, m * w); TAKE(d_q, m * w); TAKE(xhat_cls, m * d); TAKE(h_cls, m * d); TAKE(d_h, m * d);
    TAKE(r_cls, m); TAKE(asked, k * pH); TAKE(d_values, k * pH); TAKE(inner, pH); TAKE(d_sum, pH); TAKE(top, pH);
    TAKE(tops, m * blocks * pH);
    TAKE(constant, w); TAKE(d_constant, w);
    Q->words = (uint32_t *)take(&at, BLOCK * pH + pd);
#undef TAKE
#define TAKE(name, n) W->name = take(&at, n)
    TAKE(x_cls, m * d); TAKE(keep_1, m * (d + 1)); TAKE(keep_2, m * (d + 1)); TAKE(d_y, m * d);
#undef TAKE
    lay_out_readout(S, m, w, W, &at);
    return at - start;
}

/* ---- what samples share ---- */

/* Positions as rows, and the three bit vectors; what a bag's tokens lack is zero. */
static void positions(const spec *S, const real *p, drops *Q)
{
    long T = S->T, d = S->d, pd = Q->pd;
    const real *P = p + S->P, *E = p + S->E, scale = Q->scale;
    memset(Q->P, 0, sizeof(real) * Q->rows * pd);
    memset(Q->E, 0, sizeof(real) * 3 * pd);
    for (long t0 = 0; t0 < T; t0 += 16)
        for (long i = 0; i < d; i++)
            for (long t = t0; t < least(T, t0 + 16); t++) Q->P[t * pd + i] = P[i * T + t] * scale;
    for (long i = 0; i < d; i++) {
        Q->P[T * pd + i] = p[S->P_cls + i] * scale;
        if (!S->bag) Q->E[i] = E[i] * scale, Q->E[pd + i] = E[d + i] * scale;
        Q->E[2 * pd + i] = E[2 * d + i] * scale;
    }
}

/* A (pd, k, pH) minus the means over its first d rows, where there is a norm. */
static void centre(const spec *S, const drops *Q, real *restrict A)
{
    long d = S->d, n = S->k * Q->pH;
    for (long x = 0; S->norm && x < n; x++) {
        real mean = 0;
        for (long i = 0; i < d; i++) mean += A[i * n + x];
        mean /= d;
        for (long i = 0; i < d; i++) A[i * n + x] -= mean;
    }
}

static inline real gain(const spec *S, const real *p, long i) { return S->norm ? p[S->g_1 + i] : 1; }

/* key or value in both orders from W_K or W_V (d x w). */
static void projection(const spec *S, const real *p, const drops *Q, const real *from, real by, real *out, real *turned)
{
    long d = S->d, H = S->H, k = S->k, pd = Q->pd, pH = Q->pH;
    memset(out, 0, sizeof(real) * pd * k * pH);
    for (long i = 0; i < d; i++)
        for (long j = 0; j < k; j++)
            for (long h = 0; h < H; h++) out[(i * k + j) * pH + h] = from[(i * k + j) * H + h] * gain(S, p, i) * by;
    centre(S, Q, out);
    for (long i = 0; i < pd; i++)
        for (long x = 0; x < k * pH; x++) turned[x * pd + i] = out[i * k * pH + x];
}

/* From the gradient at key or value to those of W_K or W_V (added) and of the gain. */
static void projection_gradient(const spec *S, const real *p, real *g, const drops *Q, const real *from, real by, real *d_A,
                                real *restrict d_from)
{
    long d = S->d, H = S->H, k = S->k, pH = Q->pH;
    centre(S, Q, d_A);
    for (long i = 0; i < d; i++) {
        real d_gain = 0, times = gain(S, p, i) * by;
        for (long j = 0; j < k; j++)
            for (long h = 0; h < H; h++) {
                real at = d_A[(i * k + j) * pH + h];
                d_from[(i * k + j) * H + h] += at * times;
                d_gain += at * from[(i * k + j) * H + h] * by;
            }
        if (S->norm) g[S->g_1 + i] += d_gain;
    }
}

/* ---- one sample: products with key and value, A (pd, k, pH); rows (k, pH) ---- */

/* The numbers [j H + h] as rows (k, pH), and back. */
static void spread(const spec *S, long pH, const real *restrict from, real *restrict out)
{
    long H = S->H;
    memset(out, 0, sizeof(real) * S->k * pH);
    for (long j = 0; j < S->k; j++) memcpy(out + j * pH, from + j * H, sizeof(real) * H);
}

/* out (pd, pH) = sum over j of A (i, j, h) b (j, h). */
static inline __attribute__((always_inline)) void expand(const long pd, long k, const long pH, const real *restrict A,
                                                         const real *restrict b, real *restrict out)
{
    for (long i = 0; i < pd; i++)
        for (long h = 0; h < pH; h += LANES) {
            vec sum = {0};
            for (long j = 0; j < k; j++) sum += *(const vec *)(A + (i * k + j) * pH + h) * *(const vec *)(b + j * pH + h);
            *(vec *)(out + i * pH + h) = sum;
        }
}

/* The same with heads first: out (pH, pd), A (k, pH, pd). */
static inline __attribute__((always_inline)) void expand_turned(const long pd, long k, const long pH,
                                                                const real *restrict A, const real *restrict b,
                                                                real *restrict out)
{
    for (long h = 0; h < pH; h++)
        for (long i = 0; i < pd; i += LANES) {
            vec sum = {0};
            for (long j = 0; j < k; j++) sum += *(const vec *)(A + (j * pH + h) * pd + i) * b[j * pH + h];
            *(vec *)(out + h * pd + i) = sum;
        }
}

/* out (k, pH) = sum over i of A (i, j, h) z (i, h). */
static inline __attribute__((always_inline)) void contract(const long pd, long k, const long pH, const real *restrict A,
                                                           const real *restrict z, real *restrict out)
{
    for (long j = 0; j < k; j++)
        for (long h = 0; h < pH; h += LANES) {
            vec even = {0}, odd = {0};
            for (long i = 0; i < pd; i += 2) {
                even += *(const vec *)(A + (i * k + j) * pH + h) * *(const vec *)(z + i * pH + h);
                odd += *(const vec *)(A + ((i + 1) * k + j) * pH + h) * *(const vec *)(z + (i + 1) * pH + h);
            }
            *(vec *)(out + j * pH + h) = even + odd;
        }
}

/* A (i, j, h) += z (i, h) b (j, h). */
static inline __attribute__((always_inline)) void add_products(const long pd, long k, const long pH,
                                                               const real *restrict z, const real *restrict b,
                                                               real *restrict A)
{
    for (long i = 0; i < pd; i++)
        for (long j = 0; j < k; j++)
            for (long h = 0; h < pH; h += LANES)
                *(vec *)(A + (i * k + j) * pH + h) += *(const vec *)(z + i * pH + h) * *(const vec *)(b + j * pH + h);
}

/* ---- one sample: tokens and attention ---- */

/* The sums over rows of LANES numbers each, `rows` a multiple of LANES; `out` may be p. */
static inline __attribute__((always_inline)) void add_up(const real *p, const long rows, real *out)
{
    for (long j = 0; j < rows; j += LANES) {
        vec sums = row_sums(p + j * LANES);
        *(vec *)(out + j) = sums;
    }
}

/* Rows j0 .. of one sample's tokens, which of their elements are kept (1 or 0), and their mean and 1/sd, if wanted; zeros
   beyond [CLS]. */
static inline __attribute__((always_inline)) void tokens(const spec *S, const drops *Q, key k, const uint8_t *restrict bits,
                                                         long j0, long rows, const long d, const long pd,
                                                         real *restrict X, real *restrict keep, real *restrict mean,
                                                         real *restrict r)
{
    const long T = S->T, half = (d + 1) / 2;
    int32_t below = Q->below;
    uint32_t *restrict walk = Q->words;
    SIMD for (long i = 0; i < half; i++) walk[i] = (uint32_t)i * k.odd;
    for (long j = j0; j < j0 + rows; j++, X += pd) {
        if (j > T) {
            memset(X, 0, sizeof(real) * pd);
            continue;
        }
        const real *restrict P = Q->P + j * pd, *restrict E = Q->E + (j == T ? 2 : bits[j]) * pd;
        real here = S->bag && j < T && !bits[j] ? 0 : 1, *restrict own = keep + (keep ? (j - j0) * pd : 0);
        uint32_t start = (uint32_t)(j * half) * k.odd + k.first;
        for (long i = 2 * half; i < pd; i++) X[i] = 0;
        for (long i = 2 * half; keep && i < pd; i++) own[i] = 0;
        SIMD for (long i = 0; i < half; i++) {
            uint32_t x = scramble(start + walk[i]);
            real low = (int32_t)(x & 0xFFFF) >= below ? here : 0, high = (int32_t)(x >> 16) >= below ? here : 0;
            X[i] = low * (P[i] + E[i]);
            X[half + i] = high * (P[half + i] + E[half + i]);
            if (keep) own[i] = low, own[half + i] = high;
        }
        if (!r) continue;
        vec sum = {0}, square = {0};
        for (long i = 0; i < pd; i += LANES) {
            vec x = *(const vec *)(X + i);
            sum += x;
            square += x * x;
        }
        *(vec *)(Q->parts + (j - j0) * LANES) = sum;
        *(vec *)(Q->parts + (BLOCK + j - j0) * LANES) = square;
    }
    if (!r) return;
    const real each = S->norm ? (real)1 / d : 0, eps = S->norm ? S->eps : 1;
    add_up(Q->parts, BLOCK, Q->parts);
    add_up(Q->parts + BLOCK * LANES, BLOCK, Q->parts + BLOCK * LANES);
    const real *restrict sums = Q->parts, *restrict squares = sums + BLOCK * LANES;
    for (long j = T + 1 - j0; j < rows; j++) mean[j] = r[j] = 0;
    SIMD for (long j = 0; j < least(rows, T + 1 - j0); j++) {
        real mu = sums[j] * each, var = squares[j] * each - mu * mu;
        mean[j] = mu;
        r[j] = 1 / ROOT((var > 0 ? var : 0) + eps);
    }
}

/* Attention of sample n: weights w, mixed tokens Z, the sum of the dropped weights, values. */
static inline __attribute__((always_inline)) void attend(const spec *S, drops *Q, const uint8_t *bits, long step, long n,
                                                         work *W, const long d, const long H, const long pd, const long pH)
{
    long T = S->T, k = S->k, w = k * H, rows = Q->rows;
    key embedding = key_of(Q->seed, step, EMBEDDING, n), attention = key_of(Q->seed, step, ATTENTION, n);
    real *restrict weight = Q->w + n * rows * pH, *restrict r = Q->r + n * rows, *mean = Q->mean + n * rows;
    real *restrict Z = Q->Z + n * pd * pH, *restrict v = W->values + n * w, *restrict top = Q->top;
    real *restrict total = Q->total + n * pH, *restrict over = Q->over + n * pH, *restrict keep = Q->keep_w;
    real *restrict tops = Q->tops + n * Q->blocks * pH;
    spread(S, pH, Q->q + n * w, Q->asked);
    expand(pd, k, pH, Q->key, Q->asked, Q->u);
    for (long h = 0; h < pH; h++) top[h] = -INFINITY, total[h] = over[h] = 0;
    memset(Z, 0, sizeof(real) * pd * pH);
    for (long j0 = 0; j0 < rows; j0 += BLOCK, tops += pH) {
        long here = least(BLOCK, rows - j0), real_rows = least(here, T + 1 - j0);
        real *restrict X = Q->X, *restrict own = weight + j0 * pH, *restrict a = Q->score, *restrict s = Q->pair;
        tokens(S, Q, embedding, bits, j0, here, d, pd, X, 0, mean + j0, r + j0);
        tokens_times(here, pd, pH, X, Q->u, s);
        for (long h = 0; h < pH; h++) tops[h] = top[h];
        for (long j = 0; j < real_rows; j++) SIMD for (long h = 0; h < pH; h++) {
            s[j * pH + h] *= r[j0 + j];
            tops[h] = s[j * pH + h] > tops[h] ? s[j * pH + h] : tops[h];
        }
        SIMD for (long h = 0; h < pH; h++) {
            a[h] = exp_negative(top[h] - tops[h]); /* what earlier blocks shrink by */
            top[h] = tops[h];
            over[h] *= a[h];
            total[h] *= a[h];
        }
        for (long i = 0; i < pd; i++) SIMD for (long h = 0; h < pH; h++) Z[i * pH + h] *= a[h];
        kept_rows(keep, attention, j0, real_rows, H, pH, Q->below, Q->words);
        for (long j = 0; j < real_rows; j++) SIMD for (long h = 0; h < pH; h++) {
            real e = exp_negative(s[j * pH + h] - top[h]), is = keep[j * pH + h], kept = is * e;
            over[h] += e;
            total[h] += kept;
            own[j * pH + h] = 2 * kept - e;
            a[j * pH + h] = kept * r[j0 + j];
        }
        if (real_rows < here) {
            memset(own + real_rows * pH, 0, sizeof(real) * (here - real_rows) * pH);
            memset(a + real_rows * pH, 0, sizeof(real) * (here - real_rows) * pH);
        }
        add_mixed(here, pd, pH, X, a, pH, Z);
    }
    real scale = Q->scale;
    for (long h = 0; h < pH; h++) over[h] = 1 / over[h], total[h] *= over[h] * scale;
    for (long i = 0; i < pd; i++) SIMD for (long h = 0; h < pH; h++) Z[i * pH + h] *= over[h] * scale;
    contract(pd, k, pH, Q->value, Z, Q->asked);
    for (long j = 0; j < k; j++)
        SIMD for (long h = 0; h < H; h++) v[j * H + h] = Q->constant[j * H + h] * total[h] + Q->asked[j * pH + h];
}

/* Gradients of attention and tokens of sample n, from the gradient at its values; that at [CLS]'s token, before its
   mask, in d_x. */
static inline __attribute__((always_inline)) void attend_gradient(const spec *S, drops *Q, const uint8_t *bits, long step,
                                                                  long n, work *W, real *restrict d_x, const long d,
                                                                  const long H, const long pd, const long pH)
{
    long T = S->T, k = S->k, w = k * H, rows = Q->rows;
    key embedding = key_of(Q->seed, step, EMBEDDING, n);
    const real *restrict weight = Q->w + n * rows * pH, *restrict r = Q->r + n * rows, *restrict mean = Q->mean + n * rows;
    const real *restrict Z = Q->Z + n * pd * pH, *restrict over = Q->over + n * pH, *restrict total = Q->total + n * pH;
    const real *restrict dv = W->d_values + n * w;
    real *restrict inner = Q->inner, *restrict d_sum = Q->d_sum, *restrict d_a = Q->score, *restrict pair = Q->pair;
    const real *restrict tops = Q->tops + n * Q->blocks * pH, *restrict last = tops + (Q->blocks - 1) * pH;
    real *restrict top = Q->top, scale = Q->scale; /* 1 / the sum of exponentials, for those of a block */
    spread(S, pH, dv, Q->d_values);
    spread(S, pH, Q->q + n * w, Q->asked);
    expand(pd, k, pH, Q->value, Q->d_values, Q->D);
    add_products(pd, k, pH, Z, Q->d_values, Q->d_value);
    expand_turned(pd, k, pH, Q->value_t, Q->d_values, Q->both);
    expand_turned(pd, k, pH, Q->key_t, Q->asked, Q->both + pH * pd);
    memset(d_sum, 0, sizeof(real) * pH);
    for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
        d_sum[h] += Q->constant[j * H + h] * dv[j * H + h];
        Q->d_constant[j * H + h] += dv[j * H + h] * total[h];
    }
    for (long h = 0; h < pH; h++) inner[h] = total[h] * d_sum[h];
    for (long i = 0; i < pd; i++) SIMD for (long h = 0; h < pH; h++) inner[h] += Z[i * pH + h] * Q->D[i * pH + h];
    memset(Q->d_u, 0, sizeof(real) * pd * pH);
    for (long j0 = 0; j0 < rows; j0 += BLOCK) {
        long here = least(BLOCK, rows - j0);
        real *restrict X = Q->X;
        tokens(S, Q, embedding, bits, j0, here, d, pd, X, Q->keep, 0, 0);
        tokens_times(here, pd, pH, X, Q->D, d_a);
        SIMD for (long h = 0; h < pH; h++) top[h] = over[h] * exp_negative(tops[j0 / BLOCK * pH + h] - last[h]);
        for (long j = 0; j < here; j++) {
            const real *restrict signed_w = weight + (j0 + j) * pH, rj = r[j0 + j];
            SIMD for (long h = 0; h < pH; h++) {
                real e = signed_w[h], kept = e > 0 ? scale : 0, own = (e > 0 ? e : -e) * top[h];
                real d_w = (rj * d_a[j * pH + h] + d_sum[h]) * kept;
                pair[j * 2 * pH + h] = own * kept * rj;
                pair[j * 2 * pH + pH + h] = own * (d_w - inner[h]) * rj;
            }
        }
        add_mixed(here, pd, pH, X, pair + pH, 2 * pH, Q->d_u);
        for (long g0 = 0; S->trains_encoding && g0 < here; g0 += GRAIN) {
            heads_times(2 * pH, pd, pair + g0 * 2 * pH, Q->both, Q->G);
            for (long j = 0; j < GRAIN; j++) {
                vec dot = {0};
                for (long i = 0; i < pd; i += LANES)
                    dot += *(const vec *)(Q->G + j * pd + i) * *(const vec *)(X + (g0 + j) * pd + i);
                *(vec *)(Q->parts + j * LANES) = dot;
            }
            add_up(Q->parts, padded(GRAIN, LANES), Q->parts);
            for (long j = g0; j < g0 + GRAIN && j0 + j <= T; j++) {
                const real *restrict G = Q->G + (j - g0) * pd, *restrict x = X + j * pd, *restrict keep = Q->keep + j * pd;
                real rj = r[j0 + j], mu = mean[j0 + j], dot = S->norm ? Q->parts[j - g0] * rj * rj / d : 0;
                if (j0 + j == T) { /* [CLS] has more to come, before its mask */
                    for (long i = 0; i < d; i++) d_x[i] = G[i] - dot * (x[i] - mu);
                    break;
                }
                real *restrict out = Q->d_P + (bits[j0 + j] * rows + j0 + j) * pd;
                SIMD for (long i = 0; i < pd; i++) out[i] += keep[i] * (G[i] - dot * (x[i] - mu));
            }
        }
    }
    add_products(pd, k, pH, Q->d_u, Q->asked, Q->d_key);
    contract(pd, k, pH, Q->key, Q->d_u, Q->d_values);
    for (long j = 0; j < k; j++) memcpy(Q->d_q + n * w + j * H, Q->d_values + j * pH, sizeof(real) * H);
}

/* ---- the step ---- */

/* [CLS] of every sample, and the queries. */
static void ask(const spec *S, const real *p, drops *Q, long step, work *W)
{
    long d = S->d, w = S->k * S->H, pd = Q->pd, T = S->T, m = S->m;
    for (long n = 0; n < m; n++) {
        real *x = W->x_cls + n * d, *h = Q->h_cls + n * d, *xhat = Q->xhat_cls + n * d;
        keep_row(Q->keep, key_of(Q->seed, step, EMBEDDING, n), T, d, Q->below, 1);
        for (long i = 0; i < d; i++) h[i] = x[i] = Q->keep[i] * (Q->P[T * pd + i] + Q->E[2 * pd + i]);
        if (!S->norm) continue;
        Q->r_cls[n] = normalise(x, xhat, d, S->eps);
        for (long i = 0; i < d; i++) h[i] = xhat[i] * p[S->g_1 + i] + p[S->c_1 + i];
    }
    gemm(m, w, d, (operand){Q->h_cls, d, 1}, (operand){p + S->W_Q, w, 1}, Q->q, w, 0, W->gemm);
    for (long n = 0; S->bias && n < m; n++) SIMD for (long x = 0; x < w; x++) Q->q[n * w + x] += p[S->b_Q + x];
}

/* From d_q to W_Q, b_Q and the norm; adds the gradient at x_cls (through the query) to d_h's rows, which hold the rest. */
static void ask_gradient(const spec *S, const real *p, real *g, drops *Q, work *W)
{
    long d = S->d, w = S->k * S->H, m = S->m;
    gemm(d, w, m, (operand){Q->h_cls, 1, d}, (operand){Q->d_q, w, 1}, g + S->W_Q, w, 0, W->gemm);
    for (long n = 0; S->bias && n < m; n++) SIMD for (long x = 0; x < w; x++) g[S->b_Q + x] += Q->d_q[n * w + x];
    real *at = W->h; /* free by now */
    gemm(m, d, w, (operand){Q->d_q, w, 1}, (operand){p + S->W_Q, 1, w}, at, d, 0, W->gemm);
    for (long n = 0; n < m; n++, at += d) {
        const real *restrict xhat = Q->xhat_cls + n * d;
        if (S->norm) {
            for (long i = 0; i < d; i++) {
                g[S->c_1 + i] += at[i];
                g[S->g_1 + i] += at[i] * xhat[i];
                at[i] *= p[S->g_1 + i];
            }
            through_norm(at, xhat, Q->r_cls[n], d);
        }
        for (long i = 0; i < d; i++) Q->d_h[n * d + i] += at[i];
    }
}

/* What all samples' gradients have in common at the end. */
static void finish_gradient(const spec *S, const real *p, real *g, drops *Q, long step, work *W)
{
    long T = S->T, d = S->d, w = S->k * S->H, pd = Q->pd, rows = Q->rows;
    projection_gradient(S, p, g, Q, p + S->W_K, 1 / S->temperature, Q->d_key, g + S->W_K);
    projection_gradient(S, p, g, Q, p + S->W_V, 1, Q->d_value, g + S->W_V);
    ask_gradient(S, p, g, Q, W);
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
    real *cls = g + S->E + 2 * d, scale = Q->scale;
    for (long n = 0; n < S->m; n++) {
        keep_row(Q->keep, key_of(Q->seed, step, EMBEDDING, n), T, d, Q->below, scale);
        for (long i = 0; i < d; i++) cls[i] += Q->keep[i] * (Q->d_h[n * d + i] + (S->residual ? W->d_z[n * d + i] : 0));
    }
    memcpy(g + S->P_cls, cls, sizeof(real) * d);
    for (long i = 0; i < d; i++) {
        real off = 0, on = 0;
        for (long t = 0; t < T; t++) {
            real clear = Q->d_P[t * pd + i] * scale, set = Q->d_P[(rows + t) * pd + i] * scale;
            g[S->P + i * T + t] = S->bag ? set : clear + set;
            off += clear;
            on += set;
        }
        g[S->E + i] = S->bag ? 0 : off;
        g[S->E + d + i] = S->bag ? 0 : on;
    }
}

/* The paper's width and heads are compiled for themselves, so that the lengths of inner loops are known. */
#define SIZED(call, ...) \
    (S->d == 64 && S->H == 16 && Q->pH == 16 ? call(__VA_ARGS__, 64, 16, 64, 16) : call(__VA_ARGS__, S->d, S->H, Q->pd, Q->pH))

/* Margins of the m samples under the masks of this step (from 0). */
static void token_forward(const spec *S, const real *p, const uint8_t *bits, long step, real *margin, work *W, drops *Q)
{
    long T = S->T, d = S->d;
    positions(S, p, Q);
    values_constant(S, p, Q->constant);
    projection(S, p, Q, p + S->W_K, 1 / S->temperature, Q->key, Q->key_t);
    projection(S, p, Q, p + S->W_V, 1, Q->value, Q->value_t);
    ask(S, p, Q, step, W);
    for (long n = 0; n < S->m; n++) {
        SIZED(attend, S, Q, bits + n * T, step, n, W);
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
    long m = S->m, d = S->d, matrix = S->k * Q->pd * Q->pH;
    token_forward(S, p, bits, step, margin, W, Q);
    *loss = losses(labels, margin, m, W->d_margin);
    memset(g, 0, sizeof(real) * S->n_trained);
    memset(Q->d_P, 0, sizeof(real) * 2 * Q->rows * Q->pd);
    memset(Q->d_key, 0, sizeof(real) * matrix);
    memset(Q->d_value, 0, sizeof(real) * matrix);
    memset(Q->d_constant, 0, sizeof(real) * S->k * S->H);
    memset(Q->d_h, 0, sizeof(real) * m * d);
    read_out_gradient(S, p, g, m, W);
    output_gradient(S, p, g, m, W);
    for (long n = 0; n < m; n++) SIZED(attend_gradient, S, Q, bits + n * S->T, step, n, W, Q->d_h + n * d);
    finish_gradient(S, p, g, Q, step, W);
}

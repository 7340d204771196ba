/* Training one Transformer layer that is read at [CLS], one run at a time.

   The token table (no dropout). The token at position t with bit b is x_{t,b} = P_t + E_b (a bag's is b P_t), so the
   m samples consist of 2T + 1 distinct tokens, [CLS] included. With r = 1/sd of a token, LayerNorm is
   g (x - mean) r + c, so that with M = centred columns of [g W_V | g W_K q / temperature]

       value of head h   V = r M_V^T x + (c^T W_V + b_V),      score   s = r M_K^T x + const,

   where q is the query of [CLS], the same for every sample; the constant of the scores is dropped, since softmax
   ignores it, and that of the values is added at the end, since attention weights sum to 1. Hence Y = M^T P, one
   product, gives all values and scores: those of x_{t,b} are Y_t + M^T E_b. Three more columns of M, the centred E_0
   and E_1 and 1/d, give what the variances need: |x - mean|^2 = |P_t|^2 - d mean^2 + 2 <P_t, E_b> + |E_b|^2.

   With e_{t,b} = exp(s_{t,b} - max) and B in {0,1}^{m x T} the bits, numerators and denominators of all samples are

       sums = base + B change,   base = [CLS] + sum_t (bit 0),   change_t = (bit 1) - (bit 0),

   one product with B, done by tables of partial sums (bits.h). Where a difference of large numbers would lose more than
   ten bits (UNSAFE), the form is B bit1 + (1 - B) bit0 instead (APART), and where even that underflows, every sample's
   tokens are formed (dropout.h with nothing dropped).

   Backwards. From the gradient at the margins through read-out, MLP and W_C to that at the sums (samples.h). One more
   product, B^T with it, gives G: the gradient at (bit 1) of every position; that at (bit 0) is g_0 - G, g_0 the sum over
   samples. Then, with a = e r: d_V += a G, d_a = sum G V, d_s = (G_denominator + d_a r) e, and the gradient at 1/r is
   collected in d_length. d_M = d_Y P^T and d_P = M d_Y + P d_length are the last products (this file).

   Memory. Weights are one row of reals, W_Q, W_K, W_V as [i][j H + h] (input i, coordinate j of head h), W_C as
   [j H + h][i], P as [i][t]; `spec` has the offsets (layout.py). Tables are [row][t], with the two bits one behind the
   other; what belongs to samples is [sample][row]. All scratch lies in one block that the caller owns (`lay_out`).

   Columns: w = k H values, then H scores: columns = w + H; C = columns + 3 with a norm. Every loop runs in a fixed
   order on one thread: equal inputs give equal bits at one instruction-set level. torch_engine.py computes the same by
   autograd, and the tests compare the two. */
#include <stdlib.h>
#include "special.h"
#include "gemm.h"
#include "bits.h"
#include "spec.h"
#include "tokens.h"
#include "samples.h"
#include "dropout.h"
#include "gated.h"

/* From the gradient at the sums to d_Y, d_small_Y and d_length: through values, scores and scales of every token. */
static inline __attribute__((always_inline)) void tables_gradient(const spec *S, long m, work *W, const int form)
{
    long T = S->T, H = S->H, k = S->k, w = k * H, col = W->columns, C = W->C, HT = H * T;
    real here = S->bag ? 0 : 1;
    sums_by_position(m, T, col, W->by_position, 0, W->sums, W->G, W->bits);
    if (form == APART) sums_by_position(m, T, col, W->by_position, 15, W->sums, W->G_clear, W->bits);
    memset(W->d_a, 0, sizeof(real) * 2 * HT);
    memset(W->d_small_Y, 0, sizeof(real) * 3 * C);
    memset(W->d_length, 0, sizeof(real) * 2 * T);
    for (long x = 0; x < w; x++) {
        long h = x % H;
        const real *restrict G = W->G + x * T, *restrict V1 = W->Y + x * T, *restrict a0 = W->a + h * T;
        const real *restrict a1 = a0 + HT, *restrict Gc = W->G_clear + x * T;
        real *restrict d_V = W->d_Y + x * T, *restrict d_a0 = W->d_a + h * T, *restrict d_a1 = d_a0 + HT;
        real g = W->g_0[x], D = W->small_Y[C + x], d_D = 0, d_E1 = 0;
        SUM(d_D, d_E1) for (long t = 0; t < T; t++) {
            real G0 = form == APART ? Gc[t] : g - G[t], u0 = a0[t] * G0, v = a1[t] * G[t] + here * u0;
            d_a1[t] += G[t] * V1[t];
            d_a0[t] += G0 * (here * V1[t] - D);
            d_V[t] = v;
            d_D -= u0;
            d_E1 += v;
        }
        W->d_small_Y[x] = d_E1;
        W->d_small_Y[C + x] = d_D;
        W->d_small_Y[2 * C + x] = g * W->a_cls[h];
    }
    for (long h = 0; h < H; h++) {
        const real *restrict G = W->G + (w + h) * T, *restrict e0 = W->e + h * T, *restrict e1 = e0 + HT;
        const real *restrict a0 = W->a + h * T, *restrict a1 = a0 + HT, *restrict s0 = W->s + h * T;
        const real *restrict s1 = s0 + HT, *restrict d_a0 = W->d_a + h * T, *restrict d_a1 = d_a0 + HT;
        const real *restrict r0 = W->r, *restrict r1 = W->r + T, *restrict Gc = W->G_clear + (w + h) * T;
        real *restrict d_K = W->d_Y + (w + h) * T, *restrict l0 = W->d_length, *restrict l1 = l0 + T;
        real g = W->g_0[w + h], d_D = 0, d_E1 = 0;
        SUM(d_D, d_E1) for (long t = 0; t < T; t++) {
            real G0 = form == APART ? Gc[t] : g - G[t];
            real x1 = (G[t] + d_a1[t] * r1[t]) * e1[t], x0 = here * (G0 + d_a0[t] * r0[t]) * e0[t];
            l1[t] += d_a1[t] * a1[t] + x1 * s1[t];
            l0[t] += here * d_a0[t] * a0[t] + x0 * s0[t];
            x1 *= r1[t];
            x0 *= r0[t];
            d_K[t] = x0 + x1;
            d_D -= x0;
            d_E1 += x0 + x1;
        }
        W->d_small_Y[w + h] = d_E1;
        W->d_small_Y[C + w + h] = d_D;
    }
    if (S->norm) {
        real *restrict l0 = W->d_length, *restrict l1 = l0 + T, *restrict y0 = W->d_Y + col * T;
        real *restrict y1 = y0 + T, *restrict y2 = y1 + T;
        const real *restrict r0 = W->r, *restrict r1 = W->r + T, *restrict mean = W->Y + (col + 2) * T;
        real over = (real)1 / S->d;
        SIMD for (long t = 0; t < T; t++) {
            y0[t] = l0[t] *= -here * r0[t] * r0[t] * over;
            y1[t] = l1[t] *= -r1[t] * r1[t] * over;
            if (S->bag) y1[t] = 0;
            y2[t] = -(real)S->d * mean[t] * (l0[t] + l1[t]);
        }
    }
}

/* [CLS] as one of the tokens attended to; returns r d_r of its scale. */
static real cls_gradient(const spec *S, work *W)
{
    long H = S->H, k = S->k, w = k * H, C = W->C;
    real rdr = 0, r = W->r_cls;
    for (long h = 0; h < H; h++) {
        real d_a = 0;
        for (long j = 0; j < k; j++) d_a += W->g_0[j * H + h] * W->small_Y[2 * C + j * H + h];
        real d_s = (W->g_0[w + h] + d_a * r) * W->e_cls[h];
        W->d_small_Y[2 * C + w + h] = d_s * r;
        rdr += d_a * W->a_cls[h] + d_s * W->s_cls[h];
    }
    return rdr;
}

/* From d_Y, the gradients at the three small tokens and at the constant to the weights. */
static void weights_gradient(const spec *S, const real *p, real *g, work *W, real rdr_cls)
{
    long T = S->T, d = S->d, H = S->H, k = S->k, w = k * H, col = W->columns, C = W->C;
    real *d_M = W->d_M, *d_q = W->d_q, *d_cls = W->d_cls, *total = W->sum_z;
    gemm(C, d, T, (operand){W->d_Y, T, 1}, (operand){p + S->P, 1, T}, d_M, d, 0, W->gemm); /* d_M: (C, d) */
    gemm(C, d, 3, (operand){W->d_small_Y, 1, C}, (operand){W->small, d, 1}, d_M, d, 1, W->gemm);
    gemm(3, d, C, (operand){W->d_small_Y, C, 1}, (operand){W->M, 1, C}, W->d_small, d, 0, W->gemm);
    if (S->trains_positions) {
        gemm(d, T, C, (operand){W->M, C, 1}, (operand){W->d_Y, T, 1}, g + S->P, T, 0, W->gemm);
        if (S->norm)
            for (long i = 0; i < d; i++) {
                real *restrict dP = g + S->P + i * T;
                const real *restrict P = p + S->P + i * T, *restrict l0 = W->d_length, *restrict l1 = l0 + T;
                SIMD for (long t = 0; t < T; t++) dP[t] += P[t] * (l0[t] + l1[t]);
            }
    }
    if (S->norm) {
        memset(g + S->g_1, 0, sizeof(real) * d);
        memset(g + S->c_1, 0, sizeof(real) * d);
        for (long x = 0; x < col; x++) {
            real mu = 0, *restrict row = d_M + x * d;
            SUM(mu) for (long i = 0; i < d; i++) mu += row[i];
            mu /= d;
            for (long i = 0; i < d; i++) {
                real v = row[i] - mu;
                g[S->g_1 + i] += v * W->raw[i * col + x];
                row[i] = v * p[S->g_1 + i];
            }
        }
    }
    memset(d_q, 0, sizeof(real) * w);
    memset(d_cls, 0, sizeof(real) * d);
    for (long i = 0; i < d; i++) {
        real c = S->norm ? p[S->c_1 + i] : 0, d_c = 0;
        for (long j = 0; j < k; j++)
            for (long h = 0; h < H; h++) {
                long x = j * H + h;
                real asked = d_M[(w + h) * d + i] / (real)S->temperature;
                g[S->W_V + i * w + x] = d_M[x * d + i] + c * W->constant[x];
                d_c += p[S->W_V + i * w + x] * W->constant[x];
                g[S->W_K + i * w + x] = asked * W->q[x];
                d_q[x] += asked * p[S->W_K + i * w + x];
            }
        if (S->norm) g[S->c_1 + i] = d_c;
    }
    for (long i = 0; i < d; i++) {
        real sum = 0;
        SUM(sum) for (long x = 0; x < w; x++) {
            g[S->W_Q + i * w + x] = W->h_cls[i] * d_q[x];
            sum += p[S->W_Q + i * w + x] * d_q[x];
        }
        d_cls[i] = sum; /* so far the gradient at h_cls */
    }
    if (S->bias) {
        memcpy(g + S->b_Q, d_q, sizeof(real) * w);
        memcpy(g + S->b_V, W->constant, sizeof(real) * w);
        memset(g + S->b_K, 0, sizeof(real) * w);
    }
    if (S->norm) {
        for (long i = 0; i < d; i++) {
            g[S->c_1 + i] += d_cls[i];
            g[S->g_1 + i] += d_cls[i] * W->xhat_cls[i];
            d_cls[i] *= p[S->g_1 + i];
        }
        through_norm(d_cls, W->xhat_cls, W->r_cls, d);
        for (long i = 0; i < d; i++) d_cls[i] -= W->xhat_cls[i] * (real)W->r_cls * rdr_cls / d;
    }
    if (!S->trains_encoding) return;
    real n0 = 0, n1 = 0, m0 = 0, m1 = 0;
    real *c0 = W->raw, *c1 = W->raw + d; /* raw is free now and holds d (kH + H) >= 2 d numbers */
    if (S->norm) for (long t = 0; t < T; t++) n0 += W->d_length[t], n1 += W->d_length[T + t];
    for (long i = 0; i < d; i++) {
        c0[i] = S->norm ? d_M[col * d + i] + n0 * W->M[i * C + col] : 0;
        c1[i] = S->norm ? d_M[(col + 1) * d + i] + n1 * W->M[i * C + col + 1] : 0;
        m0 += c0[i];
        m1 += c1[i];
    }
    for (long i = 0; i < d; i++) {
        real cls = d_cls[i] + W->d_small[2 * d + i] + (S->residual ? total[i] : 0);
        g[S->P_cls + i] = cls;
        g[S->E + 2 * d + i] = cls;
        g[S->E + i] = -W->d_small[d + i] + c0[i] - m0 / d;
        g[S->E + d + i] = W->d_small[i] + W->d_small[d + i] + c1[i] - m1 / d;
    }
}

/* x^n by squaring: the same on every machine, which the library's pow need not be. */
static double power(double x, long n)
{
    double out = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) out *= x;
    return out;
}

/* One step of the optimiser after clipping, as torch.optim has it. `step` counts from 1. */
static void update(const spec *S, real *p, const real *g, real *m1, real *m2, long step, const piece *pieces)
{
    double norm = 0;
    for (long at = 0; at < S->n_trained; at += 4096) {
        real part = 0;
        long end = least(at + 4096, S->n_trained);
        SUM(part) for (long i = at; i < end; i++) part += g[i] * g[i];
        norm += part;
    }
    norm = sqrt(norm);
    double scale = S->clip > 0 && S->clip < norm + 1e-6 ? S->clip / (norm + 1e-6) : 1.0;
    double base = S->learning_rate * (S->warmup && step < S->warmup ? (double)step / S->warmup : 1.0);
    real b1 = S->beta_1, b2 = S->beta_2, factor = scale, eps = S->adam_eps;
    real root = 1 / sqrt(1 - power(S->beta_2, step));
    for (long from = 0, to; from < S->n_trained; from = to, pieces++) {
        double rate = base * pieces->factor, decay = from < S->n_decayed ? S->weight_decay : 0;
        real size = rate / (1 - power(S->beta_1, step));
        to = pieces->end;
        real keep = S->optimiser == ADAMW ? 1 - rate * decay : 1, penalty = S->optimiser == ADAMW ? 0 : decay;
        if (S->optimiser == SGD) {
            SIMD for (long i = from; i < to; i++) p[i] -= (real)rate * (g[i] * factor + penalty * p[i]);
            continue;
        }
        SIMD for (long i = from; i < to; i++) {
            real x = g[i] * factor + penalty * p[i];
            real first = b1 * m1[i] + (1 - b1) * x, second = b2 * m2[i] + (1 - b2) * x * x;
            m1[i] = first;
            m2[i] = second;
            p[i] = p[i] * keep - size * first / ((real)sqrt(second) * root + eps);
        }
    }
}

#define LINE 64 /* bytes: a vector that lies in two lines of the cache takes twice as long to load */
#define SPARE (LINE / (long)sizeof(real))
/* The first address in `scratch`, which has SPARE more numbers than needed, where a line begins. */
static real *aligned(real *scratch) { return (real *)(((uintptr_t)scratch + LINE - 1) / LINE * LINE); }

/* Numbers of `real` that margins needs as scratch for m samples; with m = 0 what train needs. */
long scratch_size(const spec *S, long m)
{
    work W;
    drops Q;
    if (S->gated) return SPARE + lay_out_gated(S, m ? m : S->m, &W, 0);
    if (m) return SPARE + lay_out(S, m, &W, 0);
    return SPARE + (S->dropout > 0 ? lay_out_dropout(S, S->m, &W, &Q, 0) : lay_out(S, S->m, &W, 0));
}

/* Lays out what a step needs where every sample has tokens of its own. Padding is multiplied by zeros: it is finite. */
static void prepare_tokens(const spec *S, long seed, work *W, drops *Q, real *scratch)
{
    lay_out_dropout(S, S->m, W, Q, aligned(scratch));
    Q->seed = seed;
    memset(Q->keep, 0, sizeof(real) * BLOCK * Q->pd);
    memset(Q->keep_w, 0, sizeof(real) * BLOCK * Q->pH);
    memset(Q->parts, 0, sizeof(real) * 2 * BLOCK * LANES);
}

#define BATCH 64 /* samples of token_margins at once */
/* Margins of n samples through their own tokens, for scores of any size. Returns -1 without memory. */
static int token_margins(const spec *S, const real *p, const uint8_t *bits, long n, real *out)
{
    spec plain = *S;
    work W = {0};
    drops Q;
    plain.dropout = 0;
    plain.m = least(n, BATCH);
    real *scratch = malloc(sizeof(real) * (SPARE + lay_out_dropout(&plain, plain.m, &W, &Q, 0)));
    if (!scratch) return -1;
    for (long at = 0; at < n; at += BATCH) {
        plain.m = least(n - at, BATCH);
        memset(&W, 0, sizeof W);
        prepare_tokens(&plain, 0, &W, &Q, scratch);
        token_forward(&plain, p, bits + at * S->T, 0, out + at, &W, &Q);
    }
    free(scratch);
    return 0;
}

/* Margins of n samples. Returns -1 without memory. */
int margins(const spec *S, const real *p, const uint8_t *bits, long n, real *out, real *scratch)
{
    work W = {0};
    unsigned mode = flush_subnormals();
    int failed = 0, underflow = 0;
    scratch = aligned(scratch);
    if (S->gated) {
        lay_out_gated(S, n, &W, scratch);
        nibbles(bits, n, S->T, S->T, 1, W.by_sample);
        gated_forward(S, p, n, bits, out, &W);
        restore(mode);
        return 0;
    }
    lay_out(S, n, &W, scratch);
    nibbles(bits, n, S->T, S->T, 1, W.by_sample);
    tables(S, p, &W, DIFFERENCE);
    if (mix(S, n, &W, DIFFERENCE)) {
        tables(S, p, &W, APART);
        underflow = mix(S, n, &W, APART);
    }
    if (underflow) failed = token_margins(S, p, bits, n, out);
    else read_out(S, p, n, &W, out);
    restore(mode);
    return failed;
}

/* Mean loss of the m samples and its gradient g; margins too. Returns 1 if some denominator underflows. Once sums had
   to be formed APART, the steps that follow in this call do so at once: what cancelled will mostly cancel again.
   (So calls of another length may round otherwise; trials call from check to check.) */
static int table_step(const spec *S, const real *p, real *g, const uint8_t *bits, const real *labels, real *margin,
                      real *loss, work *W)
{
    long m = S->m;
    if (W->form == DIFFERENCE) {
        tables(S, p, W, DIFFERENCE);
        if (mix(S, m, W, DIFFERENCE)) W->form = APART;
    }
    if (W->form == APART) {
        tables(S, p, W, APART);
        if (mix(S, m, W, APART)) return 1;
    }
    read_out(S, p, m, W, margin);
    *loss = losses(labels, margin, m, W->d_margin);
    read_out_gradient(S, p, g, m, W);
    output_gradient(S, p, g, m, W);
    mix_gradient(S, m, W);
    if (W->form == APART) tables_gradient(S, m, W, APART);
    else tables_gradient(S, m, W, DIFFERENCE);
    weights_gradient(S, p, g, W, cls_gradient(S, W));
    return 0;
}

/* Up to n_steps updates; `step` counts those made before. Returns the steps done: fewer if a loss was not finite, which
   then stands in losses[returned]; -1 without memory. */
long train(const spec *S, real *p, real *g, real *m1, real *m2, long step, long seed, const uint8_t *bits,
           const real *labels, real *margin, long n_steps, real *losses, real *scratch, const piece *pieces)
{
    work table = {0}, own = {0};
    drops Q;
    spec plain = *S;
    real *extra = 0;
    long done = 0;
    unsigned mode = flush_subnormals();
    if (S->dropout > 0) prepare_tokens(S, seed, &own, &Q, scratch);
    else {
        scratch = aligned(scratch);
        S->gated ? lay_out_gated(S, S->m, &table, scratch) : lay_out(S, S->m, &table, scratch);
        nibbles(bits, S->m, S->T, S->T, 1, table.by_sample);
        nibbles(bits, S->T, 1, S->m, S->T, table.by_position);
    }
    for (; done < n_steps; done++) {
        real *loss = losses + done;
        if (S->gated) gated_step(S, p, g, bits, labels, margin, loss, &table);
        else if (S->dropout > 0 || table_step(S, p, g, bits, labels, margin, loss, &table)) {
            if (!(S->dropout > 0) && !extra) {
                extra = malloc(sizeof(real) * (SPARE + lay_out_dropout(&plain, S->m, &own, &Q, 0)));
                if (!extra) {
                    restore(mode);
                    return -1;
                }
                memset(&own, 0, sizeof own);
                prepare_tokens(&plain, seed, &own, &Q, extra);
            }
            token_step(S, p, g, bits, labels, step + done, margin, loss, &own, &Q);
        }
        if (!isfinite(*loss)) break;
        update(S, p, g, m1, m2, step + done + 1, pieces);
    }
    free(extra);
    restore(mode);
    return done;
}

/* The names of the fields of `spec` in order, whole numbers, then "|", then reals; and where field i lies. */
const char *spec_names(void)
{
#define FIELD(name) #name " "
    return WHOLE(FIELD) "|" REAL(FIELD);
#undef FIELD
}

long spec_offset(long i)
{
#define FIELD(name) offsetof(spec, name),
    static const long at[] = {WHOLE(FIELD) REAL(FIELD) sizeof(spec)};
#undef FIELD
    return at[i];
}

/* How many of the levels of build.py this processor has, counted from the first. */
int best_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    int v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
    return 1 + v3 + (v3 && v4);
#else
    return 1;
#endif
}

/* Attention with gated keys, and its gradient; gated.py has the definition. Head h attends to [CLS] and to the positions
   whose bit is its own: 0 for the first zero_heads heads, 1 for the others.

   With a = W_K b_Q / temperature, s_t = <a, P_t> and e = exp(s - top), top the largest of all s_t and s_cls, the sums
   over each sample's own positions are one product with the bits in which nothing cancels: a head has a row of e for
   set bits and zeros for clear ones, or the reverse. Where a sample has none of the large e, so that its sum underflows
   (`inverse` = 0), its share is computed from its own positions with its own maximum.

   Backwards, d_s_t = e_t sum_n (own bit) d_share (1 - share) / (e_cls + sum e), and d_s_cls = -sum d_share share (1 - share). */

static long lay_out_gated(const spec *S, long m, work *W, real *at)
{
    long T = S->T, d = S->d, H = S->H;
    real *start = at;
#define TAKE(name, n) W->name = take(&at, n)
    TAKE(raw, d * H); TAKE(s, H * T); TAKE(change, H * T); TAKE(clear, H * T); TAKE(top, H); TAKE(e_cls, H);
    TAKE(x_cls, d); TAKE(bits, bits_scratch(m, H)); TAKE(sums, m * H); TAKE(inverse, m * H); TAKE(share, m * H);
    TAKE(rest, m * H); TAKE(d_share, m * H); TAKE(G, H * T); TAKE(G_clear, H * T);
    TAKE(d_M, H * d);
    W->by_sample = (uint8_t *)take(&at, m * groups(T) / sizeof(real) + 1);
    W->by_position = (uint8_t *)take(&at, groups(m) * T / sizeof(real) + 1);
#undef TAKE
    lay_out_readout(S, m, H, W, &at);
    return at - start;
}

/* The largest score that head h sees in a sample, and the sum of exponentials below it without [CLS]. */
static real own_sum(const spec *S, const real *p, const work *W, const uint8_t *bits, long h, real *top)
{
    const real *restrict s = W->s + h * S->T;
    uint8_t bit = h >= S->zero_heads;
    real sum = 0;
    *top = p[S->s_cls + h];
    for (long t = 0; t < S->T; t++)
        if (bits[t] == bit && s[t] > *top) *top = s[t];
    for (long t = 0; t < S->T; t++)
        if (bits[t] == bit) sum += exp_negative(s[t] - *top);
    return sum;
}

/* Scores and their exponentials: `change` has those of heads that attend to ones, `clear` the others'. */
static void gated_scores(const spec *S, const real *p, work *W)
{
    long T = S->T, d = S->d - 2, H = S->H, k = S->k, w = k * H;
    for (long i = 0; i < d; i++)
        for (long h = 0; h < H; h++) {
            real sum = 0;
            for (long j = 0; j < k; j++) sum += p[S->W_K + i * w + j * H + h] * p[S->b_Q + j * H + h];
            W->raw[i * H + h] = sum / (real)S->temperature;
        }
    gemm(H, T, d, (operand){W->raw, 1, H}, (operand){p + S->P, T, 1}, W->s, T, 0, W->gemm);
    for (long h = 0; h < H; h++) {
        const real *restrict s = W->s + h * T;
        int ones = h >= S->zero_heads;
        real *restrict e = (ones ? W->change : W->clear) + h * T, top = p[S->s_cls + h];
        _Pragma("omp simd reduction(max : top)") for (long t = 0; t < T; t++) top = s[t] > top ? s[t] : top;
        SIMD for (long t = 0; t < T; t++) e[t] = exp_negative(s[t] - top);
        memset((ones ? W->clear : W->change) + h * T, 0, sizeof(real) * T);
        W->e_cls[h] = exp_negative(p[S->s_cls + h] - top);
    }
}

/* Margins of m samples. */
static void gated_forward(const spec *S, const real *p, long m, const uint8_t *bits, real *margin, work *W)
{
    long T = S->T, H = S->H, k = S->k, w = k * H;
    gated_scores(S, p, W);
    sums_by_sample(m, T, H, W->by_sample, W->change, W->clear, W->sums, W->bits);
    for (long n = 0; n < m; n++) for (long h = 0; h < H; h++) {
        real sum = W->sums[n * H + h], cls = W->e_cls[h], top;
        int safe = sum + cls > SMALL;
        if (!safe) {
            sum = own_sum(S, p, W, bits + n * T, h, &top);
            cls = exp_negative(p[S->s_cls + h] - top);
        }
        real over = 1 / (sum + cls);
        W->inverse[n * H + h] = safe ? over : 0;
        W->share[n * H + h] = sum * over;
        W->rest[n * H + h] = cls * over;
        for (long j = 0; j < k; j++) {
            long x = j * H + h;
            W->values[n * w + x] = (S->bias ? p[S->b_V + x] : 0) + (sum * over - (real)0.5) * p[S->W_V + x];
        }
    }
    memset(W->x_cls, 0, sizeof(real) * S->d);
    act_on_values(S, m, W);
    read_out(S, p, m, W, margin);
}

/* From the gradient at the values to that at the scores (in G), with those of W_V, b_V and s_cls. */
static void shares_gradient(const spec *S, const real *p, real *g, long m, const uint8_t *bits, work *W)
{
    long T = S->T, H = S->H, k = S->k, w = k * H;
    memset(g + S->W_V, 0, sizeof(real) * w);
    memset(g + S->s_cls, 0, sizeof(real) * H);
    if (S->bias) memset(g + S->b_V, 0, sizeof(real) * w);
    for (long n = 0; n < m; n++) for (long h = 0; h < H; h++) {
        long at = n * H + h;
        real d_share = 0, share = W->share[at];
        for (long j = 0; j < k; j++) {
            long x = j * H + h;
            real dv = W->d_values[n * w + x];
            if (S->bias) g[S->b_V + x] += dv;
            g[S->W_V + x] += dv * (share - (real)0.5);
            d_share += dv * p[S->W_V + x];
        }
        d_share *= W->rest[at]; /* from here on d_share (1 - share) */
        g[S->s_cls + h] -= d_share * share;
        W->d_share[at] = d_share;
        W->sums[at] = d_share * W->inverse[at];
    }
    /* both products have all heads' columns; each head takes its row of one of them */
    if (S->zero_heads < H) sums_by_position(m, T, H, W->by_position, 0, W->sums, W->G, W->bits);
    if (S->zero_heads > 0) sums_by_position(m, T, H, W->by_position, 15, W->sums, W->G_clear, W->bits);
    for (long h = 0; h < H; h++) {
        int ones = h >= S->zero_heads;
        const real *restrict e = (ones ? W->change : W->clear) + h * T, *restrict s = W->s + h * T;
        const real *from = (ones ? W->G : W->G_clear) + h * T;
        real *d_s = W->G + h * T;
        SIMD for (long t = 0; t < T; t++) d_s[t] = e[t] * from[t];
        for (long n = 0; n < m; n++) {
            if (W->inverse[n * H + h] != 0) continue;
            real top, sum = own_sum(S, p, W, bits + n * T, h, &top), over = 1 / (sum + exp_negative(p[S->s_cls + h] - top));
            for (long t = 0; t < T; t++)
                if (bits[n * T + t] == ones) d_s[t] += W->d_share[n * H + h] * over * exp_negative(s[t] - top);
        }
    }
}

/* Mean loss of the m samples and its gradient g; margins too. */
static void gated_step(const spec *S, const real *p, real *g, const uint8_t *bits, const real *labels, real *margin,
                       real *loss, work *W)
{
    long T = S->T, d = S->d - 2, H = S->H, k = S->k, w = k * H, m = S->m;
    gated_forward(S, p, m, bits, margin, W);
    *loss = losses(labels, margin, m, W->d_margin);
    read_out_gradient(S, p, g, m, W);
    output_gradient(S, p, g, m, W);
    shares_gradient(S, p, g, m, bits, W);
    gemm(d, T, H, (operand){W->raw, H, 1}, (operand){W->G, T, 1}, g + S->P, T, 0, W->gemm);
    gemm(H, d, T, (operand){W->G, T, 1}, (operand){p + S->P, 1, T}, W->d_M, d, 0, W->gemm); /* at a: (H, d) */
    memset(g + S->b_Q, 0, sizeof(real) * w);
    for (long i = 0; i < d; i++)
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
            long x = j * H + h;
            real asked = W->d_M[h * d + i] / (real)S->temperature;
            g[S->W_K + i * w + x] = asked * p[S->b_Q + x];
            g[S->b_Q + x] += asked * p[S->W_K + i * w + x];
        }
}

/* The token table, forwards: from the weights to `change` and `base`. Arrays are [row][t], bit values in front. */

/* What joins all values alike: c_1^T W_V + b_V. */
static void values_constant(const spec *S, const real *p, real *restrict constant)
{
    long w = S->k * S->H;
    for (long x = 0; x < w; x++) constant[x] = S->bias ? p[S->b_V + x] : 0;
    for (long i = 0; S->norm && i < S->d; i++) {
        real c = p[S->c_1 + i];
        SIMD for (long x = 0; x < w; x++) constant[x] += c * p[S->W_V + i * w + x];
    }
}

/* The query of [CLS]; W_V and W_K q side by side in `raw`. */
static void question(const spec *S, const real *p, work *W)
{
    long d = S->d, H = S->H, k = S->k, w = k * H, col = W->columns;
    const real *E = p + S->E;
    real mean = 0, var = 0;
    for (long i = 0; i < d; i++) W->x_cls[i] = E[2 * d + i] + p[S->P_cls + i];
    memcpy(W->h_cls, W->x_cls, sizeof(real) * d);
    W->r_cls = 1;
    if (S->norm) {
        for (long i = 0; i < d; i++) mean += W->x_cls[i];
        mean /= d;
        for (long i = 0; i < d; i++) var += (W->x_cls[i] - mean) * (W->x_cls[i] - mean);
        W->r_cls = 1 / sqrt(var / d + S->eps);
        for (long i = 0; i < d; i++) {
            W->xhat_cls[i] = (W->x_cls[i] - mean) * (real)W->r_cls;
            W->h_cls[i] = W->xhat_cls[i] * p[S->g_1 + i] + p[S->c_1 + i];
        }
    }
    for (long x = 0; x < w; x++) W->q[x] = S->bias ? p[S->b_Q + x] : 0;
    for (long i = 0; i < d; i++) SIMD for (long x = 0; x < w; x++) W->q[x] += W->h_cls[i] * p[S->W_Q + i * w + x];
    for (long i = 0; i < d; i++) {
        real *raw = W->raw + i * col, *asked = raw + w;
        const real *key = p + S->W_K + i * w;
        memcpy(raw, p + S->W_V + i * w, sizeof(real) * w);
        memset(asked, 0, sizeof(real) * H);
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) asked[h] += key[j * H + h] * W->q[j * H + h];
        for (long h = 0; h < H; h++) asked[h] /= (real)S->temperature;
    }
    values_constant(S, p, W->constant);
}

/* M, and the three small tokens times M. */
static void matrix(const spec *S, const real *p, work *W)
{
    long d = S->d, col = W->columns, C = W->C;
    const real *E = p + S->E;
    for (long i = 0; i < d; i++) {
        W->small[i] = S->bag ? 0 : E[d + i];
        W->small[d + i] = S->bag ? 0 : E[d + i] - E[i];
        W->small[2 * d + i] = W->x_cls[i];
    }
    if (!S->norm) {
        memcpy(W->M, W->raw, sizeof(real) * d * C);
    } else {
        real *mean = W->d_M; /* free until the backward pass */
        memset(mean, 0, sizeof(real) * col);
        for (long i = 0; i < d; i++) {
            real g = p[S->g_1 + i];
            SIMD for (long x = 0; x < col; x++) mean[x] += (W->M[i * C + x] = W->raw[i * col + x] * g);
        }
        real m0 = 0, m1 = 0;
        for (long i = 0; i < d; i++) m0 += E[i], m1 += E[d + i];
        for (long i = 0; i < d; i++) {
            real *row = W->M + i * C;
            SIMD for (long x = 0; x < col; x++) row[x] -= mean[x] / d;
            row[col] = E[i] - m0 / d;
            row[col + 1] = E[d + i] - m1 / d;
            row[col + 2] = (real)1 / d;
        }
    }
    gemm(3, C, d, (operand){W->small, d, 1}, (operand){W->M, C, 1}, W->small_Y, C, 0, W->gemm);
}

/* r = 1 / sd of every token. */
static void scales(const spec *S, const real *p, work *W)
{
    long T = S->T, d = S->d, col = W->columns, C = W->C;
    real *restrict var = W->var, *restrict r0 = W->r, *restrict r1 = W->r + T;
    const real *restrict y0 = W->Y + col * T, *restrict y1 = y0 + T, *restrict mean = y1 + T;
    real l0 = 0, l1 = 0, eps = S->eps, over = (real)1 / d;
    if (!S->norm) {
        for (long t = 0; t < 2 * T; t++) W->r[t] = 1;
        return;
    }
    memset(var, 0, sizeof(real) * T);
    for (long i = 0; i < d; i++) {
        const real *restrict P = p + S->P + i * T;
        SIMD for (long t = 0; t < T; t++) var[t] += P[t] * P[t];
        l0 += W->M[i * C + col] * W->M[i * C + col];
        l1 += W->M[i * C + col + 1] * W->M[i * C + col + 1];
    }
    if (S->bag)
        for (long t = 0; t < T; t++) {
            r0[t] = 1; /* the zero token: its scale multiplies nothing */
            r1[t] = 1 / (real)sqrt((var[t] - d * mean[t] * mean[t]) * over + eps);
        }
    else
        for (long t = 0; t < T; t++) {
            real v = var[t] - d * mean[t] * mean[t];
            r0[t] = 1 / (real)sqrt((v + 2 * y0[t] + l0) * over + eps);
            r1[t] = 1 / (real)sqrt((v + 2 * y1[t] + l1) * over + eps);
        }
}

/* Scores, exponentials, and what a set bit changes in numerator and denominator. */
static inline __attribute__((always_inline)) void tables(const spec *S, const real *p, work *W, const int form)
{
    long T = S->T, H = S->H, k = S->k, w = k * H, C = W->C, HT = H * T;
    question(S, p, W);
    matrix(S, p, W);
    gemm(C, T, S->d, (operand){W->M, 1, C}, (operand){p + S->P, T, 1}, W->Y, T, 0, W->gemm);
    scales(S, p, W);
    const real *restrict r0 = W->r, *restrict r1 = W->r + T;
    for (long h = 0; h < H; h++) {
        real *restrict K1 = W->Y + (w + h) * T, *restrict s0 = W->s + h * T, *restrict s1 = s0 + HT;
        real *restrict e0 = W->e + h * T, *restrict e1 = e0 + HT, *restrict a0 = W->a + h * T, *restrict a1 = a0 + HT;
        real shift = W->small_Y[w + h], D = W->small_Y[C + w + h], here = S->bag ? 0 : 1;
        real top = W->s_cls[h] = W->small_Y[2 * C + w + h] * (real)W->r_cls, low = 0, high = 0;
        _Pragma("omp simd reduction(max : top)") for (long t = 0; t < T; t++) {
            real y = K1[t] + shift;
            K1[t] = y;
            s1[t] = y * r1[t];
            s0[t] = (here * y - D) * r0[t];
            top = s1[t] > top ? s1[t] : top;
            top = s0[t] > top ? s0[t] : top;
        }
        real *restrict c = W->change + (w + h) * T, *restrict c0 = W->clear + (w + h) * T;
        SUM(low, high) for (long t = 0; t < T; t++) {
            real x0 = exp_negative(s0[t] - top), x1 = exp_negative(s1[t] - top);
            low += x0;
            high += x1;
            if (form == APART) c[t] = x1, c0[t] = x0;
            else c[t] = x1 - x0;
            e0[t] = x0;
            e1[t] = x1;
            a0[t] = x0 * r0[t];
            a1[t] = x1 * r1[t];
        }
        W->e_cls[h] = exp_negative(W->s_cls[h] - top);
        W->a_cls[h] = W->e_cls[h] * (real)W->r_cls;
        W->base[w + h] = (form == APART ? 0 : low) + W->e_cls[h];
        W->total[h] = low + high + W->e_cls[h];
    }
    for (long x = 0; x < w; x++) {
        long h = x % H;
        real *restrict V1 = W->Y + x * T, *restrict c = W->change + x * T, *restrict c0 = W->clear + x * T;
        const real *restrict a0 = W->a + h * T, *restrict a1 = a0 + HT;
        real shift = W->small_Y[x], D = W->small_Y[C + x], here = S->bag ? 0 : 1, sum = 0;
        SUM(sum) for (long t = 0; t < T; t++) {
            real y = V1[t] + shift, u0 = a0[t] * (here * y - D);
            V1[t] = y;
            if (form == APART) c[t] = a1[t] * y, c0[t] = u0;
            else c[t] = a1[t] * y - u0;
            sum += u0;
        }
        W->base[x] = (form == APART ? 0 : sum) + W->a_cls[h] * W->small_Y[2 * C + x];
    }
}

/* From bits to margins and back for every sample: the product with the bit matrix, then what follows the attention.
   Where there is dropout, keep_1 and keep_2 are what the outputs of attention and MLP are multiplied by. */

#define UNSAFE ((real)(1.0 / 1024)) /* of the largest denominator: below, ten bits or more have cancelled */
#ifndef DOUBLE
#define SMALL 4e-29f /* the smallest normal number to the power 3/4: nothing below is divided by */
#else
#define SMALL 1e-230
#endif

/* Mean and 1/sd of a row; writes the normalised row. Returns 1/sd. */
static real normalise(const real *restrict x, real *restrict out, long d, double eps)
{
    real sum = 0, var = 0;
    SUM(sum) for (long i = 0; i < d; i++) sum += x[i];
    real mean = sum / d;
    SUM(var) for (long i = 0; i < d; i++) var += (x[i] - mean) * (x[i] - mean);
    real r = 1 / (real)sqrt(var / d + eps);
    SIMD for (long i = 0; i < d; i++) out[i] = (x[i] - mean) * r;
    return r;
}

/* Gradient at x of the normalised row, in place: g <- r (g - mean g - xhat mean(g xhat)). */
static void through_norm(real *restrict g, const real *restrict xhat, real r, long d)
{
    real a = 0, b = 0;
    SUM(a, b) for (long i = 0; i < d; i++) a += g[i], b += g[i] * xhat[i];
    a /= d;
    b /= d;
    SIMD for (long i = 0; i < d; i++) g[i] = r * (g[i] - a - xhat[i] * b);
}

/* sigma, and its slope where it has one. */
static void act_on_values(const spec *S, long m, work *W)
{
    long n = m * S->k * S->H;
    if (S->sigma == IDENTITY) memcpy(W->acted, W->values, sizeof(real) * n);
    else
        for (long x = 0; x < n; x++) {
            real v = W->values[x];
            if (S->sigma == RELU) W->acted[x] = v > 0 ? v : 0, W->slope[x] = v > 0;
            if (S->sigma == TANH) W->acted[x] = tanh(v), W->slope[x] = 1 - W->acted[x] * W->acted[x];
            if (S->sigma == GELU) gelu(v, W->acted + x, W->slope + x);
        }
}

/* Numerators over denominators, sigma. Returns 1 if some denominator lost too many digits (NaN included). */
static int mix(const spec *S, long m, work *W, int form)
{
    long T = S->T, H = S->H, k = S->k, w = k * H, col = W->columns;
    int unsafe = 0;
    sums_by_sample(m, T, col, W->by_sample, W->change, form == APART ? W->clear : 0, W->sums, W->bits);
    for (long n = 0; n < m; n++) {
        real *restrict sum = W->sums + n * col, *restrict inv = W->inverse + n * H, *restrict v = W->values + n * w;
        for (long h = 0; h < H; h++) {
            real den = sum[w + h] + W->base[w + h];
            unsafe |= !(den > (form == APART ? SMALL : UNSAFE * W->total[h]));
            inv[h] = 1 / den;
        }
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
            long x = j * H + h;
            real ratio = (sum[x] + W->base[x]) * inv[h];
            sum[x] = ratio;
            v[x] = ratio + W->constant[x];
        }
    }
    act_on_values(S, m, W);
    return unsafe;
}

/* W_C, residual, MLP, final norm and the difference of the two logits: margins of m samples. */
static void read_out(const spec *S, const real *p, long m, work *W, real *margin)
{
    long d = S->d, w = S->k * S->H, f = S->f;
    const real *restrict head = p + S->head, *restrict gain = p + S->g_f, *restrict shift = p + S->c_f;
    gemm(m, d, w, (operand){W->acted, w, 1}, (operand){p + S->W_C, d, 1}, W->z1, d, 0, W->gemm);
    real *restrict offset = W->sum_z, *z = W->z1;
    real rest = S->residual ? 1 : 0;
    for (long i = 0; i < d; i++) offset[i] = (S->bias ? p[S->b_C + i] : 0) + (W->keep_1 ? 0 : rest * W->x_cls[i]);
    for (long n = 0; n < m; n++) SIMD for (long i = 0; i < d; i++) z[n * d + i] += offset[i];
    if (W->keep_1) SIMD for (long x = 0; x < m * d; x++) z[x] = z[x] * W->keep_1[x] + rest * W->x_cls[x];
    if (f) {
        for (long n = 0; n < m; n++) {
            real *restrict h = W->h + n * d, *restrict xhat = W->d_h + n * d; /* kept there for the gradient */
            const real *restrict g_2 = p + S->g_2, *restrict c_2 = p + S->c_2;
            if (!S->norm) {
                memcpy(h, z + n * d, sizeof(real) * d);
                continue;
            }
            W->rs2[n] = normalise(z + n * d, xhat, d, S->eps);
            SIMD for (long i = 0; i < d; i++) h[i] = xhat[i] * g_2[i] + c_2[i];
        }
        gemm(m, f, d, (operand){W->h, d, 1}, (operand){p + S->W_1, f, 1}, W->u, f, 0, W->gemm);
        const real *restrict b = p + S->b_1;
        for (long n = 0; n < m; n++) {
            real *restrict u = W->u + n * f, *restrict g = W->act + n * f, *restrict s = W->act_slope + n * f;
            SIMD for (long i = 0; i < f; i++) gelu(u[i] + b[i], g + i, s + i);
        }
        gemm(m, d, f, (operand){W->act, f, 1}, (operand){p + S->W_2, d, 1}, W->z2, d, 0, W->gemm);
        const real *restrict b_2 = p + S->b_2;
        real *restrict z2 = W->z2;
        for (long n = 0; n < m; n++) {
            real *restrict out = z2 + n * d;
            const real *restrict from = z + n * d, *restrict keep = W->keep_2 + n * d;
            if (W->keep_2) SIMD for (long i = 0; i < d; i++) out[i] = (out[i] + b_2[i]) * keep[i] + rest * from[i];
            else SIMD for (long i = 0; i < d; i++) out[i] += b_2[i] + rest * from[i];
        }
        z = W->z2;
    }
    for (long n = 0; n < m; n++) {
        real *restrict x = W->hf + n * d, out = 0;
        if (S->norm) {
            W->rsf[n] = normalise(z + n * d, x, d, S->eps);
            SUM(out) for (long i = 0; i < d; i++)
                out += (head[d + i] - head[i]) * (x[i] * gain[i] + shift[i]);
        } else {
            memcpy(x, z + n * d, sizeof(real) * d);
            SUM(out) for (long i = 0; i < d; i++) out += (head[d + i] - head[i]) * x[i];
        }
        margin[n] = out;
    }
}

/* The gradient before dropout from the one after it; in d_y where there is any. */
static const real *dropped(const real *grad, const real *keep, long n, work *W)
{
    if (!keep) return grad;
    SIMD for (long x = 0; x < n; x++) W->d_y[x] = grad[x] * keep[x];
    return W->d_y;
}

/* Gradients of head, final norm and MLP; leaves the gradient at the attention's output in d_z. */
static void read_out_gradient(const spec *S, const real *p, real *g, long m, work *W)
{
    long d = S->d, f = S->f;
    const real *restrict head = p + S->head, *restrict gain = p + S->g_f, rest = S->residual ? 1 : 0;
    real total = 0;
    for (long i = 0; i < d; i++) g[S->head + i] = 0;
    for (long n = 0; n < m; n++) {
        real dm = W->d_margin[n];
        real *restrict per = g + S->head, *restrict dz = W->d_z + n * d, *restrict x = W->hf + n * d;
        total += dm;
        SIMD for (long i = 0; i < d; i++) per[i] += dm * x[i];
        if (S->norm) {
            SIMD for (long i = 0; i < d; i++) dz[i] = dm * (head[d + i] - head[i]) * gain[i];
            through_norm(dz, x, W->rsf[n], d);
        } else
            SIMD for (long i = 0; i < d; i++) dz[i] = dm * (head[d + i] - head[i]);
    }
    for (long i = 0; i < d; i++) {
        real per = g[S->head + i], wd = head[d + i] - head[i];
        if (S->norm) {
            g[S->g_f + i] = per * wd;
            g[S->c_f + i] = total * wd;
            per = per * p[S->g_f + i] + total * p[S->c_f + i];
        }
        g[S->head + i] = -per;
        g[S->head + d + i] = per;
    }
    if (!f) return;
    const real *d_y = dropped(W->d_z, W->keep_2, m * d, W);
    memset(g + S->b_2, 0, sizeof(real) * d);
    memset(g + S->b_1, 0, sizeof(real) * f);
    real *restrict d_b2 = g + S->b_2;
    for (long n = 0; n < m; n++) SIMD for (long i = 0; i < d; i++) d_b2[i] += d_y[n * d + i];
    gemm(f, d, m, (operand){W->act, 1, f}, (operand){d_y, d, 1}, g + S->W_2, d, 0, W->gemm);
    gemm(m, f, d, (operand){d_y, d, 1}, (operand){p + S->W_2, 1, d}, W->d_u, f, 0, W->gemm);
    for (long n = 0; n < m; n++) {
        real *restrict du = W->d_u + n * f, *restrict s = W->act_slope + n * f, *restrict b = g + S->b_1;
        SIMD for (long i = 0; i < f; i++) du[i] *= s[i], b[i] += du[i];
    }
    gemm(d, f, m, (operand){W->h, 1, d}, (operand){W->d_u, f, 1}, g + S->W_1, f, 0, W->gemm);
    real *xhat = W->d_h, *d_h = W->z2; /* z2 is not needed any more */
    gemm(m, d, f, (operand){W->d_u, f, 1}, (operand){p + S->W_1, 1, f}, d_h, d, 0, W->gemm);
    if (S->norm) {
        memset(g + S->g_2, 0, sizeof(real) * d);
        memset(g + S->c_2, 0, sizeof(real) * d);
    }
    for (long n = 0; n < m; n++) {
        real *restrict dh = d_h + n * d, *restrict dz = W->d_z + n * d, *restrict x = xhat + n * d;
        if (S->norm) {
            real *restrict d_c = g + S->c_2, *restrict d_g = g + S->g_2;
            const real *restrict g_2 = p + S->g_2;
            SIMD for (long i = 0; i < d; i++) {
                d_c[i] += dh[i];
                d_g[i] += dh[i] * x[i];
                dh[i] *= g_2[i];
            }
            through_norm(dh, x, W->rs2[n], d);
        }
        SIMD for (long i = 0; i < d; i++) dz[i] = dh[i] + rest * dz[i];
    }
}

/* From d_z to the gradient at the values, with that of W_C and b_C; sum_z is the latter, wanted or not. */
static void output_gradient(const spec *S, const real *p, real *g, long m, work *W)
{
    long d = S->d, w = S->k * S->H;
    const real *restrict d_y = dropped(W->d_z, W->keep_1, m * d, W);
    gemm(w, d, m, (operand){W->acted, 1, w}, (operand){d_y, d, 1}, g + S->W_C, d, 0, W->gemm);
    gemm(m, w, d, (operand){d_y, d, 1}, (operand){p + S->W_C, 1, d}, W->d_values, w, 0, W->gemm);
    memset(W->sum_z, 0, sizeof(real) * d);
    for (long n = 0; n < m; n++) SIMD for (long i = 0; i < d; i++) W->sum_z[i] += d_y[n * d + i];
    if (S->bias) memcpy(g + S->b_C, W->sum_z, sizeof(real) * d);
    if (S->sigma != IDENTITY) for (long x = 0; x < m * w; x++) W->d_values[x] *= W->slope[x];
}

/* From d_values to the gradient at numerators and denominators (in sums), with that of the constant. */
static void mix_gradient(const spec *S, long m, work *W)
{
    long H = S->H, k = S->k, w = k * H, col = W->columns;
    memset(W->g_0, 0, sizeof(real) * col);
    memset(W->constant, 0, sizeof(real) * w);
    for (long n = 0; n < m; n++) {
        real *restrict sum = W->sums + n * col, *restrict dv = W->d_values + n * w, *restrict bottom = sum + w;
        const real *restrict inv = W->inverse + n * H;
        for (long h = 0; h < H; h++) bottom[h] = 0;
        for (long j = 0; j < k; j++) SIMD for (long h = 0; h < H; h++) {
            long x = j * H + h;
            real top = dv[x] * inv[h];
            W->constant[x] += dv[x];
            bottom[h] -= top * sum[x];
            sum[x] = top;
        }
        SIMD for (long x = 0; x < col; x++) W->g_0[x] += sum[x];
    }
}

/* Mean cross-entropy log(1 + e^z) - y z of the margins z, and its gradient at them. */
static real losses(const real *labels, const real *margin, long m, real *d_margin)
{
    double sum = 0;
    for (long n = 0; n < m; n++) {
        double z = margin[n], a = exp(-fabs(z)), y = labels[n];
        sum += (z > 0 ? z : 0) - y * z + log1p(a);
        d_margin[n] = ((z > 0 ? 1 / (1 + a) : a / (1 + a)) - y) / m;
    }
    return sum / m;
}

/* What a run is made of: sizes, switches, where each weight lies in its row (-1: nowhere), optimiser settings. The
   lists make the struct and the names that `spec_names` tells to Python, which builds its copy from them. */
#define WHOLE(X) \
    X(T) X(d) X(H) X(k) X(f) X(m) X(norm) X(residual) X(bias) X(bag) X(sigma) X(gated) X(zero_heads) X(trains_encoding) X(trains_positions) \
    X(W_Q) X(W_K) X(W_V) X(W_C) X(W_1) X(W_2) X(head) X(g_1) X(c_1) X(b_Q) X(b_K) X(b_V) X(b_C) X(g_2) X(c_2) X(b_1) \
    X(b_2) X(g_f) X(c_f) X(E) X(P_cls) X(P) X(s_cls) X(n_decayed) X(n_trained) X(optimiser) X(warmup)
#define REAL(X) \
    X(temperature) X(eps) X(dropout) X(learning_rate) X(beta_1) X(beta_2) X(adam_eps) X(weight_decay) X(clip)
typedef struct {
#define FIELD(name) long name;
    WHOLE(FIELD)
#undef FIELD
#define FIELD(name) double name;
    REAL(FIELD)
#undef FIELD
} spec;

/* Weights up to `end`, from where the piece before ends, and what multiplies their learning rate (layout.py). */
typedef struct { long end; double factor; } piece;

enum { ADAMW, ADAM, SGD };
enum { IDENTITY, RELU, GELU, TANH };

/* Scratch arrays of one run, in the letters of kernel.c; d_name is the gradient at name. */
typedef struct {
    long columns, C; /* w + H; with a norm three more */
    int form;        /* how a step forms its sums over samples: DIFFERENCE or APART */
    /* the query */
    real *x_cls, *xhat_cls, *h_cls; /* (d): [CLS], normalised, with gain and shift; with dropout one row a sample */
    real *q;                        /* (w) */
    double r_cls;                   /* 1/sd of [CLS] */
    /* the token table */
    real *raw, *M;          /* (d, columns) W_V and W_K q; (d, C) the same with gain, centred, and three more columns */
    real *Y;                /* (C, T) M^T P, later values and scores of bit 1 before their scale */
    real *small, *small_Y;  /* (3, d) E_1, E_1 - E_0, [CLS]; (3, C) the same times M */
    real *r, *var;          /* (2, T) 1/sd of each token; (T) |P_t|^2 */
    real *s, *e, *a;        /* (2, H, T) scores, their exponentials, e r */
    real *change, *clear;   /* (columns, T) what a set bit adds; what a clear bit adds (APART only) */
    real *base, *total;     /* (columns) what every sample has; (H) the largest possible denominator */
    real *s_cls, *e_cls, *a_cls, *top; /* (H) [CLS] as a token that is attended to */
    real *constant;         /* (w) c^T W_V + b_V, later its gradient */
    /* products with the bits */
    uint8_t *by_sample, *by_position; /* nibbles of B: bits.h */
    real *bits, *sums, *inverse;      /* tables of partial sums; (m, columns); (m, H) 1 / denominators */
    real *values, *acted, *slope;     /* (m, w) attention's output, sigma of it, sigma's slope */
    /* read-out, one row a sample */
    real *z1, *z2, *h, *hf;    /* (m, d) after attention, after the MLP, the MLP's input, the normalised end */
    real *u, *act, *act_slope; /* (m, f) inside the MLP */
    real *rs2, *rsf;           /* (m) 1/sd of z1 and of the end */
    real *keep_1, *keep_2;     /* (m, d) what dropout multiplies the two outputs by; NULL without */
    /* gradients */
    real *d_margin, *d_z, *d_u, *d_h, *d_values, *d_y, *sum_z;
    real *G, *G_clear, *g_0;   /* (columns, T) at what set and clear bits add; (columns) summed over samples */
    real *d_Y, *d_a, *d_M, *d_small_Y, *d_small, *d_length, *d_q, *d_cls;
    real *gemm; /* packed operands */
    /* gated keys */
    real *share, *rest, *d_share; /* (m, H) attention on positions and on [CLS]; the gradient at the former */
} work;

/* Sums over samples as base + B (bit 1 - bit 0), or in a form that cannot cancel, B bit1 + (1 - B) bit0. */
enum { DIFFERENCE, APART };

static real *take(real **at, long n)
{
    real *p = *at;
    *at += padded(n, 16);
    return p;
}

#define TAKE(name, n) W->name = take(at, n)
/* What follows the attention, with or without dropout, for m samples; products have at most `rows` rows. */
static void lay_out_readout(const spec *S, long m, long rows, work *W, real **at)
{
    long d = S->d, w = S->k * S->H, f = S->f;
    TAKE(values, m * w); TAKE(acted, m * w); TAKE(slope, m * w); TAKE(z1, m * d); TAKE(h, m * d); TAKE(u, m * f);
    TAKE(act, m * f); TAKE(act_slope, m * f); TAKE(z2, m * d); TAKE(hf, m * d); TAKE(rs2, m); TAKE(rsf, m);
    TAKE(d_z, m * d); TAKE(d_u, m * f); TAKE(d_h, m * d); TAKE(d_values, m * w); TAKE(d_margin, m); TAKE(sum_z, d);
    rows = rows > m ? rows : m;
    rows = rows > d ? rows : d;
    rows = rows > f ? rows : f;
    TAKE(gemm, gemm_scratch(rows));
}
#undef TAKE

/* Lays the arrays out from `at` on; called with NULL it only measures. m is the number of samples of this call. */
static long lay_out(const spec *S, long m, work *W, real *at)
{
    long T = S->T, d = S->d, H = S->H, w = S->k * H, col = w + H, C = col + (S->norm ? 3 : 0);
    real *start = at;
    W->columns = col;
    W->C = C;
#define TAKE(name, n) W->name = take(&at, n)
    TAKE(raw, d * col); TAKE(M, d * C); TAKE(Y, C * T); TAKE(r, 2 * T); TAKE(s, 2 * H * T); TAKE(e, 2 * H * T);
    TAKE(a, 2 * H * T); TAKE(change, col * T); TAKE(clear, col * T); TAKE(base, col); TAKE(total, H); TAKE(q, w); TAKE(x_cls, d);
    TAKE(h_cls, d); TAKE(xhat_cls, d); TAKE(small, 3 * d); TAKE(small_Y, 3 * C); TAKE(s_cls, H); TAKE(e_cls, H);
    TAKE(a_cls, H); TAKE(constant, w); TAKE(top, H); TAKE(var, T);
    TAKE(G, col * T); TAKE(G_clear, col * T); TAKE(d_Y, C * T); TAKE(d_a, 2 * H * T); TAKE(d_M, d * C); TAKE(d_small_Y, 3 * C);
    TAKE(d_small, 3 * d); TAKE(d_length, 2 * T); TAKE(g_0, col); TAKE(d_q, w); TAKE(d_cls, d);
    TAKE(bits, bits_scratch(m, col)); TAKE(sums, m * col); TAKE(inverse, m * H);
    W->by_sample = (uint8_t *)take(&at, m * groups(T) / sizeof(real) + 1);
    W->by_position = (uint8_t *)take(&at, groups(m) * T / sizeof(real) + 1);
#undef TAKE
    lay_out_readout(S, m, C, W, &at);
    return at - start;
}

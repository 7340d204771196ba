/* Products with the bit matrix B in {0,1}^{m x T} by tables of partial sums (the method of the four Russians).

   Four rows of an operand have sixteen sums of subsets. A table holds them, and four bits of B, a nibble, choose one:
   a quarter of the additions of a matrix product, and no multiplication. Tables of SPAN groups stay in the first-level
   cache while samples (or positions) run past them. `flip` = 15 turns set bits into clear ones.

       by_sample    nibbles of four positions, [group of positions][sample]
       by_position  nibbles of four samples,   [group of samples][position] */

#define SPAN 6 /* groups of four whose tables are used at once: 30 KB at 80 columns in float32 */
#define RUN 256 /* positions whose sums are held while all samples run past */
#define WIDEST 5 /* vectors of a row whose sums are in registers at once: 80 columns with AVX-512 in float32 */

static inline long groups(long n) { return (n + 3) / 4; }

/* Nibbles along rows of a matrix of bits: element (i, j) lies at bits[i * row + j * column]; out[group of j][i]. */
static void nibbles(const uint8_t *restrict bits, long n, long row, long J, long column, uint8_t *restrict out)
{
    for (long j = 0; j < J; j += 4, out += n)
        for (long i = 0; i < n; i++) {
            uint8_t at = 0;
            for (long q = 0; q < 4 && j + q < J; q++) at |= bits[i * row + (j + q) * column] << q;
            out[i] = at;
        }
}

/* Sixteen sums of subsets of four rows, each `pn` long: u[4][pn] -> table[16][pn]. */
static void subset_sums(const real *restrict u, long pn, real *restrict table)
{
    memset(table, 0, sizeof(real) * pn);
    for (long s = 1; s < 16; s++) {
        const real *restrict rest = table + (s & (s - 1)) * pn, *restrict add = u + __builtin_ctzl(s) * pn;
        real *restrict out = table + s * pn;
        SIMD for (long x = 0; x < pn; x++) out[x] = rest[x] + add[x];
    }
}

/* acc[i] += the row that nibble i chooses, in each of `span` tables; `vectors` columns of LANES, from x on. */
static inline __attribute__((always_inline)) void look_up_columns(const real *restrict tables, const uint8_t *restrict nib,
                                                                  long stride, uint8_t flip, long span, long n, long pn,
                                                                  real *restrict acc, long x, const int vectors)
{
    for (long i = 0; i < n; i++) {
        real *restrict at = acc + i * pn + x;
        const real *restrict from = tables + x;
        vec s[WIDEST];
#pragma GCC unroll 5
        for (int v = 0; v < vectors; v++) s[v] = *(const vec *)(at + v * LANES);
        for (long g = 0; g < span; g++, from += 16 * pn) {
            const real *restrict row = from + (nib[g * stride + i] ^ flip) * pn;
#pragma GCC unroll 5
            for (int v = 0; v < vectors; v++) s[v] += *(const vec *)(row + v * LANES);
        }
#pragma GCC unroll 5
        for (int v = 0; v < vectors; v++) *(vec *)(at + v * LANES) = s[v];
    }
}

/* The same for all columns: as many vectors at once as there are, WIDEST at the most. */
static void look_up(const real *tables, const uint8_t *nib, long stride, uint8_t flip, long span, long n, long pn, real *acc)
{
    for (long x = 0; x < pn; x += WIDEST * LANES) switch (least(WIDEST, (pn - x) / LANES)) {
        case 1: look_up_columns(tables, nib, stride, flip, span, n, pn, acc, x, 1); break;
        case 2: look_up_columns(tables, nib, stride, flip, span, n, pn, acc, x, 2); break;
        case 3: look_up_columns(tables, nib, stride, flip, span, n, pn, acc, x, 3); break;
        case 4: look_up_columns(tables, nib, stride, flip, span, n, pn, acc, x, 4); break;
        default: look_up_columns(tables, nib, stride, flip, span, n, pn, acc, x, WIDEST);
    }
}

static long bits_scratch(long m, long n)
{
    long pn = padded(n, LANES), forward = m * pn + (20 + SPAN * 16) * pn, backward = (groups(m) + SPAN) * 16 * pn + (RUN + 4) * pn;
    return forward > backward ? forward : backward;
}

/* Four columns of U (n x T) from t on, as rows: u[4][pn]; zeros beyond T. */
static void four_columns(const real *restrict U, long n, long T, long t, long pn, real *restrict u)
{
    for (long q = 0; q < 4; q++)
        for (long x = 0; x < n; x++) u[q * pn + x] = t + q < T ? U[x * T + t + q] : 0;
}

/* out (m x n) = B U^T, and with a `clear` (n x T) B U^T + (1 - B) clear^T: then every table has both in it. */
static void sums_by_sample(long m, long T, long n, const uint8_t *by_sample, const real *U, const real *clear, real *out,
                           real *scratch)
{
    long pn = padded(n, LANES);
    real *restrict acc = scratch, *restrict u = acc + m * pn, *restrict rest = u + 4 * pn, *tables = rest + 16 * pn;
    memset(acc, 0, sizeof(real) * m * pn);
    memset(u, 0, sizeof(real) * 4 * pn);
    for (long t0 = 0; t0 < T; t0 += 4 * SPAN) {
        long here = groups(least(4 * SPAN, T - t0));
        for (long g = 0; g < here; g++) {
            real *restrict table = tables + 16 * g * pn;
            four_columns(U, n, T, t0 + 4 * g, pn, u);
            subset_sums(u, pn, table);
            if (!clear) continue;
            four_columns(clear, n, T, t0 + 4 * g, pn, u);
            subset_sums(u, pn, rest);
            for (long s = 0; s < 16; s++) SIMD for (long x = 0; x < pn; x++) table[s * pn + x] += rest[(15 - s) * pn + x];
        }
        look_up(tables, by_sample + t0 / 4 * m, m, 0, here, m, pn, acc);
    }
    for (long i = 0; i < m; i++) memcpy(out + i * n, acc + i * pn, sizeof(real) * n);
}

/* out (n x T) = V^T B; V is m x n. */
static void sums_by_position(long m, long T, long n, const uint8_t *by_position, uint8_t flip, const real *restrict V,
                             real *restrict out, real *scratch)
{
    long pn = padded(n, LANES), all = groups(m);
    real *restrict acc = scratch, *restrict v = acc + RUN * pn, *tables = v + 4 * pn;
    for (long g = 0; g < all; g++) {
        memset(v, 0, sizeof(real) * 4 * pn);
        for (long q = 0; q < 4 && 4 * g + q < m; q++) memcpy(v + q * pn, V + (4 * g + q) * n, sizeof(real) * n);
        subset_sums(v, pn, tables + 16 * g * pn);
    }
    for (long t0 = 0; t0 < T; t0 += RUN) {
        long here = least(RUN, T - t0);
        memset(acc, 0, sizeof(real) * here * pn);
        for (long g = 0; g < all; g += SPAN)
            look_up(tables + 16 * g * pn, by_position + g * T + t0, T, flip, least(SPAN, all - g), here, pn, acc);
        for (long x = 0; x < n; x++)
            for (long t = 0; t < here; t++) out[x * T + t0 + t] = acc[t * pn + x];
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dense_tile.h: products of matrices by tiles that stay in registers, behind a vector header.
 *
 * A tile is up to MOST rows by one or two vectors. Term by term, a value of a is spread for each row, and
 * multiplied with the vectors of b:
 *
 *     out[r][…] = start[r][…] + Σ_t a[r * down + t * step] · b[t * b_down + …]
 *
 * The rows of a lie beside each other (down = 1), or in a panel on the stack, a fixed distance apart that
 * no two of them compete for a place in the first cache level.
 */
#include "train/kernel/x86/channels.h"

#include <stdbool.h>

enum {
    MOST = REGISTERS == 32 ? 14 : 6,
    BLOCK = 2 * LANES,
    TERMS = 128, /* of a panel */
    PANEL = TERMS + 16,
};

struct product {
    const float *a;
    int64_t step;
    const float *b;
    int64_t b_down;
    int terms, columns;       /* columns: up to BLOCK */
    int64_t a_ahead, b_ahead; /* values from each to what is needed soon; 0: nothing is */
    const float *start;       /* NULL: 0 */
    int64_t start_down;
    float *out;
    int64_t out_down;
    bool keeps_within;
    float low, high;
};

/* Has lines of memory brought into the second cache level. */
INLINE void fetch(const float *from, int n)
{
    for (int i = 0; i < n; i += 16)
        _mm_prefetch((const char *)(from + i), _MM_HINT_T1);
}

/* vectors: 1 or 2; the last one has `n` lanes. */
INLINE void begin_tile(const int rows, const int vectors, const struct product *p, int n,
                       vector (*sum)[2])
{
    UNROLL
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][vectors - 1] = zero();
    if (!p->start)
        return;
    UNROLL
    for (int r = 0; r < rows; r++) {
        const float *start = p->start + r * p->start_down;
        if (vectors > 1)
            sum[r][0] = load(start);
        sum[r][vectors - 1] = get(start + (vectors - 1) * LANES, n);
    }
}

INLINE void add_terms(const int rows, const int vectors, const int down, const struct product *p,
                      int n, vector (*sum)[2])
{
    const float *a = p->a, *b = p->b;
    for (int t = 0; t < p->terms; t++, a += p->step, b += p->b_down) {
        const vector left = vectors > 1 ? load(b) : load_some(b, n);
        const vector right = vectors > 1 ? load_some(b + LANES, n) : left;
        if (p->a_ahead)
            fetch(a + p->a_ahead, 1);
        if (p->b_ahead)
            fetch(b + p->b_ahead, BLOCK);
        UNROLL
        for (int r = 0; r < rows; r++) {
            const vector value = spread(a[r * down]);
            sum[r][0] = fuse(value, left, sum[r][0]);
            if (vectors > 1)
                sum[r][1] = fuse(value, right, sum[r][1]);
        }
    }
}

INLINE void end_tile(const int rows, const int vectors, const struct product *p, int n,
                     vector (*sum)[2])
{
    const vector low = spread(p->low), high = spread(p->high);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const vector value = p->keeps_within ? within(sum[r][v], low, high) : sum[r][v];
            put(p->out + r * p->out_down + v * LANES, value, v + 1 < vectors ? LANES : n);
        }
    }
}

INLINE void tile(const int rows, const int vectors, const int down, const struct product *p)
{
    const int n = p->columns - (vectors - 1) * LANES;
    vector sum[MOST][2];
    begin_tile(rows, vectors, p, n, sum);
    add_terms(rows, vectors, down, p, n, sum);
    end_tile(rows, vectors, p, n, sum);
}

typedef void tile_fn(const struct product *p);
#define TILES_OF(rows)                                                                             \
    static void panel_##rows(const struct product *p)                                              \
    {                                                                                              \
        if (p->columns > LANES)                                                                    \
            tile(rows, 2, PANEL, p);                                                               \
        else                                                                                       \
            tile(rows, 1, PANEL, p);                                                               \
    }                                                                                              \
    static void beside_##rows(const struct product *p)                                             \
    {                                                                                              \
        if (p->columns > LANES)                                                                    \
            tile(rows, 2, 1, p);                                                                   \
        else                                                                                       \
            tile(rows, 1, 1, p);                                                                   \
    }

/* The part of n that comes next, where `done` are done: of about equal parts, none above MOST. */
static int part(int n, int done)
{
    int left = n - done, parts = (left + MOST - 1) / MOST;
    return (left + parts - 1) / parts;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* Columns of a row in half precision, up to whole vectors behind the last one. */
static void widen_row(struct stk__read_halves from, int64_t at, int columns, float *to)
{
#define WIDEN_ROW(c, n) store(to + c, load_halves(dtype, from.at + at + c, n))
    if (from.dtype == STK_F16) {
        const int dtype = STK_F16;
        EACH_CHANNELS(columns, WIDEN_ROW);
    } else {
        const int dtype = STK_BF16;
        EACH_CHANNELS(columns, WIDEN_ROW);
    }
}

/* The same as fill_panel. */
static void fill_panel_from_halves(struct stk__read_halves from, int64_t down, int rows,
                                   int columns, int64_t ahead, float *panel)
{
    for (int r = 0; r < rows; r++) {
        for (int i = 0; ahead && i < columns; i += 32)
            _mm_prefetch((const char *)(from.at + r * down + ahead + i), _MM_HINT_T1);
        widen_row(from, r * down, columns, panel + r * PANEL);
    }
}

/* Some rows of a matrix, beginning at some column; `ahead` values further is what comes next. */
static void fill_panel(const float *from, int64_t down, int rows, int columns, int64_t ahead,
                       float *panel)
{
    for (int r = 0; r < rows; r++) {
        if (ahead)
            fetch(from + r * down + ahead, columns);
        memcpy(panel + r * PANEL, from + r * down, (size_t)columns * sizeof *panel);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* moments_body.h: the loops of moments.h, compiled once per instruction set by the file that
 * includes this one and vectorised by the compiler. */
#include "kernel/moments.h"

#include <float.h>
#include <math.h>

enum { LANES = STK__MOMENT_LANES };

static void clear(struct stk__moments *out, int channels)
{
    for (int c = 0; c < channels; c++)
        out[c] = (struct stk__moments){ .lo = (double)INFINITY, .hi = -(double)INFINITY };
}

/* Loops over lanes stay apart: each is as long as a few vectors. */
#define DEFINE_MOMENTS(suffix, T, ABS, MOST)                                                       \
    struct lanes_##suffix {                                                                        \
        double sum[LANES], square[LANES], shift[LANES];                                            \
        double n_bad[LANES];                                                                       \
        T lo[LANES], hi[LANES];                                                                    \
    };                                                                                             \
    static inline void add_##suffix(struct lanes_##suffix *l, const T *src, int n)                 \
    {                                                                                              \
        for (int i = 0; i < n; i++) {                                                              \
            T x = src[i];                                                                          \
            double d = (double)x - l->shift[i];                                                    \
            d = ABS(x) <= MOST ? d : 0;                                                            \
            l->n_bad[i] += ABS(x) <= MOST ? 0 : 1;                                                 \
            l->sum[i] += d;                                                                        \
            l->square[i] += d * d;                                                                 \
            l->lo[i] = x < l->lo[i] ? x : l->lo[i];                                                \
            l->hi[i] = x > l->hi[i] ? x : l->hi[i];                                                \
        }                                                                                          \
    }                                                                                              \
    static void join_##suffix(struct stk__moments *to, const struct lanes_##suffix *l, int i)      \
    {                                                                                              \
        to->sum += l->sum[i];                                                                      \
        to->square += l->square[i];                                                                \
        to->n_bad += (uint64_t)l->n_bad[i];                                                        \
        to->lo = (double)l->lo[i] < to->lo ? (double)l->lo[i] : to->lo;                            \
        to->hi = (double)l->hi[i] > to->hi ? (double)l->hi[i] : to->hi;                            \
    }                                                                                              \
    static void begin_##suffix(struct lanes_##suffix *l, const double *shift, int channels)        \
    {                                                                                              \
        for (int i = 0; i < LANES; i++) {                                                          \
            l->sum[i] = l->square[i] = l->n_bad[i] = 0;                                            \
            l->shift[i] = shift[i % channels];                                                     \
            l->lo[i] = (T)INFINITY;                                                                \
            l->hi[i] = -(T)INFINITY;                                                               \
        }                                                                                          \
    }                                                                                              \
    /* Channels that do not divide the lanes: a value at a time. */                                \
    static void moments_slow_##suffix(const T *src, size_t n, int channels, const double *shift,   \
                                      struct stk__moments *out)                                    \
    {                                                                                              \
        int c = 0;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = (double)src[i], d = ABS(src[i]) <= MOST ? x - shift[c] : 0;                 \
            out[c].n_bad += !(ABS(src[i]) <= MOST);                                                \
            out[c].sum += d;                                                                       \
            out[c].square += d * d;                                                                \
            out[c].lo = x < out[c].lo ? x : out[c].lo;                                             \
            out[c].hi = x > out[c].hi ? x : out[c].hi;                                             \
            c = c + 1 == channels ? 0 : c + 1;                                                     \
        }                                                                                          \
    }                                                                                              \
    static void moments_of_##suffix(const T *src, size_t n, int channels, const double *shift,     \
                                    struct stk__moments *out)                                      \
    {                                                                                              \
        struct lanes_##suffix lanes;                                                               \
        clear(out, channels);                                                                      \
        if (LANES % channels != 0) {                                                               \
            moments_slow_##suffix(src, n, channels, shift, out);                                   \
            return;                                                                                \
        }                                                                                          \
        begin_##suffix(&lanes, shift, channels);                                                   \
        for (; n >= LANES; n -= LANES, src += LANES)                                               \
            add_##suffix(&lanes, src, LANES);                                                      \
        add_##suffix(&lanes, src, (int)n);                                                         \
        for (int i = 0; i < LANES; i++)                                                            \
            join_##suffix(&out[i % channels], &lanes, i);                                          \
    }

DEFINE_MOMENTS(f32, float, fabsf, FLT_MAX)
DEFINE_MOMENTS(f64, double, fabs, DBL_MAX)

static void fill_all(struct stk__moment_kernels *kernels)
{
    kernels->of_f32 = moments_of_f32;
    kernels->of_f64 = moments_of_f64;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* resample_scalar.c: the kernels that resize rows in plain C. Every other version equals it bit for bit.
 */
#include "kernel/resample.h"

/* ---- lerp ---- */

static void lerp_x_u8_scalar(float *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        dst[i] = stk__lerp_x(src, row, i);
}

static void do_nothing(void) {}

static void lerp_line_u8_scalar(const struct stk__lerp_line *line, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        stk__lerp_line_value(line, row, i);
}

static void lerp_pair_u8_scalar(const struct stk__lerp_line lines[2],
                                const struct stk__lerp_row *row)
{
    lerp_line_u8_scalar(lines, row);
    lerp_line_u8_scalar(lines + 1, row);
}

static void lerp_x_f32_scalar(float *dst, const float *src, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        dst[i] = stk__lerp(src[row->left[i]], src[row->right[i]], row->weight[i]);
}

static void lerp_y_f32_scalar(float *dst, const float *top, const float *bottom, float weight,
                              int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__lerp(top[i], bottom[i], weight);
}

static void lerp_y_affine_scalar(float *dst, const float *const rows[2], float weight, int n,
                                 const struct stk__affine *affine, bool is_far)
{
    (void)is_far;
    const float *top = rows[0], *bottom = rows[1];
    for (int i = 0, k = 0; i < n; i++, k = k + 1 < affine->period ? k + 1 : 0)
        dst[i] = stk__lerp(top[i], bottom[i], weight) * affine->mul[k] + affine->add[k];
}

static void lerp_y_round_scalar(uint8_t *dst, const float *top, const float *bottom, float weight,
                                int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__round_u8(stk__lerp(top[i], bottom[i], weight));
}

/* ---- sums ---- */

static void sum_x_u8_scalar(float *dst, const uint8_t *src, const struct stk__span_row *row)
{
    for (int i = 0; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            *dst++ = stk__sum_u8(src + c, row, i);
}

static void sum_x_f32_scalar(float *dst, const float *src, const struct stk__span_row *row)
{
    for (int i = 0; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            *dst++ = stk__sum_f32(src + c, row, i);
}

static void sum_y_u8_scalar(float *dst, const uint8_t *const *rows, const float *weight, int n_rows,
                            int n)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < n_rows; k++)
            sum += (float)rows[k][i] * weight[k];
        dst[i] = sum;
    }
}

static void sum_y_f32_scalar(float *dst, const float *const *rows, const float *weight, int n_rows,
                             int n)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < n_rows; k++)
            sum += rows[k][i] * weight[k];
        dst[i] = sum;
    }
}

/* ---- integers ---- */

static void fixed_x_u8_scalar(uint8_t *dst, const uint8_t *src, const struct stk__span_row *row)
{
    for (int i = 0; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            *dst++ = stk__from_fixed((uint32_t)stk__sum_fixed(src + c, row, i));
}

static void fixed_y_u8_scalar(uint8_t *dst, const uint8_t *const *rows, const int32_t *weight,
                              int n_rows, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__fixed_y(rows, weight, n_rows, i);
}

static void blend_x_u8_scalar(int16_t *dst, const uint8_t *src, const struct stk__lerp_row *row)
{
    for (int i = 0; i < row->n; i++)
        dst[i] = stk__blend_x(src, row, i);
}

static void blend_y_i16_scalar(uint8_t *dst, const int16_t *top, const int16_t *bottom,
                               const int32_t weight[2], int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = stk__blend_y(top[i], bottom[i], weight);
}

static void wide_x_u8_scalar(int32_t *dst, const uint8_t *src, const struct stk__span_row *row)
{
    for (int i = 0; i < row->n; i++)
        for (int c = 0; c < row->channels; c++)
            *dst++ = stk__sum_fixed(src + c, row, i);
}

static void wide_y_i32_scalar(uint8_t *dst, const int32_t *const *rows, const int32_t *weight,
                              int n_rows, int n, int n_float)
{
    for (int i = 0; i < n_float; i++)
        dst[i] = stk__wide_y_float(rows, weight, n_rows, i);
    for (int i = n_float; i < n; i++)
        dst[i] = stk__wide_y(rows, weight, n_rows, i);
}

static void halve_u8_scalar(uint8_t *dst, const uint8_t *top, const uint8_t *bottom, int n,
                            int channels)
{
    for (int i = 0; i < n; i++, top += 2 * channels, bottom += 2 * channels)
        for (int c = 0; c < channels; c++)
            *dst++ =
                (uint8_t)((top[c] + top[c + channels] + bottom[c] + bottom[c + channels] + 2) >> 2);
}

void stk__resample_fill_scalar(struct stk__resample_kernels *kernels)
{
    *kernels = (struct stk__resample_kernels){
        .lerp_x_u8 = lerp_x_u8_scalar,
        .lerp_line_u8 = lerp_line_u8_scalar,
        .lerp_pair_u8 = lerp_pair_u8_scalar,
        .settle = do_nothing,
        .lerp_x_f32 = lerp_x_f32_scalar,
        .lerp_y_f32 = lerp_y_f32_scalar,
        .lerp_y_affine = lerp_y_affine_scalar,
        .lerp_y_round = lerp_y_round_scalar,
        .sum_x_u8 = sum_x_u8_scalar,
        .sum_x_f32 = sum_x_f32_scalar,
        .sum_y_u8 = sum_y_u8_scalar,
        .sum_y_f32 = sum_y_f32_scalar,
        .fixed_x_u8 = fixed_x_u8_scalar,
        .fixed_y_u8 = fixed_y_u8_scalar,
        .blend_x_u8 = blend_x_u8_scalar,
        .blend_y_i16 = blend_y_i16_scalar,
        .wide_x_u8 = wide_x_u8_scalar,
        .wide_y_i32 = wide_y_i32_scalar,
        .halve_u8 = halve_u8_scalar,
    };
}

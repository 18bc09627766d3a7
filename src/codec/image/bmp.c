/* SPDX-License-Identifier: Apache-2.0 */
/* bmp.c: BMP pictures: up to 8 bits by palette, plain or run-length coded; 16, 24 and 32 bits. */
#include "codec/image/bmp.h"
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"

#include <string.h>

/* One sample of pixels of 16 or 32 bits: up to 8 bits of them, and what each value stands for. */
struct sample {
    uint32_t mask;
    int shift;
    uint8_t value[256];
};

struct painting {
    struct stk__bmp_header header;
    const struct stk__decode_request *request;
    struct stk__canvas *canvas;
    uint8_t colour[256][4]; /* in the channels of the picture */
    int most_used;          /* highest number of a colour seen */
    struct sample sample[4];
};

static size_t stride_of(const struct stk__bmp_header *h)
{
    return ((size_t)h->width * (size_t)h->bits + 31) / 32 * 4;
}

/* Rows in so many bytes; the last one may lack its padding. */
static size_t count_rows(const struct stk__bmp_header *h, size_t n_bytes)
{
    size_t row_bytes = ((size_t)h->width * (size_t)h->bits + 7) / 8;
    return (n_bytes + stride_of(h) - row_bytes) / stride_of(h);
}

static bool is_packed(const struct stk__bmp_header *h)
{
    return h->coding == STK__BMP_RLE8 || h->coding == STK__BMP_RLE4;
}

static uint8_t *target_row(const struct painting *p, uint32_t y)
{
    return stk__canvas_row(p->canvas, p->header.is_top_down ? y : p->header.height - 1 - y);
}

/* ---- pixels with a palette ---- */

static void mix_colours(struct painting *p)
{
    const struct stk__bmp_header *h = &p->header;
    bool is_ramp = stk__is_gray_ramp(h->colours, h->n_colours, h->colour_bytes);
    for (int i = 0; i < 256; i++) {
        uint8_t gray = stk__uncoloured(is_ramp, i);
        const uint8_t missing[] = { gray, gray, gray };
        const uint8_t *bgr = i < h->n_colours ? h->colours + i * h->colour_bytes : missing;
        const uint8_t rgba[4] = { bgr[2], bgr[1], bgr[0], 255 };
        stk__put_colour(p->colour[i], p->canvas->rows.channels, rgba);
        if (p->request->is_indexed)
            p->colour[i][0] = (uint8_t)i;
    }
}

/* These are inlined with a constant number of channels, so that a pixel is a move or two. */

static inline void paint_numbers(struct painting *p, const uint8_t *src, uint8_t *dst, int bits,
                                 int channels)
{
    uint32_t per_byte = (uint32_t)(8 / bits);
    int most_used = p->most_used;
    for (uint32_t x = 0; x < p->header.width; x++, dst += channels) {
        int shift = 8 - bits * (1 + (int)(x % per_byte));
        int number = src[x / per_byte] >> shift & ((1 << bits) - 1);
        most_used = number > most_used ? number : most_used;
        memcpy(dst, p->colour[number], (size_t)channels);
    }
    p->most_used = most_used;
}

/* ---- pixels of 24 bits and more ---- */

/* Bytes that are samples: blue, green, red, and the fourth may be alpha. A local width: bytes that are
 * stored might be the header's. */
static inline void paint_bytes(const struct painting *p, const uint8_t *restrict src,
                               uint8_t *restrict dst, int n_bytes, int channels)
{
    uint32_t width = p->header.width;
    uint8_t opaque = n_bytes == 4 && p->header.mask[3] ? 0 : 255;
    for (uint32_t x = 0; x < width; x++, src += n_bytes, dst += channels) {
        const uint8_t rgba[4] = { src[2], src[1], src[0], src[n_bytes - 1] | opaque };
        stk__put_colour(dst, channels, rgba);
    }
}

static bool is_of_bytes(const struct stk__bmp_header *h)
{
    const uint32_t *mask = h->mask;
    return h->bits == 32 && mask[0] == 0xff0000 && mask[1] == 0xff00 && mask[2] == 0xff &&
           (mask[3] == 0 || mask[3] == 0xff000000);
}

/* The highest value is 255; of samples with more than 8 bits the low ones are left out. */
static void prepare_sample(struct sample *sample, uint32_t mask, uint8_t otherwise)
{
    *sample = (struct sample){ .value = { otherwise } };
    if (!mask)
        return;
    while (!(mask >> sample->shift & 1) || mask >> sample->shift > 255)
        sample->shift++;
    uint32_t most = mask >> sample->shift;
    sample->mask = most << sample->shift;
    for (uint32_t i = 0; i <= most; i++)
        sample->value[i] = (uint8_t)(i * 255 / most);
}

static inline uint8_t sample_of(const struct sample *sample, uint32_t pixel)
{
    return sample->value[(pixel & sample->mask) >> sample->shift];
}

static inline void paint_masked(const struct painting *p, const uint8_t *src, uint8_t *dst,
                                int n_bytes, int channels)
{
    for (uint32_t x = 0; x < p->header.width; x++, src += n_bytes, dst += channels) {
        uint32_t pixel = src[0] | (uint32_t)src[1] << 8;
        if (n_bytes == 4)
            pixel |= (uint32_t)src[2] << 16 | (uint32_t)src[3] << 24;
        const uint8_t rgba[4] = { sample_of(&p->sample[0], pixel), sample_of(&p->sample[1], pixel),
                                  sample_of(&p->sample[2], pixel),
                                  sample_of(&p->sample[3], pixel) };
        stk__put_colour(dst, channels, rgba);
    }
}

/* ---- pictures ---- */

static inline void paint_row(struct painting *p, const uint8_t *src, uint8_t *dst, int bits,
                             int channels)
{
    if (bits == 8)
        paint_numbers(p, src, dst, 8, channels);
    else if (bits < 8)
        paint_numbers(p, src, dst, bits, channels);
    else if (bits == 24)
        paint_bytes(p, src, dst, 3, channels);
    else if (bits == 32 && is_of_bytes(&p->header))
        paint_bytes(p, src, dst, 4, channels);
    else
        paint_masked(p, src, dst, bits / 8, channels);
}

static void paint_rows(struct painting *p, const uint8_t *src, size_t stride, uint32_t n_rows)
{
    int bits = is_packed(&p->header) ? 8 : p->header.bits;
    for (uint32_t y = 0; y < n_rows && !stk__cancel_is_asked(); y++, src += stride) {
        uint8_t *dst = target_row(p, y);
        if (p->canvas->rows.channels == 3)
            paint_row(p, src, dst, bits, 3);
        else if (p->canvas->rows.channels == 1)
            paint_row(p, src, dst, bits, 1);
        else
            paint_row(p, src, dst, bits, 4);
    }
}

static int fail_cut(const struct painting *p, uint32_t n_rows, struct stk_error *err)
{
    return stk_fail(err, STK_DATA, "truncated BMP at byte %zu: %u of %u rows are there",
                    p->request->n_bytes, n_rows, p->header.height);
}

static int paint_packed(struct painting *p, struct stk_arena *arena, struct stk_error *err)
{
    const struct stk__bmp_header *h = &p->header;
    uint32_t n_rows;
    uint8_t *numbers = stk__arena_take(arena, (size_t)h->width * h->height);
    if (!numbers)
        return stk__out_of_memory(err);
    bool is_whole = stk__bmp_unpack(h, p->request->bytes + h->data_at,
                                    p->request->n_bytes - h->data_at, numbers, &n_rows);
    if (!is_whole && !stk__is_tolerant(p->request))
        return fail_cut(p, n_rows, err);
    p->canvas->is_flawed = !is_whole;
    paint_rows(p, numbers, h->width, n_rows);
    return STK_OK;
}

static int paint(struct painting *p, struct stk_arena *arena, struct stk_error *err)
{
    const struct stk__bmp_header *h = &p->header;
    size_t n_whole = count_rows(h, p->request->n_bytes - h->data_at);
    mix_colours(p);
    for (int i = 0; i < 4; i++)
        prepare_sample(&p->sample[i], h->mask[i], i < 3 ? 0 : 255);
    if (is_packed(h)) {
        int code = paint_packed(p, arena, err);
        if (code)
            return code;
    } else {
        paint_rows(p, p->request->bytes + h->data_at, stride_of(h),
                   n_whole < h->height ? (uint32_t)n_whole : h->height);
        p->canvas->is_flawed = n_whole < h->height;
    }
    p->canvas->is_flawed |= h->bits <= 8 && p->most_used >= h->n_colours;
    return STK_OK;
}

static int check_header(struct painting *p, struct stk_error *err)
{
    struct stk__bmp_header *h = &p->header;
    const struct stk__decode_request *request = p->request;
    bool is_cut;
    const char *cause = stk__bmp_header_read(h, request->bytes, request->n_bytes, &is_cut);
    if (cause)
        return stk_fail(err, STK_DATA, "%s BMP: %s", is_cut ? "truncated" : "bad", cause);
    int code = stk__check_size(request, h->width, h->height, err);
    if (code)
        return code;
    if (request->is_indexed && h->bits > 8)
        return stk__fail_without_palette(err);
    size_t left = request->n_bytes > h->data_at ? request->n_bytes - h->data_at : 0;
    if (h->data_at > request->n_bytes)
        h->data_at = request->n_bytes;
    if (!stk__is_tolerant(request) && !is_packed(h) && count_rows(h, left) < h->height)
        return fail_cut(p, (uint32_t)count_rows(h, left), err);
    return STK_OK;
}

int stk__bmp_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                    struct stk__canvas *canvas, struct stk_error *err)
{
    struct painting p = { .request = request, .canvas = canvas };
    int code = check_header(&p, err);
    if (code)
        return code;
    struct stk__image picture = { .height = p.header.height,
                                  .width = p.header.width,
                                  .channels = request->channels };
    if (request->is_indexed)
        picture.channels = 1;
    else if (!picture.channels)
        picture.channels = stk__bmp_channels(&p.header);
    code = stk__canvas_open(canvas, request, picture, false, arena, err);
    if (code)
        return code;
    if (stk__is_tolerant(request))
        stk__canvas_fill(canvas, request);
    code = paint(&p, arena, err);
    if (!code)
        stk__canvas_close(canvas);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bmp_header.c: the header of a BMP file in its eight sizes, and run-length codes.
 *
 *     0   BM, length of the file, where the pixels are (at 10)
 *     14  length of what follows: 12 (OS/2), 40, 52, 56, 16 and 64 (OS/2 again), 108, 124
 *     …   masks if they are not inside, then colours
 */
#include "codec/image/bmp.h"
#include "codec/image/reader.h"

#include <string.h>

static bool fits_coding(const struct stk__bmp_header *h)
{
    switch (h->coding) {
    case STK__BMP_PLAIN:
        return h->bits == 1 || h->bits == 4 || h->bits == 8 || h->bits == 16 || h->bits == 24 ||
               h->bits == 32;
    case STK__BMP_RLE8:
        return h->bits == 8;
    case STK__BMP_RLE4:
        return h->bits == 4;
    case STK__BMP_MASKS:
    case STK__BMP_ALPHA_MASKS:
        return h->bits == 16 || h->bits == 32;
    default:
        return false;
    }
}

static void read_sizes(struct stk__bmp_header *h, struct stk__reader *r, uint32_t n_header)
{
    if (n_header == 12) {
        h->width = stk__read(r, 2);
        h->height = stk__read(r, 2);
    } else {
        h->width = stk__read(r, 4);
        uint32_t height = stk__read(r, 4);
        h->is_top_down = height >> 31;
        h->height = h->is_top_down ? 0u - height : height;
    }
    stk__read(r, 2); /* planes: 1 */
    h->bits = (int)stk__read(r, 2);
}

/* Without masks 16 bits are 5 each; the fourth byte of 32 is taken for alpha, as TensorFlow does. */
static void read_masks(struct stk__bmp_header *h, struct stk__reader *r, uint32_t n_header)
{
    static const uint32_t usual[2][4] = { { 0x7c00, 0x03e0, 0x001f, 0 },
                                          { 0xff0000, 0xff00, 0xff, 0xff000000 } };
    memcpy(h->mask, usual[h->bits == 32], sizeof h->mask);
    if (h->coding != STK__BMP_MASKS && h->coding != STK__BMP_ALPHA_MASKS)
        return;
    bool has_alpha = n_header >= 56 || h->coding == STK__BMP_ALPHA_MASKS;
    for (int i = 0; i < 4; i++)
        h->mask[i] = i < 3 || has_alpha ? stk__read(r, 4) : 0;
}

static bool are_gray(const struct stk__bmp_header *h)
{
    for (int i = 0; i < h->n_colours; i++) {
        const uint8_t *c = h->colours + i * h->colour_bytes;
        if (c[0] != c[1] || c[1] != c[2])
            return false;
    }
    return true;
}

/* Some writers say that the pixels begin where the colours do; they come behind them. A place among
 * the colours is taken for what it is, and the colours too, as Pillow does. */
static void read_colours(struct stk__bmp_header *h, struct stk__reader *r, uint32_t n_used)
{
    uint32_t most = 1u << h->bits;
    size_t left = (r->n_bytes - r->at) / (size_t)h->colour_bytes;
    if (h->data_at == r->at)
        h->data_at += (size_t)(n_used ? n_used : most) * (size_t)h->colour_bytes;
    h->n_colours = (int)(n_used && n_used < most ? n_used : most);
    if ((size_t)h->n_colours > left)
        h->n_colours = (int)left;
    h->colours = r->bytes + r->at;
    h->is_gray = are_gray(h);
}

const char *stk__bmp_header_read(struct stk__bmp_header *h, const uint8_t *bytes, size_t n_bytes,
                                 bool *is_cut)
{
    struct stk__reader r = { .bytes = bytes, .n_bytes = n_bytes };
    memset(h, 0, sizeof *h);
    stk__read_bytes(&r, 10);
    h->data_at = stk__read(&r, 4);
    uint32_t n_header = stk__read(&r, 4), n_used = 0;
    read_sizes(h, &r, n_header);
    if (n_header >= 40) {
        h->coding = (enum stk__bmp_coding)stk__read(&r, 4);
        stk__read_bytes(&r, 12); /* length of the pixels, resolution */
        n_used = stk__read(&r, 4);
        stk__read(&r, 4);
    }
    read_masks(h, &r, n_header);
    h->colour_bytes = n_header == 12 ? 3 : 4;
    *is_cut = r.is_short;
    if (r.is_short)
        return "it ends in the header";
    if (!fits_coding(h))
        return "the coding, or the number of bits, of its pixels is not known";
    if (r.at < 14 + (size_t)n_header)
        r.at = 14 + (size_t)n_header < n_bytes ? 14 + (size_t)n_header : n_bytes;
    if (h->bits <= 8)
        read_colours(h, &r, n_used);
    return NULL;
}

int stk__bmp_channels(const struct stk__bmp_header *h)
{
    if (h->bits <= 8)
        return h->is_gray ? 1 : 3;
    return (h->bits == 16 || h->bits == 32) && h->mask[3] ? 4 : 3;
}

/* ---- run-length codes ---- */

struct unpacking {
    const uint8_t *at, *end;
    uint8_t *dst;
    uint32_t width, height, x, y;
    bool is_half; /* two pixels in a byte */
};

static void put(struct unpacking *u, uint8_t value)
{
    if (u->x < u->width && u->y < u->height)
        u->dst[(size_t)u->y * u->width + u->x++] = value;
}

static uint8_t half_of(uint8_t pair, uint32_t i)
{
    return i % 2 ? pair & 15 : pair >> 4;
}

/* n pixels as they are; bytes come in pairs. */
static bool copy_pixels(struct unpacking *u, uint32_t n)
{
    size_t n_bytes = u->is_half ? (n + 1) / 2 : n;
    size_t n_padded = (n_bytes + 1) / 2 * 2;
    if ((size_t)(u->end - u->at) < n_bytes)
        return false;
    for (uint32_t i = 0; i < n; i++)
        put(u, u->is_half ? half_of(u->at[i / 2], i) : u->at[i]);
    size_t left = (size_t)(u->end - u->at);
    u->at += n_padded < left ? n_padded : left;
    return true;
}

static bool move(struct unpacking *u)
{
    if (u->end - u->at < 2)
        return false;
    u->x = u->x + u->at[0] < u->width ? u->x + u->at[0] : u->width;
    u->y = u->y + u->at[1] < u->height ? u->y + u->at[1] : u->height;
    u->at += 2;
    return true;
}

/* One code; false where there is none left. */
static bool unpack_one(struct unpacking *u, bool *is_end)
{
    enum { END_OF_ROW, END, MOVE };
    if (u->end - u->at < 2)
        return false;
    uint32_t n = u->at[0];
    uint8_t value = u->at[1];
    u->at += 2;
    for (uint32_t i = 0; i < n; i++)
        put(u, u->is_half ? half_of(value, i) : value);
    if (n)
        return true;
    *is_end = value == END;
    if (value == END_OF_ROW) {
        u->x = 0;
        u->y += u->y < u->height;
    }
    if (value == MOVE)
        return move(u);
    return value <= MOVE || copy_pixels(u, value);
}

bool stk__bmp_unpack(const struct stk__bmp_header *h, const uint8_t *src, size_t n_src,
                     uint8_t *dst, uint32_t *n_rows)
{
    struct unpacking u = { .at = src,
                           .end = src + n_src,
                           .dst = dst,
                           .width = h->width,
                           .height = h->height,
                           .is_half = h->coding == STK__BMP_RLE4 };
    bool is_end = false;
    memset(dst, 0, (size_t)h->width * h->height);
    while (!is_end && unpack_one(&u, &is_end))
        ;
    bool is_last = u.y + 1 == u.height && u.x == u.width;
    *n_rows = is_end || is_last ? h->height : u.y;
    return is_end || is_last || u.y == u.height;
}

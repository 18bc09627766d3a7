/* SPDX-License-Identifier: Apache-2.0 */
/* warp_avx2.c: eight pixels at a time.
 *
 * A pixel of one to four bytes is fetched with one 32-bit load, or two neighbours with one of 64
 * bits; channels are taken out of the register. Floats are loaded channel by channel. Larger
 * pixels, images whose bytes 32 bits cannot count, and the last few pixels of a block are left to
 * plain C.
 */
#include "kernel/inline.h"
#include "kernel/warp.h"

#include <immintrin.h>
#include <string.h>

/* Loops over channels are unrolled where their number is a constant, which it is once inlined. */

/* ---- places ---- */

static inline __m256 apply(const float row[3], __m256 x, __m256 y_part)
{
    __m256 sum = _mm256_add_ps(_mm256_mul_ps(x, _mm256_set1_ps(row[0])), y_part);
    return _mm256_add_ps(sum, _mm256_set1_ps(row[2]));
}

static inline __m256 to_pixels(__m256 place, __m256 half)
{
    return _mm256_fmadd_ps(_mm256_add_ps(place, _mm256_set1_ps(1)), half, _mm256_set1_ps(-0.5f));
}

static void locate_avx2(const struct stk__warp *warp, int32_t row, int32_t column, int n,
                        struct stk__warp_places *places)
{
    const float origin[2] = { warp->origin_x + (float)column, warp->origin_y + (float)row };
    const __m256 eight = _mm256_set1_ps(8), one = _mm256_set1_ps(1);
    const __m256 part_x = _mm256_set1_ps(origin[1] * warp->x[1]);
    const __m256 part_y = _mm256_set1_ps(origin[1] * warp->y[1]);
    const __m256 part_z = _mm256_set1_ps(origin[1] * warp->z[1]);
    const __m256 half_width = _mm256_set1_ps((float)(0.5 * warp->src_width));
    const __m256 half_height = _mm256_set1_ps((float)(0.5 * warp->src_height));
    __m256 x = _mm256_add_ps(_mm256_set1_ps(origin[0]), _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7));
    int i = 0;
    for (; i + 8 <= n; i += 8, x = _mm256_add_ps(x, eight)) {
        __m256 at_x = apply(warp->x, x, part_x), at_y = apply(warp->y, x, part_y);
        if (warp->is_perspective) {
            __m256 z = apply(warp->z, x, part_z);
            at_x = _mm256_sub_ps(_mm256_div_ps(at_x, z), one);
            at_y = _mm256_sub_ps(_mm256_div_ps(at_y, z), one);
        }
        _mm256_storeu_ps(places->x + i, to_pixels(at_x, half_width));
        _mm256_storeu_ps(places->y + i, to_pixels(at_y, half_height));
    }
    stk__locate_scalar(warp, origin, i, n, places);
}

/* ---- what the loops share ---- */

/* The source, copied out: a vector store may alias anything. */
struct image {
    const uint8_t *data;
    __m256 width, height;
    __m256i row_values, channels;
};

static struct image open_image(const struct stk__warp *warp)
{
    return (struct image){ warp->src, _mm256_set1_ps((float)warp->src_width),
                           _mm256_set1_ps((float)warp->src_height),
                           _mm256_set1_epi32(warp->src_width * warp->channels),
                           _mm256_set1_epi32(warp->channels) };
}

static bool is_countable(const struct stk__warp *warp)
{
    int64_t values = (int64_t)warp->src_height * warp->src_width * warp->channels;
    return values * warp->value_bytes < INT32_MAX - 64;
}

static inline __m256 is_within(__m256 at, __m256 size)
{
    __m256 above = _mm256_cmp_ps(at, _mm256_set1_ps(-1), _CMP_GT_OQ);
    return _mm256_and_ps(above, _mm256_cmp_ps(at, size, _CMP_LT_OQ));
}

/* Index of the first value of the pixels at whole coordinates; nothing outside the image. */
static inline __m256i index_of(const struct image *image, __m256 x, __m256 y)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(_mm256_cvttps_epi32(y), image->row_values),
                            _mm256_mullo_epi32(_mm256_cvttps_epi32(x), image->channels));
}

static inline __m256i load_pixels(const uint8_t *data, __m256i index, __m256 mask, __m256i other)
{
    const int *from = (const int *)(const void *)data;
    return _mm256_mask_i32gather_epi32(other, from, index, _mm256_castps_si256(mask), 1);
}

/* Pixels of n bytes in 32-bit lanes, closed up. */
INLINE void store_pixels(uint8_t *dst, __m256i pixels, int n)
{
    static const uint8_t places[5][16] = {
        { 0 },
        { 0, 4, 8, 12 },
        { 0, 1, 4, 5, 8, 9, 12, 13 },
        { 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14 },
        { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    };
    __m128i closed = _mm_loadu_si128((const __m128i *)places[n]);
    __m128i low = _mm_shuffle_epi8(_mm256_castsi256_si128(pixels), closed);
    __m128i high = _mm_shuffle_epi8(_mm256_extracti128_si256(pixels, 1), closed);
    if (n == 4) {
        _mm_storeu_si128((__m128i *)dst, low);
        _mm_storeu_si128((__m128i *)(dst + 16), high);
    } else if (n == 3) { /* what is too much of the first is written over */
        _mm_storeu_si128((__m128i *)dst, low);
        _mm_storel_epi64((__m128i *)(dst + 12), high);
        _mm_storeu_si32(dst + 20, _mm_srli_si128(high, 8));
    } else if (n == 2) {
        _mm_storel_epi64((__m128i *)dst, low);
        _mm_storel_epi64((__m128i *)(dst + 8), high);
    } else {
        _mm_storeu_si32(dst, low);
        _mm_storeu_si32(dst + 4, high);
    }
}

/* The fill's bytes, up to four. */
static __m256i fill_pixels(const struct stk__warp *warp, int pixel_bytes)
{
    int32_t bytes = 0;
    if (warp->fill)
        memcpy(&bytes, warp->fill, (size_t)pixel_bytes);
    return _mm256_set1_epi32(bytes);
}

/* ---- nearest ---- */

enum { TO_EVEN = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

/* Whole numbers next to eight places, and which of them are pixels. */
INLINE __m256i find_nearest(const struct image *image, const struct stk__warp_places *places, int i,
                            __m256 *seen)
{
    __m256 x = _mm256_round_ps(_mm256_loadu_ps(places->x + i), TO_EVEN);
    __m256 y = _mm256_round_ps(_mm256_loadu_ps(places->y + i), TO_EVEN);
    *seen = _mm256_and_ps(is_within(x, image->width), is_within(y, image->height));
    return index_of(image, x, y);
}

/* Pixels of up to four bytes. */
static int nearest_small(const struct stk__warp *warp, const struct image *image,
                         const struct stk__warp_places *places, int n, uint8_t *dst)
{
    const int bytes = warp->channels * warp->value_bytes;
    const __m256i fill = fill_pixels(warp, bytes);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 seen;
        __m256i index = find_nearest(image, places, i, &seen);
        store_pixels(dst + i * bytes, load_pixels(image->data, index, seen, fill), bytes);
    }
    return i;
}

/* Pixels of a constant number of bytes, up to 16, one by one. */
INLINE int nearest_large(const struct stk__warp *warp, const struct image *image,
                         const struct stk__warp_places *places, int n, uint8_t *dst, int bytes)
{
    static const uint8_t zeros[16];
    const uint8_t *fill = warp->fill ? warp->fill : zeros;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 seen;
        int32_t index[8];
        _mm256_storeu_si256((__m256i *)index, find_nearest(image, places, i, &seen));
        int mask = _mm256_movemask_ps(seen);
        for (int k = 0; k < 8; k++, dst += bytes)
            memcpy(dst, mask >> k & 1 ? image->data + index[k] : fill, (size_t)bytes);
    }
    return i;
}

static void nearest_avx2(const struct stk__warp *warp, const struct stk__warp_places *places, int n,
                         uint8_t *dst)
{
    const int bytes = warp->channels * warp->value_bytes;
    struct image image = open_image(warp);
    image.row_values = _mm256_set1_epi32(warp->src_width * bytes);
    image.channels = _mm256_set1_epi32(bytes);
    const bool can = is_countable(warp);
    int i = 0;
    if (can && bytes <= 4)
        i = nearest_small(warp, &image, places, n, dst);
    else if (can && bytes == 8)
        i = nearest_large(warp, &image, places, n, dst, 8);
    else if (can && bytes == 12)
        i = nearest_large(warp, &image, places, n, dst, 12);
    else if (can && bytes == 16)
        i = nearest_large(warp, &image, places, n, dst, 16);
    stk__nearest_scalar(warp, places, i, n, dst);
}

/* ---- bilinear ---- */

/* The four pixels around eight places: where, how much, and whether they are there. */
struct corners {
    __m256i index[4];
    __m256 weight[4], mask[4];
    __m256 any, coverage; /* some pixel is there; the weights of those that are */
};

INLINE __m256 mix(const __m256 value[4], const __m256 weight[4])
{
    __m256 sum = _mm256_mul_ps(value[0], weight[0]);
    sum = _mm256_fmadd_ps(value[1], weight[1], sum);
    sum = _mm256_fmadd_ps(value[2], weight[2], sum);
    return _mm256_fmadd_ps(value[3], weight[3], sum);
}

INLINE void find_corners(const struct image *image, __m256 x, __m256 y, struct corners *to)
{
    const __m256 one = _mm256_set1_ps(1);
    __m256 left = _mm256_floor_ps(x), top = _mm256_floor_ps(y);
    __m256 right = _mm256_add_ps(left, one), bottom = _mm256_add_ps(top, one);
    __m256 right_part = _mm256_sub_ps(x, left), left_part = _mm256_sub_ps(one, right_part);
    __m256 bottom_part = _mm256_sub_ps(y, top), top_part = _mm256_sub_ps(one, bottom_part);
    __m256 has_left = is_within(left, image->width), has_right = is_within(right, image->width);
    __m256 has_top = is_within(top, image->height), has_bottom = is_within(bottom, image->height);
    to->weight[0] = _mm256_mul_ps(left_part, top_part);
    to->weight[1] = _mm256_mul_ps(right_part, top_part);
    to->weight[2] = _mm256_mul_ps(left_part, bottom_part);
    to->weight[3] = _mm256_mul_ps(right_part, bottom_part);
    to->mask[0] = _mm256_and_ps(has_left, has_top);
    to->mask[1] = _mm256_and_ps(has_right, has_top);
    to->mask[2] = _mm256_and_ps(has_left, has_bottom);
    to->mask[3] = _mm256_and_ps(has_right, has_bottom);
    to->index[0] = index_of(image, left, top);
    to->index[1] = _mm256_add_epi32(to->index[0], image->channels);
    to->index[2] = _mm256_add_epi32(to->index[0], image->row_values);
    to->index[3] = _mm256_add_epi32(to->index[2], image->channels);
    to->any = _mm256_or_ps(_mm256_or_ps(to->mask[0], to->mask[1]),
                           _mm256_or_ps(to->mask[2], to->mask[3]));
    __m256 is_there[4];
    for (int k = 0; k < 4; k++)
        is_there[k] = _mm256_and_ps(to->mask[k], one);
    to->coverage = mix(is_there, to->weight);
}

/* What a channel becomes, given the four values. */
INLINE __m256 mix_channel(const struct corners *corners, const __m256 value[4], bool has_fill,
                          __m256 fill)
{
    __m256 mixed = mix(value, corners->weight);
    if (has_fill)
        mixed = _mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(mixed, fill), corners->coverage), fill);
    return _mm256_blendv_ps(fill, mixed, corners->any);
}

INLINE __m256 channel_of(__m256i pixels, int channel)
{
    __m256i shifted = _mm256_srli_epi32(pixels, 8 * channel);
    return _mm256_cvtepi32_ps(_mm256_and_si256(shifted, _mm256_set1_epi32(255)));
}

INLINE __m256i round_even(__m256 value)
{
    __m256 above = _mm256_max_ps(value, _mm256_setzero_ps()); /* the second where NaN */
    return _mm256_cvtps_epi32(_mm256_min_ps(above, _mm256_set1_ps(255)));
}

INLINE __m256i load_four(const uint8_t *data, const int32_t index[4])
{
    int64_t pair[4];
    for (int i = 0; i < 4; i++)
        memcpy(&pair[i], data + index[i], sizeof pair[i]);
    return _mm256_setr_epi64x(pair[0], pair[1], pair[2], pair[3]);
}

/* For pixels of so many bytes: two neighbours to 32-bit lanes, twice. */
static const int8_t pair_places[5][16] = {
    { 0 },
    { 0, -1, -1, -1, 1, -1, -1, -1, 8, -1, -1, -1, 9, -1, -1, -1 },
    { 0, 1, -1, -1, 2, 3, -1, -1, 8, 9, -1, -1, 10, 11, -1, -1 },
    { 0, 1, 2, -1, 3, 4, 5, -1, 8, 9, 10, -1, 11, 12, 13, -1 },
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
};

/* Eight pixels and their right neighbours, all in the image: a load of 64 bits has both. */
INLINE void load_pairs(const uint8_t *data, __m256i index, int channels, __m256i pixels[2])
{
    int32_t at[8];
    const __m256i spread =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)pair_places[channels]));
    /* 0, 1, 4, 5 and 2, 3, 6, 7: in order again after the shuffles, which work in halves */
    _mm256_storeu_si256((__m256i *)at, _mm256_permute4x64_epi64(index, 0xd8));
    __m256i near = _mm256_shuffle_epi8(load_four(data, at), spread);
    __m256i far = _mm256_shuffle_epi8(load_four(data, at + 4), spread);
    __m256 near_ps = _mm256_castsi256_ps(near), far_ps = _mm256_castsi256_ps(far);
    pixels[0] = _mm256_castps_si256(_mm256_shuffle_ps(near_ps, far_ps, 0x88));
    pixels[1] = _mm256_castps_si256(_mm256_shuffle_ps(near_ps, far_ps, 0xdd));
}

/* The four pixels around each place; zero where there is none. */
INLINE void load_corners(const uint8_t *data, const struct corners *corners, int channels,
                         __m256i pixels[4])
{
    __m256 is_inside = _mm256_and_ps(corners->mask[0], corners->mask[3]);
    if (_mm256_movemask_ps(is_inside) == 255) {
        load_pairs(data, corners->index[0], channels, pixels);
        load_pairs(data, corners->index[2], channels, pixels + 2);
        return;
    }
    for (int k = 0; k < 4; k++)
        pixels[k] = load_pixels(data, corners->index[k], corners->mask[k], _mm256_setzero_si256());
}

INLINE void bilinear_8_u8(const struct image *image, const struct corners *corners, __m256i fill,
                          bool has_fill, int channels, uint8_t *dst)
{
    __m256i pixels[4], out = _mm256_setzero_si256();
    load_corners(image->data, corners, channels, pixels);
    for (int c = 0; c < channels; c++) {
        __m256 value[4];
        for (int k = 0; k < 4; k++)
            value[k] = channel_of(pixels[k], c);
        __m256 mixed = mix_channel(corners, value, has_fill, channel_of(fill, c));
        out = _mm256_or_si256(out, _mm256_slli_epi32(round_even(mixed), 8 * c));
    }
    store_pixels(dst, out, channels);
}

/* As many as there are in groups of eight. */
INLINE int bilinear_u8_of(const struct stk__warp *warp, const struct stk__warp_places *places,
                          int n, uint8_t *dst, int channels)
{
    const struct image image = open_image(warp);
    const __m256i fill = fill_pixels(warp, channels);
    const bool has_fill = warp->fill != NULL;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        struct corners corners;
        find_corners(&image, _mm256_loadu_ps(places->x + i), _mm256_loadu_ps(places->y + i),
                     &corners);
        if (_mm256_movemask_ps(corners.any))
            bilinear_8_u8(&image, &corners, fill, has_fill, channels, dst + i * channels);
        else
            store_pixels(dst + i * channels, fill, channels);
    }
    return i;
}

static void bilinear_u8_avx2(const struct stk__warp *warp, const struct stk__warp_places *places,
                             int n, uint8_t *dst)
{
    int i = 0;
    if (is_countable(warp)) {
        switch (warp->channels) {
        case 1:
            i = bilinear_u8_of(warp, places, n, dst, 1);
            break;
        case 3:
            i = bilinear_u8_of(warp, places, n, dst, 3);
            break;
        case 4:
            i = bilinear_u8_of(warp, places, n, dst, 4);
            break;
        default:
            break;
        }
    }
    stk__bilinear_scalar(warp, places, i, n, dst);
}

static inline __m256 load_floats(const float *data, __m256i index, __m256 mask)
{
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), data, index, mask, 4);
}

static void bilinear_f32_avx2(const struct stk__warp *warp, const struct stk__warp_places *places,
                              int n, uint8_t *dst)
{
    const struct image image = open_image(warp);
    const float *fill = warp->fill, *src = (const float *)(const void *)warp->src;
    const int channels = warp->channels, n_whole = is_countable(warp) ? n / 8 * 8 : 0;
    float *out = (float *)(void *)dst;
    for (int i = 0; i < n_whole; i += 8, out += 8 * channels) {
        struct corners corners;
        find_corners(&image, _mm256_loadu_ps(places->x + i), _mm256_loadu_ps(places->y + i),
                     &corners);
        for (int c = 0; c < channels; c++) {
            __m256 value[4];
            float mixed[8];
            for (int k = 0; k < 4; k++)
                value[k] = load_floats(src + c, corners.index[k], corners.mask[k]);
            _mm256_storeu_ps(mixed, mix_channel(&corners, value, fill != NULL,
                                                _mm256_set1_ps(fill ? fill[c] : 0)));
            for (int k = 0; k < 8; k++)
                out[k * channels + c] = mixed[k];
        }
    }
    stk__bilinear_scalar(warp, places, n_whole, n, dst);
}

void stk__warp_fill_avx2(struct stk__warp_kernels *kernels)
{
    kernels->locate = locate_avx2;
    kernels->nearest = nearest_avx2;
    kernels->bilinear_u8 = bilinear_u8_avx2;
    kernels->bilinear_f32 = bilinear_f32_avx2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* across.c: lerp rows and span rows. */
#include "kernel/across.h"

#include "base/cpu.h"

#include <string.h>

enum { GROUP = 4, WIDE_GROUP = 16, ALIGN = 64 };

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}
static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* ---- windows of a lerp row ---- */

/* Of a value whose neighbours are so many bytes into its window: left | right << 16 for a byte
 * shuffle, which makes 0 of bytes above 127. As the processors that have one store a number. */
static uint32_t lane_of(int left, int right)
{
    return 0x80008000u | (uint32_t)left | (uint32_t)right << 16;
}

/* The window of n values, at most WIDE_GROUP, and their lanes; false when they need a larger one.
 * Inlined with constants. Copies, since what is written may alias what is read. */
static inline __attribute__((always_inline)) bool make_window(const struct stk__lerp_row *row,
                                                              int i, int n, int window_bytes,
                                                              int32_t *window, uint32_t *lanes)
{
    int left[WIDE_GROUP], right[WIDE_GROUP];
    memcpy(left, row->left + i, (size_t)n * sizeof *left);
    memcpy(right, row->right + i, (size_t)n * sizeof *right);
    int low = left[0], high = right[0];
    for (int k = 1; k < n; k++) {
        low = min_int(low, left[k]);
        high = max_int(high, right[k]);
    }
    int begin = min_int(low, row->n_src - window_bytes);
    for (int k = 0; k < n; k++)
        lanes[i + k] = lane_of(left[k] - begin, right[k] - begin);
    *window = begin;
    return high - begin < window_bytes;
}

/* One window for each group of values; false when a group needs more. */
static inline __attribute__((always_inline)) bool make_windows(const struct stk__lerp_row *row,
                                                               int group, int window_bytes,
                                                               int32_t *window, uint32_t *lanes)
{
    int i = 0;
    if (row->n_src < window_bytes)
        return false;
    for (; i + group <= row->n; i += group)
        if (!make_window(row, i, group, window_bytes, window++, lanes))
            return false;
    return i == row->n || make_window(row, i, row->n - i, window_bytes, window, lanes);
}

/* The byte of a 16-byte lane that holds `offset`, from two windows of 8; -1 when neither has it. */
static int place_in(int offset, const int32_t window[2])
{
    if (offset >= window[0] && offset < window[0] + 8)
        return offset - window[0];
    return offset >= window[1] && offset < window[1] + 8 ? offset - window[1] + 8 : -1;
}

/* Two windows of 8 bytes for each group; false when a group needs more. */
static bool narrow_windows(const struct stk__lerp_row *row, int32_t *window, uint32_t *lanes)
{
    if (row->n_src < 8)
        return false;
    for (int i = 0; i + GROUP <= row->n; i += GROUP, window += 2) {
        int low = row->left[i], next = row->n_src;
        for (int k = 1; k < GROUP; k++)
            low = min_int(low, row->left[i + k]);
        window[0] = min_int(low, row->n_src - 8);
        for (int k = i; k < i + GROUP; k++) {
            if (row->right[k] >= window[0] + 8)
                next = min_int(next, row->left[k] < window[0] + 8 ? row->right[k] : row->left[k]);
        }
        window[1] = min_int(next, row->n_src - 8);
        for (int k = i; k < i + GROUP; k++) {
            int left = place_in(row->left[k], window), right = place_in(row->right[k], window);
            if (left < 0 || right < 0)
                return false;
            lanes[k] = lane_of(left, right);
        }
    }
    return true;
}

static int n_groups(int n, int group)
{
    return (n + group - 1) / group;
}

/* Pieces of a lerp row's memory, each aligned. */
struct lerp_room {
    uint32_t *lanes, *lanes_64;
    int32_t *mix, *whole, *left, *right, *window, *window_64;
};

/* Hands them out, or with NULL only counts their bytes. */
static size_t lay_out(struct lerp_room *room, int n, void *memory)
{
    size_t n_wide = (size_t)n_groups(n, WIDE_GROUP), n_values = n_wide * WIDE_GROUP, at = 0;
    const size_t counts[] = {
        n_values, n_values, n_values, n_values, n_values, n_values, 2 * (size_t)n_groups(n, GROUP),
        n_wide
    };
    void *piece[sizeof counts / sizeof *counts];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        piece[i] = memory ? (uint8_t *)memory + at : NULL;
        at += align_up(counts[i] * sizeof(int32_t));
    }
    *room = (struct lerp_room){ piece[0], piece[1], piece[2], piece[3],
                                piece[4], piece[5], piece[6], piece[7] };
    return at;
}

static size_t lerp_bytes(int n)
{
    struct lerp_room room;
    return lay_out(&room, n, NULL);
}

static int32_t pair_of(int32_t first, int32_t second)
{
    return (int32_t)((uint32_t)(first & 0xffff) | (uint32_t)second << 16);
}

/* What a value of output pixel i is mixed with: a float, or two integers. */
static int32_t mix_of(const struct stk__taps *taps, int i)
{
    int32_t bits;
    if (taps->weight) {
        memcpy(&bits, taps->weight + 2 * i + 1, sizeof bits);
        return bits;
    }
    const int32_t *fixed = taps->fixed + (int64_t)i * taps->span;
    return pair_of(fixed[0], taps->span > 1 ? fixed[1] : 0);
}

/* Every channel of a pixel has its taps. */
static void spread_taps(struct lerp_room *room, const struct stk__taps *taps, int channels)
{
    int32_t *left = room->left, *right = room->right, *mix = room->mix;
    for (int i = 0; i < taps->n; i++) {
        int first = taps->first[i] * channels;
        int last = first + (taps->count[i] - 1) * channels;
        int32_t bits = mix_of(taps, i);
        for (int c = 0; c < channels; c++) {
            *left++ = first + c;
            *right++ = last + c;
            *mix++ = bits;
        }
    }
}

/* ---- weights of few bits ---- */

static bool is_multiple(float weight, float of)
{
    float quotient = weight / of;
    return quotient == (float)(int32_t)quotient;
}

/* How many weights in a row are multiples of a power of two, from the left or from the right. */
static int n_multiples(const struct stk__taps *taps, bool from_right, float of)
{
    int n = 0;
    while (n < taps->n && is_multiple(taps->weight[2 * (from_right ? taps->n - 1 - n : n) + 1], of))
        n++;
    return n;
}

/* A weight of 0 is one of pixels without a right neighbour: both taps are the same one. */
static int32_t whole_of(float weight)
{
    int32_t right = (int32_t)(weight * STK__LERP_WHOLE);
    right = right ? right : 1;
    return pair_of(STK__LERP_WHOLE - right, right);
}

static void find_exact(struct stk__lerp_row *row, const struct stk__taps *taps, int32_t *whole)
{
    const float exact_unit = 1.0f / 65536, whole_unit = 1.0f / STK__LERP_WHOLE;
    enum { MULTIPLE = 32 };
    int end = row->n / MULTIPLE * MULTIPLE;
    int from_left = n_multiples(taps, false, exact_unit), channels = row->channels;
    int from_right = n_multiples(taps, true, exact_unit);
    bool is_right = from_right > from_left;
    int n_exact = (is_right ? from_right : from_left) * channels;
    int n_whole = n_multiples(taps, is_right, whole_unit) * channels;
    if (is_right) {
        row->exact_from = min_int((row->n - n_exact + MULTIPLE - 1) / MULTIPLE * MULTIPLE, end);
        row->whole_from = min_int((row->n - n_whole + MULTIPLE - 1) / MULTIPLE * MULTIPLE, end);
        row->exact_to = row->whole_to = end;
    } else {
        row->exact_to = n_exact / MULTIPLE * MULTIPLE;
        row->whole_to = n_whole / MULTIPLE * MULTIPLE;
    }
    row->whole = whole;
    for (int i = row->whole_from; i < row->whole_to; i++)
        whole[i] = whole_of(row->weight[i]);
}

static void init_lerp(struct stk__lerp_row *row, const struct stk__taps *taps, int channels,
                      void *memory)
{
    int n = taps->n * channels;
    struct lerp_room room;
    lay_out(&room, n, memory);
    spread_taps(&room, taps, channels);
    *row = (struct stk__lerp_row){
        .n = n,
        .n_src = taps->n_in * channels,
        .channels = channels,
        .left = room.left,
        .right = room.right,
        .weight = taps->weight ? (const float *)(const void *)room.mix : NULL,
        .pair = taps->weight ? NULL : room.mix,
        .window = room.window,
        .shuffle = (const uint8_t *)room.lanes,
    };
    if (taps->weight)
        find_exact(row, taps, room.whole);
    if (make_windows(row, GROUP, 16, room.window, room.lanes))
        row->window_bytes = 16;
    else if (narrow_windows(row, room.window, room.lanes))
        row->window_bytes = 8;
    /* Windows that no kernel in force uses cost a third of all this. */
    bool has_wide = taps->weight && stk__cpu_level() >= STK__CPU_AVX512;
    memset(room.lanes_64 + n / WIDE_GROUP * WIDE_GROUP, 0,
           (size_t)(n_groups(n, WIDE_GROUP) - n / WIDE_GROUP) * 64);
    if (has_wide && make_windows(row, WIDE_GROUP, 64, room.window_64, room.lanes_64)) {
        row->window_64 = room.window_64;
        row->shuffle_64 = (const uint8_t *)room.lanes_64;
    }
}

/* ---- packed weights of a span row ---- */

enum { LANES = 8 };

static bool is_packed(const struct stk__span_row *row)
{
    bool in_fours = row->weight || row->span % 4 == 0;
    return (row->channels == 3 || row->channels == 4) && row->n_in * row->channels >= 16 &&
           in_fours;
}

static size_t packed_bytes(const struct stk__axis *axis, int span)
{
    size_t per_tap = axis->bits == 11 ? LANES * 4 : LANES * 8; /* of a vector pair */
    return (size_t)(axis->n / 4) * (size_t)span * per_tap;
}

/* Eight lanes: four of one pixel, four of another. */
static void put_lanes(int32_t *to, int32_t low, int32_t high)
{
    for (int lane = 0; lane < LANES / 2; lane++) {
        to[lane] = low;
        to[lane + LANES / 2] = high;
    }
}

static void pack_floats(const struct stk__span_row *row, int32_t *to)
{
    const int32_t *bits = (const int32_t *)(const void *)row->weight;
    int64_t span = row->span;
    for (int q = 0; q < row->n / 4; q++, bits += 4 * span)
        for (int k = 0; k < span; k++, to += 2 * LANES) {
            put_lanes(to, bits[k], bits[2 * span + k]);
            put_lanes(to + LANES, bits[span + k], bits[3 * span + k]);
        }
}

/* Bits of the weights of two taps that follow each other. */
static int32_t pair_at(const int32_t *weight, int shift, int32_t mask)
{
    return pair_of(weight[0] >> shift & mask, weight[1] >> shift & mask);
}

/* `step` values from one vector to the next. */
static void pack_pairs(const struct stk__span_row *row, int shift, int32_t mask, int32_t *to,
                       int step)
{
    const int32_t *weight = row->fixed;
    int64_t span = row->span;
    for (int q = 0; q < row->n / 4; q++, weight += 4 * span)
        for (int k = 0; k < span; k += 2, to += 2 * step)
            for (int v = 0; v < 2; v++)
                put_lanes(to + v * step, pair_at(weight + v * span + k, shift, mask),
                          pair_at(weight + (v + 2) * span + k, shift, mask));
}

/* Quads from the left whose four taps read at once, 16 bytes, never pass the end of the row. */
static int n_plain(const struct stk__span_row *row)
{
    int q = 0, spare = (16 - 4 * row->channels + row->channels - 1) / row->channels;
    for (; q < row->n / 4; q++)
        for (int i = 4 * q; i < 4 * q + 4; i++)
            if (row->first[i] + row->span + spare > row->n_in)
                return q;
    return q;
}

static void init_span(struct stk__span_row *row, const struct stk__taps *taps,
                      const struct stk__axis *axis, int channels, void *memory)
{
    *row = (struct stk__span_row){ .n_in = taps->n_in,
                                   .n = taps->n,
                                   .channels = channels,
                                   .span = taps->span,
                                   .first = taps->first,
                                   .weight = taps->weight,
                                   .fixed = taps->fixed };
    if (!is_packed(row))
        return;
    row->packed = memory;
    row->n_plain = n_plain(row);
    if (row->weight) {
        pack_floats(row, memory);
    } else if (axis->bits == 11) {
        pack_pairs(row, 0, 0xffff, memory, LANES);
    } else {
        pack_pairs(row, 11, 0xffff, memory, 2 * LANES);
        pack_pairs(row, 0, 0x7ff, (int32_t *)memory + LANES, 2 * LANES);
    }
}

/* ---- both ---- */

size_t stk__across_bytes(const struct stk__axis *axis, enum stk__across_kind kind, int channels)
{
    size_t taps_bytes = align_up(stk__taps_bytes(axis));
    if (kind == STK__ACROSS_LERP)
        return taps_bytes + lerp_bytes(axis->n * channels) + ALIGN;
    if (kind == STK__ACROSS_PICK)
        return taps_bytes + ALIGN;
    return taps_bytes + packed_bytes(axis, stk__taps_room(axis)) + ALIGN;
}

void stk__across_init(struct stk__across *across, const struct stk__axis *axis,
                      enum stk__across_kind kind, int channels, void *memory)
{
    uint8_t *from = (uint8_t *)align_up((size_t)(uintptr_t)memory);
    void *more = from + align_up(stk__taps_bytes(axis));
    *across = (struct stk__across){ .lerp = { 0 } };
    stk__taps_init(&across->taps, axis, from);
    if (kind == STK__ACROSS_LERP)
        init_lerp(&across->lerp, &across->taps, channels, more);
    else if (kind == STK__ACROSS_SPAN)
        init_span(&across->span, &across->taps, axis, channels, more);
}

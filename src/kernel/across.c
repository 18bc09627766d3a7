/* SPDX-License-Identifier: Apache-2.0 */
/* across.c: lerp rows and span rows. */
#include "kernel/across.h"

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

static void set_lane(uint8_t *shuffle, int left, int right)
{
    shuffle[0] = (uint8_t)left;
    shuffle[1] = 0x80;
    shuffle[2] = (uint8_t)right;
    shuffle[3] = 0x80;
}

/* One window for each group of values; false when a group needs more. */
static bool wide_windows(const struct stk__lerp_row *row, int group, int window_bytes,
                         int32_t *window, uint8_t *shuffle)
{
    if (row->n_src < window_bytes)
        return false;
    for (int i = 0; i < row->n; i += group) {
        int low = row->left[i], high = row->right[i], end = min_int(i + group, row->n);
        for (int k = i + 1; k < end; k++) {
            low = min_int(low, row->left[k]);
            high = max_int(high, row->right[k]);
        }
        int begin = min_int(low, row->n_src - window_bytes);
        if (high - begin >= window_bytes)
            return false;
        window[i / group] = begin;
        for (int k = i; k < end; k++)
            set_lane(shuffle + 4 * k, row->left[k] - begin, row->right[k] - begin);
    }
    return true;
}

/* The byte of a 16-byte lane that holds `offset`, from two windows of 8; -1 when neither has it. */
static int place_in(int offset, const int32_t window[2])
{
    if (offset >= window[0] && offset < window[0] + 8)
        return offset - window[0];
    return offset >= window[1] && offset < window[1] + 8 ? offset - window[1] + 8 : -1;
}

/* Two windows of 8 bytes for each group; false when a group needs more. */
static bool narrow_windows(const struct stk__lerp_row *row, int32_t *window, uint8_t *shuffle)
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
            set_lane(shuffle + 4 * k, left, right);
        }
    }
    return true;
}

static int n_groups(int n, int group)
{
    return (n + group - 1) / group;
}

/* Pieces of a lerp row's memory. */
struct lerp_room {
    int32_t *left, *right, *mix, *window, *window_64;
    uint8_t *shuffle, *shuffle_64;
};

static size_t lerp_bytes(int n)
{
    /* left, right, weight, shuffle; windows of 8; windows of 64 and their shuffle */
    return (size_t)n * 16 + (size_t)n_groups(n, GROUP) * 2 * sizeof(int32_t) +
           (size_t)n_groups(n, WIDE_GROUP) * (sizeof(int32_t) + 64) + ALIGN;
}

static struct lerp_room lerp_room(void *memory, int n)
{
    struct lerp_room room = { .left = memory };
    room.right = room.left + n;
    room.mix = room.right + n;
    room.window = room.mix + n;
    room.window_64 = room.window + 2 * n_groups(n, GROUP);
    room.shuffle = (uint8_t *)(room.window_64 + n_groups(n, WIDE_GROUP));
    room.shuffle_64 = room.shuffle + 4 * (size_t)n;
    return room;
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

static void init_lerp(struct stk__lerp_row *row, const struct stk__taps *taps, int channels,
                      void *memory)
{
    int n = taps->n * channels;
    struct lerp_room room = lerp_room(memory, n);
    for (int i = 0, at = 0; i < taps->n; i++) {
        int first = taps->first[i] * channels;
        int last = (taps->first[i] + taps->count[i] - 1) * channels;
        int32_t bits = mix_of(taps, i);
        for (int c = 0; c < channels; c++, at++) {
            room.left[at] = first + c;
            room.right[at] = last + c;
            room.mix[at] = bits;
        }
    }
    *row = (struct stk__lerp_row){
        .n = n,
        .n_src = taps->n_in * channels,
        .channels = channels,
        .left = room.left,
        .right = room.right,
        .weight = taps->weight ? (const float *)(const void *)room.mix : NULL,
        .pair = taps->weight ? NULL : room.mix,
        .window = room.window,
        .shuffle = room.shuffle,
    };
    if (wide_windows(row, GROUP, 16, room.window, room.shuffle))
        row->window_bytes = 16;
    else if (narrow_windows(row, room.window, room.shuffle))
        row->window_bytes = 8;
    memset(room.shuffle_64, 0, (size_t)n_groups(n, WIDE_GROUP) * 64);
    if (taps->weight && wide_windows(row, WIDE_GROUP, 64, room.window_64, room.shuffle_64)) {
        row->window_64 = room.window_64;
        row->shuffle_64 = room.shuffle_64;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_header.c: the markers before a scan. Everything that is unusual, if only in the eyes of
 * libjpeg, is declined. */
#include "codec/image/baseline.h"

#include <string.h>

enum {
    SOF_BASELINE = 0xc0,
    SOF_EXTENDED = 0xc1,
    DHT = 0xc4,
    SOI = 0xd8,
    SOS = 0xda,
    DQT = 0xdb,
    DRI = 0xdd,
    APP0 = 0xe0,
    APP14 = 0xee,
    APP15 = 0xef,
    COM = 0xfe,
    MAX_SIZE = 65500, /* libjpeg's limit */
};

/* What a segment holds after its length. */
struct segment {
    const uint8_t *at, *end;
};

/* What the colours are told from, beside the components. */
struct application {
    bool has_jfif, has_adobe;
    uint8_t transform; /* Adobe's */
};

static int left_in(const struct segment *segment)
{
    return (int)(segment->end - segment->at);
}

static int big_endian(const uint8_t *at)
{
    return at[0] << 8 | at[1];
}

static bool read_quants(struct stk__jpeg_header *header, struct segment segment)
{
    while (left_in(&segment) > 0) {
        unsigned number = segment.at[0] & 15, n_bytes = segment.at[0] >> 4 ? 2 : 1;
        segment.at++;
        if (number > 3 || left_in(&segment) < (int)(64 * n_bytes))
            return false;
        for (int k = 0; k < 64; k++, segment.at += n_bytes) {
            int value = n_bytes == 2 ? big_endian(segment.at) : segment.at[0];
            header->quant[number][stk__jpeg_zigzag[k + 1]] = (uint16_t)value;
        }
        header->has_quant[number] = true;
    }
    return true;
}

static bool read_codes(struct stk__jpeg_header *header, struct segment segment)
{
    while (left_in(&segment) > 0) {
        int n_symbols = 0;
        unsigned which = segment.at[0];
        if (left_in(&segment) < 17 || (which & 15) > 3 || which > 0x13)
            return false;
        for (int i = 1; i <= 16; i++)
            n_symbols += segment.at[i];
        if (n_symbols > 256 || n_symbols > left_in(&segment) - 17)
            return false;
        struct stk__huffman *code = which >> 4 ? &header->ac[which & 3] : &header->dc[which & 3];
        *code = (struct stk__huffman){ segment.at + 1, n_symbols };
        segment.at += 17 + n_symbols;
    }
    return true;
}

/* Luma may be sampled more finely than both chroma components. A single component is as it is. */
static bool accept_sampling(struct stk__jpeg_header *header, const uint8_t *sampling)
{
    int across = sampling[0] >> 4, down = sampling[0] & 15;
    if (header->n_components == 1) {
        header->across = header->down = 1;
        return across >= 1 && across <= 4 && down >= 1 && down <= 4;
    }
    header->across = across;
    header->down = down;
    bool is_known = down == 1 ? across == 1 || across == 2 || across == 4
                              : down == 2 && (across == 1 || across == 2);
    return is_known && sampling[1] == 0x11 && sampling[2] == 0x11;
}

static bool read_frame(struct stk__jpeg_header *header, struct segment segment)
{
    const uint8_t *at = segment.at;
    int n = left_in(&segment) < 6 ? 0 : at[5];
    if (header->n_components || (n != 1 && n != 3) || left_in(&segment) != 6 + 3 * n || at[0] != 8)
        return false;
    uint8_t sampling[3] = { 0 };
    header->n_components = n;
    header->height = big_endian(at + 1);
    header->width = big_endian(at + 3);
    for (int i = 0; i < n; i++) {
        header->component[i].id = at[6 + 3 * i];
        sampling[i] = at[7 + 3 * i];
        header->component[i].quant = at[8 + 3 * i];
        if (header->component[i].quant > 3)
            return false;
    }
    return header->width && header->height && header->width <= MAX_SIZE &&
           header->height <= MAX_SIZE && accept_sampling(header, sampling);
}

/* All components in one scan, in the order of the frame, and all their tables there. */
static bool read_scan(struct stk__jpeg_header *header, struct segment segment)
{
    int n = header->n_components;
    const uint8_t *at = segment.at;
    if (!n || left_in(&segment) != 4 + 2 * n || at[0] != n)
        return false;
    for (int i = 0; i < n; i++) {
        struct stk__component *component = &header->component[i];
        component->dc = at[2 + 2 * i] >> 4;
        component->ac = at[2 + 2 * i] & 15;
        if (at[1 + 2 * i] != component->id || component->dc > 3 || component->ac > 3 ||
            !header->dc[component->dc].counts || !header->ac[component->ac].counts ||
            !header->has_quant[component->quant])
            return false;
        for (int k = 0; k < i; k++)
            if (header->component[k].id == component->id)
                return false;
    }
    const uint8_t *range = at + 1 + 2 * n; /* of coefficients: all of them, in full */
    header->scan = segment.end;
    return range[0] == 0 && range[1] == 63 && range[2] == 0;
}

/* As libjpeg does: JFIF, or else Adobe's word for it, or else the names of the components. */
static enum stk__colours choose_colours(const struct stk__jpeg_header *header,
                                        const struct application *application)
{
    const struct stk__component *component = header->component;
    if (header->n_components == 1)
        return STK__GRAY;
    if (application->has_jfif)
        return STK__YCC;
    if (application->has_adobe)
        return application->transform ? STK__YCC : STK__RGB;
    bool is_rgb = component[0].id == 'R' && component[1].id == 'G' && component[2].id == 'B';
    return is_rgb ? STK__RGB : STK__YCC;
}

/* Versions and transforms that libjpeg warns about are declined, so that it does. */
static bool read_application(struct application *application, int marker, struct segment segment)
{
    if (marker == APP0 && left_in(&segment) >= 14 && !memcmp(segment.at, "JFIF", 5)) {
        application->has_jfif = true;
        return segment.at[5] == 1;
    }
    if (marker == APP14 && left_in(&segment) >= 12 && !memcmp(segment.at, "Adobe", 5)) {
        application->has_adobe = true;
        application->transform = segment.at[11];
        return application->transform <= 1;
    }
    return (marker >= APP0 && marker <= APP15) || marker == COM;
}

static bool read_segment(struct stk__jpeg_header *header, struct application *application,
                         int marker, struct segment segment)
{
    switch (marker) {
    case SOF_BASELINE:
    case SOF_EXTENDED:
        return read_frame(header, segment);
    case DHT:
        return read_codes(header, segment);
    case DQT:
        return read_quants(header, segment);
    case DRI:
        header->restart_interval = left_in(&segment) == 2 ? big_endian(segment.at) : 0;
        return left_in(&segment) == 2;
    case SOS:
        return read_scan(header, segment);
    default:
        return read_application(application, marker, segment);
    }
}

bool stk__jpeg_header_read(struct stk__jpeg_header *header, const uint8_t *bytes, size_t n_bytes)
{
    const uint8_t *at = bytes + 2, *end = bytes + n_bytes;
    struct application application = { 0 };
    *header = (struct stk__jpeg_header){ .end = end };
    if (n_bytes < 4 || bytes[0] != 0xff || bytes[1] != SOI)
        return false;
    while (!header->scan) {
        if (end - at < 4 || at[0] != 0xff)
            return false;
        while (end - at > 3 && at[1] == 0xff)
            at++;
        int marker = at[1], length = end - at < 4 ? 0 : big_endian(at + 2);
        if (length < 2 || end - at - 2 < length)
            return false;
        struct segment segment = { at + 4, at + 2 + length };
        if (!read_segment(header, &application, marker, segment))
            return false;
        at = segment.end;
    }
    header->colours = choose_colours(header, &application);
    return true;
}

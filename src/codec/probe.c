/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: what the headers of a JPEG or PNG say, read without a library. Every read is
 * bounds-checked. */
#include "codec/codec.h"

#include <string.h>

/* Bytes with a place; reading past the end gives zeros and sets is_short. */
struct reader {
    const uint8_t *bytes;
    size_t n_bytes, at;
    bool is_big_endian, is_short;
};

static uint32_t take(struct reader *r, int n)
{
    if (r->is_short || r->n_bytes - r->at < (size_t)n) {
        r->is_short = true;
        return 0;
    }
    uint32_t value = 0;
    for (int i = 0; i < n; i++) {
        uint32_t byte = r->bytes[r->at + (size_t)i];
        value = r->is_big_endian ? value << 8 | byte : value | byte << 8 * i;
    }
    r->at += (size_t)n;
    return value;
}

static void skip(struct reader *r, uint32_t n)
{
    r->is_short |= r->n_bytes - r->at < n;
    r->at = r->is_short ? r->n_bytes : r->at + n;
}

/* The orientation in a TIFF block, as EXIF data are one: byte order, 42, place of the first
 * directory; there a count and entries of tag, type, count, value. */
static int tiff_orientation(const uint8_t *bytes, size_t n_bytes)
{
    enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };
    struct reader r = { bytes, n_bytes, 0, n_bytes && bytes[0] == 'M', false };
    uint32_t order = take(&r, 2);
    if ((order != 0x4949 && order != 0x4d4d) || take(&r, 2) != 42)
        return 1;
    uint32_t directory = take(&r, 4);
    r.at = 0;
    skip(&r, directory);
    for (uint32_t n = take(&r, 2); n && !r.is_short; n--) {
        uint32_t tag = take(&r, 2), type = take(&r, 2), count = take(&r, 4), value = take(&r, 2);
        take(&r, 2);
        if (tag == TAG_ORIENTATION)
            return type == TYPE_SHORT && count == 1 && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* The code of the next marker with its 0xff and any padding behind us. */
static uint32_t next_marker(struct reader *r)
{
    while (!r->is_short && take(r, 1) != 0xff)
        ;
    uint32_t marker = 0xff;
    while (marker == 0xff && !r->is_short)
        marker = take(r, 1);
    return marker;
}

static bool is_frame_header(uint32_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static bool has_length(uint32_t marker)
{
    return marker > 0x01 && (marker < 0xd0 || marker > 0xd8);
}

static void read_frame_header(struct reader segment, struct stk__image_info *out)
{
    take(&segment, 1);
    out->height = take(&segment, 2);
    out->width = take(&segment, 2);
    out->channels = take(&segment, 1) == 1 ? 1 : 3;
}

static void read_exif(const struct reader *segment, struct stk__image_info *out)
{
    const uint8_t *at = segment->bytes + segment->at;
    size_t n = segment->n_bytes - segment->at;
    if (n > 6 && !memcmp(at, "Exif\0", 6))
        out->orientation = tiff_orientation(at + 6, n - 6);
}

/* Segments up to the first scan; EXIF data may stand on either side of the frame header. */
static void probe_jpeg(struct reader *r, struct stk__image_info *out)
{
    enum { APP1 = 0xe1, SCAN = 0xda, END = 0xd9 };
    skip(r, 2);
    while (!r->is_short) {
        uint32_t marker = next_marker(r);
        if (marker == SCAN || marker == END)
            break;
        if (!has_length(marker))
            continue;
        uint32_t len = take(r, 2);
        struct reader segment = *r;
        skip(r, len < 2 ? 0 : len - 2);
        segment.n_bytes = r->at;
        if (marker == APP1)
            read_exif(&segment, out);
        else if (is_frame_header(marker))
            read_frame_header(segment, out);
    }
}

static int png_channels(uint32_t colour_type)
{
    static const int channels[] = { [0] = 1, [2] = 3, [3] = 3, [4] = 2, [6] = 4 };
    return colour_type < sizeof channels / sizeof *channels ? channels[colour_type] : 0;
}

static void probe_png(struct reader *r, struct stk__image_info *out)
{
    enum { INDEXED = 3 };
    uint32_t colour_type = 0;
    skip(r, 8);
    while (!r->is_short) {
        uint32_t len = take(r, 4);
        const uint8_t *name = r->bytes + r->at;
        skip(r, 4);
        struct reader chunk = *r;
        skip(r, len);
        if (r->is_short)
            break;
        if (!memcmp(name, "IHDR", 4)) {
            out->width = take(&chunk, 4);
            out->height = take(&chunk, 4);
            take(&chunk, 1);
            colour_type = take(&chunk, 1);
            out->channels = png_channels(colour_type);
        } else if (!memcmp(name, "tRNS", 4) && colour_type == INDEXED) {
            out->channels = 4;
        } else if (!memcmp(name, "eXIf", 4)) {
            out->orientation = tiff_orientation(chunk.bytes + chunk.at, len);
        }
        skip(r, 4);
    }
}

enum stk__format stk__image_format(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3))
        return STK__FORMAT_JPEG;
    if (n_bytes >= 4 && !memcmp(bytes, "\x89PNG", 4))
        return STK__FORMAT_PNG;
    return STK__FORMAT_UNKNOWN;
}

int stk__image_info(const uint8_t *bytes, size_t n_bytes, struct stk__image_info *out,
                    struct stk_error *err)
{
    struct reader r = { bytes, n_bytes, 0, true, false };
    *out =
        (struct stk__image_info){ .format = stk__image_format(bytes, n_bytes), .orientation = 1 };
    if (out->format == STK__FORMAT_JPEG)
        probe_jpeg(&r, out);
    else if (out->format == STK__FORMAT_PNG)
        probe_png(&r, out);
    else
        return stk_fail(err, STK_DATA, "not a JPEG or PNG");
    if (!out->width || !out->height || !out->channels)
        return stk_fail(err, STK_DATA, "the file has no complete picture header");
    return STK_OK;
}

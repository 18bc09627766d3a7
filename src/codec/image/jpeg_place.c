/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_place.c: a walk over the segments of a file, which need not be in order. */
#include "codec/image/jpeg_place.h"

enum { SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0, SOS = 0xda };
enum { FILLER = 0xff, TEMPORARY = 0x01 };

struct segment {
    struct stk__jpeg_bytes file;
    size_t at, end;
    int marker;
};

static struct segment before_first(struct stk__jpeg_bytes file)
{
    return (struct segment){ .file = file, .end = 2 };
}

static bool has_length(int marker)
{
    return marker != TEMPORARY && (marker < RST0 || marker >= SOS);
}

/* False: at its place there is no marker. */
static bool next_segment(struct segment *segment)
{
    const uint8_t *bytes = segment->file.at;
    size_t n = segment->file.n, code = segment->end + 1;
    segment->at = segment->end;
    while (code < n && bytes[code] == FILLER)
        code++;
    if (code + 3 > n || bytes[segment->at] != 0xff)
        return false;
    segment->marker = bytes[code];
    segment->end = code + 1;
    if (has_length(segment->marker))
        segment->end += (size_t)(bytes[code + 1] << 8 | bytes[code + 2]);
    return true;
}

bool stk__jpeg_find_segment(struct stk__jpeg_bytes file, size_t n_read, size_t *place)
{
    struct segment segment = before_first(file);
    bool is_segment = next_segment(&segment);
    while (is_segment && n_read > segment.end && segment.marker != SOS)
        is_segment = next_segment(&segment);
    *place = segment.at;
    return n_read >= segment.at && (!is_segment || n_read <= segment.end);
}

static bool is_frame(int marker)
{
    return marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC;
}

bool stk__jpeg_find_frame(struct stk__jpeg_bytes file, size_t *place)
{
    struct segment segment = before_first(file);
    while (next_segment(&segment) && segment.marker != SOS)
        if (is_frame(segment.marker)) {
            *place = segment.at;
            return true;
        }
    return false;
}

bool stk__jpeg_find_marker(struct stk__jpeg_bytes file, size_t from, int marker, size_t *place)
{
    for (size_t at = from; at + 2 <= file.n; at++)
        if (file.at[at] == 0xff && file.at[at + 1] == marker) {
            *place = at;
            return true;
        }
    return false;
}

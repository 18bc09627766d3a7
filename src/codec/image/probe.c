/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: what the headers of pictures say, read without a library. */
#include "codec/image/bmp.h"
#include "codec/image/codec.h"
#include "codec/image/gif.h"
#include "codec/image/orientation.h"

#include <string.h>
#include <strings.h>

/* The code of the next marker with its 0xff and any padding behind us. */
static uint32_t next_marker(struct stk__reader *r)
{
    while (!r->is_short && stk__read(r, 1) != 0xff)
        ;
    uint32_t marker = 0xff;
    while (marker == 0xff && !r->is_short)
        marker = stk__read(r, 1);
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

static void read_frame_header(struct stk__reader segment, struct stk__image_info *out)
{
    stk__read(&segment, 1);
    out->height = stk__read(&segment, 2);
    out->width = stk__read(&segment, 2);
    out->channels = stk__read(&segment, 1) == 1 ? 1 : 3;
}

/* EXIF data, or XMP. */
static void read_app1(const struct stk__reader *segment, struct stk__orientation *found)
{
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/";
    const uint8_t *at = segment->bytes + segment->at;
    size_t n = segment->n_bytes - segment->at;
    if (n > 6 && !memcmp(at, "Exif\0", 6))
        stk__orientation_exif(found, at, n);
    else if (n > sizeof xmp && !memcmp(at, xmp, sizeof xmp))
        stk__orientation_xmp(found, at + sizeof xmp, n - sizeof xmp);
}

/* Segments up to the first scan; EXIF data may stand on either side of the frame header. */
static void probe_jpeg(struct stk__reader *r, struct stk__image_info *out)
{
    enum { APP1 = 0xe1, SCAN = 0xda, END = 0xd9 };
    struct stk__orientation found = { 0 };
    stk__read_bytes(r, 2);
    while (!r->is_short) {
        uint32_t marker = next_marker(r);
        if (marker == SCAN || marker == END)
            break;
        if (!has_length(marker))
            continue;
        uint32_t len = stk__read(r, 2);
        struct stk__reader segment = *r;
        stk__read_bytes(r, len < 2 ? 0 : len - 2);
        segment.n_bytes = r->at;
        if (marker == APP1)
            read_app1(&segment, &found);
        else if (is_frame_header(marker)) {
            read_frame_header(segment, out);
            out->is_progressive = (marker & 3) == 2; /* c2, c6, ca and ce */
        }
    }
    out->orientation = stk__orientation_of(&found);
}

static int png_channels(uint32_t colour_type)
{
    static const int channels[] = { [0] = 1, [2] = 3, [3] = 3, [4] = 2, [6] = 4 };
    return colour_type < sizeof channels / sizeof *channels ? channels[colour_type] : 0;
}

static void probe_png(struct stk__reader *r, struct stk__image_info *out)
{
    enum { INDEXED = 3 };
    uint32_t colour_type = 0;
    struct stk__orientation found = { 0 };
    stk__read_bytes(r, 8);
    while (!r->is_short) {
        uint32_t len = stk__read(r, 4);
        const uint8_t *name = r->bytes + r->at;
        stk__read_bytes(r, 4);
        struct stk__reader chunk = *r;
        stk__read_bytes(r, len);
        if (r->is_short)
            break;
        if (!memcmp(name, "IHDR", 4)) {
            out->width = stk__read(&chunk, 4);
            out->height = stk__read(&chunk, 4);
            stk__read(&chunk, 1);
            colour_type = stk__read(&chunk, 1);
            out->channels = png_channels(colour_type);
        } else if (!memcmp(name, "tRNS", 4) && colour_type == INDEXED) {
            out->channels = 4;
        } else {
            stk__orientation_png(&found, name, chunk.bytes + chunk.at, len);
        }
        stk__read_bytes(r, 4);
    }
    out->orientation = stk__orientation_of(&found);
}

/* Frames may reach beyond the screen that the header promises: the first makes it larger. */
static void probe_gif(struct stk__reader *r, struct stk__image_info *out)
{
    struct stk__gif gif;
    struct stk__gif_frame first;
    if (!stk__gif_open(&gif, r->bytes, r->n_bytes) || stk__gif_next(&gif, &first) != STK__GIF_FRAME)
        return;
    uint32_t right = first.rect.x + first.rect.width, bottom = first.rect.y + first.rect.height;
    out->width = right > gif.width ? right : gif.width;
    out->height = bottom > gif.height ? bottom : gif.height;
    out->channels = 3;
}

static void probe_bmp(struct stk__reader *r, struct stk__image_info *out)
{
    struct stk__bmp_header header;
    bool is_cut;
    if (stk__bmp_header_read(&header, r->bytes, r->n_bytes, &is_cut))
        return;
    out->width = header.width;
    out->height = header.height;
    out->channels = stk__bmp_channels(&header);
}

/* Lossy data: three bytes, a start code, 14 bits each of width and height. */
static void read_vp8(struct stk__reader chunk, struct stk__image_info *out)
{
    stk__read_bytes(&chunk, 6);
    out->width = stk__read(&chunk, 2) & 0x3fff;
    out->height = stk__read(&chunk, 2) & 0x3fff;
    out->channels = 3;
}

/* Lossless data: a byte, then 14 bits each of width and height less one, and whether there is
 * alpha. */
static void read_vp8l(struct stk__reader chunk, struct stk__image_info *out)
{
    stk__read(&chunk, 1);
    uint32_t bits = stk__read(&chunk, 4);
    out->width = (bits & 0x3fff) + 1;
    out->height = (bits >> 14 & 0x3fff) + 1;
    out->channels = bits >> 28 & 1 ? 4 : 3;
}

/* The extended header: flags, then 24 bits each of width and height less one. */
static void read_vp8x(struct stk__reader chunk, struct stk__image_info *out)
{
    enum { HAS_ALPHA = 0x10 };
    uint32_t flags = stk__read(&chunk, 4);
    out->width = stk__read(&chunk, 3) + 1;
    out->height = stk__read(&chunk, 3) + 1;
    out->channels = flags & HAS_ALPHA ? 4 : 3;
}

static void read_webp_texts(struct stk__reader chunk, const uint8_t *name, uint32_t len,
                            struct stk__orientation *found)
{
    const uint8_t *at = chunk.bytes + chunk.at;
    size_t n = len < chunk.n_bytes - chunk.at ? len : chunk.n_bytes - chunk.at;
    if (!memcmp(name, "EXIF", 4))
        stk__orientation_exif(found, at, n);
    else if (!memcmp(name, "XMP ", 4))
        stk__orientation_xmp(found, at, n);
}

/* Chunks of a name, a length and as many bytes, made even. Where there is an extended header, it
 * comes first, and says what the others do. */
static void probe_webp(struct stk__reader *r, struct stk__image_info *out)
{
    struct stk__orientation found = { 0 };
    r->is_big_endian = false;
    stk__read_bytes(r, 12);
    while (!r->is_short) {
        const uint8_t *name = stk__read_bytes(r, 4);
        uint32_t len = stk__read(r, 4);
        if (r->is_short)
            break;
        if (!out->width && !memcmp(name, "VP8 ", 4))
            read_vp8(*r, out);
        else if (!out->width && !memcmp(name, "VP8L", 4))
            read_vp8l(*r, out);
        else if (!out->width && !memcmp(name, "VP8X", 4))
            read_vp8x(*r, out);
        else
            read_webp_texts(*r, name, len, &found);
        stk__read_bytes(r, (size_t)len + len % 2);
    }
    out->orientation = stk__orientation_of(&found);
}

/* Two letters are too little to go by: the length of the header must be one of those there are. */
static bool is_bmp(const uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t lengths[] = { 12, 16, 40, 52, 56, 64, 108, 124 };
    return n_bytes >= 18 && !memcmp(bytes, "BM", 2) && !bytes[15] && !bytes[16] && !bytes[17] &&
           memchr(lengths, bytes[14], sizeof lengths);
}

enum stk__format stk__image_format(const uint8_t *bytes, size_t n_bytes)
{
    size_t n_known = n_bytes == 2 ? 2 : 3; /* two bytes are enough where there are no more */
    if (n_bytes >= 2 && !memcmp(bytes, "\xff\xd8\xff", n_known))
        return STK__FORMAT_JPEG;
    if (n_bytes >= 4 && !memcmp(bytes, "\x89PNG", 4))
        return STK__FORMAT_PNG;
    if (n_bytes >= 6 && (!memcmp(bytes, "GIF87a", 6) || !memcmp(bytes, "GIF89a", 6)))
        return STK__FORMAT_GIF;
    if (n_bytes >= 12 && !memcmp(bytes, "RIFF", 4) && !memcmp(bytes + 8, "WEBP", 4))
        return STK__FORMAT_WEBP;
    return is_bmp(bytes, n_bytes) ? STK__FORMAT_BMP : STK__FORMAT_UNKNOWN;
}

int stk__image_info(const uint8_t *bytes, size_t n_bytes, struct stk__image_info *out,
                    struct stk_error *err)
{
    static void (*const probes[])(struct stk__reader *, struct stk__image_info *) = {
        [STK__FORMAT_JPEG] = probe_jpeg, [STK__FORMAT_PNG] = probe_png,
        [STK__FORMAT_GIF] = probe_gif,   [STK__FORMAT_WEBP] = probe_webp,
        [STK__FORMAT_BMP] = probe_bmp,
    };
    struct stk__reader r = { bytes, n_bytes, 0, true, false };
    *out =
        (struct stk__image_info){ .format = stk__image_format(bytes, n_bytes), .orientation = 1 };
    if (!probes[out->format])
        return stk_fail(err, STK_DATA, "not a JPEG, PNG, GIF, WebP or BMP");
    probes[out->format](&r, out);
    if (!out->width || !out->height || !out->channels)
        return stk_fail(err, STK_DATA, "the file has no complete picture header");
    return STK_OK;
}

bool stk__is_image_ending(const char *ending)
{
    static const char *const words[] = { "jpg", "jpeg", "png", "webp", "gif", "bmp" };
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strcasecmp(ending, words[i]))
        i++;
    return i < sizeof words / sizeof *words;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* orientation.c: the orientation in EXIF data, XMP and the texts of PNG files. */
#include "codec/image/orientation.h"
#include "codec/array/inflate.h"
#include "codec/image/reader.h"

#include <string.h>

static bool begins_with(const uint8_t *bytes, size_t n, const char *text, size_t n_text)
{
    return n >= n_text && !memcmp(bytes, text, n_text);
}

/* ---- EXIF ---- */

/* One entry of a directory: tag, type, count, and four bytes that hold the value if they can. */
static bool read_entry(struct stk__reader *r, int *orientation)
{
    enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4 };
    uint32_t tag = stk__read(r, 2), type = stk__read(r, 2), count = stk__read(r, 4);
    struct stk__reader value = *r;
    stk__read(r, 4);
    if (tag != TAG_ORIENTATION || r->is_short)
        return false;
    bool is_one = (type == TYPE_SHORT || type == TYPE_LONG) && count == 1;
    uint32_t number = is_one ? stk__read(&value, type == TYPE_LONG ? 4 : 2) : 0;
    *orientation = number >= 1 && number <= 8 ? (int)number : 1;
    return true;
}

/* In a TIFF block: byte order, 42, place of the first directory; there a count and entries. 0: none
 * of them is the orientation; one that makes no sense is 1. */
static int tiff_orientation(const uint8_t *bytes, size_t n)
{
    int orientation = 0;
    while (begins_with(bytes, n, "Exif\0", 6)) {
        bytes += 6;
        n -= 6;
    }
    struct stk__reader r = { bytes, n, 0, n && bytes[0] == 'M', false };
    uint32_t order = stk__read(&r, 2);
    if ((order != 0x4949 && order != 0x4d4d) || stk__read(&r, 2) != 42)
        return 0;
    uint32_t directory = stk__read(&r, 4);
    r.at = 0;
    stk__read_bytes(&r, directory);
    for (uint32_t i = stk__read(&r, 2); i && !r.is_short; i--)
        if (read_entry(&r, &orientation))
            break;
    return orientation;
}

void stk__orientation_exif(struct stk__orientation *found, const uint8_t *bytes, size_t n)
{
    found->has_exif = true;
    found->exif = tiff_orientation(bytes, n);
}

/* ---- XMP ---- */

/* The digit behind tiff:Orientation=" or tiff:Orientation>, as Pillow looks for it. */
static int xmp_orientation(const uint8_t *bytes, size_t n)
{
    static const char key[] = "tiff:Orientation";
    const uint8_t *at = bytes, *end = bytes + n;
    while ((at = memchr(at, key[0], (size_t)(end - at)))) {
        size_t left = (size_t)(end - at), n_key = sizeof key - 1;
        if (begins_with(at, left, key, n_key)) {
            const uint8_t *value = at + n_key;
            size_t n_mark = begins_with(value, left - n_key, "=\"", 2) ? 2
                            : begins_with(value, left - n_key, ">", 1) ? 1
                                                                       : 0;
            bool has_digit =
                n_mark && left > n_key + n_mark && value[n_mark] >= '0' && value[n_mark] <= '9';
            if (has_digit)
                return value[n_mark] >= '1' && value[n_mark] <= '8' ? value[n_mark] - '0' : 1;
        }
        at++;
    }
    return 0;
}

void stk__orientation_xmp(struct stk__orientation *found, const uint8_t *bytes, size_t n)
{
    found->xmp = xmp_orientation(bytes, n);
}

/* ---- texts of PNG ---- */

enum { TEXT_BYTES = 128 << 10 };

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ImageMagick's profiles are texts: an empty line, the name, the length, then the bytes in hex. They
 * are put in the place of the text. Returns their number. */
static size_t read_profile(uint8_t *text, size_t n)
{
    size_t at = 0, n_bytes = 0;
    for (int line = 0; line < 3 && at < n; at++)
        line += text[at] == '\n';
    for (; at < n; at++) {
        if (text[at] == '\n' || text[at] == ' ')
            continue;
        int high = digit_of(text[at]), low = at + 1 < n ? digit_of(text[at + 1]) : -1;
        if (high < 0 || low < 0)
            break;
        text[n_bytes++] = (uint8_t)(high << 4 | low);
        at++;
    }
    return n_bytes;
}

/* What a text says by its keyword. A profile of an APP1 segment may be of either kind. */
static void read_text(struct stk__orientation *found, const char *keyword, uint8_t *text, size_t n)
{
    static const char profile[] = "Raw profile type ";
    if (!strcmp(keyword, "XML:com.adobe.xmp")) {
        stk__orientation_xmp(found, text, n);
        return;
    }
    const char *kind = keyword + sizeof profile - 1;
    if (strncmp(keyword, profile, sizeof profile - 1) ||
        (strcmp(kind, "exif") && strcmp(kind, "APP1") && strcmp(kind, "xmp")))
        return;
    size_t n_bytes = read_profile(text, n);
    int exif = tiff_orientation(text, n_bytes);
    if (exif)
        found->profile = exif;
    else if (!found->xmp)
        found->xmp = xmp_orientation(text, n_bytes);
}

/* Goes behind the next zero; false if there is none. */
static bool skip_word(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
    *at = zero ? zero + 1 : end;
    return zero != NULL;
}

/* Goes to where the text of a chunk begins; is_packed: it is deflated. False: there is none. */
static bool find_text(const uint8_t name[4], const uint8_t **at, const uint8_t *end,
                      bool *is_packed)
{
    *is_packed = name[0] == 'z';
    if (name[0] == 't')
        return true;
    if (name[0] == 'z')
        return end - *at >= 1 && !*(*at)++; /* the method: 0 */
    if (end - *at < 2)
        return false;
    *is_packed = (*at)[0];
    bool is_known = !*is_packed || !(*at)[1];
    *at += 2;
    return is_known && skip_word(at, end) && skip_word(at, end); /* language, keyword in it */
}

static void read_text_chunk(struct stk__orientation *found, const uint8_t name[4],
                            const uint8_t *bytes, size_t n)
{
    uint8_t text[TEXT_BYTES];
    const uint8_t *at = bytes, *end = bytes + n;
    bool is_packed;
    if (!skip_word(&at, end) || !find_text(name, &at, end, &is_packed))
        return;
    size_t left = (size_t)(end - at), n_text = left < sizeof text ? left : sizeof text;
    if (is_packed)
        n_text = stk__inflate_head(at, left, text, sizeof text);
    else
        memcpy(text, at, n_text);
    read_text(found, (const char *)bytes, text, n_text);
}

/* Most texts are about something else: they need not be unpacked. */
static bool is_about_orientation(const uint8_t *bytes, size_t n)
{
    return begins_with(bytes, n, "Raw profile type ", 17) ||
           begins_with(bytes, n, "XML:com.adobe.xmp", 17);
}

void stk__orientation_png(struct stk__orientation *found, const uint8_t name[4],
                          const uint8_t *bytes, size_t n)
{
    if (!memcmp(name, "eXIf", 4))
        stk__orientation_exif(found, bytes, n);
    else if ((!memcmp(name, "tEXt", 4) || !memcmp(name, "zTXt", 4) || !memcmp(name, "iTXt", 4)) &&
             is_about_orientation(bytes, n))
        read_text_chunk(found, name, bytes, n);
}

int stk__orientation_of(const struct stk__orientation *found)
{
    int said = found->has_exif ? found->exif : found->profile;
    if (!said)
        said = found->xmp;
    return said ? said : 1;
}

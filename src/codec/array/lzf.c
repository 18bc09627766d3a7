/* SPDX-License-Identifier: Apache-2.0 */
/* lzf.c: LZF is a row of pieces, each with a control byte:
 *
 *     000nnnnn                    n + 1 bytes as they are follow
 *     lllooooo oooooooo           copy l + 2 bytes from o + 1 back, l in 1..6
 *     111ooooo llllllll oooooooo  copy l + 9 bytes from o + 1 back
 */
#include "codec/array/lzf.h"

#include <string.h>

struct lzf {
    const uint8_t *src;
    size_t n, at;
    uint8_t *dst;
    size_t room, made;
};

static bool copy_literal(struct lzf *z, size_t len)
{
    if (len > z->n - z->at || len > z->room - z->made)
        return false;
    memcpy(z->dst + z->made, z->src + z->at, len);
    z->at += len;
    z->made += len;
    return true;
}

/* The copy may reach into what it writes: a run repeats. */
static bool copy_back(struct lzf *z, unsigned control)
{
    size_t len = control >> 5, back = (size_t)(control & 31) << 8;
    if (len == 7) {
        if (z->at == z->n)
            return false;
        len += z->src[z->at++];
    }
    if (z->at == z->n)
        return false;
    back += (size_t)z->src[z->at++] + 1;
    len += 2;
    if (back > z->made || len > z->room - z->made)
        return false;
    uint8_t *to = z->dst + z->made;
    const uint8_t *from = to - back;
    z->made += len;
    if (back >= len) {
        memcpy(to, from, len);
        return true;
    }
    while (len--)
        *to++ = *from++;
    return true;
}

bool stk__lzf_decompress(const uint8_t *src, size_t n, uint8_t *dst, size_t room, size_t *written)
{
    struct lzf z = { .src = src, .n = n, .dst = dst, .room = room };
    while (z.at < n) {
        unsigned control = src[z.at++];
        if (!(control < 32 ? copy_literal(&z, control + 1) : copy_back(&z, control)))
            return false;
    }
    *written = z.made;
    return true;
}

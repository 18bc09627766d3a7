/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c: deflated blocks through ISA-L. */
#include "codec/array/inflate.h"

#include <isa-l.h>

size_t stk__inflate_state_bytes(void)
{
    return sizeof(struct inflate_state);
}

static const char *cause(int code)
{
    switch (code) {
    case ISAL_INCORRECT_CHECKSUM:
        return "the checksum of the compressed data is wrong";
    case ISAL_OUT_OVERFLOW:
        return "the compressed data holds more than it should";
    case ISAL_END_INPUT:
        return "the compressed data ends too early";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
    case ISAL_NEED_DICT:
        return "the compressed data does not begin as zlib's does";
    default:
        return "the compressed data is damaged";
    }
}

const char *stk__inflate(void *state, struct stk__inflation *job)
{
    struct inflate_state *s = state;
    if (job->n > UINT32_MAX || job->room > UINT32_MAX)
        return "there are more than 4 GiB of compressed data in one piece";
    isal_inflate_init(s);
    s->crc_flag = job->format == STK__INFLATE_ZLIB ? ISAL_ZLIB : ISAL_DEFLATE;
    s->next_in = (uint8_t *)(uintptr_t)job->src;
    s->avail_in = (uint32_t)job->n;
    s->next_out = job->dst;
    s->avail_out = (uint32_t)job->room;
    int code = isal_inflate_stateless(s);
    job->written = job->room - s->avail_out;
    return code == ISAL_DECOMP_OK ? NULL : cause(code);
}

size_t stk__inflate_head(const uint8_t *src, size_t n, uint8_t *dst, size_t room)
{
    struct inflate_state state;
    struct stk__inflation job = {
        .format = STK__INFLATE_ZLIB, .src = src, .n = n, .dst = dst, .room = room
    };
    const char *fault = stk__inflate(&state, &job);
    return fault && job.written < room ? 0 : job.written;
}

uint32_t stk__crc32(const uint8_t *data, size_t n)
{
    return crc32_gzip_refl(0, data, n);
}

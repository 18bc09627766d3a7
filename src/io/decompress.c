/* SPDX-License-Identifier: Apache-2.0 */
/* decompress.c: gzip and zlib by ISA-L, zstd by libzstd. */
#include "io/decompress.h"

#include "base/cancel.h"
#include "base/memory/pages.h"

#include <isa-l/igzip_lib.h>
#include <string.h>
#include <zstd.h>

const char *const stk__compression_words[] = { "auto", "none", "gzip", "zlib", "zstd", NULL };

/* ---- what it is ---- */

enum { IS_BZIP2 = 100, IS_XZ };

/* The first bytes of a format. zlib has others too, of which some are text ("x^"): they are read
 * when the compression is named. */
static const struct magic {
    uint8_t len, first_mask;
    uint8_t bytes[6];
    int kind;
} magics[] = {
    { 3, 0xff, { 0x1f, 0x8b, 0x08 }, STK__COMPRESSION_GZIP },
    { 4, 0xff, { 0x28, 0xb5, 0x2f, 0xfd }, STK__COMPRESSION_ZSTD },
    { 4, 0xf0, { 0x50, 0x2a, 0x4d, 0x18 }, STK__COMPRESSION_ZSTD }, /* a skippable frame */
    { 2, 0xff, { 0x78, 0x01 }, STK__COMPRESSION_ZLIB },
    { 2, 0xff, { 0x78, 0x9c }, STK__COMPRESSION_ZLIB },
    { 2, 0xff, { 0x78, 0xda }, STK__COMPRESSION_ZLIB },
    { 6, 0xff, { 0xfd, '7', 'z', 'X', 'Z', 0 }, IS_XZ },
};

/* Its level, 1 to 9, stands between the magic of the file and that of the first block. */
static bool begins_bzip2(const uint8_t *head, size_t n)
{
    static const uint8_t block[] = { 0x31, 0x41, 0x59, 0x26, 0x53, 0x59 };
    return n >= 10 && memcmp(head, "BZh", 3) == 0 && memcmp(head + 4, block, 6) == 0;
}

static bool agrees(const struct magic *magic, const uint8_t *head, size_t n)
{
    if (n == 0 || (head[0] & magic->first_mask) != magic->bytes[0])
        return n == 0;
    size_t len = n < magic->len ? n : magic->len;
    return memcmp(head + 1, magic->bytes + 1, len - 1) == 0;
}

static int refuse(int kind, struct stk_error *err)
{
    const char *name = kind == IS_XZ ? "xz" : "bzip2";
    return stk_fail(err, STK_DATA,
                    "this is %s, which is not read: unpack it with %s -d, or compress it with "
                    "gzip or zstd instead",
                    name, name);
}

int stk__compression_sniff(const uint8_t *head, size_t n, enum stk__compression *out,
                           struct stk_error *err)
{
    *out = STK__COMPRESSION_NONE;
    if (begins_bzip2(head, n))
        return refuse(IS_BZIP2, err);
    if (n < 10 && memcmp(head, "BZh", n < 3 ? n : 3) == 0)
        *out = STK__COMPRESSION_AUTO;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (!agrees(&magics[i], head, n))
            continue;
        if (n < magics[i].len)
            *out = STK__COMPRESSION_AUTO;
        else if (magics[i].kind == IS_XZ)
            return refuse(IS_XZ, err);
        else
            *out = (enum stk__compression)magics[i].kind;
    }
    return STK_OK;
}

/* ---- gzip and zlib ---- */

struct stk__decompressor {
    enum stk__compression kind;
    bool is_between;    /* members or frames */
    bool has_begun;     /* the first of them */
    bool is_padding;    /* the rest may only be zeros */
    ZSTD_DStream *zstd; /* which has its own memory */
    struct {
        uint8_t head[18]; /* a header is not longer */
        size_t n_head;
        uint64_t bytes; /* that have come out */
    } frame;
    /* what follows is not for zstd */
    struct isal_gzip_header gzip_header;
    struct isal_zlib_header zlib_header;
    struct inflate_state inflate;
};

static void begin_member(struct stk__decompressor *d)
{
    isal_inflate_reset(&d->inflate);
    isal_gzip_header_init(&d->gzip_header);
    d->zlib_header = (struct isal_zlib_header){ 0 };
    d->inflate.crc_flag = d->kind == STK__COMPRESSION_GZIP ? ISAL_GZIP : ISAL_ZLIB;
    d->is_between = false;
    d->has_begun = true;
}

static int fail_inflate(int why, const char *name, struct stk_error *err)
{
    switch (why) {
    case ISAL_INVALID_WRAPPER:
        return stk_fail(err, STK_DATA, "this is not %s data", name);
    case ISAL_UNSUPPORTED_METHOD:
        return stk_fail(err, STK_DATA, "the %s header names an unknown method", name);
    case ISAL_INCORRECT_CHECKSUM:
        return stk_fail(err, STK_DATA, "a checksum of the %s data is wrong", name);
    case ISAL_NEED_DICT:
        return stk_fail(err, STK_DATA, "the %s data needs a dictionary", name);
    default:
        return stk_fail(err, STK_DATA, "the %s data is damaged", name);
    }
}

/* What may follow a member: another one, or zeros, as on tapes; nothing follows zlib data. */
static int look_behind(struct stk__decompressor *d, struct stk__pump *pump, struct stk_error *err)
{
    bool is_gzip = d->kind == STK__COMPRESSION_GZIP;
    if (d->has_begun && is_gzip) {
        while (pump->in_bytes && *pump->in == 0) {
            d->is_padding = true;
            pump->in++;
            pump->in_bytes--;
        }
    }
    if (!pump->in_bytes)
        return STK_OK;
    if (d->has_begun && (!is_gzip || d->is_padding || *pump->in != 0x1f))
        return stk_fail(err, STK_DATA, "something follows the end of the %s data",
                        stk__compression_words[d->kind]);
    begin_member(d);
    return STK_OK;
}

/* isal_inflate reads headers too, but forgets half of one that ends in the next piece of input. */
static int read_header(struct stk__decompressor *d)
{
    if (d->kind == STK__COMPRESSION_GZIP)
        return isal_read_gzip_header(&d->inflate, &d->gzip_header);
    int rc = isal_read_zlib_header(&d->inflate, &d->zlib_header);
    return rc == ISAL_DECOMP_OK && d->zlib_header.dict_flag ? ISAL_NEED_DICT : rc;
}

/* One call of the library; the checksum of a member is verified in the last one. */
static int inflate_once(struct stk__decompressor *d, struct stk__pump *pump)
{
    const uint32_t most = 16u << 20; /* a run that is cancelled does not wait longer */
    struct inflate_state *state = &d->inflate;
    uint32_t in = pump->in_bytes < most ? (uint32_t)pump->in_bytes : most;
    uint32_t out = pump->out_bytes < most ? (uint32_t)pump->out_bytes : most;
    state->next_in = (uint8_t *)(uintptr_t)pump->in;
    state->avail_in = in;
    state->next_out = pump->out;
    state->avail_out = out;
    int rc = state->wrapper_flag ? ISAL_DECOMP_OK : read_header(d);
    if (rc == ISAL_DECOMP_OK)
        rc = isal_inflate(state);
    uint32_t used = in - state->avail_in;
    used = used < in ? used : in; /* a damaged block may count bytes that are not there */
    pump->in += used;
    pump->in_bytes -= used;
    pump->out = state->next_out;
    pump->out_bytes -= out - state->avail_out;
    return rc;
}

static int inflate_some(struct stk__decompressor *d, struct stk__pump *pump, struct stk_error *err)
{
    const char *name = stk__compression_words[d->kind];
    int rc = inflate_once(d, pump);
    if (rc < 0 || rc == ISAL_NEED_DICT)
        return fail_inflate(rc, name, err);
    if (d->inflate.block_state != ISAL_BLOCK_FINISH)
        return STK_OK;
    d->is_between = true;
    /* zlib's trailer is shorter than what the library reads ahead; gzip's is not */
    if (d->inflate.read_in_length >= 8)
        return stk_fail(err, STK_DATA, "something follows the end of the %s data", name);
    return STK_OK;
}

static int inflate_all(struct stk__decompressor *d, struct stk__pump *pump, struct stk_error *err)
{
    int code = STK_OK;
    while (!code && pump->out_bytes) {
        if (d->is_between && ((code = look_behind(d, pump, err)) || d->is_between))
            break;
        if (stk__cancel_is_asked())
            return stk_fail(err, STK_CANCELLED, "cancelled");
        size_t in = pump->in_bytes, out = pump->out_bytes;
        code = inflate_some(d, pump, err);
        if (code || d->is_between || pump->in_bytes != in || pump->out_bytes != out)
            continue;
        if (in)
            code = fail_inflate(ISAL_INVALID_BLOCK, stk__compression_words[d->kind], err);
        break;
    }
    return code;
}

/* ---- zstd ---- */

/* What went in and came out of the frame. Whether it has as many bytes as its header says is checked
 * by the library only where it gets the frame at once, or where its last block is not empty. */
static int count_frame(struct stk__decompressor *d, const uint8_t *in, size_t n_in, size_t n_out,
                       struct stk_error *err)
{
    size_t room = sizeof d->frame.head - d->frame.n_head, n = n_in < room ? n_in : room;
    memcpy(d->frame.head + d->frame.n_head, in, n);
    d->frame.n_head += n;
    d->frame.bytes += n_out;
    if (!d->is_between)
        return STK_OK;
    uint64_t bytes = d->frame.bytes,
             said = ZSTD_getFrameContentSize(d->frame.head, d->frame.n_head);
    d->frame.n_head = d->frame.bytes = 0;
    if (said == bytes || said == ZSTD_CONTENTSIZE_UNKNOWN || said == ZSTD_CONTENTSIZE_ERROR)
        return STK_OK;
    return stk_fail(err, STK_DATA,
                    "the zstd data is damaged: a frame has another length than it says");
}

/* The library itself gives up when it makes no progress. */
static int unpack_zstd(struct stk__decompressor *d, struct stk__pump *pump, struct stk_error *err)
{
    ZSTD_inBuffer in = { pump->in, pump->in_bytes, 0 };
    ZSTD_outBuffer out = { pump->out, pump->out_bytes, 0 };
    int code = STK_OK;
    while (!code && out.pos < out.size && (in.pos < in.size || !d->is_between)) {
        size_t in_before = in.pos, out_before = out.pos;
        if (stk__cancel_is_asked())
            return stk_fail(err, STK_CANCELLED, "cancelled");
        size_t rc = ZSTD_decompressStream(d->zstd, &out, &in);
        if (ZSTD_isError(rc))
            code = stk_fail(err, STK_DATA, "the zstd data is damaged: %s", ZSTD_getErrorName(rc));
        d->is_between = rc == 0;
        d->has_begun = true;
        if (!code)
            code =
                count_frame(d, pump->in + in_before, in.pos - in_before, out.pos - out_before, err);
        if (in_before == in.size && out.pos == out_before)
            break;
    }
    *pump = (struct stk__pump){ pump->in + in.pos, in.size - in.pos, pump->out + out.pos,
                                out.size - out.pos };
    return code;
}

/* ---- all of them ---- */

static size_t own_bytes(enum stk__compression kind)
{
    return kind == STK__COMPRESSION_ZSTD ? offsetof(struct stk__decompressor, gzip_header)
                                         : sizeof(struct stk__decompressor);
}

/* Of gzip 87 KB, which malloc would keep for every thread that was the last to have one. */
struct stk__decompressor *stk__decompressor_new(enum stk__compression kind)
{
    struct stk__decompressor *d = stk__memory_take(own_bytes(kind));
    if (!d)
        return NULL;
    memset(d, 0, own_bytes(kind));
    d->kind = kind;
    d->is_between = true;
    if (kind != STK__COMPRESSION_ZSTD) {
        isal_inflate_init(&d->inflate);
    } else if (!(d->zstd = ZSTD_createDStream())) {
        stk__memory_free(d, own_bytes(kind));
        return NULL;
    }
    return d;
}

void stk__decompressor_free(struct stk__decompressor *d)
{
    if (!d)
        return;
    ZSTD_freeDStream(d->zstd);
    stk__memory_free(d, own_bytes(d->kind));
}

int stk__decompressor_pump(struct stk__decompressor *d, struct stk__pump *pump,
                           struct stk_error *err)
{
    return d->zstd ? unpack_zstd(d, pump, err) : inflate_all(d, pump, err);
}

bool stk__decompress_may_end(const struct stk__decompressor *d)
{
    return d->is_between && d->has_begun;
}

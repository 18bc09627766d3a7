/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tfrecord_cut.c: records and damage as the input says, found at random and cut out of a
 * stream; both find what the obvious loops below find.
 *
 * Input: a byte for the step of the stream, then pieces: kind, length, content. */
#include "base/crc32c.h"
#include "codec/record/tfrecord_frame.h"
#include "cut_records.h"
#include "op/source/tfrecord_scan.h"

enum {
    MOST_PIECES = 16,
    MOST_BYTES = 1024,
    MOST_IN_STREAM = STK__MOST_RECORD_BYTES - STK__TFRECORD_FRAME
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
    uint8_t bytes[MOST_BYTES];
    size_t n;
};

static void put_number(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

/* A record with its checksums; the length may be a lie. */
static size_t put_record(uint8_t *at, const uint8_t *content, size_t n, uint64_t length)
{
    put_number(at, length, 8);
    put_number(at + 8, stk__crc32c_mask(stk__crc32c(0, at, 8)), 4);
    memcpy(at + STK__TFRECORD_HEADER, content, n);
    put_number(at + STK__TFRECORD_HEADER + n, stk__crc32c_mask(stk__crc32c(0, content, n)), 4);
    return n + STK__TFRECORD_FRAME;
}

static void put_piece(struct file *file, uint8_t kind, const uint8_t *content, size_t n)
{
    uint8_t *at = file->bytes + file->n;
    size_t frame = n + STK__TFRECORD_FRAME;
    uint64_t lie = 0;
    memcpy(&lie, content, n < sizeof lie ? n : sizeof lie);
    switch (kind % 8) {
    case 4: /* no record */
        memcpy(at, content, n);
        frame = n;
        break;
    case 5: /* a flipped bit */
        put_record(at, content, n, n);
        at[kind / 8 * 37 % frame] ^= (uint8_t)(1 << kind / 8 % 8);
        break;
    case 6: /* a lie that its checksum confirms */
        put_record(at, content, n, lie);
        break;
    case 7: /* cut short */
        put_record(at, content, n, n);
        frame = kind / 8 % frame;
        break;
    default:
        put_record(at, content, n, n);
    }
    file->n += frame;
}

static void make_file(struct file *file, const uint8_t *data, size_t size)
{
    int n_pieces = 0;
    file->n = 0;
    for (size_t at = 0; at + 2 <= size && n_pieces < MOST_PIECES; n_pieces++) {
        size_t left = size - at - 2, n = data[at + 1] % 40;
        n = n < left ? n : left;
        put_piece(file, data[at], data + at + 2, n);
        at += 2 + n;
    }
}

static bool is_record(const struct file *file, size_t at, uint64_t *length)
{
    return file->n - at >= STK__TFRECORD_FRAME && stk__tfrecord_length(file->bytes + at, length) &&
           *length <= file->n - at - STK__TFRECORD_FRAME;
}

/* Good records are found, and each run of other bytes is one. */
static void check_scan(const struct file *file)
{
    struct stk__record_index *index = scan_memory(stk__tfrecord_scan, file->bytes, file->n);
    uint64_t length, n_records = 0, n_good = 0;
    bool is_open = false;
    for (size_t at = 0; at < file->n;) {
        bool is_good = is_record(file, at, &length);
        if (index && (is_good || !is_open)) {
            struct stk__file_place place;
            must(n_records < stk__record_index_count(index));
            stk__record_index_at(index, n_records, &place);
            must(place.offset == at && (!is_good || place.bytes == length + STK__TFRECORD_FRAME));
        }
        n_records += is_good || !is_open;
        n_good += is_good;
        is_open = !is_good;
        at += is_good ? (size_t)length + STK__TFRECORD_FRAME : 1;
    }
    must(index ? stk__record_index_count(index) == n_records : !n_good);
    stk__record_index_free(index);
}

struct expected {
    const struct file *file;
    size_t at;
};

/* The next record that a stream has at or behind e->at. */
static size_t next_record(struct expected *e)
{
    uint64_t length;
    for (; e->file->n - e->at >= STK__TFRECORD_HEADER; e->at++)
        if (stk__tfrecord_length(e->file->bytes + e->at, &length) && length <= MOST_IN_STREAM)
            return length + STK__TFRECORD_FRAME <= e->file->n - e->at
                       ? (size_t)length + STK__TFRECORD_FRAME
                       : 0;
    return 0;
}

static void take(void *ctx, size_t at, size_t bytes)
{
    struct expected *e = ctx;
    struct stk_error err;
    uint64_t length;
    must(next_record(e) == bytes && e->at == at);
    int code = stk__tfrecord_open(e->file->bytes + at, bytes, true, &length, &err);
    must(!code ? length + STK__TFRECORD_FRAME == bytes : code == STK_DATA && *err.text);
    e->at += bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cutting how;
    static struct file file;
    struct expected expected = { &file, 0 };
    if (!size)
        return 0;
    if (!how.cutter)
        how = open_cutting("tfrecord('/dev/null')");
    make_file(&file, data + 1, size - 1);
    check_scan(&file);
    cut_all(&how, (struct stk_span){ file.bytes, file.n, NULL },
            (data[0] ? 64u : 1u) + data[0] * 7u, take, &expected);
    must(!next_record(&expected));
    return 0;
}

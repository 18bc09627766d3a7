/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_index.c: the object header and the chunk B-tree of HDF5's file format, as far as needed.
 *
 *     object header ─▶ messages … layout: chunked, root of the tree ─▶ node ─▶ node ─▶ leaf
 *                  └─▶ continuation ─▶ messages …                            each entry: a chunk
 *
 * Everything read is checked, and the work is bounded: blocks of messages by a number, the tree by
 * its height, which must fall by one from node to node, and by the number of chunks there can be. */
#include "codec/array/hdf5_index.h"

#include <stdlib.h>
#include <string.h>

enum { MSG_LAYOUT = 8, MSG_CONTINUATION = 16 };
enum { MOST_BLOCKS = 32, MOST_BLOCK_BYTES = 1 << 20, MOST_HEIGHT = 16, NODE_HEADER = 24 };

static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

/* ---- the object header ---- */

struct block {
    uint64_t offset, bytes;
};

struct header {
    const struct stk__hdf5_bytes *file;
    const struct stk__grid *grid;
    int version;    /* 1 or 2 */
    bool has_order; /* version 2: messages carry a number */
    struct block block[MOST_BLOCKS];
    int n_blocks;
    bool is_found;
    uint64_t root;
};

static bool read_at(const struct stk__hdf5_bytes *file, uint64_t offset, size_t bytes, uint8_t *dst)
{
    uint64_t at;
    return !__builtin_add_overflow(offset, file->base, &at) &&
           !file->read(file->ctx, at, bytes, dst);
}

/* Version 3 of the message for chunks: dimensions and chunk sizes must be those we know. */
static void read_layout(struct header *h, const uint8_t *data, size_t n)
{
    int rank = h->grid->rank;
    if (n < 11 + 4 * ((size_t)rank + 1) || data[0] != 3 || data[1] != 2 || data[2] != rank + 1)
        return;
    for (int a = 0; a <= rank; a++) {
        int64_t expected = a < rank ? h->grid->chunk[a] : h->grid->item_bytes;
        if ((int64_t)number(data + 11 + 4 * a, 4) != expected)
            return;
    }
    h->root = number(data + 3, 8);
    h->is_found = true;
}

static void add_block(struct header *h, uint64_t offset, uint64_t bytes)
{
    if (h->n_blocks < MOST_BLOCKS && bytes <= MOST_BLOCK_BYTES)
        h->block[h->n_blocks++] = (struct block){ offset, bytes };
}

static void read_message(struct header *h, unsigned type, const uint8_t *data, size_t n)
{
    if (type == MSG_LAYOUT)
        read_layout(h, data, n);
    else if (type == MSG_CONTINUATION && n >= 16 && h->version == 1)
        add_block(h, number(data, 8), number(data + 8, 8));
    else if (type == MSG_CONTINUATION && n >= 16 && number(data + 8, 8) >= 8)
        add_block(h, number(data, 8) + 4, number(data + 8, 8) - 8); /* signature and checksum */
}

static void read_messages(struct header *h, const uint8_t *data, size_t n)
{
    size_t head = h->version == 1 ? 8 : h->has_order ? 6 : 4;
    for (size_t at = 0; n - at >= head && !h->is_found;) {
        const uint8_t *p = data + at;
        unsigned type = h->version == 1 ? (unsigned)number(p, 2) : p[0];
        size_t bytes = (size_t)number(h->version == 1 ? p + 2 : p + 1, 2);
        if (bytes > n - at - head)
            return;
        read_message(h, type, p + head, bytes);
        at += head + bytes;
    }
}

/* The first block: behind a prefix whose length depends on version and flags. */
static bool begin_header(struct header *h, uint64_t offset)
{
    uint8_t p[64];
    if (!read_at(h->file, offset, 16, p))
        return false;
    h->version = 1;
    if (p[0] == 1 && p[1] == 0) {
        add_block(h, offset + 16, number(p + 8, 4));
        return true;
    }
    if (memcmp(p, "OHDR", 4) != 0 || p[4] != 2)
        return false;
    int flags = p[5], size_bytes = 1 << (flags & 3);
    size_t before = 6 + (flags & 32 ? 16u : 0) + (flags & 16 ? 4u : 0);
    if (!read_at(h->file, offset, before + (size_t)size_bytes, p))
        return false;
    h->version = 2;
    h->has_order = flags & 4;
    add_block(h, offset + before + (size_t)size_bytes, number(p + before, size_bytes));
    return true;
}

static bool find_root(struct header *h, uint64_t offset)
{
    bool is_good = begin_header(h, offset);
    for (int i = 0; is_good && i < h->n_blocks && !h->is_found; i++) {
        size_t bytes = (size_t)h->block[i].bytes;
        uint8_t *data = malloc(bytes + 1);
        is_good = data && read_at(h->file, h->block[i].offset, bytes, data);
        if (is_good)
            read_messages(h, data, bytes);
        free(data);
    }
    return is_good && h->is_found;
}

/* ---- the tree ---- */

struct tree {
    const struct stk__hdf5_bytes *file;
    const struct stk__grid *grid;
    struct stk__hdf5_chunk *table;
    int64_t n_chunks;
    int64_t nodes_left; /* that may still be read */
};

/* One entry of a leaf: a key (size, left out filters, where the chunk begins) and its address. */
static bool add_chunk(struct tree *t, const uint8_t *key, uint64_t address)
{
    const struct stk__grid *grid = t->grid;
    int64_t chunk[STK__GRID_MAX_RANK];
    for (int a = 0; a < grid->rank; a++) {
        uint64_t start = number(key + 8 + 8 * a, 8);
        chunk[a] = (int64_t)(start / (uint64_t)grid->chunk[a]);
        if (start % (uint64_t)grid->chunk[a] || start > INT64_MAX)
            return false;
        if (chunk[a] >= stk__grid_along(grid, a))
            return true; /* of a dataset that was made smaller */
    }
    uint64_t offset;
    if (__builtin_add_overflow(address, t->file->base, &offset) || offset == STK__HDF5_ABSENT)
        return false;
    t->table[stk__grid_number(grid, chunk)] =
        (struct stk__hdf5_chunk){ offset, (uint32_t)number(key, 4), (uint32_t)number(key + 4, 4) };
    return true;
}

/* Reads the node and what is below it. level < 0: any. */
static bool walk(struct tree *t, uint64_t address, int level)
{
    uint8_t head[NODE_HEADER];
    if (t->nodes_left-- <= 0 || !read_at(t->file, address, NODE_HEADER, head))
        return false;
    int n = (int)number(head + 6, 2), height = head[5];
    if (memcmp(head, "TREE", 4) != 0 || head[4] != 1 || height > MOST_HEIGHT ||
        (level >= 0 && height != level))
        return false;
    size_t key_bytes = 8 + 8 * ((size_t)t->grid->rank + 1), entry_bytes = key_bytes + 8;
    uint8_t *entries = malloc((size_t)n * entry_bytes + 1);
    bool is_good =
        entries && read_at(t->file, address + NODE_HEADER, (size_t)n * entry_bytes, entries);
    for (int i = 0; i < n && is_good; i++) {
        const uint8_t *key = entries + (size_t)i * entry_bytes;
        uint64_t child = number(key + key_bytes, 8);
        is_good = height ? walk(t, child, height - 1) : add_chunk(t, key, child);
    }
    free(entries);
    return is_good;
}

bool stk__hdf5_index(const struct stk__hdf5_bytes *file, uint64_t header,
                     const struct stk__grid *grid, struct stk__hdf5_chunk *table)
{
    struct header h = { .file = file, .grid = grid };
    struct tree t = { .file = file, .grid = grid, .table = table };
    t.n_chunks = stk__grid_chunks(grid);
    t.nodes_left = 2 * t.n_chunks + 64;
    for (int64_t i = 0; i < t.n_chunks; i++)
        table[i] = (struct stk__hdf5_chunk){ .offset = STK__HDF5_ABSENT };
    if (!find_root(&h, header))
        return false;
    bool is_unwritten = h.root == UINT64_MAX;
    return is_unwritten || walk(&t, h.root, -1);
}

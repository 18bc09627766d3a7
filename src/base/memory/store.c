/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: pages, the directory that finds them, and blocks for bytes of rows that are not fixed.
 *
 * The directory only grows. A larger one is made under the lock and put in its place; the one before
 * stays until the end, since somebody may be looking at it.
 */
#include "base/memory/store.h"

#include "base/hash.h"
#include "base/memory/pages.h"
#include "base/memory/purse.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ABSENT, COMING, THERE };
enum { TAIL = 64, BLOCK_BYTES = (1 << 16) - TAIL, LARGEST_PIECE = BLOCK_BYTES / 8 };

struct page {
    uint64_t no; /* of its rows' numbers, without their last bits */
    struct stk__chunk *chunk;
    atomic_uchar state[]; /* of its rows; THERE pairs release with acquire */
};

struct directory {
    struct directory *smaller;
    uint64_t n_slots; /* a power of two */
    _Atomic(struct page *) slot[];
};

struct stk__store {
    struct stk_type type;
    int parts, shift;     /* page = number >> shift */
    pthread_mutex_t lock; /* guards what follows, and the faults of pages */
    uint64_t n_pages;
    struct stk_buffer *block; /* of which `used` bytes are taken */
    size_t used;
    _Atomic(struct directory *) directory; /* changed with the lock held */
    atomic_uint_fast64_t n_rows, n_bytes, prefix;
    atomic_bool is_whole;
};

/* ---- birth and death ---- */

static struct directory *directory_new(uint64_t n_slots, struct directory *smaller)
{
    struct directory *d = calloc(1, sizeof *d + n_slots * sizeof *d->slot);
    if (d) {
        d->n_slots = n_slots;
        d->smaller = smaller;
    }
    return d;
}

/* Rows of about so many bytes together; far apart, a page is likely to stay almost empty. */
static int page_shift(const struct stk_type *type, int parts, bool is_sparse)
{
    const size_t page_bytes = is_sparse ? 1 << 12 : 1 << 16;
    const int most = 12;
    int shift = 0;
    while (shift < most && stk__chunk_bytes(type, 2 << shift, parts) <= page_bytes)
        shift++;
    return shift;
}

struct stk__store *stk__store_new(const struct stk_type *type, int parts, bool is_sparse)
{
    struct stk__store *store = calloc(1, sizeof *store);
    struct directory *d = directory_new(64, NULL);
    if (!store || !d) {
        free(store);
        free(d);
        return NULL;
    }
    store->type = *type;
    for (int f = 0; f < type->n_fields; f++)
        store->type.field[f].name = NULL; /* which belongs to whoever gave the type */
    store->parts = parts;
    store->shift = page_shift(type, parts, is_sparse);
    atomic_init(&store->directory, d);
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

void stk__store_free(struct stk__store *store)
{
    if (!store)
        return;
    stk__purse_note(STK__KEEPS_CACHE, -(int64_t)atomic_load(&store->n_bytes));
    struct directory *d = atomic_load(&store->directory);
    for (uint64_t i = 0; i < d->n_slots; i++) {
        struct page *page = atomic_load(&d->slot[i]);
        if (page)
            stk__chunk_free(page->chunk);
        free(page);
    }
    for (struct directory *smaller; d; d = smaller) {
        smaller = d->smaller;
        free(d);
    }
    stk__buffer_unref(store->block);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* Bytes count from here on, also if there is no memory after all. */
static bool ask(struct stk__store *store, size_t bytes, const struct stk__leave *leave)
{
    bool has_leave = leave->ask(leave->ctx, bytes);
    if (has_leave)
        atomic_fetch_add(&store->n_bytes, bytes);
    return has_leave;
}

/* ---- pages ---- */

static size_t page_rows(const struct stk__store *store)
{
    return (size_t)1 << store->shift;
}

static struct page *find_page(const struct stk__store *store, uint64_t no)
{
    struct directory *d = atomic_load_explicit(&store->directory, memory_order_acquire);
    for (uint64_t i = stk__hash_mix(no, 0);; i++) {
        struct page *page =
            atomic_load_explicit(&d->slot[i & (d->n_slots - 1)], memory_order_acquire);
        if (!page || page->no == no)
            return page;
    }
}

static void put_page(struct directory *d, struct page *page)
{
    uint64_t i = stk__hash_mix(page->no, 0);
    while (atomic_load_explicit(&d->slot[i & (d->n_slots - 1)], memory_order_relaxed))
        i++;
    atomic_store_explicit(&d->slot[i & (d->n_slots - 1)], page, memory_order_release);
}

/* Room for one more page; false when out of memory. Called with the lock held. */
static bool grow_directory(struct stk__store *store, const struct stk__leave *leave)
{
    struct directory *d = atomic_load(&store->directory);
    if (2 * store->n_pages < d->n_slots)
        return true;
    size_t bytes = 2 * d->n_slots * sizeof *d->slot;
    struct directory *grown = ask(store, bytes, leave) ? directory_new(2 * d->n_slots, d) : NULL;
    for (uint64_t i = 0; grown && i < d->n_slots; i++)
        if (atomic_load(&d->slot[i]))
            put_page(grown, atomic_load(&d->slot[i]));
    if (!grown)
        return false;
    atomic_store_explicit(&store->directory, grown, memory_order_release);
    return true;
}

static struct page *page_new(struct stk__store *store, uint64_t no)
{
    struct page *page = calloc(1, sizeof *page + page_rows(store));
    if (!page)
        return NULL;
    page->no = no;
    page->chunk = stk__chunk_new(&store->type, (int)page_rows(store), store->parts);
    if (!page->chunk) {
        free(page);
        return NULL;
    }
    return page;
}

static struct page *add_page(struct stk__store *store, uint64_t no, const struct stk__leave *leave)
{
    size_t bytes = sizeof(struct page) + page_rows(store) +
                   stk__chunk_bytes(&store->type, (int)page_rows(store), store->parts);
    pthread_mutex_lock(&store->lock);
    struct page *page = find_page(store, no);
    if (!page && ask(store, bytes, leave) && grow_directory(store, leave) &&
        (page = page_new(store, no))) {
        put_page(atomic_load(&store->directory), page);
        store->n_pages++;
    }
    pthread_mutex_unlock(&store->lock);
    return page;
}

/* ---- finding ---- */

static bool is_there(const struct page *page, uint64_t row)
{
    return atomic_load_explicit(&page->state[row], memory_order_acquire) == THERE;
}

bool stk__store_has(const struct stk__store *store, uint64_t number)
{
    const struct page *page = find_page(store, number >> store->shift);
    return page && is_there(page, number & (page_rows(store) - 1));
}

int stk__store_find(const struct stk__store *store, uint64_t number, int n, struct stk__stored *out)
{
    const struct page *page = find_page(store, number >> store->shift);
    uint64_t first = number & (page_rows(store) - 1);
    if (!page)
        return 0;
    *out = (struct stk__stored){ page->chunk, (int)first };
    int found = 0;
    while (found < n && first + (uint64_t)found < page_rows(store) &&
           is_there(page, first + (uint64_t)found))
        found++;
    return found;
}

void stk__store_add_fault(struct stk__store *store, struct stk__stored stored, int row,
                          struct stk__fault **list)
{
    pthread_mutex_lock(&store->lock);
    const struct stk__fault *fault = stk__chunk_find_fault(stored.page, stored.row);
    if (fault)
        stk__fault_add(list, row, fault->code, fault->op, fault->text);
    pthread_mutex_unlock(&store->lock);
}

/* ---- bytes ---- */

static void free_block(void *block)
{
    const struct stk_buffer *buffer = block;
    stk__memory_free(buffer->data, buffer->capacity + TAIL);
}

static struct stk_buffer *block_new(struct stk__store *store, size_t bytes,
                                    const struct stk__leave *leave)
{
    size_t all = stk__memory_bytes(bytes + TAIL) + sizeof(struct stk_buffer);
    struct stk_buffer *block = ask(store, all, leave) ? calloc(1, sizeof *block) : NULL;
    if (!block)
        return NULL;
    block->data = stk__memory_take(bytes + TAIL);
    if (!block->data) {
        free(block);
        return NULL;
    }
    memset(block->data + bytes, 0, TAIL);
    atomic_init(&block->refs, 1);
    block->memory = STK_HEAP;
    block->bytes = block->capacity = bytes;
    block->release = free_block;
    block->context = block;
    return block;
}

/* A piece of a block, or a block of its own. Called with the lock held. */
static bool take_bytes(struct stk__store *store, size_t bytes, const struct stk__leave *leave,
                       struct stk_span *out)
{
    const size_t align = bytes < 64 ? 16 : 64;
    if (bytes > LARGEST_PIECE) {
        struct stk_buffer *own = block_new(store, bytes, leave);
        *out = own ? (struct stk_span){ own->data, bytes, own } : (struct stk_span){ 0 };
        return own != NULL;
    }
    size_t at = (store->used + align - 1) / align * align;
    if (!store->block || at + bytes > BLOCK_BYTES) {
        struct stk_buffer *block = block_new(store, BLOCK_BYTES, leave);
        if (!block)
            return false;
        stk__buffer_unref(store->block);
        store->block = block;
        at = 0;
    }
    *out = (struct stk_span){ store->block->data + at, bytes, stk__buffer_ref(store->block) };
    store->used = at + bytes;
    return true;
}

/* ---- keeping ---- */

/* Where the row of a page has its trace, or NULL. */
static struct stk_span *trace_at(const struct stk__chunk *to, int at,
                                 const struct stk__row_ref *from)
{
    return to->trace && from->trace ? &to->trace[at] : NULL;
}

static void drop_spans(const struct stk__chunk *to, int at)
{
    for (int f = 0; f < to->type->n_fields; f++)
        if (to->column[f].span)
            stk__spans_drop(&to->column[f].span[at], 1);
    if (to->trace)
        stk__spans_drop(&to->trace[at], 1);
}

/* Memory for the row's bytes; false, and nothing is taken, if there is not enough. */
static bool take_spans(struct stk__store *store, const struct stk__chunk *to, int at,
                       const struct stk__row_ref *from, const struct stk__leave *leave)
{
    bool has_all = true;
    pthread_mutex_lock(&store->lock);
    for (int f = 0; f < store->type.n_fields && has_all; f++) {
        struct stk_span *span = to->column[f].span;
        if (span && from->column[f].span[from->row].bytes)
            has_all = take_bytes(store, from->column[f].span[from->row].bytes, leave, &span[at]);
    }
    struct stk_span *trace = trace_at(to, at, from);
    if (has_all && trace && from->trace->bytes)
        has_all = take_bytes(store, from->trace->bytes, leave, trace);
    pthread_mutex_unlock(&store->lock);
    if (!has_all)
        drop_spans(to, at);
    return has_all;
}

static void copy_fields(const struct stk__store *store, const struct stk__chunk *to, int at,
                        const struct stk__row_ref *from)
{
    for (int f = 0; f < store->type.n_fields; f++) {
        const struct stk_column *d = &to->column[f], *s = &from->column[f];
        size_t rank = (size_t)d->rank;
        if (!d->span)
            memcpy(d->data + (size_t)at * d->stride, s->data + (size_t)from->row * s->stride,
                   d->stride);
        else if (d->span[at].bytes)
            memcpy(d->span[at].data, s->span[from->row].data, d->span[at].bytes);
        if (d->dims)
            memcpy(d->dims + (size_t)at * rank, s->dims + (size_t)from->row * rank,
                   rank * sizeof *d->dims);
    }
    const struct stk_span *trace = trace_at(to, at, from);
    if (trace && trace->bytes)
        memcpy(trace->data, from->trace->data, trace->bytes);
}

static bool write_row(struct stk__store *store, struct stk__chunk *to, int at,
                      const struct stk__row_ref *from, const struct stk__leave *leave)
{
    if (!from->is_bad && !take_spans(store, to, at, from, leave))
        return false;
    if (to->key && from->key)
        to->key[at] = *from->key;
    if (to->address && from->address)
        to->address[at] = *from->address;
    if (!from->is_bad) {
        copy_fields(store, to, at, from);
        return true;
    }
    const struct stk__fault *fault = from->fault;
    const char *text = fault ? fault->text : "out of memory";
    if (!ask(store, stk__fault_bytes(text), leave))
        return false;
    pthread_mutex_lock(&store->lock);
    stk__chunk_fault(to, at, fault ? fault->code : STK_MEMORY, fault ? fault->op : NULL, text);
    pthread_mutex_unlock(&store->lock);
    return true;
}

bool stk__store_keep(struct stk__store *store, uint64_t number, const struct stk__row_ref *row,
                     const struct stk__leave *leave)
{
    struct page *page = find_page(store, number >> store->shift);
    uint64_t at = number & (page_rows(store) - 1);
    unsigned char absent = ABSENT;
    if (!page && !(page = add_page(store, number >> store->shift, leave)))
        return false;
    if (!atomic_compare_exchange_strong(&page->state[at], &absent, COMING))
        return false;
    bool is_kept = write_row(store, page->chunk, (int)at, row, leave);
    atomic_store_explicit(&page->state[at], is_kept ? THERE : ABSENT, memory_order_release);
    if (!is_kept)
        return false;
    atomic_fetch_add_explicit(&store->n_rows, 1, memory_order_relaxed);
    if (number == atomic_load(&store->prefix))
        atomic_store(&store->prefix, number + 1);
    return true;
}

/* ---- what there is ---- */

struct stk__store_size stk__store_size(const struct stk__store *store)
{
    return (struct stk__store_size){ atomic_load(&store->n_rows), atomic_load(&store->n_bytes) };
}

uint64_t stk__store_prefix(const struct stk__store *store)
{
    return atomic_load(&store->prefix);
}

bool stk__store_is_whole(const struct stk__store *store)
{
    return atomic_load(&store->is_whole);
}

void stk__store_set_whole(struct stk__store *store)
{
    atomic_store(&store->is_whole, true);
}

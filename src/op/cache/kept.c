/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c: one way to rows that are kept, wherever they are. */
#define _GNU_SOURCE
#include "op/cache/kept.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory/purse.h"
#include "base/memory/stream_copy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The number of a record that says how many rows there are in all. */
static const uint64_t end_number = UINT64_MAX;

struct stk__kept {
    struct stk__store *store; /* in memory; else NULL, and the rest */
    struct stk_type type;
    char *directory, *text;
    int level;
    pthread_mutex_t lock; /* guards the opening */
    _Atomic(struct stk__row_log *) log;
    atomic_uint_fast64_t prefix;
    atomic_bool is_whole;
    atomic_size_t table_bytes; /* of the log's table: on the purse of the process */
};

struct stk__kept *stk__kept_new(const struct stk_type *type, int parts, bool is_sparse,
                                const struct stk__kept_home *home)
{
    struct stk__kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    pthread_mutex_init(&kept->lock, NULL);
    kept->type = *type;
    kept->level = home->level;
    if (home->directory) {
        kept->directory = strdup(home->directory);
        kept->text = strdup(home->text);
    } else
        kept->store = stk__store_new(type, parts, is_sparse);
    if (!kept->store && (!kept->directory || !kept->text)) {
        stk__kept_free(kept);
        return NULL;
    }
    return kept;
}

void stk__kept_free(struct stk__kept *kept)
{
    if (!kept)
        return;
    stk__store_free(kept->store);
    stk__purse_note(STK__KEEPS_CACHE, -(int64_t)atomic_load(&kept->table_bytes));
    stk__row_log_close(atomic_load(&kept->log));
    free(kept->directory);
    free(kept->text);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

bool stk__kept_end_of(struct stk__row_log *log, uint64_t *end)
{
    struct stk__log_entry entry;
    struct stk__copy piece = { (uint8_t *)end, NULL, sizeof *end };
    return stk__row_log_find(log, end_number, &entry) && entry.bytes == sizeof *end &&
           stk__row_log_read(log, &entry, &piece, 1);
}

/* How far the rows go that came in order, and whether the last of them is there. */
static void find_prefix(struct stk__kept *kept, struct stk__row_log *log)
{
    struct stk__log_entry entry;
    uint64_t n = 0, end = 0;
    while (stk__row_log_find(log, n, &entry))
        n++;
    atomic_store(&kept->prefix, n);
    atomic_store(&kept->is_whole, stk__kept_end_of(log, &end) && end == n);
}

int stk__kept_begin(struct stk__kept *kept, struct stk_error *err)
{
    struct stk__row_log *log = NULL;
    int rc = STK_OK;
    if (kept->store)
        return STK_OK;
    pthread_mutex_lock(&kept->lock);
    if (!atomic_load(&kept->log) &&
        !(rc = stk__row_log_open(kept->directory, kept->text, &log, err))) {
        find_prefix(kept, log);
        atomic_store(&kept->table_bytes, stk__row_log_bytes(log));
        stk__purse_note(STK__KEEPS_CACHE, (int64_t)atomic_load(&kept->table_bytes));
        atomic_store(&kept->log, log);
    }
    pthread_mutex_unlock(&kept->lock);
    if (rc)
        stk__error_prefix(err, "cache: ");
    return rc;
}

struct stk__store *stk__kept_store(struct stk__kept *kept)
{
    return kept->store;
}

bool stk__kept_has(struct stk__kept *kept, uint64_t number)
{
    struct stk__log_entry entry;
    struct stk__row_log *log = atomic_load(&kept->log);
    return kept->store ? stk__store_has(kept->store, number)
                       : log && stk__row_log_find(log, number, &entry);
}

static void load_stored(struct stk__store *store, struct stk__stored at,
                        const struct stk__row_place *to)
{
    for (int f = 0; f < at.page->type->n_fields; f++) {
        const struct stk_column *d = &to->column[f], *s = &at.page->column[f];
        size_t rank = (size_t)d->rank, row = (size_t)to->row, from = (size_t)at.row;
        if (d->data)
            stk__copy_row(d->data + row * d->stride, s->data + from * s->stride, d->stride);
        else
            d->span[row] = s->span[from];
        if (d->dims)
            memcpy(d->dims + row * rank, s->dims + from * rank, rank * sizeof *d->dims);
    }
    if (to->key && at.page->key)
        *to->key = at.page->key[at.row];
    *to->mask = at.page->mask[at.row];
    if (*to->mask == STK_BAD)
        stk__store_add_fault(store, at, to->row, to->faults);
}

/* The next run finds no more in order than there is. */
static void lower_prefix(struct stk__kept *kept, uint64_t number)
{
    uint_fast64_t prefix = atomic_load(&kept->prefix);
    while (prefix > number && !atomic_compare_exchange_weak(&kept->prefix, &prefix, number))
        ;
    if (prefix > number)
        atomic_store(&kept->is_whole, false);
}

int stk__kept_load(struct stk__kept *kept, uint64_t number, const struct stk__row_place *to)
{
    struct stk__stored at;
    if (!kept->store) {
        int rc = stk__row_image_read(atomic_load(&kept->log), number, &kept->type, to);
        if (rc == STK_DATA)
            lower_prefix(kept, number);
        return rc;
    }
    if (!stk__store_find(kept->store, number, 1, &at))
        return STK_DATA;
    load_stored(kept->store, at, to);
    return STK_OK;
}

/* A row that is there, behind one that was lost: true if it is good, or is now. */
static bool add_again(struct stk__kept *kept, struct stk__row_log *log, uint64_t number,
                      const struct stk__row_ref *row)
{
    struct stk__log_entry entry;
    if (!stk__row_log_find(log, number, &entry))
        return false;
    struct stk__copy piece = { malloc(entry.bytes + 1), NULL, entry.bytes };
    bool is_good = piece.dst && stk__row_log_read(log, &entry, &piece, 1);
    bool is_bad = piece.dst && !is_good;
    free(piece.dst);
    if (is_bad)
        stk__row_log_lose(log, number);
    return is_good || (is_bad && stk__row_image_add(log, number, &kept->type, row, kept->level));
}

/* Whether there is memory for the table with one more record. It is said to be taken before anybody is
 * asked, so that two do not ask for the same. */
static bool has_room(struct stk__kept *kept, struct stk__row_log *log,
                     const struct stk__leave *leave)
{
    size_t had = atomic_load(&kept->table_bytes), wanted = stk__row_log_bytes(log);
    if (wanted <= had || !atomic_compare_exchange_strong(&kept->table_bytes, &had, wanted))
        return true;
    bool has_leave = leave->ask(leave->ctx, wanted - had);
    if (!has_leave)
        atomic_store(&kept->table_bytes, had);
    return has_leave;
}

void stk__kept_keep(struct stk__kept *kept, uint64_t number, const struct stk__row_ref *row,
                    const struct stk__leave *leave)
{
    struct stk__row_log *log = atomic_load(&kept->log);
    if (stk__cancel_is_asked())
        return; /* it may be half done, and the next run would take it for whole */
    if (kept->store) {
        stk__store_keep(kept->store, number, row, leave);
        return;
    }
    if (!log || !has_room(kept, log, leave) ||
        (!stk__row_image_add(log, number, &kept->type, row, kept->level) &&
         !add_again(kept, log, number, row)))
        return;
    uint_fast64_t expected = number;
    atomic_compare_exchange_strong(&kept->prefix, &expected, number + 1);
}

uint64_t stk__kept_prefix(const struct stk__kept *kept)
{
    return kept->store ? stk__store_prefix(kept->store) : atomic_load(&kept->prefix);
}

bool stk__kept_is_whole(const struct stk__kept *kept)
{
    return kept->store ? stk__store_is_whole(kept->store) : atomic_load(&kept->is_whole);
}

void stk__kept_set_whole(struct stk__kept *kept)
{
    if (kept->store) {
        stk__store_set_whole(kept->store);
        return;
    }
    uint64_t end = atomic_load(&kept->prefix);
    const struct iovec piece = { &end, sizeof end };
    stk__row_log_add(atomic_load(&kept->log), end_number, 0, &piece, 1);
    atomic_store(&kept->is_whole, true);
}

struct stk__kept_size stk__kept_size(struct stk__kept *kept)
{
    struct stk__kept_size size = { 0 };
    struct stk__row_log *log = atomic_load(&kept->log);
    if (kept->store) {
        const struct stk__store_size stored = stk__store_size(kept->store);
        size.rows = stored.rows;
        size.bytes = stored.bytes;
    } else if (log) {
        const struct stk__log_state state = stk__row_log_state(log);
        size.rows = state.n - atomic_load(&kept->is_whole); /* that says so */
        size.bytes = atomic_load(&kept->table_bytes);
        size.disk_bytes = state.bytes;
        size.n_lost = state.n_lost;
        memcpy(size.why, state.why, sizeof size.why);
    }
    return size;
}

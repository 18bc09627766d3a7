/* SPDX-License-Identifier: Apache-2.0 */
/* pack_writer.c: threads that take blocks of shards to their files.
 *
 *     caller: elements ──▶ a block per shard ──▶ queue ──▶ threads: compress ──▶ in turn: write
 *
 * Blocks leave the queue in the order they came. A thread compresses its block at once and then waits
 * until the blocks before it in the same shard are written; those left the queue earlier, so somebody
 * has them and nobody waits for ever. The last block of a shard completes it.
 */
#define _GNU_SOURCE
#include "pack/pack.h"

#include "base/cores.h"

#include <stdlib.h>

enum { MAX_THREADS = 16 };

struct stk__pack_block {
    struct stk__pack_block *next;
    int64_t shard;
    uint64_t turn; /* its number in the shard */
    bool is_last;
    struct stk__text raw, packed;
    struct stk__deflate_sum sum;
};

struct stk__pack_writer {
    struct stk__pack *pack;
    pthread_mutex_t lock;           /* guards all that follows, and n_written of the shards */
    pthread_cond_t queued, written; /* for the threads; for those who wait for their turn or room */
    struct stk__pack_block *head, *tail, *spare;
    int n_blocks, max_blocks; /* made */
    bool is_ending;
    atomic_int rc; /* the first failure; set under the lock, looked at by the caller without it */
    struct stk_error err;
    struct stk_pack_progress done;
    pthread_t thread[MAX_THREADS];
    int n_threads;
};

/* ---- one block ---- */

static void compress_block(struct stk__deflater *deflater, struct stk__pack_block *block)
{
    if (deflater && block->raw.len)
        stk__deflate_block(deflater, block->raw.data, block->raw.len, &block->packed, &block->sum);
}

static int begin_shard(struct stk__pack *pack, struct stk__pack_shard *shard, struct stk_error *err)
{
    struct stk__text head = { 0 };
    shard->sum = stk__deflate_sum_begin(pack->form);
    stk__deflate_head(pack->form, &head);
    int rc =
        head.failed ? stk__out_of_memory(err) : stk__file_out_open(&shard->file, shard->path, err);
    if (!rc)
        rc = stk__file_out_write(&shard->file, head.data, head.len, err);
    stk__text_free(&head);
    return rc;
}

/* Synced, listed, named; in this order. */
static int complete_shard(struct stk__pack_writer *w, int64_t s, struct stk_error *err)
{
    struct stk__pack *pack = w->pack;
    struct stk__pack_shard *shard = &pack->shard[s];
    struct stk__text tail = { 0 };
    stk__deflate_tail(pack->form, shard->sum, &tail);
    int rc = tail.failed ? stk__out_of_memory(err)
                         : stk__file_out_write(&shard->file, tail.data, tail.len, err);
    stk__text_free(&tail);
    shard->bytes = shard->file.bytes;
    shard->crc = shard->file.crc;
    if (!rc)
        rc = stk__file_out_sync(&shard->file, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&w->lock);
    rc = stk__pack_note_shard(pack, s, err);
    pthread_mutex_unlock(&w->lock);
    return rc ? rc : stk__file_out_commit(&shard->file, err);
}

static int write_block(struct stk__pack_writer *w, struct stk__pack_block *block,
                       struct stk_error *err)
{
    struct stk__pack *pack = w->pack;
    struct stk__pack_shard *shard = &pack->shard[block->shard];
    const struct stk__text *text = pack->form == STK__FORM_PLAIN ? &block->raw : &block->packed;
    if (block->raw.failed || block->packed.failed)
        return stk__out_of_memory(err);
    int rc = block->turn ? STK_OK : begin_shard(pack, shard, err);
    if (!rc && pack->form != STK__FORM_PLAIN && block->raw.len)
        shard->sum = stk__deflate_sum_join(pack->form, shard->sum, block->sum);
    if (!rc)
        rc = stk__file_out_write(&shard->file, text->data, text->len, err);
    if (!rc && block->is_last)
        rc = complete_shard(w, block->shard, err);
    return rc;
}

/* ---- threads; under the lock unless said otherwise ---- */

static void wait_for_turn(struct stk__pack_writer *w, const struct stk__pack_block *block)
{
    while (w->pack->shard[block->shard].n_written != block->turn)
        pthread_cond_wait(&w->written, &w->lock);
}

static void finish_block(struct stk__pack_writer *w, struct stk__pack_block *block, int rc,
                         const struct stk_error *err)
{
    struct stk__pack_shard *shard = &w->pack->shard[block->shard];
    if (rc && !w->rc) {
        w->err = *err;
        w->rc = rc;
    } else if (!rc && !w->rc) {
        w->done.bytes += w->pack->form == STK__FORM_PLAIN ? block->raw.len : block->packed.len;
        w->done.shards_done += block->is_last;
        if (block->is_last)
            shard->is_done = true;
    }
    shard->n_written++;
    block->raw.len = block->packed.len = 0;
    block->next = w->spare;
    w->spare = block;
    pthread_cond_broadcast(&w->written);
}

static void carry_out(struct stk__pack_writer *w, struct stk__pack_block *block,
                      struct stk__deflater *deflater)
{
    struct stk_error err = { 0 };
    int rc = w->rc;
    pthread_mutex_unlock(&w->lock);
    if (!rc)
        compress_block(deflater, block);
    pthread_mutex_lock(&w->lock);
    wait_for_turn(w, block);
    rc = w->rc;
    pthread_mutex_unlock(&w->lock);
    if (!rc)
        rc = write_block(w, block, &err);
    pthread_mutex_lock(&w->lock);
    finish_block(w, block, rc, &err);
}

static void *work(void *context)
{
    struct stk__pack_writer *w = context;
    bool is_plain = w->pack->form == STK__FORM_PLAIN;
    struct stk__deflater *deflater = is_plain ? NULL : stk__deflater_new(w->pack->form);
    pthread_mutex_lock(&w->lock);
    if (!is_plain && !deflater && !w->rc)
        w->rc = stk__out_of_memory(&w->err);
    for (;;) {
        struct stk__pack_block *block = w->head;
        if (block) {
            w->head = block->next;
            carry_out(w, block, deflater);
        } else if (w->is_ending) {
            break;
        } else {
            pthread_cond_wait(&w->queued, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    stk__deflater_free(deflater);
    return NULL;
}

/* ---- the caller's side ---- */

static int failure(struct stk__pack_writer *w, struct stk_error *err)
{
    pthread_mutex_lock(&w->lock);
    if (err && w->rc)
        *err = w->err;
    pthread_mutex_unlock(&w->lock);
    return w->rc;
}

/* An empty block, waiting for one to come back where too many are out. */
static struct stk__pack_block *take_block(struct stk__pack_writer *w)
{
    struct stk__pack_block *block = NULL;
    pthread_mutex_lock(&w->lock);
    while (!w->spare && w->n_blocks >= w->max_blocks)
        pthread_cond_wait(&w->written, &w->lock);
    if (w->spare) {
        block = w->spare;
        w->spare = block->next;
    } else if ((block = calloc(1, sizeof *block))) {
        w->n_blocks++;
    }
    pthread_mutex_unlock(&w->lock);
    return block;
}

static void submit(struct stk__pack_writer *w, struct stk__pack_shard *shard, bool is_last)
{
    struct stk__pack_block *block = shard->block;
    block->is_last = is_last;
    block->turn = shard->n_submitted++;
    block->next = NULL;
    shard->block = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->head)
        w->tail->next = block;
    else
        w->head = block;
    w->tail = block;
    pthread_cond_signal(&w->queued);
    pthread_mutex_unlock(&w->lock);
}

static int need_block(struct stk__pack_writer *w, int64_t s, struct stk_error *err)
{
    struct stk__pack_shard *shard = &w->pack->shard[s];
    if (w->rc)
        return failure(w, err);
    if (!shard->block && !(shard->block = take_block(w)))
        return stk__out_of_memory(err);
    shard->block->shard = s;
    return STK_OK;
}

int stk__pack_writer_add(struct stk__pack_writer *w, int64_t s,
                         const struct stk__record_value *value, uint64_t number,
                         struct stk_error *err)
{
    struct stk__pack *pack = w->pack;
    struct stk__pack_shard *shard = &pack->shard[s];
    int rc = need_block(w, s, err);
    if (rc)
        return rc;
    struct stk__text *out = &shard->block->raw;
    rc = pack->format->write(&pack->layout, value, number, out, err);
    if (rc || out->failed)
        return rc ? rc : stk__out_of_memory(err);
    shard->n_elements++;
    if (out->len >= pack->block_bytes)
        submit(w, shard, false);
    return STK_OK;
}

int stk__pack_writer_end(struct stk__pack_writer *w, int64_t s, struct stk_error *err)
{
    struct stk__pack_shard *shard = &w->pack->shard[s];
    int rc = need_block(w, s, err);
    if (rc)
        return rc;
    w->pack->format->finish(&shard->block->raw);
    if (shard->block->raw.failed)
        return stk__out_of_memory(err);
    submit(w, shard, true);
    return STK_OK;
}

void stk__pack_writer_count(struct stk__pack_writer *w, struct stk_pack_progress *out)
{
    pthread_mutex_lock(&w->lock);
    out->bytes = w->done.bytes;
    out->shards_done = w->done.shards_done;
    pthread_mutex_unlock(&w->lock);
}

/* Compressing may use every core; writing alone needs one thread, and one that waits for storage. */
static int thread_count(const struct stk__pack *pack)
{
    int64_t n = pack->form == STK__FORM_PLAIN ? 2 : pack->options.workers;
    if (n == STK_AUTO)
        n = stk__cores_count("").usable;
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

int stk__pack_writer_new(struct stk__pack *pack, struct stk__pack_writer **out,
                         struct stk_error *err)
{
    struct stk__pack_writer *w = calloc(1, sizeof *w);
    *out = w;
    if (!w)
        return stk__out_of_memory(err);
    w->pack = pack;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->queued, NULL);
    pthread_cond_init(&w->written, NULL);
    int n = thread_count(pack);
    w->max_blocks = 2 * n + 1 + (pack->is_ranged ? 0 : (int)pack->n_shards);
    while (w->n_threads < n && !pthread_create(&w->thread[w->n_threads], NULL, work, w)) {
        pthread_setname_np(w->thread[w->n_threads], "stoker-pack");
        w->n_threads++;
    }
    return w->n_threads ? STK_OK : stk_fail(err, STK_MEMORY, "cannot start a thread");
}

static void free_block(struct stk__pack_block *block)
{
    stk__text_free(&block->raw);
    stk__text_free(&block->packed);
    free(block);
}

int stk__pack_writer_finish(struct stk__pack_writer *w, bool is_cancelled, struct stk_error *err)
{
    if (!w)
        return STK_OK;
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    if (is_cancelled && !w->rc)
        w->rc = STK_CANCELLED;
    pthread_cond_broadcast(&w->queued);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n_threads; i++)
        pthread_join(w->thread[i], NULL);
    int rc = is_cancelled ? STK_OK : failure(w, err);
    for (int64_t s = 0; s < w->pack->n_shards; s++) {
        stk__file_out_discard(&w->pack->shard[s].file);
        if (w->pack->shard[s].block)
            free_block(w->pack->shard[s].block);
        w->pack->shard[s].block = NULL;
    }
    for (struct stk__pack_block *next, *block = w->spare; block; block = next) {
        next = block->next;
        free_block(block);
    }
    pthread_cond_destroy(&w->queued);
    pthread_cond_destroy(&w->written);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return rc;
}

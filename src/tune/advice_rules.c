/* SPDX-License-Identifier: Apache-2.0 */
/* advice_rules.c: what to do about verdicts, one rule after the other. */
#include "tune/advice_rules.h"

#include "base/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_bound(const struct stk__situation *s, enum stk__bound bound)
{
    return s->verdict->bound == bound;
}

static const char *whole(const struct stk__chain_edit *chain)
{
    return stk__edit_text(chain, 0, chain->n);
}

static double model_gain(const struct stk__situation *s, const struct stk__time_model *changed)
{
    struct stk__time_model now;
    stk__model_of(s->stretch, s->verdict, &now);
    double rate = stk__model_rate(&now);
    return rate > 0 ? stk__model_rate(changed) / rate : 0;
}

/* ---- options that were given ---- */

STK__ADVICE_RULE(stk__advise_workers)
{
    if (!is_bound(s, STK__BOUND_WORKERS))
        return STK_OK;
    struct stk__time_model m;
    stk__model_of(s->stretch, s->verdict, &m);
    m.workers = s->stretch->cores;
    out->gain = model_gain(s, &m);
    out->option = "workers";
    out->value = "auto";
    out->trial = whole(chain);
    out->text =
        stk__arena_printf(s->arena,
                          "let it use every core: leave the option workers out, which is %d "
                          "here and %d by itself",
                          s->stretch->workers, s->stretch->cores);
    return out->text && out->trial ? STK_OK : STK_MEMORY;
}

STK__ADVICE_RULE(stk__advise_memory)
{
    if (!is_bound(s, STK__BOUND_MEMORY))
        return STK_OK;
    long long bytes = (long long)(4 * s->stretch->budget_bytes);
    out->option = "memory";
    out->value = stk__arena_printf(s->arena, "%lld", bytes);
    out->trial = whole(chain);
    out->text =
        stk__arena_printf(s->arena,
                          "give it more memory: a budget of %lld MB instead of %.0f MB, or less to "
                          "keep (a smaller batch or shuffle buffer)",
                          bytes >> 20, s->stretch->budget_bytes / (1 << 20));
    return out->text && out->value && out->trial ? STK_OK : STK_MEMORY;
}

STK__ADVICE_RULE(stk__advise_io_depth)
{
    if (!is_bound(s, STK__BOUND_STORAGE) || s->options->io_depth == STK_AUTO)
        return STK_OK;
    out->option = "io_depth";
    out->value = "auto";
    out->trial = whole(chain);
    out->text =
        stk__arena_printf(s->arena,
                          "let it find out how many reads the storage takes at a time: leave "
                          "the option io_depth out, which is %lld here",
                          (long long)s->options->io_depth);
    return out->text && out->trial ? STK_OK : STK_MEMORY;
}

STK__ADVICE_RULE(stk__advise_window)
{
    if (!is_bound(s, STK__BOUND_ORDER))
        return STK_OK;
    struct stk__chain_edit edit;
    int prefetch = stk__edit_find(chain, "prefetch", 0);
    bool is_given = s->options->window != STK_AUTO || prefetch >= 0;
    if (!is_given || stk__edit_copy(&edit, chain))
        return is_given ? STK_MEMORY : STK_OK;
    if (prefetch >= 0) {
        stk__edit_replace(&edit, prefetch, "prefetch()");
        out->chain = whole(&edit);
    }
    out->option = "window";
    out->value = "auto";
    out->trial = whole(&edit);
    out->text = "let more batches be in flight, so that a slow element holds up nobody: leave the "
                "option window and the number of prefetch out";
    return out->trial ? STK_OK : STK_MEMORY;
}

/* ---- what is the same in every epoch ---- */

/* Ops whose rows are another time the same: neither random, nor made by a function that nobody
 * knows. */
static bool is_repeatable(const struct stk__op *op)
{
    return op && !(op->flags & (STK_OP_RANDOM | STK__OP_BATCH | STK__OP_REPEAT)) && !op->exclusive;
}

static bool is_order(const struct stk__op *op)
{
    return op && op->flags & STK__OP_SHUFFLES;
}

/* Behind the last op on rows up to which everything is the same in every epoch; 0: there is none. */
static int repeatable_end(const struct stk__chain_edit *chain)
{
    int end = 0;
    for (int i = 0; i < chain->n; i++) {
        const struct stk__op *op = stk__edit_op(chain, i);
        if (!is_order(op) && !is_repeatable(op))
            break;
        if (op->row.run && !(op->flags & STK_OP_FILTER))
            end = i + 1;
    }
    return end;
}

/* What ops of calls before `end` took of the processors, as a share of all. */
static double share_before(const struct stk__situation *s, int end)
{
    double before = 0, all = 0;
    for (int i = 0; i < s->stretch->n_ops; i++) {
        const struct stk__stretch_op *op = &s->stretch->op[i];
        all += op->cpu_s;
        const struct stk_value *value = s->dataset->value;
        bool is_before = op->node && end < value->n_calls ? op->node->at < value->call[end].at
                                                          : op->node != NULL;
        before += is_before ? op->cpu_s : 0;
    }
    return all > 0 ? before / all : 0;
}

/* The node whose rows come out of call end - 1; NULL where a rewrite has moved it. One that
 * carries out others stands where the last of them did; what it was put together from is no
 * longer in the tree, but is there. */
static const struct stk__node *node_before(const struct stk__situation *s, int end)
{
    const struct stk_value *value = s->dataset->value;
    const struct stk__node *node = s->dataset->root;
    for (int i = 0; i < s->dataset->n_nodes; i++)
        if (s->dataset->node[i]->at == value->call[end - 1].at && !s->dataset->node[i]->is_inserted)
            return s->dataset->node[i];
    while (node && node->n_inputs == 1 && end < value->n_calls && node->at >= value->call[end].at)
        node = node->input[0];
    return node;
}

/* Bytes of a row there, as far as types or the run tell; 0: unknown. */
static double row_bytes(const struct stk__situation *s, const struct stk__node *node)
{
    double bytes = 0;
    for (int f = 0; f < node->type.n_fields; f++) {
        const struct stk_field *field = &node->type.field[f];
        if (field->kind == STK_FIXED) {
            bytes += (double)stk_field_bytes(field);
            continue;
        }
        for (int i = 0; i < s->stretch->n_ops; i++)
            if (s->stretch->op[i].node == node && s->stretch->op[i].rows > 0)
                bytes += s->stretch->op[i].bytes / s->stretch->op[i].rows;
    }
    return bytes;
}

/* The same chain with `call` behind call end - 1, and what shuffles before it behind that. */
static int put_in(const struct stk__chain_edit *chain, int end, const char *call,
                  struct stk__chain_edit *edit)
{
    int rc = stk__edit_copy(edit, chain);
    rc = rc ? rc : stk__edit_insert(edit, end, call);
    for (int i = 0, at = end; !rc && i < at; i++) {
        if (!is_order(stk__edit_op(edit, i)))
            continue;
        const char *moved = edit->call[i];
        stk__edit_remove(edit, i--);
        rc = stk__edit_insert(edit, at--, moved);
    }
    return rc;
}

/* The trial of a cache goes over a part of the data again and again. Where that is small it would be read
 * from the processor's own caches, which the whole does not fit into: so it is kept as often as it takes to
 * have the bytes of the whole, or what is far beyond those caches. */
static const char *cache_trial(const struct stk__situation *s, const struct stk__chain_edit *chain,
                               int end, const struct stk__node *node)
{
    const long long most = 1000000;
    const double most_bytes = 256 << 20;
    long long n = stk__stretch_sample(s->stretch, most);
    double bytes = row_bytes(s, node), all = bytes * (double)node->count;
    double wanted = (all < most_bytes ? all : most_bytes) / (bytes * (double)n);
    const char *take = stk__arena_printf(s->arena, "take(%lld)", n), *keep = "cache()";
    if (wanted > 1)
        keep = stk__arena_printf(s->arena, "cache().repeat(%.0f).cache()", ceil(wanted));
    struct stk__chain_edit edit;
    bool is_made = take && keep && !put_in(chain, end, keep, &edit);
    return is_made && !stk__edit_insert(&edit, 1, take) ? whole(&edit) : NULL;
}

STK__ADVICE_RULE(stk__advise_cache)
{
    int end = repeatable_end(chain);
    const struct stk__node *node = end ? node_before(s, end) : NULL;
    bool is_useful = is_bound(s, STK__BOUND_COMPUTE) || is_bound(s, STK__BOUND_STORAGE) ||
                     is_bound(s, STK__BOUND_SERIAL) || is_bound(s, STK__BOUND_ORDER) ||
                     is_bound(s, STK__BOUND_OTHERS); /* needs fewer of the cores */
    if (!stk__op_find("cache") || !node || node->count < 0 || !is_useful ||
        stk__edit_find(chain, "cache", 0) >= 0)
        return STK_OK;
    double bytes = row_bytes(s, node) * (double)node->count;
    bool fits = bytes < 0.7 * s->stretch->budget_bytes;
    struct stk__chain_edit edit;
    int rc = put_in(chain, end, fits ? "cache()" : "cache('cache')", &edit);
    if (rc)
        return rc;
    struct stk__time_model m;
    stk__model_of(s->stretch, s->verdict, &m);
    m.compute *= 1 - share_before(s, end);
    m.reads = m.serial = 0;
    out->gain = model_gain(s, &m);
    out->chain = whole(&edit);
    out->trial = fits ? cache_trial(s, chain, end, node) : NULL;
    out->warms_up = true;
    out->text =
        stk__arena_printf(s->arena,
                          "keep what %s makes: it is the same in every epoch, about %.0f MB%s; "
                          "from the second epoch on",
                          chain->name[end - 1], bytes / (1 << 20), fits ? "" : ", on the disk");
    return out->chain && out->text && (out->trial || !fits) ? STK_OK : STK_MEMORY;
}

/* What the first `end` calls make is stored, without what shuffles among them, which comes behind. */
static int propose_pack(const struct stk__situation *s, const struct stk__chain_edit *chain,
                        int end, struct stk__proposal *out)
{
    struct stk__text stored = { 0 }, rest = { 0 };
    for (int i = 0; i < chain->n; i++) {
        struct stk__text *to = i >= end || is_order(stk__edit_op(chain, i)) ? &rest : &stored;
        stk__text_add(to, "%s%s", to->len ? "." : "", chain->call[i]);
    }
    bool has_failed = stored.failed || rest.failed || !stored.data;
    out->stored = has_failed ? NULL : stk_arena_text(s->arena, stored.data);
    out->rest = has_failed ? NULL : stk_arena_text(s->arena, rest.data ? rest.data : "");
    stk__text_free(&stored);
    stk__text_free(&rest);
    char variants[40] = "";
    if (out->variants)
        snprintf(variants, sizeof variants, " --variants %d", out->variants);
    out->command = stk__arena_printf(
        s->arena, "stoker pack \"%s\" --out 'packed-{shard:05d}.tfrecord' --shards 16%s",
        out->stored ? out->stored : "", variants);
    return out->stored && out->rest && out->command ? STK_OK : STK_MEMORY;
}

STK__ADVICE_RULE(stk__advise_pack)
{
    int end = repeatable_end(chain);
    if (!end || !is_bound(s, STK__BOUND_COMPUTE) || share_before(s, end) < 0.2)
        return STK_OK;
    out->text = "store what is the same in every epoch, and read that";
    return propose_pack(s, chain, end, out);
}

/* The call that the costliest op is; -1 if it was put in by us. */
static int costliest_call(const struct stk__situation *s, const struct stk__chain_edit *chain)
{
    const struct stk_value *value = s->dataset->value;
    const struct stk__node *node = s->verdict->op >= 0 ? s->stretch->op[s->verdict->op].node : NULL;
    for (int i = 0; node && i < chain->n && i < value->n_calls; i++)
        if (value->call[i].at == node->at && !node->is_inserted)
            return i;
    return -1;
}

STK__ADVICE_RULE(stk__advise_variants)
{
    enum { VARIANTS = 4 };
    int at = costliest_call(s, chain);
    const struct stk__op *op = at >= 0 ? stk__edit_op(chain, at) : NULL;
    if (!is_bound(s, STK__BOUND_COMPUTE) || !op || !(op->flags & STK_OP_RANDOM) || !op->row.run)
        return STK_OK;
    int end = at + 1;
    while (end < chain->n && stk__edit_op(chain, end) && stk__edit_op(chain, end)->row.run)
        end++;
    out->variants = VARIANTS;
    out->text = stk__arena_printf(
        s->arena,
        "store %d variants of each element as %s makes them, and read those: the model then "
        "sees these %d again and again",
        VARIANTS, chain->name[at], VARIANTS);
    return out->text ? propose_pack(s, chain, end, out) : STK_MEMORY;
}

/* ---- what is read ---- */

STK__ADVICE_RULE(stk__advise_small)
{
    const double most_bytes = 1 << 18, large = 1 << 20;
    const struct stk__stretch *t = s->stretch;
    bool are_files =
        stk__edit_find(chain, "files", 0) == 0 || stk__edit_find(chain, "image_folder", 0) == 0;
    if (!is_bound(s, STK__BOUND_STORAGE) || !are_files || t->reads <= 0 ||
        t->read_bytes / t->reads > most_bytes)
        return STK_OK;
    struct stk__time_model m;
    stk__model_of(t, s->verdict, &m);
    m.reads *= t->read_bytes / t->reads / large; /* as many requests less */
    out->gain = model_gain(s, &m);
    out->stored = stk__arena_printf(s->arena, "%s.read()", chain->call[0]);
    out->rest = chain->n > 1 ? stk__edit_text(chain, 1, chain->n) : "";
    out->command = stk__arena_printf(
        s->arena, "stoker pack \"%s\" --out 'packed-{shard:05d}.tfrecord' --shards 16",
        out->stored ? out->stored : "");
    out->text = stk__arena_printf(s->arena,
                                  "put the files into a few large ones: each is a read of %.0f KB "
                                  "that waits %.1f ms",
                                  t->read_bytes / t->reads / 1024, t->read_s / t->reads * 1e3);
    return out->stored && out->rest && out->command && out->text ? STK_OK : STK_MEMORY;
}

STK__ADVICE_RULE(stk__advise_scale)
{
    int at = stk__edit_find(chain, "decode", 0);
    bool is_compute = is_bound(s, STK__BOUND_COMPUTE) || is_bound(s, STK__BOUND_WORKERS);
    if (at < 0 || !is_compute || strstr(chain->call[at], "scale"))
        return STK_OK;
    int resize = stk__edit_find(chain, "resize", at + 1);
    if (resize < 0)
        resize = stk__edit_find(chain, "random_resized_crop", at + 1);
    if (resize < 0)
        return STK_OK;
    struct stk__chain_edit edit;
    int rc = stk__edit_copy(&edit, chain);
    const char *call = rc ? NULL : stk__edit_with(&edit, at, "scale=auto");
    if (!call)
        return STK_MEMORY;
    stk__edit_replace(&edit, at, call);
    out->chain = out->trial = whole(&edit);
    out->text = "decode large JPEG files smaller where the resize has no use for all of it (pixels "
                "differ a little)";
    return out->chain ? STK_OK : STK_MEMORY;
}

/* The lock is that of functions of the caller: Python's. */
static bool is_function(const struct stk__situation *s)
{
    int at = s->verdict->stage;
    const char *lock = at >= 0 ? s->stretch->stage[at].lock : NULL;
    return lock && !strcmp(lock, "function");
}

STK__ADVICE_RULE(stk__advise_unpack)
{
    bool is_lock = is_bound(s, STK__BOUND_LOCK) && !is_function(s);
    bool is_source = is_bound(s, STK__BOUND_SERIAL) && s->verdict->stage >= 0 &&
                     s->stretch->stage[s->verdict->stage].is_source;
    if (!is_lock && !is_source)
        return STK_OK;
    out->text = stk__arena_printf(s->arena,
                                  "store the records of %s once more, uncompressed: then any of "
                                  "them can be read by any thread, "
                                  "and shuffled as a whole",
                                  chain->name[0]);
    return out->text ? propose_pack(s, chain, 1, out) : STK_MEMORY;
}

/* ---- functions and batches ---- */

STK__ADVICE_RULE(stk__advise_processes)
{
    if (!is_bound(s, STK__BOUND_LOCK) || !is_function(s))
        return STK_OK;
    const double trip_s =
        70e-6; /* to a helper and back: that much here, with the lock, and there */
    struct stk__time_model m;
    stk__model_of(s->stretch, s->verdict, &m);
    m.compute += m.lock + trip_s;
    m.lock = trip_s;
    out->gain = model_gain(s, &m);
    out->is_elsewhere = true;
    out->text = "run the function in processes of its own, where Python's lock holds nobody up: "
                "map(function, workers='process'); or as an expression, map('…'), which needs no "
                "Python at all";
    (void)chain;
    return STK_OK;
}

STK__ADVICE_RULE(stk__advise_batch_size)
{
    int at = stk__edit_find(chain, "batch", 0);
    if (!is_bound(s, STK__BOUND_BATCHES) || at < 0)
        return STK_OK;
    struct stk__chain_edit edit;
    int rc = stk__edit_copy(&edit, chain);
    if (rc)
        return rc;
    stk__edit_replace(&edit, at, "batch(256)");
    out->chain = out->trial = whole(&edit);
    out->text =
        stk__arena_printf(s->arena,
                          "take more at a time: a batch of %.0f elements is handed over for "
                          "each step, which costs more than its elements",
                          s->stretch->elements / s->stretch->batches);
    return out->chain && out->text ? STK_OK : STK_MEMORY;
}

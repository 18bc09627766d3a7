/* SPDX-License-Identifier: Apache-2.0 */
/* exec_chain.c: chains that are valid by construction. Every random choice comes from one counter,
 * so a seed names a chain and everything that is done with it. */
#include "exec_chain.h"

#include "base/hash.h"
#include "exec/plan/options.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static uint64_t random_state;

void random_begin(uint64_t seed)
{
    random_state = seed << 20;
}
uint64_t random_below(uint64_t n)
{
    return stk__hash_mix(random_state++, 5) % n;
}
bool one_in(uint64_t n)
{
    return random_below(n) == 0;
}

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)random_below((uint64_t)(high - low + 1));
}

/* ---- what a call yields ---- */

static bool is_source(enum call_kind kind)
{
    return kind <= CALL_STREAM;
}
static bool is_row_call(enum call_kind kind)
{
    return kind > CALL_STREAM && kind <= CALL_PREFETCH;
}

static bool has_call(const struct call *c, enum call_kind kind)
{
    bool found = c->kind == kind;
    for (int i = 0; i < c->n_inputs && !found; i++)
        found = has_call(c->input[i], kind);
    return found;
}

static enum stk__op_class class_of(const struct call *c)
{
    enum stk__op_class weakest = STK__INDEXED;
    for (int i = 0; i < c->n_inputs; i++)
        weakest = c->input[i]->class > weakest ? c->input[i]->class : weakest;
    if (c->kind == CALL_STREAM || c->kind == CALL_FILTER || c->kind == CALL_BATCH ||
        (c->kind == CALL_READ && has_call(c->input[0], CALL_READ)))
        return STK__STREAM;
    if (is_source(c->kind) || is_row_call(c->kind))
        return weakest;
    if (weakest == STK__INDEXED)
        return c->kind == CALL_BUFFER ? STK__ADDRESSED : STK__INDEXED;
    return c->n_inputs == 1 ? weakest : STK__STREAM;
}

static int64_t most_of(const struct call *c)
{
    int64_t in = c->n_inputs ? c->input[0]->most : c->a, most = in;
    if (c->kind == CALL_TAKE && c->a >= 0)
        most = in < c->a ? in : c->a;
    if (c->kind == CALL_REPEAT)
        most = c->a < 0 ? ENDLESS : in * c->a;
    if (c->kind == CALL_CONCATENATE)
        most = in + c->input[1]->most;
    if (c->kind == CALL_ZIP)
        most = in < c->input[1]->most ? in : c->input[1]->most;
    return most > ENDLESS ? ENDLESS : most;
}

static void set_fields(struct call *c)
{
    const struct call *in = c->input[0];
    if (is_source(c->kind)) {
        c->n_fields = 1;
    } else {
        c->n_fields = in->n_fields;
        c->is_batched = in->is_batched || c->kind == CALL_BATCH;
        memcpy(c->field, in->field, sizeof c->field);
    }
    if (c->kind == CALL_NAMES || c->kind == CALL_NAME)
        c->field[c->n_fields++] = FIELD_PATH;
    if (c->kind == CALL_VARY || c->kind == CALL_ZIP)
        c->field[c->n_fields++] = FIELD_NUMBERS;
    for (int f = 0; f < c->n_fields; f++) {
        if (c->kind == CALL_READ && c->field[f] == FIELD_PATH)
            c->field[f] = FIELD_BYTES;
        if (c->kind == CALL_PARSE && c->field[f] == FIELD_BYTES) {
            memmove(c->field + f, c->field + f + 1, sizeof *c->field * (size_t)(--c->n_fields - f));
            f--;
        }
    }
}

static int find_field(const struct call *c, enum field_kind kind)
{
    for (int f = 0; f < c->n_fields; f++)
        if (c->field[f] == kind)
            return f;
    return -1;
}

static bool has_bytes(const struct call *c)
{
    return find_field(c, FIELD_PATH) >= 0 || find_field(c, FIELD_BYTES) >= 0;
}

/* Adds a call behind `in` (NULL: a source) and returns it. */
static struct call *add(struct chain *chain, struct call *in, enum call_kind kind, int64_t a,
                        int64_t b)
{
    struct call *c = &chain->call[chain->n_calls++];
    *c = (struct call){ .kind = kind, .a = a, .b = b, .n_inputs = in != NULL, .input = { in } };
    c->class = class_of(c);
    c->most = most_of(c);
    set_fields(c);
    return c;
}

static struct call *add_second(struct chain *chain, struct call *first, struct call *second,
                               enum call_kind kind)
{
    struct call *c = &chain->call[chain->n_calls++];
    *c = (struct call){ .kind = kind, .n_inputs = 2, .input = { first, second } };
    c->class = class_of(c);
    c->most = most_of(c);
    set_fields(c);
    return c;
}

/* ---- growing ---- */

static const int64_t sizes[] = { 0, 1, 2, 7, 33, 33, 100, 100, 257, 600 };

static int64_t random_size(void)
{
    return sizes[random_below(sizeof sizes / sizeof *sizes)];
}

static struct call *make_source(struct chain *chain)
{
    int64_t n = random_size(), break_at = -1;
    switch (random_below(7)) {
    case 0:
        return add(chain, NULL, CALL_NAMES, n > 100 ? 100 : n, 0);
    case 1:
    case 2:
        if (one_in(3))
            break_at = between(0, n);
        return add(chain, NULL, CALL_STREAM, n, break_at);
    default:
        return add(chain, NULL, CALL_RANGE, n, 0);
    }
}

static struct call *add_row_call(struct chain *chain, struct call *c)
{
    switch (random_below(8)) {
    case 0:
        return add(chain, c, CALL_MAP, between(0, 9), 0);
    case 1:
    case 2:
        return add(chain, c, CALL_FAIL, between(1, one_in(5) ? 2 : 40), between(0, 999));
    case 3:
        return add(chain, c, CALL_SPIN, between(0, one_in(5) ? 4000 : 300), 0);
    case 4:
        return add(chain, c, CALL_NOISE, between(0, 3), 0);
    case 5: /* an endless filter may never find what it looks for: the model could not either */
        return c->most < ENDLESS && !c->is_batched ? add(chain, c, CALL_FILTER, between(1, 6), 0)
                                                   : c;
    case 6:
        if (c->n_fields < CHAIN_FIELDS && !c->is_batched && !has_call(c, CALL_VARY) && one_in(3))
            return add(chain, c, CALL_VARY, between(0, 99), 0);
        return add(chain, c, CALL_MAP, between(0, 9), 0);
    default:
        return add(chain, c, CALL_PREFETCH, between(-1, 4), 0);
    }
}

/* Steps towards a number read from a file: a path, then bytes, then the number. */
static struct call *add_file_call(struct chain *chain, struct call *c)
{
    if (find_field(c, FIELD_BYTES) >= 0)
        return add(chain, c, CALL_PARSE, 0, 0);
    if (find_field(c, FIELD_PATH) >= 0) {
        struct call *read = add(chain, c, CALL_READ, 0, 0);
        read->flag = one_in(3);
        return read->flag ? add(chain, read, CALL_PARSE, 0, 0) : read;
    }
    return c->n_fields < CHAIN_FIELDS && !c->is_batched ? add(chain, c, CALL_NAME, 0, 0) : c;
}

static struct call *add_repeat(struct chain *chain, struct call *c)
{
    int64_t count = one_in(8) ? 0 : between(1, 3);
    if (one_in(3)) {
        c = add(chain, c, CALL_REPEAT, -1, 0);
        while (one_in(2) && chain->n_calls < MAX_CALLS - 20)
            c = add_row_call(chain, c);
        if (one_in(4))
            c = add(chain, c, CALL_BUFFER, between(1, 20), 0);
        return add(chain, c, CALL_TAKE, between(0, 120), 0);
    }
    return c->most * count <= CHAIN_ROWS ? add(chain, c, CALL_REPEAT, count, 0) : c;
}

static struct call *add_order_call(struct chain *chain, struct call *c)
{
    int64_t n;
    switch (random_below(9)) {
    case 0:
        if (c->class != STK__INDEXED || c->most >= ENDLESS)
            return c;
        c = add(chain, c, CALL_SHUFFLE, between(0, 2), 0);
        c->flag = !one_in(4);
        return c;
    case 1:
        c = add(chain, c, CALL_BUFFER, one_in(8) ? 500 : between(1, 30), between(0, 2));
        c->flag = !one_in(4);
        return c;
    case 2:
    case 3:
        return add(chain, c, CALL_TAKE, one_in(8) ? -1 : between(0, one_in(2) ? 10 : 200), 0);
    case 4:
        return add(chain, c, CALL_SKIP, one_in(12) ? -1 : between(0, one_in(2) ? 4 : 60), 0);
    case 5:
        n = between(0, 3); /* 0: the run's world and rank */
        return add(chain, c, CALL_SHARD, n, n ? between(0, n - 1) : 0);
    case 6:
        if (c->class != STK__INDEXED || c->most >= ENDLESS || has_call(c, CALL_SHUFFLE))
            return c;
        return add(chain, c, CALL_SPLIT, between(0, 2), between(0, 2));
    default:
        return add_repeat(chain, c);
    }
}

static struct call *grow(struct chain *chain, struct call *c, int n_steps);

/* The other input of a zip or concatenate: numbers alone. */
static struct call *make_second(struct chain *chain)
{
    struct call *c = make_source(chain);
    if (c->kind == CALL_NAMES)
        c = add_file_call(chain, add_file_call(chain, c));
    for (int i = (int)random_below(4); i > 0; i--) {
        struct call *next = one_in(2) ? add_order_call(chain, c) : add_row_call(chain, c);
        c = has_call(next, CALL_VARY) ? c : next;
    }
    while (has_bytes(c))
        c = add_file_call(chain, c);
    return c;
}

static struct call *add_second_input(struct chain *chain, struct call *c)
{
    if (chain->n_calls > MAX_CALLS / 2 || c->is_batched)
        return c;
    if (one_in(2)) {
        if (c->n_fields > 1)
            return c;
        struct call *second = make_second(chain);
        bool fits = c->most + second->most <= CHAIN_ROWS;
        return fits ? add_second(chain, c, second, CALL_CONCATENATE) : c;
    }
    if (c->n_fields == CHAIN_FIELDS)
        return c;
    struct call *second = make_second(chain);
    if (one_in(5) && c->most < ENDLESS)
        second = add(chain, second, CALL_REPEAT, -1, 0);
    return add_second(chain, c, add(chain, second, CALL_RENAME, 0, 0), CALL_ZIP);
}

static struct call *grow(struct chain *chain, struct call *c, int n_steps)
{
    for (int i = 0; i < n_steps && chain->n_calls < MAX_CALLS - 12; i++) {
        switch (random_below(8)) {
        case 0:
        case 1:
        case 2:
            c = add_row_call(chain, c);
            break;
        case 3:
            c = add_file_call(chain, c);
            break;
        case 4:
            c = add_second_input(chain, c);
            break;
        default:
            c = add_order_call(chain, c);
        }
    }
    return c;
}

/* ---- whole chains ---- */

static struct call *add_batch(struct chain *chain, struct call *c)
{
    bool is_small = one_in(2) || (has_call(c, CALL_VARY) && !one_in(6));
    c = add(chain, c, CALL_BATCH,
            is_small && has_call(c, CALL_VARY) ? 1 : between(1, is_small ? 4 : 40), 0);
    c->flag = one_in(4);
    for (int i = one_in(3) ? (int)random_below(3) : 0; i > 0; i--) {
        int64_t count = between(0, 3);
        bool fits = c->most * count <= CHAIN_ROWS;
        c = add(chain, c, fits ? CALL_REPEAT : CALL_PREFETCH, fits ? count : between(-1, 4), 0);
    }
    if (one_in(2))
        return c;
    for (int i = (int)random_below(3); i > 0; i--) {
        enum { NO_MORE = MAX_CALLS - 12 };
        if (chain->n_calls < NO_MORE)
            c = one_in(3) ? add_row_call(chain, c) : add_order_call(chain, c);
    }
    /* shuffle(b) believes the count of its input, which bad rows that pass a batch exceed */
    if (one_in(6) && !has_bytes(c) && !has_call(c, CALL_BUFFER))
        c = add(chain, c, CALL_BATCH, one_in(3) ? between(1, 3) : 1, 0);
    return c;
}

/* The source runs ahead into its break while take needs less. */
static struct call *make_break(struct chain *chain)
{
    struct call *c = add(chain, NULL, CALL_STREAM, 33, one_in(4) ? 0 : between(3, 12));
    if (one_in(2))
        c = add(chain, c, CALL_SPIN, 20000, 0);
    if (one_in(3))
        c = add(chain, c, CALL_REPEAT, between(2, 3), 0);
    if (one_in(6))
        c = add(chain, c, CALL_SKIP, -1, 0);
    else
        c = add(chain, c, CALL_TAKE, one_in(3) ? 0 : between(0, 13), 0);
    if (one_in(3))
        c = add(chain, c, CALL_REPEAT, 2, 0);
    return add(chain, c, CALL_BATCH, between(1, 3), 0);
}

/* Rows go straight to their batches and leave holes there. */
static struct call *make_holes(struct chain *chain)
{
    struct call *c = add(chain, NULL, CALL_RANGE, random_size(), 0);
    if (one_in(6)) /* a size that shows only in the run's options */
        c = add(chain, add(chain, add(chain, c, CALL_SHARD, 0, 0), CALL_PREFETCH, 2, 0), CALL_SKIP,
                1, 0);
    for (int i = (int)random_below(3); i >= 0; i--) {
        if (one_in(2) && c->class == STK__INDEXED)
            c = add(chain, c, CALL_SHUFFLE, 0, 0);
        if (one_in(4))
            c = add(chain, add(chain, add(chain, c, CALL_NAME, 0, 0), CALL_READ, 0, 0), CALL_PARSE,
                    0, 0);
        c = add(chain, c, CALL_FAIL, between(1, one_in(2) ? 3 : 30), between(0, 999));
        if (one_in(2))
            c = add(chain, c, CALL_SPIN, between(0, 400), 0);
    }
    c = add(chain, c, CALL_BATCH, between(1, one_in(2) ? 6 : 40), 0);
    c->flag = one_in(3);
    return one_in(4) ? add(chain, c, CALL_REPEAT, 2, 0) : c;
}

/* One input of a zip is longer, endless or broken behind the other's end; rows are bad in both;
 * passes over it end early and at different levels. */
static struct call *make_zip(struct chain *chain)
{
    struct call *c = add(chain, NULL, one_in(2) ? CALL_STREAM : CALL_RANGE, between(0, 40), -1);
    struct call *d = add(chain, NULL, one_in(2) ? CALL_RANGE : CALL_STREAM, between(0, 80),
                         one_in(2) ? between(0, 60) : -1);
    if (one_in(2))
        d = add(chain, d, CALL_REPEAT, one_in(2) ? -1 : between(1, 3), 0);
    if (one_in(3))
        c = add(chain, c, CALL_NOISE, 1, 0);
    if (one_in(2)) {
        c = add(chain, c, CALL_FAIL, between(1, 3), between(0, 999));
        d = add(chain, d, CALL_FAIL, between(1, 3), between(0, 999));
    }
    c = add_second(chain, c, add(chain, d, CALL_RENAME, 0, 0), CALL_ZIP);
    if (one_in(2))
        c = add(chain, c, CALL_TAKE, between(1, 9), 0);
    if (one_in(2)) {
        c = add(chain, c, CALL_REPEAT, one_in(2) ? -1 : 2, 0);
        if (one_in(2))
            c = add(chain, c, CALL_BUFFER, between(1, 20), 0);
        c = add(chain, c, CALL_TAKE, between(1, 60), 0);
    }
    return add(chain, grow(chain, c, (int)random_below(2)), CALL_BATCH, between(1, 9), 0);
}

/* A zip inside endless repeats, which end at different levels for its two inputs. */
static struct call *make_levels(struct chain *chain)
{
    struct call *c = add(chain, NULL, one_in(2) ? CALL_STREAM : CALL_RANGE, between(1, 20), -1);
    struct call *d = add(chain, NULL, one_in(2) ? CALL_STREAM : CALL_RANGE, between(1, 20), -1);
    if (one_in(2))
        c = add(chain, add(chain, c, CALL_REPEAT, 3, 0), CALL_TAKE, between(1, 9), 0);
    d = add(chain, add(chain, d, CALL_REPEAT, -1, 0), CALL_RENAME, 0, 0);
    c = add(chain, add_second(chain, c, d, CALL_ZIP), CALL_TAKE, between(1, 9), 0);
    if (one_in(2))
        c = add(chain, c, CALL_BATCH, between(1, 3), 0);
    c = add(chain, c, CALL_REPEAT, -1, 0);
    if (one_in(2))
        c = add(chain, c, CALL_BUFFER, between(1, 20), 0);
    return add(chain, c, CALL_TAKE, between(1, 60), 0);
}

/* Gates over batches that read files, fail or break. */
static struct call *make_gates(struct chain *chain)
{
    struct call *c = one_in(3) ? add(chain, NULL, CALL_STREAM, 33, between(0, 33))
                               : add(chain, NULL, CALL_RANGE, between(0, 60), 0);
    if (one_in(2))
        c = add(chain, add(chain, add(chain, c, CALL_NAME, 0, 0), CALL_READ, 0, 0), CALL_PARSE, 0,
                0);
    if (one_in(2))
        c = add(chain, c, CALL_FAIL, between(1, 9), between(0, 999));
    c = add(chain, c, CALL_BATCH, between(1, 4), 0);
    for (int i = (int)random_below(4); i >= 0; i--) {
        switch (random_below(4)) {
        case 0:
            c = add(chain, c, CALL_SKIP, one_in(8) ? -1 : between(0, one_in(4) ? 60 : 5), 0);
            break;
        case 1:
            c = add(chain, c, CALL_SHARD, between(1, 3), 0);
            break;
        case 2:
            if (c->most < CHAIN_ROWS)
                c = add(chain, c, CALL_REPEAT, one_in(3) ? -1 : between(1, 3), 0);
            break;
        default:
            c = add(chain, c, CALL_TAKE, one_in(4) ? 0 : between(0, 12), 0);
        }
    }
    return c->most < ENDLESS ? c : add(chain, c, CALL_TAKE, between(0, 30), 0);
}

/* An endless repeat of batches that yields none, though there are rows, and passes are short. */
static struct call *make_futile(struct chain *chain)
{
    struct call *c = add(chain, NULL, CALL_RANGE, between(1, 9), 0);
    if (one_in(2))
        c = add(chain, add(chain, add(chain, c, CALL_NAME, 0, 0), CALL_READ, 0, 0), CALL_PARSE, 0,
                0);
    c = add(chain, c, CALL_SPIN, between(0, 20000), 0);
    c = add(chain, c, CALL_BATCH, between(1, 3), 0);
    c = one_in(2) ? add(chain, c, CALL_TAKE, 0, 0) : add(chain, c, CALL_SKIP, between(5, 10), 0);
    c = add(chain, c, CALL_REPEAT, -1, 0);
    return add(chain, c, CALL_TAKE, between(1, 9), 0);
}

/* Passes of an endless repeat are empty by chance: the first such pass ends it. */
static struct call *make_empty(struct chain *chain)
{
    struct call *c = add(chain, NULL, CALL_STREAM, between(1, 4), -1);
    c = add(chain, add(chain, c, CALL_NOISE, between(0, 99), 0), CALL_FILTER, between(2, 3), 0);
    if (one_in(3))
        c = add(chain, c, CALL_TAKE, between(1, 3), 0);
    if (one_in(3))
        c = add(chain, c, CALL_REPEAT, 2, 0);
    if (one_in(3))
        c = add(chain, c, CALL_BATCH, between(1, 2), 0);
    c = add(chain, c, CALL_REPEAT, -1, 0);
    if (one_in(3))
        c = add(chain, c, CALL_BUFFER, between(1, 9), 0);
    c = add(chain, c, CALL_TAKE, between(1, 90), 0);
    return c->is_batched || one_in(3) ? c : add(chain, c, CALL_BATCH, between(1, 9), 0);
}

/* A batch that judges rows before other ops, and fails in every epoch. */
static struct call *make_judge(struct chain *chain)
{
    struct call *c = one_in(2) ? add(chain, NULL, CALL_RANGE, between(1, 20), 0)
                               : add(chain, NULL, CALL_STREAM, 20, between(-1, 25));
    c = add(chain, add(chain, c, CALL_NOISE, 0, 0), CALL_FAIL, between(2, 20), between(0, 999));
    c = add(chain, c, CALL_BATCH, between(1, 4), 0);
    if (one_in(2))
        c = add(chain, c, CALL_BUFFER, between(1, 9), 0);
    c = add(chain, c, CALL_SPIN, between(0, 20000), 0);
    return one_in(3) ? add(chain, c, CALL_TAKE, between(0, 9), 0) : c;
}

static struct call *make_any(struct chain *chain)
{
    struct call *c = grow(chain, make_source(chain), (int)random_below(8));
    if (!one_in(5))
        c = add_batch(chain, c);
    return one_in(40) ? add(chain, c, CALL_REPEAT, -1, 0) : c;
}

const struct call *chain_final_batch(const struct chain *chain)
{
    const struct call *c = chain->root;
    while (c->kind == CALL_PREFETCH || c->kind == CALL_REPEAT || c->kind == CALL_TAKE ||
           c->kind == CALL_SKIP || c->kind == CALL_SHARD)
        c = c->input[0];
    return c->kind == CALL_BATCH ? c : NULL;
}

const struct call *chain_inner_judge(const struct chain *chain)
{
    const struct call *c = chain_final_batch(chain) ? NULL : chain->root;
    while (c && c->kind != CALL_BATCH)
        c = c->n_inputs == 1 ? c->input[0] : NULL;
    return c;
}

bool chain_is_cut_short(const struct chain *chain)
{
    const struct call *judge = chain_inner_judge(chain);
    bool found = false;
    for (const struct call *c = chain->root; judge && c != judge; c = c->input[0])
        found |= (c->kind == CALL_TAKE && c->a >= 0) || (c->kind == CALL_SKIP && c->a < 0) ||
                 (c->kind == CALL_REPEAT && c->a < 0);
    return found;
}

static void set_options(struct chain *chain)
{
    const struct call *batch = chain_final_batch(chain),
                      *judged = batch ? batch->input[0] : chain->root;
    chain->seed = between(0, 3);
    chain->epochs = between(1, 4);
    chain->world = between(1, 3);
    chain->rank = between(0, chain->world - 1);
    bool may_replace = judged->class == STK__INDEXED && judged->most < ENDLESS;
    chain->on_error = one_in(5) ? STK__FAIL : may_replace && one_in(3) ? STK__REPLACE : STK__SKIP;
    chain->max_errors = one_in(3)   ? (double)between(0, 20)
                        : one_in(4) ? (double)between(1, 9) / 20
                                    : DBL_MAX;
}

/* ---- text ---- */

static const char *const names[] = {
    [CALL_RANGE] = "range",
    [CALL_NAMES] = "test_names",
    [CALL_STREAM] = "test_stream",
    [CALL_MAP] = "map",
    [CALL_FAIL] = "test_fail",
    [CALL_SPIN] = "test_spin",
    [CALL_NOISE] = "test_noise",
    [CALL_VARY] = "test_vary",
    [CALL_NAME] = "test_name",
    [CALL_READ] = "read",
    [CALL_PARSE] = "test_parse",
    [CALL_FILTER] = "filter",
    [CALL_RENAME] = "rename",
    [CALL_PREFETCH] = "prefetch",
    [CALL_SHUFFLE] = "shuffle",
    [CALL_BUFFER] = "shuffle",
    [CALL_TAKE] = "take",
    [CALL_SKIP] = "skip",
    [CALL_SHARD] = "shard",
    [CALL_SPLIT] = "split",
    [CALL_REPEAT] = "repeat",
    [CALL_CONCATENATE] = "concatenate",
    [CALL_ZIP] = "zip",
    [CALL_BATCH] = "batch",
};

struct printer {
    struct stk__text text;
    uint32_t n_calls;
};

static void print_call(struct printer *p, struct call *c);

static void print_args(struct printer *p, const struct call *c)
{
    struct stk__text *t = &p->text;
    long long a = c->a, b = c->b;
    switch (c->kind) {
    case CALL_STREAM:
    case CALL_FAIL:
        stk__text_add(t, "%lld, %lld", a, b);
        break;
    case CALL_MAP:
        stk__text_add(t, "'x = x + %lld'", a);
        break;
    case CALL_FILTER:
        stk__text_add(t, "'x %% %lld != 0'", a);
        break;
    case CALL_RENAME:
        stk__text_add(t, "{x: z%u}", c->ordinal);
        break;
    case CALL_SHUFFLE:
        stk__text_add(t, "seed=%lld%s", a, c->flag ? "" : ", reshuffle_each_iteration=false");
        break;
    case CALL_BUFFER:
        stk__text_add(t, "%lld, %lld, %s", a, b, c->flag ? "true" : "false");
        break;
    case CALL_SHARD:
        if (a)
            stk__text_add(t, "%lld, %lld", a, b);
        break;
    case CALL_SPLIT:
        stk__text_add(t, "[0.5, 0.3, 0.2], %lld, %lld", a, b);
        break;
    case CALL_BATCH:
        stk__text_add(t, "%lld%s", a, c->flag ? ", true" : "");
        break;
    case CALL_CONCATENATE:
    case CALL_ZIP:
        print_call(p, c->input[1]);
        break;
    case CALL_NAME:
    case CALL_READ:
    case CALL_PARSE:
        break;
    default:
        stk__text_add(t, "%lld", a);
    }
}

/* Prints what comes before, then the call; numbers the calls as they are read. */
static void print_call(struct printer *p, struct call *c)
{
    if (c->n_inputs)
        print_call(p, c->input[0]);
    if (c->kind == CALL_READ && c->flag)
        return; /* stoker puts it in */
    c->ordinal = p->n_calls++;
    stk__text_add(&p->text, "%s%s(", c->n_inputs ? "." : "", names[c->kind]);
    print_args(p, c);
    stk__text_add(&p->text, ")");
}

void chain_make(struct chain *chain)
{
    struct printer printer = { 0 };
    *chain = (struct chain){ 0 };
    switch (random_below(28)) {
    case 0:
        chain->root = make_break(chain);
        break;
    case 1:
    case 2:
    case 3:
        chain->root = make_holes(chain);
        break;
    case 4:
    case 5:
        chain->root = make_zip(chain);
        break;
    case 6:
    case 7:
        chain->root = make_gates(chain);
        break;
    case 8:
        chain->root = make_empty(chain);
        break;
    case 9:
        chain->root = make_judge(chain);
        break;
    case 10:
    case 11:
    case 12:
        chain->root = make_levels(chain);
        break;
    case 13:
        chain->root = make_futile(chain);
        break;
    default:
        chain->root = make_any(chain);
    }
    set_options(chain);
    print_call(&printer, chain->root);
    snprintf(chain->text, sizeof chain->text, "%s", printer.text.data);
    stk__text_free(&printer.text);
}

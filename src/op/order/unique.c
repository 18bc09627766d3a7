/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c: the first element of each value.
 *
 * Values are kept one behind the other, as bytes, and found by an open table of their hashes. What is
 * compared is the bytes, never the hash alone.
 */
#include "base/hash.h"
#include "base/rows/chunk.h"
#include "op/order/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unique {
    const char *field;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(unique, field, NULL, STK_TAKES_NONE,
                 "the field that is compared; none: all of them together"),
    STK_ROWS_END,
};

static enum stk__op_mode mode(const void *given)
{
    (void)given;
    return STK__MODE_SERIAL;
}

static bool is_any(const struct stk_field *field)
{
    (void)field;
    return true;
}

/* State: the number of the field, or -1. */
static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct unique *p = inf->params;
    int *field = stk_arena_alloc(inf->arena, sizeof *field);
    if (!field)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *field = p->field ? stk_infer_pick(inf, p->field, is_any, "a field", err) : -1;
    if (p->field && *field < 0)
        return STK_NAME;
    stk_infer_pass(inf);
    inf->count = STK_UNKNOWN_COUNT;
    inf->state = field;
    return STK_OK;
}

/* ---- what was seen ---- */

struct place {
    uint64_t hash;
    size_t at, bytes; /* in `seen` */
    bool is_used;
};

struct seeing {
    struct stk__serial_start host;
    int field;
    uint8_t *seen; /* values; behind the last one, the one that is looked for */
    size_t n_bytes, cap_bytes;
    struct place *place;
    size_t n, cap;
    size_t charged;
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct seeing *s = calloc(1, sizeof *s);
    if (!s)
        return stk_fail(err, STK_MEMORY, "out of memory");
    s->host = *b;
    s->field = *(const int *)b->state;
    *run = s;
    return STK_OK;
}

static void end(void *run)
{
    struct seeing *s = run;
    free(s->seen);
    free(s->place);
    free(s);
}

static void next_epoch(void *run, uint64_t path)
{
    struct seeing *s = run;
    (void)path;
    s->n = s->n_bytes = 0;
    if (s->place)
        memset(s->place, 0, s->cap * sizeof *s->place);
}

/* Whether so much may be kept; charged once. What memory is too short for is nothing that an element can
 * help, so that no on_error leaves it out. */
static int may_keep(struct seeing *s, size_t more)
{
    if (s->charged + more > s->host.kept_bytes)
        return STK_MEMORY;
    s->charged += more;
    s->host.charge(s->host.ctx, more);
    return STK_OK;
}

static int make_room(struct seeing *s, size_t bytes)
{
    if (s->n_bytes + bytes <= s->cap_bytes)
        return STK_OK;
    size_t cap = s->cap_bytes ? 2 * s->cap_bytes : 4096;
    while (cap < s->n_bytes + bytes)
        cap *= 2;
    int code = may_keep(s, cap - s->cap_bytes);
    uint8_t *grown = code ? NULL : realloc(s->seen, cap);
    if (!grown)
        return code ? code : STK_MEMORY;
    s->seen = grown;
    s->cap_bytes = cap;
    return STK_OK;
}

static int add_bytes(struct seeing *s, size_t *n, const void *data, size_t bytes)
{
    int code = make_room(s, *n + bytes);
    if (!code && bytes)
        memcpy(s->seen + s->n_bytes + *n, data, bytes);
    *n += code ? 0 : bytes;
    return code;
}

/* Writes a field of a row behind what was seen: its bytes, with their number and shape where these
 * differ between rows. */
static int add_field(struct seeing *s, const struct stk__chunk *in, int f, int row, size_t *n)
{
    const struct stk_column *c = &in->column[f];
    if (!c->span)
        return add_bytes(s, n, c->data + (size_t)row * c->stride, c->stride);
    int code = add_bytes(s, n, &c->span[row].bytes, sizeof c->span[row].bytes);
    if (!code && c->dims)
        code = add_bytes(s, n, c->dims + row * c->rank, (size_t)c->rank * sizeof *c->dims);
    return code ? code : add_bytes(s, n, c->span[row].data, c->span[row].bytes);
}

static struct place *find(const struct seeing *s, struct place *place, size_t cap, uint64_t hash,
                          size_t bytes)
{
    size_t at = (size_t)hash & (cap - 1);
    for (; place[at].is_used; at = (at + 1) & (cap - 1))
        if (place[at].hash == hash && place[at].bytes == bytes &&
            !memcmp(s->seen + place[at].at, s->seen + s->n_bytes, bytes))
            break;
    return &place[at];
}

static int grow_table(struct seeing *s)
{
    size_t cap = s->cap ? 2 * s->cap : 64;
    if (2 * (s->n + 1) <= s->cap)
        return STK_OK;
    int code = may_keep(s, (cap - s->cap) * sizeof *s->place);
    struct place *grown = code ? NULL : calloc(cap, sizeof *grown);
    if (!grown)
        return code ? code : STK_MEMORY;
    for (size_t i = 0; i < s->cap; i++) {
        size_t at = (size_t)s->place[i].hash & (cap - 1);
        while (s->place[i].is_used && grown[at].is_used)
            at = (at + 1) & (cap - 1);
        if (s->place[i].is_used)
            grown[at] = s->place[i];
    }
    free(s->place);
    s->place = grown;
    s->cap = cap;
    return STK_OK;
}

/* Looks a row up, and notes it if it is new. */
static int look(struct seeing *s, const struct stk__chunk *in, int row, bool *is_new)
{
    size_t n = 0;
    int code = grow_table(s);
    for (int f = 0; f < in->type->n_fields && !code; f++)
        if (s->field < 0 || s->field == f)
            code = add_field(s, in, f, row, &n);
    if (code)
        return code;
    uint64_t hash = stk__hash_bytes(0, s->seen + s->n_bytes, n);
    struct place *place = find(s, s->place, s->cap, hash, n);
    *is_new = !place->is_used;
    if (!*is_new)
        return STK_OK;
    *place = (struct place){ hash, s->n_bytes, n, true };
    s->n_bytes += n;
    s->n++;
    return STK_OK;
}

static void refuse(const struct seeing *s, int code, const struct stk__chunk *in, int row,
                   struct stk__chunk *out)
{
    char text[STK_ERROR_TEXT];
    const struct stk__fault fault = { .code = code, .op = "unique", .text = text };
    snprintf(
        text, sizeof text,
        "there is no room for another value: %zu were seen, in %zu of the %zu bytes it may take; "
        "memory= gives it more (in a chain that is opened for each element, put unique behind it)",
        s->n, s->charged, s->host.kept_bytes);
    stk__chunk_hand_on_bad(out, in, row, &fault);
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct seeing *s = run;
    for (int i = 0; i < n; i++) {
        bool is_new = true, is_bad = in->n_bad && in->mask[from + i] == STK_BAD;
        if (out->n == out->cap)
            return i;
        int code = is_bad ? STK_OK : look(s, in, from + i, &is_new);
        if (code)
            refuse(s, code, in, from + i, out);
        else if (is_new)
            stk__chunk_append(out, in, from + i, 1);
    }
    return n;
}

const struct stk__op stk__op_unique = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "unique", 1, "Keep the first element of each value.",
              "Leaves out elements that are equal, bit for bit, to one before them in the same "
              "epoch: in `field`, or in all fields. Any field will do. Bad elements pass.\n"
              "\n"
              "    values({x: [1, 37, 2, 37, 2, 1]}).unique()\n"
              "    lines('words.txt').map('n = len(text)').unique(n)\n"
              "\n"
              "All values that were seen are kept, and counted in the run's budget: at most half "
              "of what the rest of the chain leaves of it. A new value for which there is no room "
              "ends the run, whatever on_error says. In a chain that is opened for each element it "
              "has "
              "1 MB, which the chains that are open at a time share.",
              params, sizeof(struct unique) },
    .mode = mode,
    .infer = infer,
    .serial = { .begin = begin,
                .end = end,
                .next_epoch = next_epoch,
                .step = step,
                .keeps_more = true },
};

/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: run options as parameter rows. */
#include "exec/plan/options.h"

#include "base/cores.h"
#include "base/error.h"
#include "base/memory/purse.h"
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const io_names[] = { "auto", "uring", "threads", NULL };
static const char *const on_error_names[] = { "fail", "skip", "replace", NULL };

static const struct stk_param rows[] = {
    STK_INT_ROW(
        stk__options, workers, STK_AUTO, 0, 1024, STK_TAKES_AUTO | STK_TUNABLE,
        "threads that compute at the same time; 0: only the caller of next; auto: one per core, "
        "fewer while they keep up"),
    STK_INT_ROW(
        stk__options, window, STK_AUTO, 1, 4096, STK_TAKES_AUTO | STK_TUNABLE,
        "batches in flight; auto: what the last prefetch says, else tuned, beginning with as "
        "many as fit in 48 MB, 2 to 16"),
    STK_INT_ROW(stk__options, io_depth, STK_AUTO, 1, 4096, STK_TAKES_AUTO | STK_TUNABLE,
                "reads in flight; auto: as many as storage answers faster for, at most 128"),
    STK_CHOICE_ROW(
        stk__options, io, io_names, STK__IO_AUTO, 0,
        "who reads: threads, one for each read in flight, or uring, one thread with a ring "
        "where the system permits one; auto: threads, which were measured to be faster"),
    STK_INT_ROW(
        stk__options, memory, STK_AUTO, 1, INT64_MAX, STK_TAKES_AUTO | STK_TUNABLE,
        "budget in bytes for everything between storage and the consumer; auto: what all such runs "
        "of the process share, a quarter of what is free, at most 2 GiB"),
    STK_INT_ROW(stk__options, seed, 0, 0, INT64_MAX, 0, "key of everything random"),
    STK_INT_ROW(stk__options, epoch, 0, 0, INT64_MAX / 2, 0,
                "number of the first epoch: shuffles and random ops differ from epoch to epoch"),
    STK_INT_ROW(stk__options, epochs, 1, 1, INT64_MAX, STK_TAKES_NONE,
                "passes over the data; none: for ever"),
    STK_CHOICE_ROW(
        stk__options, on_error, on_error_names, 0, 0,
        "what a bad element does: fail ends the run, skip leaves it out, replace takes another one "
        "in its place (indexed chains)"),
    STK_REAL_ROW(stk__options, max_errors, DBL_MAX, 0, DBL_MAX, 0,
                 "how many bad elements of one epoch skip and replace accept: a count, or below 1 "
                 "a fraction"),
    STK_INT_ROW(stk__options, rank, STK_AUTO, 0, INT32_MAX, STK_TAKES_AUTO,
                "which part shard() means; auto: what torchrun, mpirun or srun set for this "
                "process, else 0"),
    STK_INT_ROW(stk__options, world, STK_AUTO, 1, INT32_MAX, STK_TAKES_AUTO,
                "how many parts shard() means; auto: as rank, else 1"),
    STK_INT_ROW(stk__options, trace, 0, 0, 1 << 24, 0,
                "intervals of each thread to record for a trace; 0: none is recorded"),
    STK_ROWS_END
};

const struct stk_decl stk__options_decl = {
    .name = "options",
    .version = 1,
    .summary = "Run options.",
    .doc = "",
    .params = rows,
    .params_size = sizeof(struct stk__options),
};

struct stk__options stk__options_default(void)
{
    struct stk__options options = { 0 };
    for (const struct stk_param *row = rows; row->name; row++) {
        void *at = (unsigned char *)&options + row->offset;
        if (row->type == STK_ROW_INT)
            *(int64_t *)at = row->def.i;
        else if (row->type == STK_ROW_REAL)
            *(double *)at = row->def.r;
        else
            *(int *)at = (int)row->def.i;
    }
    return options;
}

/* ---- sizes ---- */

static bool is_size(const struct stk_param *row)
{
    return row->name && !strcmp(row->name, "memory");
}

/* "512M" as bytes in digits; other text stays as it is, to be judged as a value. */
static const char *expand_size(const char *text, char *digits, size_t room)
{
    static const char suffixes[] = "KMGT";
    double value;
    const char *end = stk__parse_real(text, &value);
    const char *suffix =
        end && isalpha((unsigned char)*end) ? strchr(suffixes, *end & ~0x20) : NULL;
    if (!suffix || (end[1] && strcmp(end + 1, "B") != 0 && strcmp(end + 1, "iB") != 0))
        return text;
    for (const char *s = suffixes; s <= suffix; s++)
        value *= 1024;
    if (!(value >= 0 && value < 0x1p63))
        return text;
    snprintf(digits, room, "%lld", (long long)value);
    return digits;
}

/* Says what sizes look like, where the value is not even a whole number. */
static int fail_size(const struct stk_param *row, const char *value, int code,
                     struct stk_error *err)
{
    if (code == STK_MEMORY || !value[strspn(value, "+-0123456789")])
        return code;
    return stk_fail(err, code,
                    "options: %s takes bytes, a size such as 512M or 2G, or auto, not %.64s",
                    row->name, value);
}

/* An option is set as if options(name=value) had been written. */
int stk__options_set(struct stk__options *options, const char *name, const char *value,
                     struct stk_error *err)
{
    struct stk_arena arena;
    stk__arena_init(&arena, 4096);
    const struct stk_value *parsed = NULL;
    const struct stk_param *row = rows;
    while (row->name && strcmp(row->name, name))
        row++;
    char digits[32];
    const char *given_value = value;
    if (is_size(row))
        value = expand_size(value, digits, sizeof digits);
    char *text = stk__arena_printf(&arena, "options(%s=%s)", name, *value ? value : "none");
    int rc = text ? STK_OK : stk__out_of_memory(err);
    struct stk__options given;
    if (!rc && !row->name) {
        const struct stk__call call = { .name = "options",
                                        .n_args = 1,
                                        .arg = &(struct stk__arg){
                                            .name = name, .value = &(struct stk_value){ 0 } } };
        rc = stk__call_bind(&call, &stk__options_decl, &arena, &given, err);
        rc = rc ? rc : STK_NAME;
    }
    if (!rc)
        rc = stk__parse(text, NULL, &arena, &parsed, err);
    bool is_one =
        !rc && parsed->kind == STK__CHAIN && parsed->n_calls == 1 && parsed->call[0].n_args == 1;
    if (!rc && (!is_one || strchr(value, '#'))) /* it closed our bracket */
        rc = stk_fail(err, STK_VALUE, "options: '%s' is no value for %s", value, name);
    if (!rc)
        rc = stk__call_bind(&parsed->call[0], &stk__options_decl, &arena, &given, err);
    if (!rc) {
        size_t bytes = row->type == STK_ROW_CHOICE ? sizeof(int) : sizeof(int64_t);
        memcpy((unsigned char *)options + row->offset, (const unsigned char *)&given + row->offset,
               bytes);
    }
    if (rc && is_size(row))
        rc = fail_size(row, given_value, rc, err);
    if (rc && err)
        err->at = err->len = 0; /* the place is in our text, not in the user's */
    stk__arena_free(&arena);
    return rc;
}

int64_t stk__options_end_epoch(const struct stk__options *o)
{
    int64_t end;
    return __builtin_add_overflow(o->epoch, o->epochs, &end) ? INT64_MAX : end;
}

/* What launchers of several processes tell each of them. srun's is that of the step: a script that
 * runs outside of one is no part of it, though it sees how many tasks were asked for. */
static const struct launcher {
    const char *rank, *world;
} launchers[] = {
    { "RANK", "WORLD_SIZE" }, /* torchrun */
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", "PMI_SIZE" },
    { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
};

static int read_variable(const char *name, int64_t *out, struct stk_error *err)
{
    const char *text = getenv(name);
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (!*text || *end || value < 0 || value > INT32_MAX)
        return stk_fail(err, STK_VALUE,
                        "rank and world: the environment has %s='%.40s', which is "
                        "no such number; give both as options",
                        name, text);
    *out = value;
    return STK_OK;
}

int stk__options_resolve_world(struct stk__options *o, struct stk_error *err)
{
    int64_t rank = 0, world = 1;
    int rc = STK_OK;
    if (o->rank != STK_AUTO && o->world != STK_AUTO)
        return STK_OK;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *by = &launchers[i];
        if (!getenv(by->rank) || !getenv(by->world))
            continue;
        rc = read_variable(by->rank, &rank, err);
        rc = rc ? rc : read_variable(by->world, &world, err);
        break;
    }
    if (o->rank == STK_AUTO)
        o->rank = rank;
    if (o->world == STK_AUTO)
        o->world = world;
    return rc;
}

void stk__options_resolve(struct stk__options *o)
{
    if (o->workers == STK_AUTO)
        o->workers = stk__cores_count("").usable;
    if (o->io_depth == STK_AUTO) {
        o->io_depth = 128;
        o->is_depth_auto = true;
    }
    if (o->memory == STK_AUTO)
        o->memory = stk__purse_limit();
    if (o->epochs == STK_NONE)
        o->epochs = INT64_MAX;
}

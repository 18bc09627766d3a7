/* SPDX-License-Identifier: Apache-2.0 */
/* stage_type.h: what a kind of stage is. A kind is one file with one table, and keeps what it needs in a state of
 * its own (`run` of struct stk__stage). Only the planner, which chooses them, knows kinds by name.
 *
 *      begin ─▶ ┌ pick ─▶ run ─▶ finish ┐ ─▶ end
 *               └───────────◀───────────┘
 *
 * pick and finish are called under the run's lock, run outside it. Most kinds are carried through by one worker at a
 * time, step by step (stage_steps.h): those say whether there is something to do, do it, and note what was used of inputs.
 *
 * What is NULL or false is not so, or as the comment says.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__exec;
struct stk__plan;
struct stk__stage;
struct stk__stage_plan;
struct stk__work;
struct stk__worker;
struct stk__judge;
struct stk__chunk;
struct stk_error;

struct stk__stage_type {
    const char *name; /* in plans and metrics */

    /* ---- for the planner ---- */

    bool is_stream;    /* reads files from front to back, which may be packed */
    bool is_join;      /* its inputs come to the end of a pass each by itself */
    bool only_counts;  /* makes positions: its op is shown where the rows are made */
    bool makes_traces; /* its rows are made of several, and it writes down of which; */
    bool keeps_traces; /* those of its rows stay, whoever asks; */
    bool reads_traces; /* it asks for those of its input */

    /* Whether rows have traces; NULL: where those of its first input have, unless the op takes elements apart. */
    bool (*has_trace)(const struct stk__plan *plan, const struct stk__stage_plan *stage);

    /* Opens what the plan needs of it, once stages are known. */
    int (*open)(struct stk__plan *plan, struct stk__stage_plan *stage, struct stk_error *err);

    /* Bytes of a row; NULL: by its fields. `is_heavy`: it is as large as files are. */
    size_t (*row_bytes)(const struct stk__plan *plan, const struct stk__stage_plan *stage,
                        bool is_heavy);

    /* Rows of the input that wait in it at most, false where none do; and the bytes of what it keeps. NULL: none, and as
     * those rows need. */
    bool (*held_rows)(const struct stk__plan *plan, const struct stk__stage_plan *stage,
                      uint64_t *rows);
    size_t (*held_bytes)(const struct stk__plan *plan, const struct stk__stage_plan *stage);

    /* What it keeps depends on values that come: it gets a share of what others leave; or may take room that is
     * free. */
    bool (*keeps_more)(const struct stk__stage_plan *stage);
    bool (*waits_by_value)(const struct stk__stage_plan *stage);

    /* ---- for a run ---- */

    int (*begin)(struct stk__exec *x, struct stk__stage *s, struct stk_error *err);
    void (*end)(struct stk__stage *s); /* also after a begin that failed; `run` may be NULL */

    /* The chain is opened for another element. */
    int (*open_element)(struct stk__exec *x, struct stk__stage *s, const struct stk__chunk *element,
                        struct stk_error *err);

    /* Fills in work that there is, and books it. */
    bool (*pick)(struct stk__exec *x, struct stk__stage *s, struct stk__work *w);
    void (*run)(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);
    void (*finish)(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w);

    /* Of what is set aside for rows that it keeps, the bytes that are taken; NULL: all. */
    size_t (*there_bytes)(const struct stk__stage *s);

    /* ---- for a stage that goes step by step ---- */

    /* Whether a step can be done, and on what; NULL: if a ticket of its only input is there. */
    bool (*is_ready)(struct stk__exec *x, struct stk__stage *s, struct stk__work *w);

    /* Adds rows to its open chunk; says in `w` what was used and whether a pass has ended. Without the lock. */
    void (*step)(struct stk__exec *x, struct stk__stage *s, struct stk__work *w);

    /* Notes what a step used of inputs beside `w->ticket`. */
    void (*use)(struct stk__exec *x, struct stk__stage *s, const struct stk__work *w);

    bool (*is_closed)(const struct stk__stage *s); /* it needs no more rows of its pass */
    bool (*breaks)(struct stk__stage *s); /* at the end of a pass: the stream, with s->broken */
    void (*end_pass)(struct stk__stage *s, int level); /* such a pass has ended */

    /* Who decides about bad rows, if the plan says that they end here. */
    struct stk__judge *(*judge)(const struct stk__stage *s);
};

extern const struct stk__stage_type stk__segment_stage, stk__serial_stage, stk__batching_stage,
    stk__zipping_stage, stk__chaining_stage, stk__mixing_stage, stk__choosing_stage,
    stk__nesting_stage, stk__caching_stage, stk__positions_stage, stk__streaming_stage,
    stk__weaving_stage, stk__given_stage;

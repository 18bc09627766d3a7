/* SPDX-License-Identifier: Apache-2.0 */
/* exec_chain.h: random chains for test_exec: a tree of calls, its text, and the options to run it
 * under. */
#pragma once
#include "op/declaration.h"

#include <stdbool.h>
#include <stdint.h>

enum call_kind {
    CALL_RANGE,
    CALL_NAMES,
    CALL_STREAM, /* sources */
    CALL_MAP,
    CALL_FAIL,
    CALL_SPIN,
    CALL_NOISE,
    CALL_VARY,
    CALL_NAME,
    CALL_READ,
    CALL_PARSE,
    CALL_FILTER,
    CALL_RENAME,
    CALL_PREFETCH, /* one row in, one out; filter: or none */
    CALL_SHUFFLE,
    CALL_BUFFER,
    CALL_TAKE,
    CALL_SKIP,
    CALL_SHARD,
    CALL_SPLIT,
    CALL_REPEAT,
    CALL_CONCATENATE,
    CALL_ZIP,
    CALL_BATCH,
};

enum { MAX_CALLS = 48, CHAIN_FIELDS = 4, CHAIN_ROWS = 1600, ENDLESS = 1 << 30 };

enum field_kind { FIELD_NUMBERS, FIELD_PATH, FIELD_BYTES };

struct call {
    enum call_kind kind;
    int64_t a, b; /* the first two parameters */
    bool flag;    /* the third: drop_remainder, reshuffle_each_iteration; read: left to stoker */
    uint32_t ordinal; /* of the call in the text */
    int n_inputs;
    struct call *input[2];
    /* what it yields */
    enum stk__op_class class;
    int64_t most;    /* rows of a pass at most; ENDLESS */
    bool is_batched; /* its rows are batches */
    int n_fields;
    enum field_kind field[CHAIN_FIELDS];
};

struct chain {
    struct call call[MAX_CALLS];
    int n_calls;
    struct call *root;
    char text[4096];
    int64_t seed, epochs, rank, world;
    int on_error; /* enum stk__on_error */
    double max_errors;
};

/* The test's own random numbers. */
void random_begin(uint64_t seed);
uint64_t random_below(uint64_t n);
bool one_in(uint64_t n);

void chain_make(struct chain *chain);

/* The batch whose rows the batcher makes, and the one that judges rows before other ops; NULL for
 * none. */
const struct call *chain_final_batch(const struct chain *chain);
const struct call *chain_inner_judge(const struct chain *chain);

/* True if something above the inner judge may need less than it yields: how far the judge gets is
 * then chance. */
bool chain_is_cut_short(const struct chain *chain);

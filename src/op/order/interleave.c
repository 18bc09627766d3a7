/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.c: a chain for each element, several of them in turn; and what they begin with. */
#include "op/order/nesting.h"
#include "op/order/order.h"

struct interleave {
    struct stk__chains chain;
    int64_t cycle_length, block_length;
};

enum { MOST_OPEN = 1 << 16 };

static const struct stk_param interleave_params[] = {
    STK__CHAINS_ROW(interleave, chain, STK_REQUIRED, "what is opened for each element"),
    STK_INT_ROW(interleave, cycle_length, 8, 1, MOST_OPEN, 0, "chains that are open at a time"),
    STK_INT_ROW(interleave, block_length, 1, 1, STK__MAX_COUNT, 0,
                "elements of one before it is the next one's turn"),
    STK_ROWS_END,
};

static int infer_turns(struct stk_infer *inf, int64_t cycle_length, int64_t block_length,
                       struct stk_error *err)
{
    struct stk__nesting *nesting = stk_arena_alloc(inf->arena, sizeof *nesting);
    if (!nesting)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *nesting = (struct stk__nesting){ cycle_length, block_length };
    stk_infer_pass(inf);
    inf->state = nesting;
    return STK_OK;
}

static int infer_interleave(struct stk_infer *inf, struct stk_error *err)
{
    const struct interleave *p = inf->params;
    return infer_turns(inf, p->cycle_length, p->block_length, err);
}

const struct stk__op stk__op_interleave = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "interleave", 1, "Open a chain for each element, and take from several in turn.",
              "For each element a chain is opened. Of these, `cycle_length` are open at a time, "
              "and "
              "`block_length` elements are taken from each in turn; when one has ended, the next "
              "element's takes its place. The order is that of tf.data's interleave.\n"
              "\n"
              "    files('*.tfrecord').shuffle().interleave(tfrecord(path), cycle_length=16)\n"
              "    range(1, 6).interleave(element().repeat(6), cycle_length=2, block_length=4)\n"
              "\n"
              "    lines('list.txt').interleave(lines(text).filter('len(text) > 0'), 4)\n"
              "\n"
              "The chain begins with a source of files that is given a field of the element by its "
              "bare name (tfrecord, csv, jsonl, lines, fixed_length, tar, npy, npz, hdf5; a name "
              "in quotes is a path as usual), with element(), which is the element itself, or with "
              "any other source. In Python it is given as a text: `interleave('tfrecord(path)')`. "
              "Whatever is in the chain is carried out for each element's on its own, and another "
              "shuffle is drawn for each.\n"
              "\n"
              "If what comes before and the chain can be read at random, all files are looked at "
              "when the dataset is made. Then only numbers are taken in turn, and elements are "
              "read and made on all workers. Ops on single elements and take, skip, shard, repeat "
              "and shuffle() leave it at that. With anything else chains are opened as elements "
              "come: where files are compressed, or lines; where a filter, a batch or a shuffle "
              "with a buffer size comes before or is in the chain. Files are then read from front "
              "to back, several chains at a time where they are slow, and ops on single elements "
              "at the end of the chain run on all workers. `plan` says which it is, and why. Order "
              "and elements are the same.\n"
              "\n"
              "A file that cannot be opened, or breaks half-way, is one bad element in its place, "
              "so `on_error` decides; the next one's file takes that place. Where one of the files "
              "that are looked at cannot be opened, chains are opened as elements come, too. csv "
              "then needs `columns`, "
              "the texts of its categories, and if the files are not known before also `header`; "
              "of "
              "npy, npz and hdf5 one file must be known before that can be opened. cache() comes "
              "behind interleave.",
              interleave_params, sizeof(struct interleave) },
    .flags = STK__OP_NESTS,
    .infer = infer_interleave,
};

struct flat_map {
    struct stk__chains chain;
};

static const struct stk_param flat_map_params[] = {
    STK__CHAINS_ROW(flat_map, chain, STK_REQUIRED, "what is opened for each element"),
    STK_ROWS_END,
};

static int infer_flat_map(struct stk_infer *inf, struct stk_error *err)
{
    return infer_turns(inf, 1, 1, err);
}

const struct stk__op stk__op_flat_map = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "flat_map", 1, "Open a chain for each element, one after the other.",
              "All elements of the chain that is opened for the first element, then all of the "
              "second one's, and so on: interleave with one chain at a time, which says what the "
              "chain may be.\n"
              "\n"
              "    files('*.tfrecord').shuffle().flat_map(tfrecord(path).take(100))\n"
              "    range(3).flat_map(element().repeat(2))\n"
              "    range(12).batch(4).flat_map(element().unbatch().filter('x % 3 != 0'))\n"
              "\n"
              "Elements that hold several are taken apart by unbatch.",
              flat_map_params, sizeof(struct flat_map) },
    .flags = STK__OP_NESTS,
    .infer = infer_flat_map,
};

static const struct stk_param element_params[] = { STK_ROWS_END };

static int infer_element(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    inf->count = 1;
    return STK_OK;
}

const struct stk__op stk__op_element = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "element", 1, "The element that a chain is opened for.",
              "Begins the chain of interleave and flat_map, and stands for the one element that it "
              "is opened for.\n"
              "\n"
              "    range(3).flat_map(element().repeat(2))\n"
              "\n"
              "An element that is repeated is made each time anew, and random ops behind the "
              "repeat draw other numbers each time.",
              element_params, 0 },
    .flags = STK__OP_ROOT | STK__OP_ELEMENT,
    .infer = infer_element,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_primitive.h: a convolution of some rows as oneDNN carries it out.
 *
 * A primitive is compiled for the heights of a piece. It has slots, what a thread needs to run it,
 * as many as there will be threads. So nothing is made while steps run: oneDNN itself takes some
 * small blocks for the arguments of each call and gives them back, which nobody can keep it from.
 */
#pragma once
#include "train/conv/candidate.h"
#include "train/conv/onednn_library.h"

/* Rows of the image, or of the output, that a piece has to do with. They lie without gaps. */
struct stk__onednn_rows {
    int first, n, width, channels;
};

struct stk__onednn_piece {
    struct stk__onednn_rows image, output;
    int pad_top, pad_left;
};

/* What a primitive reads and writes, all but the bias of each direction. */
enum {
    STK__ONEDNN_IMAGE,
    STK__ONEDNN_OUTPUT,
    STK__ONEDNN_WEIGHTS,
    STK__ONEDNN_BIAS,
    STK__ONEDNN_ROOM, /* its scratch */
    STK__ONEDNN_MEMORIES
};

struct stk__onednn_primitive;

/* Weights in whatever layout the first primitive will prefer. */
bool stk__onednn_any_weights(const struct stk__conv *conv, dnnl_memory_desc_t *out);

/* Whether oneDNN has a kernel for a piece that is not its plain C, which takes everything, and
 * seconds. */
bool stk__onednn_has_fast(const struct stk__conv_task *task, const struct stk__onednn_piece *piece,
                          const dnnl_memory_desc_t *weights);

/* One for a piece, with slots for task->n_threads. NULL: it has nothing fast, or no memory. Where
 * `room_bytes` of scratch are not enough for it, it brings its own. Returns new. */
struct stk__onednn_primitive *stk__onednn_primitive_new(const struct stk__conv_task *task,
                                                        const struct stk__onednn_piece *piece,
                                                        const dnnl_memory_desc_t *weights,
                                                        size_t room_bytes);
void stk__onednn_primitive_free(struct stk__onednn_primitive *primitive); /* NULL is fine */

/* How weights lie; the scratch it wants. */
const dnnl_memory_desc_t *stk__onednn_weights(const struct stk__onednn_primitive *primitive);
size_t stk__onednn_room_bytes(const struct stk__onednn_primitive *primitive);

/* Any number of threads. False if oneDNN could not. */
bool stk__onednn_run(struct stk__onednn_primitive *primitive,
                     float *const at[STK__ONEDNN_MEMORIES]);

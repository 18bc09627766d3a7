/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h: the place that a run has come to, and going on there. Part of stoker.h. */
#ifndef STOKER_CHECKPOINT_H
#define STOKER_CHECKPOINT_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place that a run has come to, behind this batch, as text: below 4 KB, whatever the size of
 * the data and of buffers. A consumer that takes batches ahead saves that of the batch it has
 * trained on. Returns new, freed with stk_text_free. */
STK_API int stk_batch_state(const struct stk_batch *batch, char **out, struct stk_error *err);

/* The same behind the last batch that next returned. */
STK_API int stk_iterator_state(struct stk_iterator *it, char **out, struct stk_error *err);

/* Starts reading behind that place: what comes is bit by bit what would have come, with any number
 * of workers. The chain, seed, on_error and the data must be the same (STK_STATE says what is not).
 * Chains that end in shard() also go on with another world: batches of all processes together
 * must be as large as before. Data that can be read at random is found at once; buffers of places
 * are filled again, in nanoseconds per element; streams are read again from the beginning of
 * their pass. */
STK_API int stk_iterator_resume(struct stk_dataset *dataset, const struct stk_options *options,
                                const char *state, struct stk_iterator **out,
                                struct stk_error *err);

/* What a state says of the place. */
struct stk_state_info {
    uint64_t epoch, batches; /* of the run; batches of that epoch that were delivered */
    uint64_t rows, errors;   /* as in stk_position */
    uint64_t end_epoch;      /* before which the run ends */
};
STK_API int stk_state_read(const char *state, struct stk_state_info *out, struct stk_error *err);

/* A state as a file: there is the one before or the new one, whenever a process ends. Load returns
 * new, freed with stk_text_free. */
STK_API int stk_state_save(const char *state, const char *path, struct stk_error *err);
STK_API int stk_state_load(const char *path, char **out, struct stk_error *err);

#ifdef __cplusplus
}
#endif
#endif

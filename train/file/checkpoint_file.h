/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_file.h: files that training goes on from. stoker/fit.h has the public functions. */
#pragma once
#include "train/file/safetensors.h"
#include "train/model/weights.h"

#include <stoker/fit.h>

/* As stk_trainer_load, of a file that is open. */
int stk__checkpoint_load(struct stk_trainer *trainer, const struct stk__safetensors *file,
                         struct stk_error *err);

/* ---- a directory of them: step-00000120.safetensors, …, and best.safetensors ---- */

struct stk__checkpoint_dir {
    const char *path;
    int64_t keep;    /* newest ones; at least 1 */
    char last[4096]; /* that was written last, or "" */
};

/* Makes the directory, and removes what processes that were killed left half written. */
int stk__checkpoint_dir_open(struct stk__checkpoint_dir *dir, struct stk_error *err);

/* Writes one, and then removes all but the newest. */
int stk__checkpoint_dir_save(struct stk__checkpoint_dir *dir, struct stk_trainer *trainer,
                             int64_t step, const struct stk_note *note, int n_notes,
                             struct stk_error *err);

/* Writes best.safetensors. */
int stk__checkpoint_dir_save_best(struct stk__checkpoint_dir *dir, struct stk_trainer *trainer,
                                  const struct stk_note *note, int n_notes, struct stk_error *err);

/* The newest one, and the newest before another one's path; "" where there is none. */
int stk__checkpoint_dir_newest(const struct stk__checkpoint_dir *dir, char path[4096],
                               struct stk_error *err);
int stk__checkpoint_dir_before(const struct stk__checkpoint_dir *dir, const char *than,
                               char path[4096], struct stk_error *err);

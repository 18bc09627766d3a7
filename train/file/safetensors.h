/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h: named tensors in a file, as Hugging Face's package keeps them.
 *
 *     u64 header bytes | header | data
 *     header: JSON, {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
 *             "data_offsets": [0, 24]}, …}, filled up with spaces
 *     data:   tensors row-major and little-endian, one behind the other without holes
 *
 * Reading trusts nothing: whatever the header says must be right before a tensor is handed out. Writing
 * is all or nothing (io/file_out.h), in the order in which the package writes.
 */
#pragma once
#include "base/memory/arena.h"

struct stk__saved_tensor {
    const char *name;
    int dtype, rank;
    int64_t shape[STK_MAX_RANK];
    const void *data; /* aligned for its dtype if the file is as the package writes it */
    size_t bytes;
};

/* A file that is read. */
struct stk__safetensors {
    char *path;
    int n_tensors;
    const struct stk__saved_tensor *tensor; /* by name */
    struct stk_pairs metadata;
    struct stk_arena arena; /* of all of these */
    void *map;
    size_t map_bytes;
};

/* Maps a file. stk__safetensors_close is due unless it fails. */
int stk__safetensors_open(struct stk__safetensors *file, const char *path, struct stk_error *err);
void stk__safetensors_close(struct stk__safetensors *file);

/* NULL: there is none. */
const struct stk__saved_tensor *stk__safetensors_find(const struct stk__safetensors *file,
                                                      const char *name);
const char *stk__safetensors_text(const struct stk__safetensors *file, const char *key);

/* Copies a tensor's values. Fails where the file has been cut short since it was opened, which ends the
 * process for who reads tensor->data instead. */
int stk__safetensors_copy(const struct stk__safetensors *file,
                          const struct stk__saved_tensor *tensor, void *dst, struct stk_error *err);

/* Tensors have different names; of values nothing is assumed. */
int stk__safetensors_write(const char *path, const struct stk__saved_tensor *tensor, int n,
                           const struct stk_pairs *metadata, struct stk_error *err);

/* Reads a header; the data behind it has data_bytes, and tensors point to their offset from `data`.
 * Messages are the cause alone. Fills tensors and metadata of `file`, in its arena. */
int stk__safetensors_parse(struct stk__safetensors *file, const uint8_t *header,
                           size_t header_bytes, const uint8_t *data, uint64_t data_bytes,
                           struct stk_error *err);

enum { STK__SAFETENSORS_MOST_HEADER = 100000000 }; /* what the package reads */

/* "F32" and so on, by dtype. */
extern const char *const stk__safetensors_types[STK_N_DTYPES];

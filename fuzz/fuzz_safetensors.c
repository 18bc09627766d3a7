/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c: any bytes as a header of safetensors, which ends where its memory does, with data
 * of 16 bytes. What is accepted lies within the data, without holes, and is found by its name. */
#include "base/error.h"
#include "train/file/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_BYTES = 16 };

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void check_tensors(const struct stk__safetensors *file, const uint8_t *values)
{
    size_t bytes = 0;
    for (int i = 0; i < file->n_tensors; i++) {
        const struct stk__saved_tensor *tensor = &file->tensor[i];
        const uint8_t *at = tensor->data;
        check(at >= values && tensor->bytes <= (size_t)(values + DATA_BYTES - at));
        check(stk__safetensors_find(file, tensor->name) == tensor);
        bytes += tensor->bytes;
    }
    check(bytes == DATA_BYTES);
    for (int i = 0; i < file->metadata.n; i++)
        check(stk__safetensors_text(file, file->metadata.name[i]) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t values[DATA_BYTES];
    struct stk__safetensors file = { 0 };
    struct stk_error err = { 0 };
    uint8_t *header = malloc(size ? size : 1);
    check(header != NULL);
    memcpy(header, data, size);
    stk__arena_init(&file.arena, 1024);
    int rc = stk__safetensors_parse(&file, header, size, values, DATA_BYTES, &err);
    check(rc == STK_OK || (rc == err.code && *err.text));
    if (!rc)
        check_tensors(&file, values);
    stk__arena_free(&file.arena);
    free(header);
    return 0;
}

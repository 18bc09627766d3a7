/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tfrecord.c: any bytes as a TFRecord file, at random and as a stream. */
#include "run_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_source("tfrecord('%s').batch(4)", data, size);
    run_piped("tfrecord('%s').batch(4)", data, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv_source.c: any bytes as a CSV file, types guessed, and as a stream of known columns. */
#define _GNU_SOURCE
#include "run_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_source("csv('%s', index=none).batch(4)", data, size);
    run_piped("csv('%s', {a: float32, b: text(default='x'), c: int64(default=1)}, "
              "header=['a', 'b', 'c']).batch(4)",
              data, size);
    return 0;
}

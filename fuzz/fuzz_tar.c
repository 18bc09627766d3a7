/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tar.c: any bytes as a tar archive, at random and as a stream. */
#include "run_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_source("tar('%s').batch(4)", data, size);
    run_piped("tar('%s', {image: 'jpg', label: 'cls'}).batch(4)", data, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_scan.h: finding the records of a TFRecord file. */
#pragma once
#include "io/record_files.h"

/* A stk__scan_fn. What cannot be a record becomes one all the same, up to the next good header, so
 * that it is reported, and skipped, in its place. */
int stk__tfrecord_scan(const void *context, struct stk__data_files *files, size_t file,
                       struct stk__record_index *out, struct stk_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_frame.h: the frame of a TFRecord.
 *
 *     length (8) | checksum of the length (4) | data (length) | checksum of the data (4)
 *
 * Numbers are little-endian, checksums masked CRC32C.
 */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

enum { STK__TFRECORD_HEADER = 12, STK__TFRECORD_FOOTER = 4, STK__TFRECORD_FRAME = 16 };

/* The length that a header of 12 bytes tells; false if its checksum is wrong. */
bool stk__tfrecord_length(const uint8_t *header, uint64_t *length);

/* The data of a record whose frame is all of `bytes`. STK_OK, or STK_DATA with the cause.
 * `verifies`: checks the data's checksum, not only the length's. */
int stk__tfrecord_open(const uint8_t *frame, uint64_t bytes, bool verifies, uint64_t *length,
                       struct stk_error *err);

/* Writing: what is appended between the two becomes the data of one record. `end` takes what `begin`
 * gave. */
size_t stk__tfrecord_begin(struct stk__text *out);
void stk__tfrecord_end(struct stk__text *out, size_t at);

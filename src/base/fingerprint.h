/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h: FarmHash's Fingerprint64, the hash by which TensorFlow puts strings into buckets
 * (tf.strings.to_hash_bucket_fast, the tables of tf.lookup). Elsewhere hash.h is used. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* data may be NULL when bytes is 0. */
uint64_t stk__fingerprint(const uint8_t *data, size_t bytes);

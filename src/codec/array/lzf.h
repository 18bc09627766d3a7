/* SPDX-License-Identifier: Apache-2.0 */
/* lzf.h: decoder of LZF, the fast compression that h5py brings with it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes at most `room` bytes; false if the data is damaged or holds more. */
bool stk__lzf_decompress(const uint8_t *src, size_t n, uint8_t *dst, size_t room, size_t *written);

/* SPDX-License-Identifier: Apache-2.0 */
/* line_count.h: the line number of an offset, for messages about files that are read at random.
 *
 * The first question about a file reads it once from front to back and keeps a number per MiB;
 * later ones read what is left of one MiB. A line ends at \n, \r\n or a lone \r.
 */
#pragma once
#include "io/data_file.h"

struct stk__line_counts;

/* Borrows the files, to which none may be added later. Returns new; NULL when out of memory. */
struct stk__line_counts *stk__line_counts_new(struct stk__data_files *files);
void stk__line_counts_free(struct stk__line_counts *counts); /* NULL is fine */

/* The line that the byte at `offset` is on, counted from 1; 0 if the file cannot be read.
 * Thread-safe. */
uint64_t stk__line_of(struct stk__line_counts *counts, size_t file, uint64_t offset);

/* Line ends that end in data[0 .. bytes); data[bytes] is looked at if `has_more`. */
uint64_t stk__count_line_ends(const uint8_t *data, size_t bytes, bool has_more);

/* SPDX-License-Identifier: Apache-2.0 */
/* exec_ops.h: ops that exist for test_exec only, and the few facts its model shares with them.
 *
 *     test_stream(count, break_at)   numbers as a stream; breaks before row break_at (-1: never)
 *     test_names(count)              numbers x with the path of a small file each; indexed
 *     test_name()                    adds the path of a file that x chooses
 *     test_parse()                   takes the field bytes away and its number into x
 *     test_fail(rate, salt)          one row in `rate` is bad
 *     test_spin(rounds)              burns time
 *     test_noise(seed)               x ^= random words of the row
 *     test_vary(salt)                adds y, a vector of 1 to 4 numbers
 */
#pragma once
#include "op/registry.h"

enum { TEST_N_FILES = 41 };

/* What a file of the test holds. */
enum test_file { TEST_FILE_GOOD, TEST_FILE_MISSING, TEST_FILE_BAD };
enum test_file test_file_kind(int64_t file);
int64_t test_file_of(int64_t x);
void test_file_path(int64_t file, char *path, size_t size);
int test_file_content(int64_t file, char *content, size_t size); /* returns its length */

bool test_is_failing(int64_t x, int64_t rate, int64_t salt);
int test_vary_len(int64_t x, int64_t salt);
static inline int64_t test_parsed(int64_t x, int64_t number)
{
    return (int64_t)((uint64_t)x + (uint64_t)number * 1000003);
}

/* Registers the ops and writes the files; 0, or 1 after saying why on stderr. */
int test_ops_begin(void);

/* Removes the files. Returns how many per-thread states were left open. */
int test_ops_end(void);

/* SPDX-License-Identifier: Apache-2.0 */
/* csv_kernel.h: finding the bytes that give delimited text its structure, and reading plain numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { STK__CSV_N_MARKS = 4, STK__CSV_BLOCK = 64 };

/* Writes the positions of all bytes in data[*from .. to) that are one of `byte` (which may repeat),
 * ascending, and returns their number. Stops before a block of 64 bytes whose marks might not fit
 * in the room that is left; *from is then where to go on. `room` is at least 64. `data` may be read
 * 64 bytes past `to`. */
typedef int (*stk__csv_marks_fn)(const uint8_t *data, uint32_t *from, uint32_t to,
                                 const uint8_t byte[STK__CSV_N_MARKS], uint32_t *out, int room);

int stk__csv_marks_scalar(const uint8_t *data, uint32_t *from, uint32_t to,
                          const uint8_t byte[STK__CSV_N_MARKS], uint32_t *out, int room);
int stk__csv_marks_avx2(const uint8_t *data, uint32_t *from, uint32_t to,
                        const uint8_t byte[STK__CSV_N_MARKS], uint32_t *out, int room);

/* One value of delimited text. 16 bytes behind `at` may be read, whatever `len`. */
struct stk__csv_cell {
    const uint8_t *at;
    uint32_t len;
    bool is_copy; /* of something with doubled quotes, in memory that was asked for */
};

/* Reads cell[0], cell[step], … n in all: whole[i] / 10^places[i] is the value of a plain number: at
 * most 18 digits (16 without a point), perhaps a point among them, perhaps a sign before them.
 * places[i] is -1 for anything else, and for -0, and whole[i] then 0. */
typedef void (*stk__csv_digits_fn)(const struct stk__csv_cell *cell, int step, int n,
                                   int64_t *whole, int8_t *places);

void stk__csv_digits_scalar(const struct stk__csv_cell *cell, int step, int n, int64_t *whole,
                            int8_t *places);
void stk__csv_digits_avx2(const struct stk__csv_cell *cell, int step, int n, int64_t *whole,
                          int8_t *places);

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csv.c: any bytes as delimited text: split as by the reference; and their first line as a
 * number.
 *
 * Input: dialect, columns, how many of them are wanted, instruction set and what lies behind the
 * text, then the text. */
#include "../tests/support/csv_reference.h"
#include "base/cpu.h"

enum { MOST_BYTES = 1500 }; /* many blocks of any instruction set */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

static void check_text(const uint8_t *text, size_t n, const struct stk__csv_dialect *dialect,
                       const uint8_t *choice)
{
    int level = (choice[3] >> 2) % ((int)stk__cpu_best() + 1);
    struct stk_error err;
    must(!stk_cpu_limit(stk__cpu_level_names[level], &err));
    must(splits_as_reference(text, n, dialect, 1 + choice[1] % 20, 1 + choice[2] % 3));
    must(rows_as_reference(text, n, dialect));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const uint8_t *choice = data;
    const struct stk__csv_dialect dialect = { .delimiter = choice[0] & 1 ? ';' : ',',
                                              .quote = choice[0] & 2 ? '"' : 0,
                                              .comment = choice[0] & 4 ? '#' : 0,
                                              .is_lenient = choice[0] & 8 };
    size_t n = size - 4 < MOST_BYTES ? size - 4 : MOST_BYTES;
    uint8_t *text = malloc(n + 64);
    must(text != NULL);
    memcpy(text, data + 4, n);
    memset(text + n, ",\"\n7"[choice[3] & 3], 64); /* what is behind must not count */
    check_text(text, n, &dialect, choice);
    size_t len = 0;
    while (len < n && len < 200 && text[len] != '\n')
        len++;
    must(reads_as_library(text, len));
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv_golden.c: delimited text against what Python's csv, pandas and pyarrow read
 * (golden/make_csv.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "csv_reference.h"
#include "kernel/kernel.h"

enum { N_TABLES = 40, MAX_BYTES = 1 << 18 };

static uint8_t text[MAX_BYTES], expected[MAX_BYTES];

static size_t read_golden(const char *name, uint8_t *into)
{
    char path[128];
    snprintf(path, sizeof path, "tests/golden/csv/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(into, 1, MAX_BYTES - 64, file);
    fclose(file);
    memset(into + n, '\n', 64);
    return n;
}

/* "LENGTH:BYTES," at *at, compared with a cell. */
static void check_cell(const uint8_t **at, const struct stk__csv_cell *cell)
{
    char *end;
    unsigned long len = strtoul((const char *)*at, &end, 10);
    assert_int_equal(*end, ':');
    assert_int_equal(cell->len, len);
    assert_memory_equal(cell->at, end + 1, len);
    *at = (const uint8_t *)end + 1 + len + 1;
}

static void check_table(const char *csv, const char *cells)
{
    enum { MOST = 16 };
    const struct stk__csv_dialect dialect = { ',', '"', 0, true };
    size_t n = read_golden(csv, text), n_expected = read_golden(cells, expected);
    static uint32_t mark[STK__CSV_LEAST_ROOM];
    static const int wanted[MOST] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct stk__csv_scan scan;
    struct stk__csv_result result;
    struct stk__csv_cell cell[MOST];
    uint8_t *list = NULL;
    uint32_t begin = 0;
    for (const uint8_t *at = expected; at < expected + n_expected;) {
        char *end;
        int n_cells = (int)strtol((const char *)at, &end, 10);
        const struct stk__csv_split split = { n_cells, n_cells, wanted, reference_alloc, &list };
        at = (const uint8_t *)end + 1;
        stk__csv_scan_begin(&scan, &dialect, true, mark, STK__CSV_LEAST_ROOM);
        stk__csv_scan_data(&scan, text + begin, n - begin);
        assert_int_equal(stk__csv_split_rows(&scan, &split, 1, cell, &result), 1);
        assert_int_equal(result.status, STK__CSV_OK);
        for (int i = 0; i < n_cells; i++)
            check_cell(&at, &cell[i]);
        begin += scan.at;
    }
    const struct stk__csv_split none = { 1, 0, wanted, reference_alloc, &list };
    stk__csv_scan_data(&scan, text + begin, n - begin);
    assert_int_equal(stk__csv_split_rows(&scan, &none, 1, cell, &result), 0);
    reference_free(list);
}

static void tables(void **state)
{
    (void)state;
    for (int i = 0; i < N_TABLES; i++) {
        char csv[32], cells[32];
        snprintf(csv, sizeof csv, "table-%02d.csv", i);
        snprintf(cells, sizeof cells, "table-%02d.cells", i);
        check_table(csv, cells);
    }
}

/* The number kernel and the converters, 64 cells at a time, then one by one. */
static void check_numbers(const struct stk__csv_cell *cell, int n, const double *doubles,
                          const float *singles)
{
    static const struct stk__csv_missing missing;
    struct stk__csv_result result[STK__CSV_BLOCK_ROWS] = { 0 };
    double wide[STK__CSV_BLOCK_ROWS];
    float narrow[STK__CSV_BLOCK_ROWS];
    struct stk__csv_target target = { .type = { .kind = STK__CSV_NUMBER, .dtype = STK_F64 } };
    const struct stk__csv_convert convert = {
        &target, &missing, cell, 1, n, 0, stk__kernels()->csv_digits
    };
    stk__csv_convert_fixed(&convert, (uint8_t *)wide, sizeof *wide, result);
    target.type.dtype = STK_F32;
    stk__csv_convert_fixed(&convert, (uint8_t *)narrow, sizeof *narrow, result);
    for (int i = 0; i < n; i++) {
        double real;
        assert_int_equal(result[i].status, STK__CSV_OK);
        assert_memory_equal(&wide[i], &doubles[i], sizeof real);
        assert_memory_equal(&narrow[i], &singles[i], sizeof *narrow);
        assert_true(stk__decimal_f64(cell[i].at, cell[i].len, &real));
        assert_memory_equal(&real, &doubles[i], sizeof real);
    }
}

static void numbers(void **state)
{
    static double doubles[MAX_BYTES / 12];
    static float singles[MAX_BYTES / 12];
    struct stk__csv_cell cell[STK__CSV_BLOCK_ROWS];
    size_t n_text = read_golden("numbers.csv", text), at = 2, row = 0;
    size_t n = read_golden("numbers.bin", expected) / 12;
    (void)state;
    memcpy(doubles, expected, n * sizeof *doubles);
    memcpy(singles, expected + n * sizeof *doubles, n * sizeof *singles);
    while (at < n_text) {
        int n_cells = 0;
        for (; n_cells < STK__CSV_BLOCK_ROWS && at < n_text; n_cells++) {
            size_t len = (size_t)((uint8_t *)memchr(text + at, '\n', n_text - at) - (text + at));
            cell[n_cells] = (struct stk__csv_cell){ text + at, (uint32_t)len, false };
            at += len + 1;
        }
        check_numbers(cell, n_cells, doubles + row, singles + row);
        row += (size_t)n_cells;
    }
    assert_int_equal(row, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tables), cmocka_unit_test(numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

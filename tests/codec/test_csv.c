/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c: delimited text: splitting against a reference, values, and the op csv. */
#define _GNU_SOURCE
#include "api_call.h"
#include "csv_reference.h"
#include "file_tree.h"

#include "base/cpu.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "base/rng.h"
#include "io/line_count.h"

static uint64_t random_state = 1;
static uint64_t random_below(uint64_t n)
{
    return stk__below(stk__hash_mix(5, random_state++), n);
}

/* ---- splitting ---- */

/* Text made of the characters that matter, or mostly of plain cells. */
static size_t make_text(uint8_t *text, size_t most, int n_columns, int kind)
{
    static const char odd[] = ",,\"\"\n\r#;a1 \xc3\xa4";
    size_t n = 0, len = random_below(most);
    while (n + 12 < len) {
        if (kind == 0) {
            text[n++] = (uint8_t)odd[random_below(sizeof odd - 1)];
            continue;
        }
        for (int c = 0; c < n_columns && n + 12 < len; c++) {
            bool is_quoted = kind == 2 && random_below(4) == 0;
            if (is_quoted)
                text[n++] = '"';
            for (uint64_t i = random_below(6); i > 0; i--)
                text[n++] = (uint8_t) "0123456789.-"[random_below(12)];
            if (is_quoted) {
                text[n++] = (uint8_t) "\n,x"[random_below(3)];
                text[n++] = '"';
            }
            text[n++] = c + 1 < n_columns ? ',' : '\n';
        }
        if (random_below(50) == 0)
            text[n++] = (uint8_t) ",\n\r"[random_below(3)];
    }
    return n;
}

static void splits_like_the_reference(void **state)
{
    static uint8_t text[4096 + 64];
    struct stk_error err;
    (void)state;
    for (int round = 0; round < 6000; round++) {
        int n_columns = 1 + (int)random_below(30);
        const struct stk__csv_dialect dialect = { ',', round % 5 ? '"' : 0, round % 3 ? '#' : 0,
                                                  round % 2 };
        size_t n = make_text(text, round % 10 ? 400 : 4096, n_columns, round % 3);
        memset(text + n, ",\"\n7"[round % 4], 64);
        for (int level = 0; level <= (int)stk__cpu_best(); level++) {
            assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], &err), STK_OK);
            if (!splits_as_reference(text, n, &dialect, n_columns, 1 + round % 3))
                fail_msg("round %d is split differently", round);
            if (!rows_as_reference(text, n, &dialect))
                fail_msg("round %d has other rows", round);
        }
    }
    stk_cpu_limit("auto", &err);
}

/* ---- numbers and times ---- */

static void check_number(const char *text)
{
    if (!reads_as_library((const uint8_t *)text, strlen(text)))
        fail_msg("'%s' is not read as the C library does", text);
}

static void numbers_are_exact(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        ".",
        "+.",
        "1.",
        ".5",
        "-.5e3",
        "1e",
        "1e+",
        "1e5",
        "1E-5",
        "00.100",
        "1.2.3",
        "1 ",
        " 1",
        "0x10",
        "nan",
        "inf",
        "--1",
        "+-1",
        "-0",
        "-0.0",
        "1_000",
        "1e400",
        "1e-400",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "9007199254740993",
        "9007199254740993.0",
        "123456789012345678901234567890",
        "0.1",
        "0.30000000000000004",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "8.5899345e9",
        "1.00000005960464477539",
        "1.000000059604644775390625",
        "1.00000017881393432617187499",
        "3.4028235677973366e38",
        "1e-45",
        "7e-46",
        "1.17549429e-38",
        "9223372036854775806",
        "-9223372036854775807",
        "99999999999999999999",
        "18446744073709551615",
        "2305843009213693952e1",
        "7450580596923828125e-27",
        "1e22",
        "1e23",
        "1e27",
        "1e28",
        "123e-27",
        "10000000000000000000",
        "100000000000000000000e-20",
        "0.000000000000000000000000000000001",
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_number(texts[i]);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = stk__hash_mix(9, (uint64_t)i);
        double any;
        memcpy(&any, &bits, sizeof any);
        int digits = 1 + (int)random_below(20);
        if (i % 4 == 0 && isfinite(any))
            snprintf(text, sizeof text, "%.*g", digits, any);
        else if (i % 4 == 1)
            snprintf(text, sizeof text, "%.*f", digits, (double)bits * 0x1p-60);
        else if (i % 4 == 2)
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)bits >> random_below(64),
                     (int)random_below(70) - 35);
        else
            snprintf(text, sizeof text, "%.17g", (double)(int64_t)bits * 0x1p-63);
        check_number(text);
    }
}

static void integers_stop_at_their_bounds(void **state)
{
    static const struct {
        const char *text;
        bool is_i64, is_u64;
    } cases[] = {
        { "9223372036854775807", true, true },
        { "9223372036854775808", false, true },
        { "-9223372036854775808", true, false },
        { "-9223372036854775809", false, false },
        { "18446744073709551615", false, true },
        { "18446744073709551616", false, false },
        { "00000000000000000000000001", true, true },
        { "+5", true, true },
        { "-+5", false, false },
        { "-0", true, false },
    };
    uint8_t text[64];
    int64_t i64;
    uint64_t u64;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].text);
        memset(text, '9', sizeof text);
        memcpy(text, cases[i].text, len);
        assert_int_equal(stk__decimal_i64(text, len, &i64), cases[i].is_i64);
        assert_int_equal(stk__decimal_u64(text, len, &u64), cases[i].is_u64);
    }
}

static void check_time(const char *text, enum stk__time_unit unit, bool is_time, int64_t expected)
{
    int64_t found = 0;
    bool is_read = stk__timestamp_read((const uint8_t *)text, strlen(text), unit, &found);
    if (is_read != is_time || (is_time && found != expected))
        fail_msg("'%s' gives %d, %lld", text, is_read, (long long)found);
}

static void times_are_read(void **state)
{
    (void)state;
    check_time("1970-01-01", STK__SECONDS, true, 0);
    check_time("2000-02-29T12:34:56", STK__SECONDS, true, 951827696);
    check_time("2000-02-29 12:34:56.789", STK__MILLISECONDS, true, 951827696789);
    check_time("2000-02-29 12:34", STK__SECONDS, true, 951827640);
    check_time("1969-12-31T23:59:59.5", STK__SECONDS, true, -1);
    check_time("1969-12-31T23:59:59.5", STK__MILLISECONDS, true, -500);
    check_time("2024-06-01T00:00:00+02:00", STK__SECONDS, true, 1717192800);
    check_time("2024-06-01T00:00:00-0530", STK__SECONDS, true, 1717219800);
    check_time("2024-06-01T00:00:00+02", STK__SECONDS, true, 1717192800);
    check_time("0001-01-01", STK__SECONDS, true, -62135596800);
    check_time("9999-12-31T23:59:59Z", STK__SECONDS, true, 253402300799);
    check_time("1677-09-21T00:12:43.145224193", STK__NANOSECONDS, true, -9223372036854775807);
    check_time("1677-09-21T00:12:43.145224191", STK__NANOSECONDS, false, 0);
    check_time("2262-04-11T23:47:16.854775807", STK__NANOSECONDS, true, INT64_MAX);
    check_time("2262-04-11T23:47:16.854775808", STK__NANOSECONDS, false, 0);
    static const char *const bad[] = { "",
                                       "2023-02-29",
                                       "2023-13-01",
                                       "2023-1-1",
                                       "2023-01-00",
                                       "0000-01-01",
                                       "2023-01-01T",
                                       "2023-01-01T24:00",
                                       "2023-01-01T10:60",
                                       "2023-01-01T10:00:60",
                                       "2023-01-01T10:00:00.",
                                       "2023-01-01x",
                                       "2023-01-01T10:00+2",
                                       "2023-01-01T10:00Zx",
                                       "20230101" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_time(bad[i], STK__SECONDS, false, 0);
}

static void lines_are_counted(void **state)
{
    (void)state;
    assert_int_equal(stk__count_line_ends((const uint8_t *)"a\nb\r\nc\rd", 8, false), 3);
    assert_int_equal(stk__count_line_ends((const uint8_t *)"a\r\n", 2, true), 0);
    assert_int_equal(stk__count_line_ends((const uint8_t *)"a\rb", 2, true), 1);
    assert_int_equal(stk__count_line_ends((const uint8_t *)"\r\r\n\n", 4, false), 3);
}

/* ---- guessing ---- */

static void check_guess(const char *cells, int kind, int dtype)
{
    static const struct stk__csv_text item[] = { { "", 0 }, { "NA", 2 } };
    const struct stk__csv_missing missing = { .item = item, .n = 2 };
    struct stk__csv_guess guess;
    stk__csv_guess_begin(&guess);
    for (const char *at = cells; *at;) {
        size_t len = strcspn(at, "|");
        uint8_t copy[64] = { 0 };
        memcpy(copy, at, len);
        const struct stk__csv_cell cell = { copy, (uint32_t)len, false };
        stk__csv_guess_see(&guess, &missing, &cell);
        at += len + (at[len] == '|');
    }
    struct stk__csv_type type = stk__csv_guess_type(&guess);
    if (type.kind != kind || type.dtype != dtype)
        fail_msg("'%s' is guessed to be kind %d, dtype %d", cells, type.kind, type.dtype);
}

static void types_are_guessed(void **state)
{
    (void)state;
    check_guess("1|2|-3", STK__CSV_NUMBER, STK_I64);
    check_guess("0|1", STK__CSV_NUMBER, STK_I64);
    check_guess("1|NA|3", STK__CSV_NUMBER, STK_F64);
    check_guess("1|2.5", STK__CSV_NUMBER, STK_F64);
    check_guess("1|inf|nan", STK__CSV_NUMBER, STK_F64);
    check_guess("99999999999999999999", STK__CSV_NUMBER, STK_F64);
    check_guess("true|False", STK__CSV_NUMBER, STK_BOOL);
    check_guess("true|1", STK__CSV_TEXT, STK_U8);
    check_guess("2024-01-01|2024-01-02 10:00", STK__CSV_TIMESTAMP, STK_I64);
    check_guess("2024-01-01|NA", STK__CSV_TEXT, STK_U8);
    check_guess("a|1", STK__CSV_TEXT, STK_U8);
    check_guess("NA|", STK__CSV_NUMBER, STK_F64);
}

/* ---- the op ---- */

static void put(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* All rows of a chain as text: fields by '|', rows by '/', bad ones left out. */
static char *rows_of(const char *chain, const char *options)
{
    static char out[1 << 16];
    struct stk_iterator *it = start_chain(chain, options);
    struct stk_batch *batch;
    struct stk_error err;
    size_t n = 0;
    int rc;
    out[0] = 0;
    while ((rc = stk_iterator_next(it, &batch, &err)) == STK_OK) {
        for (int f = 0; f < stk_batch_n_fields(batch); f++) {
            struct stk_view view;
            assert_int_equal(stk_batch_view_at(batch, f, &view), STK_OK);
            n += (size_t)snprintf(out + n, sizeof out - n, f ? "|" : "");
            if (view.kind == STK_BYTES)
                n += (size_t)snprintf(out + n, sizeof out - n, "%.*s", (int)view.splits[1],
                                      (char *)view.data);
            else if (view.dtype == STK_I64)
                n += (size_t)snprintf(out + n, sizeof out - n, "%lld",
                                      (long long)*(int64_t *)view.data);
            else if (view.dtype == STK_F32)
                for (int64_t i = 0; i < (view.rank ? view.shape[0] : 1); i++)
                    n += (size_t)snprintf(out + n, sizeof out - n, i ? ",%g" : "%g",
                                          (double)((float *)view.data)[i]);
            else if (view.dtype == STK_F64)
                n += (size_t)snprintf(out + n, sizeof out - n, "%.17g", *(double *)view.data);
            else
                n += (size_t)snprintf(out + n, sizeof out - n, "%d", *(uint8_t *)view.data);
        }
        n += (size_t)snprintf(out + n, sizeof out - n, "/");
        stk_batch_unref(batch);
    }
    if (rc != STK_END)
        snprintf(out, sizeof out, "%s", err.text);
    stk_iterator_free(it);
    return out;
}

static void expect_rows(const char *chain, const char *expected)
{
    assert_string_equal(rows_of(chain, "workers=0"), expected);
    assert_string_equal(rows_of(chain, "workers=2"), expected);
}

static void expect_failure(const char *chain, const char *part)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    assert_int_not_equal(stk_dataset_new(chain, NULL, &data, &err), STK_OK);
    if (!strstr(err.text, part))
        fail_msg("%s: the message is \"%s\", without \"%s\"", chain, err.text, part);
}

static void rows_and_columns(void **state)
{
    (void)state;
    put("a.csv", "id,name,x\n1,\"a,\"\"b\"\"\",0.5\r\n\n2,\"two\nlines\",\n3,c,-1e3");
    expect_rows("csv('a.csv')", "1|a,\"b\"|0.5/2|two\nlines|nan/3|c|-1000/");
    expect_rows("csv('a.csv', {x: float32, id: int64})", "0.5|1/nan|2/-1000|3/");
    expect_rows("csv('a.csv', {x: float32(default=7)})", "0.5/7/-1000/");
    expect_rows("csv('a.csv', {x: 'float32(default=7)', id: 'int64'})", "0.5|1/7|2/-1000|3/");
    expect_rows("csv('a.csv', {v: columns(['x', 'id'], float32), name: text})",
                "0.5,1|a,\"b\"/nan,2|two\nlines/-1000,3|c/");
    expect_rows("csv('a.csv', {name: text, v: columns(rest, float32)})",
                "a,\"b\"|1,0.5/two\nlines|2,nan/c|3,-1000/");
    expect_rows("csv('a.csv', {name: category(['c', 'two\\nlines'], default=-1)})", "-1/1/0/");
    expect_rows("csv('a.csv', {name: category})", "0/2/1/");
    expect_rows("csv('a.csv').skip(1).take(1).select('name')", "two\nlines/");
    expect_rows("csv(['a.csv', 'a.csv'], {id: int64}).skip(2)", "3/1/2/3/");
    struct stk_dataset *data = make_dataset("csv('a.csv', {name: category})");
    assert_int_equal(stk_dataset_count(data), 3);
    assert_string_equal(stk_dataset_class_name(data, "name", 1), "c");
    assert_null(stk_dataset_class_name(data, "name", 3));
    stk_dataset_unref(data);
}

/* The table of texts grows several times. */
static void learned_categories(void **state)
{
    enum { N = 300, STEP = 7 };
    char text[8192] = "kind\n", expected[8192] = "", chain[] = "csv('many.csv', {kind: category})";
    size_t len = strlen(text), expected_len = 0;
    (void)state;
    for (int n = 1; n <= N; n++) {
        int number = (n - 1) * STEP % N;
        len += (size_t)snprintf(text + len, sizeof text - len, "k%03d\n", number);
        expected_len += (size_t)snprintf(expected + expected_len, sizeof expected - expected_len,
                                         "%d/", number);
        bool is_looked_at = n <= 40 || n == N;
        if (!is_looked_at)
            continue;
        put("many.csv", text);
        struct stk_dataset *data = make_dataset(chain);
        assert_int_equal(stk_dataset_count(data), n);
        assert_non_null(stk_dataset_class_name(data, "kind", n - 1));
        assert_null(stk_dataset_class_name(data, "kind", n));
        stk_dataset_unref(data);
    }
    expect_rows(chain, expected);
}

static void dialects(void **state)
{
    (void)state;
    put("d.csv", "\xef\xbb\xbf"
                 "skipped \"line\n# comment, \"\na;b\n1;'x;''y'\n# no row\n2;#z\n");
    expect_rows("csv('d.csv', delimiter=';', quote='\\'', comment='#', skip_rows=1)",
                "1|x;'y/2|#z/");
    put("n.csv", "1,2\n3,-9\n");
    expect_rows("csv('n.csv', header=false)", "1|2/3|-9/");
    expect_rows("csv('n.csv', {c1: int64}, header=false)", "2/-9/");
    expect_rows("csv('n.csv', {b: int64(default=0)}, header=['a', 'b'], na=['-9'])", "2/0/");
    put("q.csv", "a,a,\n\"1\",\" 2 \",3\"\n");
    expect_rows("csv('q.csv', {a: int64, 'a.1': float32, c2: text}, quotes=lenient)", "1|2|3\"/");
    expect_rows("csv('q.csv', {c2: text}, quote=none)", "3\"/");
    put("t.tsv", "a\tb\n1\t2024-05-06T07:08:09Z\n");
    expect_rows("csv('t.tsv', {b: timestamp('ms')}, delimiter='\\t')", "1714979289000/");
    put("mac.csv", "a,b\r1,2\r3,4\r");
    expect_rows("csv('mac.csv')", "1|2/3|4/");
    put("empty.csv", "a,b\n");
    expect_rows("csv('empty.csv')", "");
    put("bool.csv", "a,b\ntrue,1\nFALSE,0\n");
    expect_rows("csv('bool.csv', {a: bool, b: bool})", "1|1/0|0/");
}

static void bad_rows(void **state)
{
    (void)state;
    put("bad.csv",
        "a,b\n1,2\n\"x\ny\",3\n4\n5,6,7\n8,\n9,10\n1\"2,3\n4,\"5\" \n6,7,\"8\"9\n\"open,1\n");
    static const char chain[] = "csv('bad.csv', {a: int64, b: int64})";
    struct stk_iterator *it = start_chain(chain, "workers=2 on_error=skip");
    struct stk_error err;
    int64_t n;
    assert_int_equal(drain(it, &n, &err), STK_END);
    assert_int_equal(n, 2);
    static const char *const causes[] = {
        "bad.csv, row 1 (element 1 of epoch 0): line 3: column 'a': 'x\\ny' is no int64",
        "bad.csv, row 2 (element 2 of epoch 0): line 5: there are 1 fields, expected 2",
        "line 6: there are 3 fields, expected 2",
        "line 7: column 'b': the value is missing; int64(default=0) would fill it in",
        "line 9: column 'a': a quote inside a value, or text behind a closing quote",
        "line 10: column 'b': a quote inside a value, or text behind a closing quote",
        "line 11: field 3: a quote inside a value",
        "line 12: a quoted field does not end",
    };
    for (uint64_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        assert_int_equal(stk_iterator_error(it, i, &err), STK_OK);
        if (!strstr(err.text, causes[i]))
            fail_msg("\"%s\" does not say \"%s\"", err.text, causes[i]);
    }
    stk_iterator_free(it);
    assert_string_equal(rows_of(chain, "workers=0 on_error=skip"), "1|2/9|10/");
    put("texts.csv", "t,n\n\"a\"\"b\",1\nc,x\nd,2\n\"e\"\"f\",y\n");
    assert_string_equal(rows_of("csv('texts.csv', {t: text, n: int64})", "workers=2 on_error=skip"),
                        "a\"b|1/d|2/");
    put("small.csv", "a\n127\n128\n-129\n");
    assert_non_null(strstr(rows_of("csv('small.csv', {a: int8})", "workers=0"),
                           "line 3: column 'a': '128' is no int8"));
}

static void wrong_calls(void **state)
{
    char wide[300 * 6] = "c1";
    (void)state;
    for (int i = 2; i <= 300; i++)
        snprintf(wide + strlen(wide), sizeof wide - strlen(wide), ",c%d", i);
    put("a.csv", "id,name,x\n1,b,2\n");
    put("b.csv", "id,name,y\n1,b,2\n");
    put("none.csv", "");
    put("wide.csv", wide);
    expect_failure("csv('missing.csv')", "missing.csv");
    expect_failure("csv(['a.csv', 'b.csv'])", "the header of 'b.csv' is not that of 'a.csv'");
    expect_failure("csv('none.csv')", "no header");
    expect_failure("csv('none.csv', header=false)", "no row that tells");
    expect_failure("csv('a.csv', {nam: text})",
                   "there is no column 'nam'; there are 'id', 'name', 'x'; did you mean 'name'?");
    expect_failure("csv('wide.csv', {c1000: text})", "'c1', 'c2', ");
    expect_failure("csv('wide.csv', {c1000: text})", ", … (300 in all)");
    expect_failure("csv('a.csv', {id: int63})", "a column is of a type");
    expect_failure("csv('a.csv', {id: int8(default=300)})", "default 300 is no int8");
    expect_failure("csv('a.csv', {id: timestamp('h')})", "s, ms, us or ns");
    expect_failure("csv('a.csv', {id: category(['a', 'a'])})", "listed twice");
    expect_failure("csv('a.csv', {})", "wants a map");
    expect_failure("csv('a.csv', {v: columns(['id'], text)})", "numbers in one field");
    expect_failure("csv('a.csv', {id: int64, name: text, x: text, v: columns(rest, int8)})",
                   "no column is left");
    expect_failure("csv('a.csv', delimiter='ab')", "one ASCII character");
    expect_failure("csv('a.csv', delimiter='7')", "one ASCII character");
    expect_failure("csv('a.csv', delimiter='\"')", "must differ");
    expect_failure("csv('a.csv', header=3)", "true, false, or a list");
    expect_failure("csv('-')", "a pipe is read only once");
}

/* ---- large files: groups, windows, sidecars, any order ---- */

enum { N_ROWS = 60000 };

static void write_large(void)
{
    FILE *file = fopen("large.csv", "w");
    assert_non_null(file);
    fprintf(file, "n,text,half\n");
    for (int i = 0; i < N_ROWS; i++) {
        fprintf(file, "%d,", i);
        if (i % 7 == 0)
            fprintf(file, "\"quoted \"\"%d\"\"\r\n, twice\"", i);
        else
            for (int k = 0; k < i % 40; k++)
                fputc('a' + k % 26, file);
        fprintf(file, ",%d.5%s", i, i % 3 ? "\n" : "\r\n");
        if (i % 11 == 0)
            fprintf(file, "\n");
    }
    fclose(file);
}

static void check_row(const struct stk_batch *batch, int64_t row)
{
    struct stk_view n = view_of(batch, "n"), text = view_of(batch, "text"),
                    half = view_of(batch, "half");
    char expected[64] = "";
    int64_t i = ((int64_t *)n.data)[row];
    if (i % 7 == 0)
        snprintf(expected, sizeof expected, "quoted \"%d\"\r\n, twice", (int)i);
    else
        for (int k = 0; k < i % 40; k++)
            expected[k] = (char)('a' + k % 26);
    size_t len = (size_t)(text.splits[row + 1] - text.splits[row]);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal((char *)text.data + text.splits[row], expected, len);
    assert_true(((double *)half.data)[row] == (double)i + 0.5);
}

/* Rows of a chain over large.csv; in order if `is_sorted`, and each once in any case. */
static void check_large(const char *chain, const char *options, bool is_sorted)
{
    static uint8_t seen[N_ROWS];
    struct stk_iterator *it = start_chain(chain, options);
    struct stk_batch *batch;
    struct stk_error err;
    int64_t total = 0;
    int rc;
    memset(seen, 0, sizeof seen);
    while ((rc = stk_iterator_next(it, &batch, &err)) == STK_OK) {
        const int64_t *n = view_of(batch, "n").data;
        for (int64_t row = 0; row < stk_batch_n_rows(batch); row++, total++) {
            assert_in_range(n[row], 0, N_ROWS - 1);
            assert_false(seen[n[row]]++);
            if (is_sorted)
                assert_int_equal(n[row], total);
            check_row(batch, row);
        }
        stk_batch_unref(batch);
    }
    if (rc != STK_END)
        fail_msg("%s", err.text);
    assert_int_equal(total, N_ROWS);
    stk_iterator_free(it);
}

static void large_files(void **state)
{
    (void)state;
    write_large();
    for (int mode = 0; mode < 4; mode++) {
        const char *options = mode & 1 ? "workers=2" : "workers=0";
        struct stk_error err;
        assert_int_equal(stk_cpu_limit(mode & 2 ? "auto" : "scalar", &err), STK_OK);
        check_large("csv('large.csv').batch(100)", options, true);
        check_large("csv('large.csv').shuffle().batch(100)", options, false);
        check_large("csv('large.csv').filter('n >= 0').batch(77)", options, true);
    }
    mkdir("indices", 0777);
    check_large("csv('large.csv', index='indices').batch(100)", "workers=2", true);
    check_large("csv('large.csv', index='indices').batch(100)", "workers=2", true);
    assert_int_equal(system("ls indices/*.stkidx >/dev/null && gzip -k large.csv"), 0);
    check_large("csv('large.csv.gz').batch(100)", "workers=2", true);
    assert_int_equal(system("mkfifo pipe && (cat large.csv > pipe &)"), 0);
    check_large("csv('pipe', {n: int64, text: text, half: float64}, header=['n', 'text', 'half'], "
                "skip_rows=1).batch(100)",
                "workers=2", true);
}

static void rows_of_any_size(void **state)
{
    enum { LONG = 3 << 20 };
    static char text[LONG + 64];
    (void)state;
    int at = snprintf(text, sizeof text, "a,b\n");
    memset(text + at, 'x', LONG);
    at += LONG;
    at += snprintf(text + at, sizeof text - (size_t)at, ",1\ny,2\n");
    write_file("long.csv", text, (size_t)at);
    expect_rows("csv('long.csv', {b: int64})", "1/2/");
    /* An open quote takes the rest of the file, which is one bad row. */
    text[4] = '"';
    write_file("long.csv", text, (size_t)at);
    assert_string_equal(rows_of("csv('long.csv', {b: int64})", "workers=0 on_error=skip"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_like_the_reference),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(integers_stop_at_their_bounds),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(lines_are_counted),
        cmocka_unit_test(types_are_guessed),
        cmocka_unit_test(rows_and_columns),
        cmocka_unit_test(learned_categories),
        cmocka_unit_test(dialects),
        cmocka_unit_test(bad_rows),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(large_files),
        cmocka_unit_test(rows_of_any_size),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

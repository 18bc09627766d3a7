/* SPDX-License-Identifier: Apache-2.0 */
/* test_order.c: ops that choose and order rows, against loops that say what they mean. */
#include "op_call.h"

/* ---- order tables ---- */

static void expect_order(const char *text, int64_t in_count, const uint64_t *expected, int64_t n)
{
    uint64_t position[MAX_ROWS], path[MAX_ROWS];
    int64_t got = order_of(text, in_count, 7, 9, position, path);
    if (got != n)
        fail_msg("%s over %d has %d rows, not %d", text, (int)in_count, (int)got, (int)n);
    for (int64_t i = 0; i < n; i++)
        if (position[i] != expected[i])
            fail_msg("%s over %d: row %d is %d, not %d", text, (int)in_count, (int)i,
                     (int)position[i], (int)expected[i]);
}

static void take_and_skip(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 12; n++)
        for (int k = -3; k < 15; k++) {
            uint64_t taken[MAX_ROWS], left[MAX_ROWS];
            int n_taken = 0, n_left = 0;
            char text[64];
            for (int i = 0; i < n; i++) {
                if (k < 0 || i < k)
                    taken[n_taken++] = (uint64_t)i;
                if (k >= 0 && i >= k)
                    left[n_left++] = (uint64_t)i;
            }
            snprintf(text, sizeof text, "take(%d)", k);
            expect_order(text, n, taken, n_taken);
            snprintf(text, sizeof text, "skip(%d)", k);
            expect_order(text, n, left, n_left);
        }
}

static void shard(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 30; n++)
        for (int shards = 1; shards < 8; shards++)
            for (int index = 0; index < shards; index++) {
                uint64_t rows[MAX_ROWS];
                int n_rows = 0;
                char text[64];
                for (int i = 0; i < n; i++)
                    if (i % shards == index)
                        rows[n_rows++] = (uint64_t)i;
                snprintf(text, sizeof text, "shard(%d, %d)", shards, index);
                expect_order(text, n, rows, n_rows);
            }
}

static void shard_of_the_run(void **state)
{
    uint64_t position[4] = { 0, 1, 2, 3 }, path[4] = { 0 };
    int64_t in_count = 10, n;
    struct op_call c = open_over("shard()", &numbers, in_count);
    (void)state;
    assert_int_equal(c.inf.count, 10);
    op_call_inside.rank = 1;
    op_call_inside.world = 3;
    assert_int_equal(c.op->order.count(&c.inf, &n, &c.err), STK_OK);
    assert_int_equal(n, 3);
    struct stk__order_run run = {
        .params = c.params, .in_count = &in_count, .n_inputs = 1, .rank = 1, .world = 3
    };
    c.op->order.at(&run, 3, position, path, NULL);
    assert_int_equal(position[0], 1);
    assert_int_equal(position[2], 7);
    op_call_inside.rank = 3;
    assert_int_equal(c.op->order.count(&c.inf, &n, &c.err), STK_VALUE);
    assert_message(&c, "rank");
    op_call_close(&c);
}

static void repeat(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 12; n++)
        for (int k = 0; k < 6; k++) {
            uint64_t position[MAX_ROWS], path[MAX_ROWS];
            char text[64];
            snprintf(text, sizeof text, "repeat(%d)", k);
            int64_t got = order_of(text, n, 0, 5, position, path);
            assert_int_equal(got, n * k);
            for (int64_t i = 0; i < got; i++) {
                assert_int_equal(position[i], i % n);
                assert_true(path[i] == stk__hash_mix(5, (uint64_t)(i / n)));
            }
        }
}

/* Positions in any order and under different paths, as an op above may hand them down. */
static void repeat_of_scattered_positions(void **state)
{
    int64_t in_count = 10;
    struct op_call c = open_over("repeat()", &numbers, in_count);
    struct stk__order_run run = { .params = c.params, .in_count = &in_count, .n_inputs = 1 };
    (void)state;
    assert_int_equal(c.inf.count, STK_INFINITE_COUNT);
    for (int trial = 0; trial < 50; trial++) {
        uint64_t position[64], path[64], was[64], above[64];
        for (int i = 0; i < 64; i++) {
            was[i] = position[i] = i && random_below(2) ? was[i - 1] + 1 : random_below(1u << 30);
            above[i] = path[i] = random_below(2);
        }
        c.op->order.at(&run, 64, position, path, NULL);
        for (int i = 0; i < 64; i++) {
            assert_int_equal(position[i], was[i] % 10);
            assert_true(path[i] == stk__hash_mix(above[i], was[i] / 10));
        }
    }
    op_call_close(&c);
}

static void concatenate(void **state)
{
    const struct stk_type *in[] = { &numbers, &numbers, &numbers };
    const int64_t counts[][3] = { { 0, 0, 0 }, { 1, 0, 2 }, { 0, 3, 1 }, { 5, 4, 3 } };
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct op_call c;
        uint64_t position[12], path[12] = { 0 };
        uint8_t input[12];
        assert_int_equal(op_call_open(&c, "concatenate(range(1), range(1), range(1))", NULL),
                         STK_OK);
        assert_int_equal(op_call_infer(&c, 3, in, counts[k]), STK_OK);
        assert_int_equal(c.inf.count, counts[k][0] + counts[k][1] + counts[k][2]);
        for (int i = 0; i < c.inf.count; i++)
            position[i] = (uint64_t)i;
        struct stk__order_run run = { .params = c.params, .in_count = counts[k], .n_inputs = 3 };
        c.op->order.at(&run, (int)c.inf.count, position, path, input);
        int row = 0;
        for (int part = 0; part < 3; part++)
            for (int i = 0; i < counts[k][part]; i++, row++) {
                assert_int_equal(input[row], part);
                assert_int_equal(position[row], i);
            }
        op_call_close(&c);
    }
}

/* The permutation of permute.h, written the slow way. Of few values: where does value x come from,
 * swap by swap? */
static uint64_t permute_few(uint64_t n, uint64_t key, uint64_t x)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t j = stk__below(stk__hash_mix(key, i), i + 1);
        x = x == i ? j : x == j ? i : x;
    }
    return x;
}

static uint64_t permute_one(uint64_t n, uint64_t key, uint64_t x)
{
    int bits = 2;
    if (n <= 64)
        return permute_few(n, key, x);
    while (bits < 64 && (uint64_t)1 << bits < n)
        bits++;
    int low = bits - bits / 2;
    do {
        uint32_t half[2] = { (uint32_t)(x >> low), (uint32_t)(x & (((uint64_t)1 << low) - 1)) };
        for (uint64_t i = 0; i < 6; i++) {
            uint32_t *to = &half[i % 2], f = half[1 - i % 2] + (uint32_t)stk__hash_mix(key, i);
            f = (f ^ f >> 16) * 0x7feb352d;
            f = (f ^ f >> 15) * 0x846ca68b;
            f ^= f >> 16;
            *to ^= f & (uint32_t)(((uint64_t)1 << (i % 2 ? low : bits / 2)) - 1);
        }
        x = (uint64_t)half[0] << low | half[1];
    } while (x >= n);
    return x;
}

static void shuffle_follows_its_definition(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 300; n++) {
        uint64_t position[MAX_ROWS], path[MAX_ROWS];
        bool is_seen[MAX_ROWS] = { false };
        assert_int_equal(order_of("shuffle(seed=3)", n, 11, (uint64_t)n * 77, position, path), n);
        uint64_t key = stk__hash_mix(stk__hash_mix(11, 3), (uint64_t)n * 77);
        for (int64_t i = 0; i < n; i++) {
            assert_true(position[i] < (uint64_t)n && !is_seen[position[i]]);
            is_seen[position[i]] = true;
            assert_true(position[i] == permute_one((uint64_t)n, key, (uint64_t)i));
        }
    }
}

/* All 120 orders of five elements come equally often: chi-square over 24000 paths, 119 degrees of
 * freedom; above 185 lies one run in ten thousand, and this one is always the same. */
static void shuffle_of_few_is_even(void **state)
{
    enum { N = 5, N_PATHS = 24000, N_ORDERS = 120 };
    int seen[N_ORDERS] = { 0 };
    double chi = 0, even = (double)N_PATHS / N_ORDERS;
    (void)state;
    for (uint64_t p = 0; p < N_PATHS; p++) {
        uint64_t position[MAX_ROWS], path[MAX_ROWS];
        assert_int_equal(order_of("shuffle()", N, 7, p, position, path), N);
        int rank = 0;
        for (int i = 0; i < N; i++) {
            int smaller = 0;
            for (int j = i + 1; j < N; j++)
                smaller += position[j] < position[i];
            rank = rank * (N - i) + smaller;
        }
        seen[rank]++;
    }
    for (int i = 0; i < N_ORDERS; i++)
        chi += (seen[i] - even) * (seen[i] - even) / even;
    assert_true(chi < 185);
}

static void shuffle_of_large_inputs_is_a_bijection(void **state)
{
    (void)state;
    for (int trial = 0; trial < 6; trial++) {
        int64_t n = 1000 + (int64_t)random_below(200000);
        struct op_call c = open_over("shuffle()", &numbers, n);
        uint64_t *position = malloc((size_t)n * sizeof *position),
                 *path = calloc((size_t)n, sizeof *path);
        bool *is_seen = calloc((size_t)n, sizeof *is_seen);
        for (int64_t i = 0; i < n; i++)
            position[i] = (uint64_t)i;
        struct stk__order_run run = {
            .params = c.params, .in_count = &n, .n_inputs = 1, .seed = random_below(1u << 30)
        };
        c.op->order.at(&run, (int)n, position, path, NULL);
        for (int64_t i = 0; i < n; i++) {
            assert_true(position[i] < (uint64_t)n && !is_seen[position[i]]);
            is_seen[position[i]] = true;
        }
        free(position);
        free(path);
        free(is_seen);
        op_call_close(&c);
    }
}

/* One call with positions of several epochs: each run of equal paths has its own key. */
static void shuffle_under_several_paths(void **state)
{
    int64_t n = 100;
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct op_call c =
            open_over(fixed ? "shuffle(reshuffle_each_iteration=false)" : "shuffle()", &numbers, n);
        uint64_t position[60], path[60];
        for (int i = 0; i < 60; i++) {
            position[i] = (uint64_t)i % 100;
            path[i] = (uint64_t)i / 7 % 3;
        }
        struct stk__order_run run = {
            .params = c.params, .in_count = &n, .n_inputs = 1, .seed = 4
        };
        c.op->order.at(&run, 60, position, path, NULL);
        for (int i = 0; i < 60; i++) {
            uint64_t key = stk__hash_mix(stk__hash_mix(4, 0), fixed ? 0 : (uint64_t)i / 7 % 3);
            assert_true(position[i] == permute_one(100, key, (uint64_t)i % 100));
        }
        op_call_close(&c);
    }
}

static void split_into_disjoint_parts(void **state)
{
    const double f[] = { 0.7, 0.2, 0.1 };
    (void)state;
    for (int64_t n = 0; n < 300; n += n < 20 ? 1 : 37) {
        bool is_seen[MAX_ROWS] = { false };
        int64_t total = 0;
        double sum = 0;
        for (int part = 0; part < 3; part++) {
            uint64_t position[MAX_ROWS], path[MAX_ROWS];
            char text[80];
            snprintf(text, sizeof text, "split([0.7, 0.2, 0.1], %d, seed=5)", part);
            int64_t got = order_of(text, n, (uint64_t)part, (uint64_t)part, position, path);
            int64_t first = (int64_t)((double)n * sum + 0.5);
            sum += f[part];
            assert_int_equal(got, (int64_t)((double)n * sum + 0.5) - first);
            for (int64_t i = 0; i < got; i++) {
                uint64_t key = stk__hash_mix(0x73706c6974, 5);
                assert_true(position[i] == permute_one((uint64_t)n, key, (uint64_t)(first + i)));
                assert_false(is_seen[position[i]]);
                is_seen[position[i]] = true;
            }
            total += got;
        }
        assert_int_equal(total, n);
    }
}

static void split_by_a_field(void **state)
{
    enum { N = 500 };
    uint64_t hash[N];
    int64_t n_in_part[3] = { 0 }, in_count = N;
    (void)state;
    for (int i = 0; i < N; i++)
        hash[i] = stk__hash_mix(3, (uint64_t)i / 4);
    for (int part = 0; part < 3; part++) {
        char text[80];
        snprintf(text, sizeof text, "split([0.5, 0.25, 0.25], %d, by=x)", part);
        struct op_call c = open_over(text, &numbers, N);
        assert_string_equal(c.op->scan_field(c.params), "x");
        assert_int_equal(c.inf.count, STK_UNKNOWN_COUNT);
        assert_int_equal(c.op->scan(c.params, &c.arena, hash, N, &c.inf.state, &c.err), STK_OK);
        assert_int_equal(c.op->order.count(&c.inf, &n_in_part[part], &c.err), STK_OK);
        uint64_t position[N], path[N] = { 0 };
        for (int i = 0; i < n_in_part[part]; i++)
            position[i] = (uint64_t)i;
        struct stk__order_run run = {
            .params = c.params, .state = c.inf.state, .in_count = &in_count, .n_inputs = 1
        };
        c.op->order.at(&run, (int)n_in_part[part], position, path, NULL);
        int expected = 0;
        for (int i = 0; i < N; i++) {
            double x =
                (double)(stk__hash_mix(stk__hash_mix(0x73706c6974, 0), hash[i]) >> 11) * 0x1p-53;
            int belongs = x < 0.5 ? 0 : x < 0.75 ? 1 : 2;
            if (belongs == part)
                assert_int_equal(position[expected++], i);
        }
        assert_int_equal(expected, n_in_part[part]);
        op_call_close(&c);
    }
    assert_int_equal(n_in_part[0] + n_in_part[1] + n_in_part[2], N);
    assert_in_range(n_in_part[0], N / 3, 2 * N / 3);
}

/* ---- counts ---- */

static void expect_count(const char *text, int64_t in, int64_t expected)
{
    struct op_call c = open_over(text, &numbers, in);
    int64_t n = c.inf.count;
    if (c.op->order.count)
        assert_int_equal(c.op->order.count(&c.inf, &n, &c.err), STK_OK);
    if (c.inf.count != expected || n != expected)
        fail_msg("%s over %d has count %d and %d, not %d", text, (int)in, (int)c.inf.count, (int)n,
                 (int)expected);
    op_call_close(&c);
}

static void counts(void **state)
{
    enum { INF = STK_INFINITE_COUNT, UNKNOWN = STK_UNKNOWN_COUNT };
    (void)state;
    expect_count("take(3)", INF, 3);
    expect_count("take(-1)", INF, INF);
    expect_count("take(0)", UNKNOWN, UNKNOWN);
    expect_count("skip(3)", INF, INF);
    expect_count("skip(3)", UNKNOWN, UNKNOWN);
    expect_count("skip(-1)", INF, 0);
    expect_count("repeat()", 5, INF);
    expect_count("repeat(-2)", 5, INF);
    expect_count("repeat()", 0, 0);
    expect_count("repeat(0)", INF, 0);
    expect_count("repeat(3)", UNKNOWN, UNKNOWN);
    expect_count("repeat(3)", INF, INF);
    expect_count("shard(2, 1)", INF, INF);
    expect_count("shard(2, 1)", 5, 2);
    expect_count("shuffle(10)", INF, INF);
    expect_count("shuffle(10)", UNKNOWN, UNKNOWN);
    expect_count("batch(4)", 9, 3);
    expect_count("batch(4, true)", 9, 2);
    expect_count("batch(4)", 0, 0);
    expect_count("batch(4)", INF, INF);
    expect_count("batch(4)", UNKNOWN, UNKNOWN);
    expect_count("prefetch()", 7, 7);
}

static int64_t count_of_two(const char *text, int64_t a, int64_t b)
{
    struct op_call c;
    struct stk_type other = numbers;
    const struct stk_type *in[] = { &numbers, &other };
    const int64_t in_count[] = { a, b };
    other.field[0].name = !strncmp(text, "zip", 3) ? "y" : "x";
    assert_int_equal(op_call_open(&c, text, NULL), STK_OK);
    assert_int_equal(op_call_infer(&c, 2, in, in_count), STK_OK);
    int64_t n = c.inf.count;
    op_call_close(&c);
    return n;
}

static void counts_of_two_inputs(void **state)
{
    const char *zip = "zip(range(1), range(1))", *cat = "concatenate(range(1), range(1))";
    enum { INF = STK_INFINITE_COUNT, UNKNOWN = STK_UNKNOWN_COUNT };
    (void)state;
    assert_int_equal(count_of_two(zip, 3, 5), 3);
    assert_int_equal(count_of_two(zip, INF, 5), 5);
    assert_int_equal(count_of_two(zip, 0, INF), 0);
    assert_int_equal(count_of_two(zip, INF, INF), INF);
    assert_int_equal(count_of_two(zip, 3, UNKNOWN), UNKNOWN);
    assert_int_equal(count_of_two(cat, 3, 5), 8);
    assert_int_equal(count_of_two(cat, 3, INF), INF);
    assert_int_equal(count_of_two(cat, UNKNOWN, INF), INF);
    assert_int_equal(count_of_two(cat, UNKNOWN, 2), UNKNOWN);
}

/* ---- bad calls ---- */

static void expect_failure(const char *text, const struct stk_type *type, int64_t count, int code,
                           const char *part)
{
    struct op_call c;
    const struct stk_type *in[] = { type };
    int got = op_call_open(&c, text, NULL);
    if (!got)
        got = op_call_infer(&c, 1, in, &count);
    if (got != code)
        fail_msg("%s gives %d (%s), not %d", text, got, c.err.text, code);
    assert_message(&c, part);
    op_call_close(&c);
}

static void bad_calls(void **state)
{
    enum { INF = STK_INFINITE_COUNT, UNKNOWN = STK_UNKNOWN_COUNT };
    (void)state;
    expect_failure("shuffle()", &numbers, INF, STK_VALUE, "buffer_size");
    expect_failure("shuffle()", &numbers, UNKNOWN, STK_VALUE, "unknown length");
    expect_failure("shuffle(0)", &numbers, 5, STK_VALUE, "buffer_size");
    expect_failure("shard(2, 2)", &numbers, 5, STK_VALUE, "numbered 0 to 1");
    expect_failure("shard(2)", &numbers, 5, STK_VALUE, "neither");
    expect_failure("repeat(4000000000)", &numbers, 1 << 30, STK_VALUE, "endless");
    expect_failure("batch(0)", &numbers, 5, STK_VALUE, "batch_size");
    expect_failure("split([0.5, 0.6])", &numbers, 5, STK_VALUE, "1.1");
    expect_failure("split([0.5, 0])", &numbers, 5, STK_VALUE, "above 0");
    expect_failure("split([0.5, 0.5], 2)", &numbers, 5, STK_VALUE, "part is 2");
    expect_failure("split([1], 0)", &numbers, INF, STK_VALUE, "endless");
    expect_failure("split([1], 0, by=nosuch)", &numbers, 5, STK_NAME, "nosuch");
    expect_failure("select(nosuch)", &numbers, 5, STK_NAME, "nosuch");
    expect_failure("select(x, x)", &numbers, 5, STK_NAME, "twice");
    expect_failure("rename({nosuch: y})", &numbers, 5, STK_NAME, "nosuch");
    expect_failure("rename({x: name})", &pairs, 5, STK_NAME, "two fields");
    expect_failure("read()", &pairs, 5, STK_TYPE, "path");
    expect_failure("read(x)", &pairs, 5, STK_TYPE, "x");
}

static void inputs_that_do_not_fit(void **state)
{
    struct op_call c;
    const struct stk_type *in[] = { &numbers, &pairs };
    const int64_t count[] = { 3, 3 };
    (void)state;
    assert_int_equal(op_call_open(&c, "zip(range(1), range(1))", NULL), STK_OK);
    assert_int_equal(op_call_infer(&c, 2, in, count), STK_NAME);
    assert_message(&c, "rename");
    op_call_close(&c);
    assert_int_equal(op_call_open(&c, "concatenate(range(1), range(1))", NULL), STK_OK);
    assert_int_equal(op_call_infer(&c, 2, in, count), STK_TYPE);
    assert_message(&c, "input 2 has {x: int64[], name: bytes}");
    op_call_close(&c);
}

/* ---- types ---- */

static void zip_puts_fields_beside_each_other(void **state)
{
    struct op_call c;
    struct stk_type other = { 1, { { .name = "y", .kind = STK_FIXED, .dtype = STK_F32 } } };
    const struct stk_type *in[] = { &pairs, &other };
    const int64_t count[] = { 3, 3 };
    (void)state;
    assert_int_equal(op_call_open(&c, "zip(range(1), range(1))", NULL), STK_OK);
    assert_int_equal(op_call_infer(&c, 2, in, count), STK_OK);
    assert_int_equal(c.out.n_fields, 3);
    assert_string_equal(c.out.field[2].name, "y");
    for (int f = 0; f < 3; f++)
        assert_int_equal(c.inf.from[f], f);
    op_call_close(&c);
}

static void select_and_rename(void **state)
{
    struct op_call c = open_over("select(name, x)", &pairs, 3);
    (void)state;
    assert_int_equal(c.out.n_fields, 2);
    assert_string_equal(c.out.field[0].name, "name");
    assert_int_equal(c.inf.from[0], 1);
    assert_int_equal(c.inf.from[1], 0);
    op_call_close(&c);
    c = open_over("rename({x: name, name: x})", &pairs, 3);
    assert_string_equal(c.out.field[0].name, "name");
    assert_int_equal(c.out.field[0].dtype, STK_I64);
    assert_string_equal(c.out.field[1].name, "x");
    assert_int_equal(c.inf.from[1], 1);
    op_call_close(&c);
}

static void read_replaces_the_path(void **state)
{
    struct stk_type type = { 2,
                             { { .name = "label", .kind = STK_FIXED, .dtype = STK_I64 },
                               { .name = "path",
                                 .kind = STK_BYTES,
                                 .dtype = STK_U8,
                                 .flags = STK_FIELD_PATH | STK_FIELD_TEXT } } };
    struct op_call c = open_over("read()", &type, 3);
    (void)state;
    assert_string_equal(c.out.field[1].name, "bytes");
    assert_int_equal(c.out.field[1].flags, 0);
    assert_int_equal(c.inf.from[0], 0);
    assert_int_equal(c.inf.from[1], -1);
    op_call_close(&c);
    c = open_over("read(name)", &pairs, 3);
    assert_string_equal(c.out.field[1].name, "name");
    assert_int_equal(c.inf.from[1], -1);
    op_call_close(&c);
    type.field[0] = pairs.field[1];
    type.field[0].name = "bytes";
    expect_failure("read()", &type, 3, STK_NAME, "exists already");
}

static void batch_adds_a_dimension(void **state)
{
    struct stk_type type = {
        3,
        { { .name = "a", .kind = STK_FIXED, .dtype = STK_F32, .rank = 2, .shape = { 4, 5 } },
          { .name = "b", .kind = STK_SHAPED, .dtype = STK_U8, .rank = 1, .shape = { -1 } },
          { .name = "c", .kind = STK_BYTES, .dtype = STK_U8 } }
    };
    const struct {
        const char *text;
        int64_t count, dim;
    } cases[] = { { "batch(8)", 16, -1 },
                  { "batch(8)", 17, -1 },
                  { "batch(8, true)", 17, 8 },
                  { "batch(8)", STK_INFINITE_COUNT, 8 },
                  { "batch(8)", STK_UNKNOWN_COUNT, -1 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op_call c = open_over(cases[i].text, &type, cases[i].count);
        const struct stk_field *f = c.out.field;
        assert_int_equal(f[0].kind, cases[i].dim < 0 ? STK_SHAPED : STK_FIXED);
        assert_int_equal(f[0].rank, 3);
        assert_int_equal(f[0].shape[0], cases[i].dim);
        assert_int_equal(f[0].shape[2], 5);
        assert_int_equal(f[1].kind, STK_SHAPED);
        assert_int_equal(f[1].rank, 2);
        assert_int_equal(f[2].kind, STK_BYTES);
        assert_int_equal(f[2].rank, 0);
        op_call_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take_and_skip),
        cmocka_unit_test(shard),
        cmocka_unit_test(shard_of_the_run),
        cmocka_unit_test(repeat),
        cmocka_unit_test(repeat_of_scattered_positions),
        cmocka_unit_test(concatenate),
        cmocka_unit_test(shuffle_follows_its_definition),
        cmocka_unit_test(shuffle_of_few_is_even),
        cmocka_unit_test(shuffle_of_large_inputs_is_a_bijection),
        cmocka_unit_test(shuffle_under_several_paths),
        cmocka_unit_test(split_into_disjoint_parts),
        cmocka_unit_test(split_by_a_field),
        cmocka_unit_test(counts),
        cmocka_unit_test(counts_of_two_inputs),
        cmocka_unit_test(bad_calls),
        cmocka_unit_test(inputs_that_do_not_fit),
        cmocka_unit_test(zip_puts_fields_beside_each_other),
        cmocka_unit_test(select_and_rename),
        cmocka_unit_test(read_replaces_the_path),
        cmocka_unit_test(batch_adds_a_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

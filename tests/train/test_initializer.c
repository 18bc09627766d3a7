/* SPDX-License-Identifier: Apache-2.0 */
/* test_initializer.c: what weights begin with: distributions against Keras (golden/make_models.py), and
 * values that depend on seed, name and place alone. */
#include "golden_cases.h"
#include "train/model/initializer.h"
#include "train_call.h"

#include "base/hash.h"

#include <math.h>

static struct stk__initializer initializer_of(const char *text)
{
    struct stk__initializer out;
    struct stk_error err = { 0 };
    if (stk__initializer_read(value_of(text), NULL, &arena, &out, &err))
        fail_msg("%s: %s", text, err.text);
    return out;
}

struct moments {
    double mean, deviation, low, high;
};

static struct moments moments_of(const float *value, int64_t n)
{
    struct moments m = { 0, 0, INFINITY, -INFINITY };
    for (int64_t i = 0; i < n; i++) {
        m.mean += (double)value[i];
        m.low = fmin(m.low, (double)value[i]);
        m.high = fmax(m.high, (double)value[i]);
    }
    m.mean /= (double)n;
    for (int64_t i = 0; i < n; i++)
        m.deviation += ((double)value[i] - m.mean) * ((double)value[i] - m.mean) / (double)n;
    m.deviation = sqrt(m.deviation);
    return m;
}

static void check_near(const char *text, const char *what, double ours, double theirs, double most)
{
    if (!(fabs(ours - theirs) <= most))
        fail_msg("%s: %s is %.9g, Keras has %.9g", text, what, ours, theirs);
}

/* Both are samples of more than 250,000: means differ by a few deviations / 500, deviations by less than
 * 1 %. Ends of distributions that have some are met nearly; a normal one has none. */
static void check_case(const struct golden_case *c)
{
    struct stk__initializer initializer = initializer_of(c->text);
    int64_t shape[4], n = 1;
    for (size_t i = 0; i < c->n[0]; i++)
        n *= shape[i] = (int64_t)c->array[0][i];
    stk__initializer_scale(&initializer, shape, (int)c->n[0]);
    float *value = malloc((size_t)n * sizeof *value);
    assert_non_null(value);
    stk__initializer_fill(&initializer, 1, c->text, 0, n, value);
    struct moments m = moments_of(value, n);
    const float *theirs = c->array[1];
    double spread = (double)theirs[1];
    check_near(c->text, "the mean", m.mean, (double)theirs[0], spread * 0.012);
    check_near(c->text, "the deviation", m.deviation, spread, spread * 0.01);
    double most = spread * (initializer.distribution == STK__NORMAL ? 1.5 : 0.002);
    check_near(c->text, "the least", m.low, (double)theirs[2], most);
    check_near(c->text, "the largest", m.high, (double)theirs[3], most);
    free(value);
}

static void test_as_keras(void **state)
{
    struct golden golden = golden_open("tests/golden/train_initializer.bin");
    struct golden_case c;
    (void)state;
    while (golden_next(&golden, &c))
        check_case(&c);
    free(golden.data);
}

/* The share below each of some numbers is that of the normal distribution. */
static void test_normal_shape(void **state)
{
    enum { N = 1 << 20 };
    static float value[N];
    struct stk__initializer normal = initializer_of("random_normal(0, 1)");
    struct stk__initializer cut = initializer_of("truncated_normal(0, 1)");
    (void)state;
    stk__initializer_fill(&normal, 3, "a", 0, N, value);
    for (double x = -4; x <= 4; x += 0.25) {
        int n = 0;
        for (int i = 0; i < N; i++)
            n += (double)value[i] < x;
        double wanted = 0.5 * erfc(-x / sqrt(2));
        assert_true(fabs(n / (double)N - wanted) < 5 * sqrt(wanted * (1 - wanted) / N) + 1e-9);
    }
    stk__initializer_fill(&cut, 3, "a", 0, N, value);
    for (int i = 0; i < N; i++)
        assert_true(fabsf(value[i]) <= 2);
}

/* The bits are part of what a model means. */
static void test_bits(void **state)
{
    static const struct {
        const char *text;
        uint32_t first;
        uint64_t digest;
    } cases[] = {
        { "random_uniform(0, 1)", 0x3f18ea10, 0x0fbe818a52919d9d },
        { "random_normal(0, 1)", 0x3e7c5590, 0xe313f363f89b7709 },
        { "truncated_normal(0, 1)", 0x3e70a24b, 0x1a42b6f135fcbdbd },
        { "he_normal", 0x3d00f596, 0xc0ef0c66ca63e167 },
    };
    float value[1000];
    const int64_t shape[] = { 3, 3, 16, 32 };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__initializer initializer = initializer_of(cases[i].text);
        stk__initializer_scale(&initializer, shape, 4);
        stk__initializer_fill(&initializer, 42, "conv2d/kernel", 0, 1000, value);
        uint64_t digest = stk__hash_bytes(0, value, sizeof value);
        uint32_t first;
        memcpy(&first, value, sizeof first);
        if (first != cases[i].first || digest != cases[i].digest)
            fail_msg("%s: 0x%08x, 0x%016llx", cases[i].text, first, (unsigned long long)digest);
    }
}

/* Any part of a weight is what it is in the whole. */
static void test_parts(void **state)
{
    float whole[203], part[203], other[203];
    struct stk__initializer initializer = initializer_of("random_normal");
    (void)state;
    stk__initializer_fill(&initializer, 7, "w", 0, 203, whole);
    for (int first = 0; first < 203; first += 7)
        for (int n = 0; first + n <= 203; n += 13) {
            stk__initializer_fill(&initializer, 7, "w", first, n, part);
            assert_memory_equal(part, whole + first, (size_t)n * sizeof *part);
        }
    stk__initializer_fill(&initializer, 8, "w", 0, 203, other);
    assert_memory_not_equal(other, whole, sizeof whole);
    stk__initializer_fill(&initializer, 7, "v", 0, 203, other);
    assert_memory_not_equal(other, whole, sizeof whole);
    stk__initializer_fill(&initializer, 7, "w", ((int64_t)1 << 34), 203, other);
    assert_memory_not_equal(other, whole, sizeof whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAIN_TEST(test_as_keras),
        TRAIN_TEST(test_normal_shape),
        TRAIN_TEST(test_bits),
        TRAIN_TEST(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_geometry_golden.c: geometric ops, on images and what follows them, at every level of the
 * machine, against tests/golden/geometry.bin, which torchvision wrote. golden/make_geometry.py has
 * the format. */
#define _GNU_SOURCE
#include "api_call.h"

#include <math.h>

enum { MAX_DIMS = 4, MAX_SHOWN = 4 };

/* One field of a case, as it lies in the file. */
struct field {
    char name[9];
    uint32_t dtype, rank, shape[MAX_DIMS], out_rank, out_shape[MAX_DIMS];
    float tolerance;
    const uint8_t *before, *after;
};

struct sample {
    char text[256];
    uint32_t n_fields;
    struct field field[MAX_SHOWN];
};

static const int dtypes[] = { STK_U8, STK_F32, STK_I64 };

/* ---- the file ---- */

static const uint8_t *at; /* what is read next */

static uint32_t take_word(void)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    at += sizeof word;
    return word;
}

static const uint8_t *take_bytes(size_t bytes)
{
    const uint8_t *data = at;
    at += (bytes + 3) / 4 * 4;
    return data;
}

static size_t take_shape(uint32_t *rank, uint32_t *shape)
{
    size_t n = 1;
    *rank = take_word();
    assert_true(*rank <= MAX_DIMS);
    for (uint32_t d = 0; d < *rank; d++)
        n *= shape[d] = take_word();
    return n;
}

static void take_field(struct field *f)
{
    memset(f, 0, sizeof *f);
    memcpy(f->name, take_bytes(8), 8);
    f->dtype = take_word();
    assert_true(f->dtype < sizeof dtypes / sizeof *dtypes);
    size_t value_bytes = stk_dtype_bytes(dtypes[f->dtype]);
    size_t n = take_shape(&f->rank, f->shape), n_out = take_shape(&f->out_rank, f->out_shape);
    memcpy(&f->tolerance, take_bytes(4), 4);
    f->before = take_bytes(n * value_bytes);
    f->after = take_bytes(n_out * value_bytes);
}

static void take_sample(struct sample *s)
{
    uint32_t len = take_word();
    assert_true(len < sizeof s->text);
    memcpy(s->text, take_bytes(len), len);
    s->text[len] = 0;
    s->n_fields = take_word();
    assert_true(s->n_fields <= MAX_SHOWN);
    for (uint32_t i = 0; i < s->n_fields; i++)
        take_field(&s->field[i]);
}

/* ---- a case ---- */

/* values({image: @image, …}).CALL of one element. */
static struct stk_dataset *dataset_of(const struct sample *s)
{
    char text[512] = "values({";
    struct stk_objects *objects = stk_objects_new();
    for (uint32_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->field[i];
        struct stk_array array = { .data = f->before,
                                   .dtype = dtypes[f->dtype],
                                   .kind = STK_FIXED,
                                   .rank = (int)f->rank + 1,
                                   .shape = { 1 } };
        for (uint32_t d = 0; d < f->rank; d++)
            array.shape[d + 1] = f->shape[d];
        assert_int_equal(stk_objects_add_array(objects, f->name, &array, NULL), STK_OK);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s: @%s", i ? ", " : "", f->name, f->name);
    }
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "}).%s", s->text);
    struct stk_dataset *data = make_dataset_with(text, objects);
    stk_objects_free(objects);
    return data;
}

static void check_values(const struct sample *s, const struct field *f, const void *found)
{
    size_t n = 1;
    for (uint32_t d = 0; d < f->out_rank; d++)
        n *= f->out_shape[d];
    if (f->tolerance == 0) {
        if (memcmp(found, f->after, n * stk_dtype_bytes(dtypes[f->dtype])))
            fail_msg("%s: the values of '%s' differ", s->text, f->name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float a, b;
        memcpy(&a, (const uint8_t *)found + 4 * i, sizeof a);
        memcpy(&b, f->after + 4 * i, sizeof b);
        if (!(fabsf(a - b) <= f->tolerance))
            fail_msg("%s: value %zu of '%s' is %g, not %g", s->text, i, f->name, (double)a,
                     (double)b);
    }
}

static void check_sample(const struct sample *s)
{
    struct stk_dataset *data = dataset_of(s);
    struct stk_iterator *it = start(data, "workers=0");
    struct stk_batch *batch = next(it);
    for (uint32_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->field[i];
        struct stk_view view = view_of(batch, f->name);
        assert_int_equal(view.rank, f->out_rank);
        for (uint32_t d = 0; d < f->out_rank; d++)
            if (view.shape[d] != f->out_shape[d])
                fail_msg("%s: dimension %u of '%s' is %lld, not %u", s->text, d, f->name,
                         (long long)view.shape[d], f->out_shape[d]);
        check_values(s, f, view.data);
    }
    stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_dataset_unref(data);
}

static void test_all(void **state)
{
    enum { MOST = 1 << 20 };
    static const char *const levels[] = { "scalar", "auto" };
    uint8_t *file_data = malloc(MOST);
    FILE *file = fopen("tests/golden/geometry.bin", "rb");
    (void)state;
    assert_non_null(file_data);
    assert_non_null(file);
    size_t bytes = fread(file_data, 1, MOST, file);
    fclose(file);
    assert_memory_equal(file_data, "STKG", 4);
    for (int level = 0; level < 2; level++) {
        assert_int_equal(stk_cpu_limit(levels[level], NULL), STK_OK);
        at = file_data + 4;
        uint32_t n = take_word();
        assert_true(n > 100);
        for (uint32_t i = 0; i < n; i++) {
            struct sample s;
            take_sample(&s);
            check_sample(&s);
        }
        assert_ptr_equal(at, file_data + bytes);
    }
    free(file_data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

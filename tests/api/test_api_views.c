/* SPDX-License-Identifier: Apache-2.0 */
/* test_api_views.c: what a batch shows: views of all kinds, origins, DLPack tensors; arrays of
 * the caller. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"

/* ---- views ---- */

static const char all_kinds[] =
    "values({x: [[1, 2, 3], [4, 5, 6], [7, 8, 9]], name: ['ab', '', 'c'], "
    "list: [[1.5, 2.5], [3.5], []], flag: [true, false, true]})";

static void check_fixed(const struct stk_batch *batch)
{
    struct stk_view x = view_of(batch, "x"), flag = view_of(batch, "flag");
    assert_true(x.kind == STK_FIXED && x.dtype == STK_I64 && x.rank == 2 && x.memory == STK_HEAP);
    CHECK_NUMBERS(x.shape, 3, 3);
    CHECK_NUMBERS(x.strides, 24, 8);
    CHECK_NUMBERS((const int64_t *)x.data, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assert_true(!x.splits && !x.n_splits && (uintptr_t)x.data % 64 == 0);
    assert_true(flag.dtype == STK_BOOL && flag.rank == 1 && flag.shape[0] == 3 &&
                flag.strides[0] == 1);
    assert_memory_equal(flag.data, "\1\0\1", 3);
}

static void test_batched_views(void **state)
{
    char chain[300];
    (void)state;
    snprintf(chain, sizeof chain, "%s.batch(3)", all_kinds);
    struct stk_iterator *it = start_chain(chain, "workers=2");
    struct stk_batch *batch = next(it);
    stk_iterator_free(it);
    assert_int_equal(stk_batch_n_rows(batch), 3);
    assert_int_equal(stk_batch_n_fields(batch), 4);
    check_fixed(batch);
    struct stk_view name = view_of(batch, "name"), list = view_of(batch, "list"), at;
    assert_true(name.kind == STK_BYTES && name.dtype == STK_U8 && name.rank == 1 &&
                name.n_splits == 4);
    assert_true(name.shape[0] == 3 && name.strides[0] == 1);
    CHECK_NUMBERS(name.splits, 0, 2, 2, 3);
    assert_memory_equal(name.data, "abc", 3);
    assert_true(list.kind == STK_RAGGED && list.dtype == STK_F32 && list.rank == 1 &&
                list.n_splits == 4);
    assert_true(list.shape[0] == 3 && list.strides[0] == 4);
    CHECK_NUMBERS(list.splits, 0, 2, 3, 3);
    assert_memory_equal(list.data, ((const float[]){ 1.5f, 2.5f, 3.5f }), 12);
    assert_int_equal(stk_batch_view_at(batch, 1, &at), STK_OK);
    assert_string_equal(at.name, "name");
    assert_ptr_equal(at.data, name.data);
    struct stk_error err;
    assert_int_equal(stk_batch_view_at(batch, 4, &at), STK_VALUE);
    assert_int_equal(stk_batch_view_at(batch, -1, &at), STK_VALUE);
    assert_int_equal(stk_batch_view(batch, "nothing", &at, &err), STK_NAME);
    assert_non_null(strstr(err.text, "'nothing'"));
    stk_batch_unref(batch);
}

static void check_element(const struct stk_batch *element, int row)
{
    static const char *const names[] = { "ab", "", "c" };
    static const int64_t lengths[] = { 2, 1, 0 };
    struct stk_view x = view_of(element, "x"), name = view_of(element, "name"),
                    list = view_of(element, "list");
    assert_true(x.rank == 1 && x.shape[0] == 3 && x.strides[0] == 8);
    CHECK_NUMBERS((const int64_t *)x.data, 3 * row + 1, 3 * row + 2, 3 * row + 3);
    assert_true(view_of(element, "flag").rank == 0);
    int64_t len = (int64_t)strlen(names[row]);
    assert_true(name.kind == STK_BYTES && name.rank == 0 && name.n_splits == 2);
    CHECK_NUMBERS(name.splits, 0, len);
    assert_memory_equal(name.data, names[row], (size_t)len);
    assert_true(list.kind == STK_FIXED && list.rank == 1 && !list.splits && list.strides[0] == 4);
    assert_int_equal(list.shape[0], lengths[row]);
    if (row < 2)
        assert_true(((const float *)list.data)[0] == (row ? 3.5f : 1.5f));
}

static void test_unbatched_views(void **state)
{
    struct stk_iterator *it = start_chain(all_kinds, "workers=2");
    (void)state;
    for (int row = 0; row < 3; row++) {
        struct stk_batch *element = next(it);
        assert_int_equal(stk_batch_n_rows(element), 1);
        check_element(element, row);
        stk_batch_unref(element);
    }
    stk_iterator_free(it);
}

/* Pictures have their own shapes until they are batched, and then must agree. */
static void test_shaped_views(void **state)
{
    struct stk_iterator *it = start_chain("files('train/*/*.jpg').decode()", "workers=2");
    struct stk_batch *element = next(it);
    struct stk_view image = view_of(element, "image");
    struct stk_error err;
    struct stk_batch *batch;
    (void)state;
    assert_true(image.kind == STK_FIXED && image.dtype == STK_U8 && image.rank == 3);
    CHECK_NUMBERS(image.shape, 29, 23, 3);
    CHECK_NUMBERS(image.strides, 69, 3, 1);
    stk_iterator_free(it);
    it = start_chain("files('train/cat/0.jpg').repeat(2).decode().batch(2)", "workers=2");
    batch = next(it);
    struct stk_view both = view_of(batch, "image");
    CHECK_NUMBERS(both.shape, 2, 29, 23, 3);
    CHECK_NUMBERS(both.strides, 2001, 69, 3, 1);
    for (int i = 0; i < 2; i++)
        assert_memory_equal((const char *)both.data + 2001 * i, image.data, 2001);
    stk_batch_unref(element);
    stk_batch_unref(batch);
    stk_iterator_free(it);
    it = start_chain("files('train/*/*.jpg').decode().batch(2)", "workers=2");
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_true(strstr(err.text, "differ in shape") && strstr(err.text, "train/cat/1.jpg"));
    assert_int_equal(stk_iterator_next(it, &batch, NULL), STK_DATA); /* for ever */
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_non_null(strstr(err.text, "differ in shape"));
    stk_iterator_free(it);
}

static void test_views_after_an_inner_batch(void **state)
{
    struct stk_iterator *it = start_chain("range(10).batch(4).map('x + 1')", "workers=2");
    (void)state;
    for (int64_t at = 0; at < 10; at += 4) {
        struct stk_batch *batch = next(it);
        struct stk_view x = view_of(batch, "x");
        int64_t n = at < 8 ? 4 : 2;
        assert_true(x.kind == STK_FIXED && x.rank == 1 && x.shape[0] == n &&
                    stk_batch_n_rows(batch) == n);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(((const int64_t *)x.data)[i], at + i + 1);
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
}

/* ---- lists of texts, and of lists ---- */

static void check_lists(const char *chain, int64_t row_length)
{
    struct stk_iterator *it = start_chain(chain, "workers=2");
    struct stk_batch *batch = next(it);
    struct stk_view t = view_of(batch, "t");
    assert_true(t.kind == STK_BYTES && t.dtype == STK_U8 && t.rank == 1 && t.n_row_splits == 4);
    assert_int_equal(t.row_length, row_length);
    if (row_length < 0) {
        CHECK_NUMBERS(t.row_splits, 0, 2, 2, 3);
        CHECK_NUMBERS(t.splits, 0, 1, 3, 3);
    } else {
        CHECK_NUMBERS(t.row_splits, 0, 2, 4, 6);
        CHECK_NUMBERS(t.splits, 0, 1, 3, 3, 3, 3, 3);
    }
    assert_memory_equal(t.data, "abb", 3);
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void test_lists_of_texts(void **state)
{
    (void)state;
    check_lists("values({t: [['a', 'bb'], [], ['']]}).batch(3)", -1);
    check_lists("values({t: [['a', 'bb'], [], ['']]}).ragged_batch(3)", -1);
    check_lists("values({t: [['a', 'bb'], [], ['']]}).batch(3).filter('len(t) == 3')", -1);
    check_lists("values({t: [['a', 'bb'], [], ['']]}).padded_batch(3)", 2);
    check_lists("values({t: [['a', 'bb'], [], ['']]}).padded_batch(3).filter('len(t) == 3')", 2);
    check_lists("values({t: [['a', 'bb'], ['', ''], ['', '']]}).batch(3)", 2);
}

static void test_one_list_of_texts(void **state)
{
    struct stk_iterator *it = start_chain("values({t: [['a', 'bb']]})", "workers=0");
    struct stk_batch *batch = next(it);
    struct stk_view t = view_of(batch, "t");
    (void)state;
    assert_true(t.kind == STK_BYTES && t.rank == 1 && t.n_splits == 3 && !t.row_splits);
    assert_true(stk_batch_n_rows(batch) == 1 && t.row_length == -1);
    CHECK_NUMBERS(t.splits, 0, 1, 3);
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void test_lists_of_lists(void **state)
{
    struct stk_iterator *it =
        start_chain("values({x: [[1, 2], [3], [], [4]]}).window(2).batch(2)", "workers=2");
    struct stk_batch *batch = next(it);
    struct stk_view x = view_of(batch, "x");
    (void)state;
    assert_true(x.kind == STK_RAGGED && x.dtype == STK_I64 && x.rank == 1 && x.shape[0] == 4);
    assert_true(x.n_row_splits == 3 && x.n_splits == 5 && x.row_length == -1);
    CHECK_NUMBERS(x.row_splits, 0, 2, 4);
    CHECK_NUMBERS(x.splits, 0, 2, 3, 3, 4);
    CHECK_NUMBERS((const int64_t *)x.data, 1, 2, 3, 4);
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void check_texts_info(const char *chain, int rank, int64_t last)
{
    struct stk_dataset *data = make_dataset(chain);
    struct stk_field_info info;
    assert_int_equal(stk_dataset_field(data, 0, &info), STK_OK);
    assert_true(info.kind == STK_BYTES && info.rank == rank);
    assert_true(info.shape[0] == -1 || rank == 1);
    assert_int_equal(info.shape[rank - 1], last);
    stk_dataset_unref(data);
}

static void test_what_lists_of_texts_are(void **state)
{
    (void)state;
    check_texts_info("values({t: [['a', 'bb'], []]})", 1, -1);
    check_texts_info("values({t: [['a', 'bb'], ['', '']]})", 1, 2);
    check_texts_info("values({t: ['a', 'bb']}).batch(2)", 1, -1);
    check_texts_info("values({t: [['a', 'bb'], []]}).batch(2)", 2, -1);
    check_texts_info("values({t: [['a', 'bb'], []]}).padded_batch(2)", 2, -1);
    check_texts_info("values({t: [['a', 'bb'], []]}).padded_batch(2, [3])", 2, 3);
    check_texts_info("values({t: [['a', 'bb'], ['', '']]}).batch(2)", 2, 2);
    check_texts_info("values({t: [['a', 'bb'], ['', '']]}).batch(2).unbatch()", 1, 2);
    check_texts_info("values({t: [['a', 'bb'], []]}).padded_batch(2).unbatch()", 1, -1);
}

/* ---- origins ---- */

static void check_origin(const struct stk_batch *batch, int64_t row, const char *expected)
{
    char *origin = stk_batch_origin(batch, row);
    assert_non_null(origin);
    assert_string_equal(origin, expected);
    stk_text_free(origin);
}

/* The value of a row of range is its element's number, so the origin can be told from it. */
static void check_origins_of_range(const char *chain)
{
    struct stk_iterator *it = start_chain(chain, "workers=2 epochs=2");
    struct stk_batch *batch;
    struct stk_error err;
    int64_t n_rows = 0;
    while (stk_iterator_next(it, &batch, &err) == STK_OK) {
        struct stk_view x = view_of(batch, "x");
        for (int64_t i = 0; i < stk_batch_n_rows(batch); i++) {
            char expected[64];
            snprintf(expected, sizeof expected, "range, element %lld",
                     (long long)((const int64_t *)x.data)[i]);
            check_origin(batch, i, expected);
            n_rows++;
        }
        assert_null(stk_batch_origin(batch, stk_batch_n_rows(batch)));
        assert_null(stk_batch_origin(batch, -1));
        stk_batch_unref(batch);
    }
    assert_true(err.code == STK_END && n_rows > 0);
    stk_iterator_free(it);
}

static void test_origins(void **state)
{
    (void)state;
    check_origins_of_range("range(100).shuffle().batch(7)");
    check_origins_of_range("range(100).shuffle(10).batch(7)");
    check_origins_of_range("range(30).repeat(2).shuffle().shard(2, 1).batch(4)");
    check_origins_of_range("range(30).filter('x % 3 == 0').shuffle(4).batch(4)");
    check_origins_of_range("range(30).concatenate(range(5), range(7).shuffle()).batch(4)");
    check_origins_of_range("range(30).filter('x > 3').concatenate(range(9)).batch(4)");
    check_origins_of_range("range(30).zip(range(40).rename({x: y}).shuffle()).batch(4)");
    check_origins_of_range(
        "range(30).filter('x > 3').zip(range(40).rename({x: y})).skip(2).batch(4)");
    check_origins_of_range("range(30).shuffle().batch(4).map('x + 0')");
    check_origins_of_range("range(30).split([0.5, 0.5], 1).take(9)");
}

static void test_origins_of_files(void **state)
{
    struct stk_iterator *it =
        start_chain("image_folder('train').decode().resize(4, 4).batch(2)", "workers=2");
    struct stk_batch *batch = next(it);
    (void)state;
    check_origin(batch, 0, "train/cat/0.jpg");
    check_origin(batch, 1, "train/cat/1.jpg");
    stk_iterator_free(it);
    check_origin(batch, 0, "train/cat/0.jpg"); /* the batch keeps what it needs */
    stk_batch_unref(batch);
    it = start_chain("lines(['words.txt', 'more.txt']).batch(7)", "workers=2");
    batch = next(it);
    check_origin(batch, 4, "words.txt, line 5");
    check_origin(batch, 5, "more.txt, line 1");
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

/* ---- DLPack ---- */

/* As in dlpack.h 0.8. */
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
};

static void check_dlpack_type(const char *dtype, int code, int bits)
{
    char chain[64];
    void *out = NULL;
    struct stk_error err;
    snprintf(chain, sizeof chain, "range(3).cast(%s).batch(3)", dtype);
    struct stk_iterator *it = start_chain(chain, "workers=0");
    struct stk_batch *batch = next(it);
    assert_int_equal(stk_batch_dlpack(batch, "x", &out, &err), STK_OK);
    stk_batch_unref(batch);
    struct dl_managed *managed = out;
    assert_true(managed->tensor.dtype.code == code && managed->tensor.dtype.bits == bits);
    assert_true(managed->tensor.dtype.lanes == 1);
    managed->deleter(managed);
    stk_iterator_free(it);
}

static void test_dlpack(void **state)
{
    struct stk_iterator *it = start_chain(
        "values({x: [[1, 2], [3, 4], [5, 6]], name: ['a', 'b', 'c']}).batch(3)", "workers=2");
    struct stk_batch *batch = next(it);
    struct stk_error err;
    void *out = NULL;
    (void)state;
    assert_int_equal(stk_batch_dlpack(batch, "name", &out, &err), STK_TYPE);
    assert_non_null(strstr(err.text, "'name'"));
    assert_int_equal(stk_batch_dlpack(batch, "nothing", &out, &err), STK_NAME);
    assert_int_equal(stk_batch_dlpack(batch, "x", &out, &err), STK_OK);
    struct stk_view view = view_of(batch, "x");
    struct dl_managed *managed = out;
    const struct dl_tensor *t = &managed->tensor;
    assert_ptr_equal(t->data, view.data); /* not copied */
    assert_true(t->device.type == 1 && t->device.id == 0 && t->ndim == 2 && t->byte_offset == 0);
    assert_true(t->dtype.code == 0 && t->dtype.bits == 64 && t->dtype.lanes == 1);
    CHECK_NUMBERS(t->shape, 3, 2);
    CHECK_NUMBERS(t->strides, 2, 1); /* in elements */
    stk_batch_unref(batch);
    stk_iterator_free(it);
    CHECK_NUMBERS((const int64_t *)t->data, 1, 2, 3, 4, 5, 6); /* it holds the batch */
    managed->deleter(managed);
}

static void test_dlpack_types(void **state)
{
    static const struct {
        const char *dtype;
        int code, bits;
    } cases[] = { { "bool", 6, 8 },     { "uint8", 1, 8 },     { "int8", 0, 8 },
                  { "uint16", 1, 16 },  { "int32", 0, 32 },    { "uint64", 1, 64 },
                  { "float16", 2, 16 }, { "bfloat16", 4, 16 }, { "float32", 2, 32 },
                  { "float64", 2, 64 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_dlpack_type(cases[i].dtype, cases[i].code, cases[i].bits);
}

/* ---- arrays of the caller ---- */

static void count_release(void *context)
{
    ++*(int *)context;
}

static struct stk_objects *make_objects(const void *data, int *n_released)
{
    struct stk_objects *objects = stk_objects_new();
    struct stk_error err;
    const struct stk_array array = { .data = data,
                                     .dtype = STK_F32,
                                     .rank = 2,
                                     .shape = { 3, 2 },
                                     .release = count_release,
                                     .context = n_released };
    assert_int_equal(stk_objects_add_array(objects, "a", &array, &err), STK_OK);
    /* nobody uses it */
    assert_int_equal(stk_objects_add_array(objects, "b", &array, &err), STK_OK);
    assert_int_equal(stk_objects_add_array(objects, "a", &array, &err), STK_NAME);
    assert_int_equal(stk_objects_add_array(objects, "1a", &array, &err), STK_NAME);
    return objects;
}

static void test_array_is_kept_while_used(void **state)
{
    float *numbers = malloc(6 * sizeof *numbers);
    int n_released = 0;
    (void)state;
    for (int i = 0; i < 6; i++)
        numbers[i] = (float)i / 2;
    struct stk_objects *objects = make_objects(numbers, &n_released);
    struct stk_dataset *data = make_dataset_with("values({x: @a, y: @a}).batch(2)", objects),
                       *more = NULL;
    stk_objects_free(objects);
    assert_int_equal(n_released, 1); /* b, which is in no chain */
    struct stk_error err;
    assert_int_equal(stk_dataset_then(data, "take(1)", NULL, &more, &err), STK_OK);
    char *text = stk_dataset_text(more, false);
    assert_string_equal(text, "values({x: @a, y: @a}).batch(2).take(1)");
    stk_text_free(text);
    struct stk_iterator *it = start(data, "workers=2");
    stk_dataset_unref(data);
    struct stk_batch *batch = next(it);
    struct stk_view x = view_of(batch, "x");
    CHECK_NUMBERS(x.shape, 2, 2);
    assert_memory_equal(x.data, numbers, 4 * sizeof *numbers);
    stk_iterator_free(it);
    stk_batch_unref(batch);
    assert_int_equal(n_released, 1); /* `more` goes on */
    it = start(more, "workers=2");
    stk_dataset_unref(more);
    stk_batch_unref(next(it));
    assert_int_equal(n_released, 1);
    stk_iterator_free(it);
    assert_int_equal(n_released, 2); /* once, when the last is gone */
    free(numbers);
}

static void test_table_outlives_dataset(void **state)
{
    static const float numbers[6];
    int n_released = 0;
    (void)state;
    struct stk_objects *objects = make_objects(numbers, &n_released);
    for (int i = 0; i < 3; i++) {
        struct stk_dataset *data = NULL;
        struct stk_error err;
        stk_dataset_unref(make_dataset_with("values({x: @a}).zip(values({y: @a}))", objects));
        assert_int_equal(stk_dataset_new("values({x: @a}).nothing()", objects, &data, &err),
                         STK_NAME);
        assert_int_equal(stk_dataset_new("values({x: @c})", objects, &data, &err), STK_NAME);
        assert_non_null(strstr(err.text, "@c"));
    }
    stk_dataset_unref(make_dataset_with("points = {x: @a}\nvalues(@points).batch(1)", objects));
    assert_int_equal(n_released, 0);
    stk_objects_free(objects);
    assert_int_equal(n_released, 2);
}

static void test_bad_arrays(void **state)
{
    static const float numbers[6];
    static const struct {
        struct stk_array array;
        int code;
    } cases[] = {
        { { .data = numbers, .dtype = 99, .rank = 1, .shape = { 6 } }, STK_TYPE },
        { { .data = numbers, .dtype = STK_F32, .rank = 0 }, STK_VALUE },
        { { .data = numbers, .dtype = STK_F32, .rank = 9 }, STK_VALUE },
        { { .data = numbers, .dtype = STK_F32, .rank = 1, .shape = { -1 } }, STK_VALUE },
        { { .data = NULL, .dtype = STK_F32, .rank = 1, .shape = { 6 } }, STK_VALUE },
        { { .data = numbers, .dtype = STK_F32, .rank = 2, .shape = { INT64_MAX, INT64_MAX } },
          STK_VALUE },
        { { .data = NULL, .dtype = STK_F32, .rank = 1, .shape = { 0 } }, STK_OK },
    };
    struct stk_objects *objects = stk_objects_new();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_error err;
        assert_int_equal(stk_objects_add_array(objects, "a", &cases[i].array, &err), cases[i].code);
        assert_true(cases[i].code == STK_OK || strstr(err.text, "@a"));
    }
    struct stk_iterator *it;
    struct stk_dataset *data = make_dataset_with("values({x: @a}).batch(2)", objects);
    int64_t n_rows;
    struct stk_error err;
    it = start(data, "");
    assert_int_equal(drain(it, &n_rows, &err), STK_END); /* an empty array has no elements */
    assert_int_equal(n_rows, 0);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    stk_objects_free(objects);
}

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive\n";
    if (enter(state))
        return -1;
    write_file("words.txt", words, sizeof words - 1);
    write_file("more.txt", words, sizeof words - 1);
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/orientation_6.jpg", "train/cat/1.jpg");
    copy_file("tests/golden/decode/orientation_3.jpg", "train/dog/2.jpg");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batched_views),
        cmocka_unit_test(test_unbatched_views),
        cmocka_unit_test(test_shaped_views),
        cmocka_unit_test(test_views_after_an_inner_batch),
        cmocka_unit_test(test_lists_of_texts),
        cmocka_unit_test(test_one_list_of_texts),
        cmocka_unit_test(test_lists_of_lists),
        cmocka_unit_test(test_what_lists_of_texts_are),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_origins_of_files),
        cmocka_unit_test(test_dlpack),
        cmocka_unit_test(test_dlpack_types),
        cmocka_unit_test(test_array_is_kept_while_used),
        cmocka_unit_test(test_table_outlives_dataset),
        cmocka_unit_test(test_bad_arrays),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}

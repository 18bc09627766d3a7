/* SPDX-License-Identifier: Apache-2.0 */
/* test_rewrites.c: what passes make of a chain, as text; that it delivers the same bytes as without
 * them; and that it is less work. */
#define _GNU_SOURCE
#include "api_call.h"
#include "base/hash.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"
#include "temporary.h"

#include <unistd.h>

/* ---- text in, text out ---- */

struct rewriting {
    const char *chain, *runs_as;
    const char *says; /* part of what is told; NULL: nothing is */
};

#define PICTURES "files('tests/golden/decode/q*.jpg')"
#define READ PICTURES ".read('path')"
#define FOLDER "image_folder('tests/golden')"
#define JSON "values({t: ['{}']})"
#define TABLE "csv('tests/golden/csv/table-00.csv')"
#define ARRAYS "npz('tests/golden/arrays/stored.npz')"
/* a stream without cost */
#define STREAM "range(9).batch(1).unbatch()"

static const struct rewriting rewritings[] = {
    /* drop_nothing */
    { "range(9).skip(0)", "range(9)", "skip(0) is left out: all elements pass" },
    { "range(9).take(-1)", "range(9)", "take(-1) is left out" },
    { "range(9).take(9)", "range(9)", "take(9) is left out" },
    { "range(9).take(8)", "range(9).take(8)", NULL },
    { "range(9).filter('x > 1').take(9)", "range(9).filter('x > 1').take(9)",
      "take(9) stays behind filter('x > 1')" },
    { "range(9).skip(1)", "range(9).skip(1)", NULL },
    { "range(9).shard(1, 0)", "range(9)", "shard(1, 0) is left out" },
    { "range(9).shard()", "range(9).shard()", NULL },
    { "range(9).shuffle(1)", "range(9)", "shuffle(1) is left out" },
    { "range(9).shuffle(2)", "range(9).shuffle(2)", NULL },
    { "range(9).repeat(1)", "range(9).repeat(1)", NULL },
    { "range(9).cast(int64)", "range(9)", "cast(int64) is left out: no field changes" },
    { "range(9).cast(int32)", "range(9).cast(int32)", NULL },
    { "range(9).rename({x: x})", "range(9)", "no field changes" },
    { "range(9).rename({x: y})", "range(9).rename({x: y})", NULL },
    { "values({a: [1], b: [2]}).select(a, b)", "values({a: [1], b: [2]})", "no field changes" },
    { "values({a: [1], b: [2]}).select(b, a)", "values({a: [1], b: [2]}).select('b', 'a')", NULL },
    { "range(9).prefetch(2).batch(3).prefetch().prefetch(4)", "range(9).batch(3).prefetch(4)",
      "prefetch(2) is left out: it has no effect" },
    { "range(9).batch(3).prefetch(4).prefetch()", "range(9).batch(3).prefetch(4)",
      "prefetch() is" },
    { "zip(range(9).skip(0), values({y: [1]}).take(-1))", "zip(range(9), values({y: [1]}))",
      "skip(0)" },
    /* project */
    { FOLDER ".decode().select(label)", FOLDER ".select('label')",
      "decode() is left out: nobody uses 'image'" },
    { FOLDER ".decode().resize(8, 8).flip().batch(2).select(label)",
      FOLDER ".batch(2).select('label')", "read('path') is left out: nobody uses 'bytes'" },
    { FOLDER ".decode().rename({image: a}).select(label)", FOLDER ".select('label')",
      "rename({image: a}) is left out" },
    { FOLDER ".decode().rename({image: a, label: b}).select(b)",
      FOLDER ".rename({label: b}).select('b')", "rename does without 'a': nobody uses it" },
    { FOLDER ".decode().map('image = label')", FOLDER ".read('path').decode().map('image = label')",
      NULL },
    { JSON ".parse_json({a: int64, b: int64, c: int64}).map('d = a + c').select(d)",
      JSON ".parse_json({a: int64, c: int64}).map('d = a + c').select('d')",
      "parse_json does without 'b'" },
    { JSON ".parse_json({a: int64}).map('t = 1').select(t)", JSON ".map('t = 1')",
      "parse_json({a: int64}) is left out" },
    { "range(9).map('y = x + 1').select(x)", "range(9)", "nobody uses 'y'" },
    { TABLE ".select(c2)", TABLE "[c2]", "csv does without 'c0', 'c1': nobody uses it" },
    { ARRAYS ".map('z = float32(y) + x[1]').select(z)",
      ARRAYS "[x, y].map('z = float32(y) + x[1]').select('z')", "npz does without 'name'" },
    { ARRAYS ".map('x = 1').select(x)", ARRAYS "[x].map('x = 1')", "without 'y', 'name'" },
    { "range(9).map('y = 1 // x').select(x)", "range(9).map('y = 1 // x').select('x')",
      "is run although nobody uses 'y': it can make elements bad" },
    { "range(9).map('y = x + 1').map('y = x + 2')", "range(9).map('y = x + 2')",
      "nobody uses 'y'" },
    /* filter_early */
    { FOLDER ".decode().filter('label < 5')", FOLDER ".filter('label < 5').read('path').decode()",
      "filter('label < 5') comes before read('path')" },
    { FOLDER ".decode().resize(8, 8).map('y = label').filter('label < 5')",
      FOLDER ".filter('label < 5').read('path').decode().resize(8, 8).map('y = label')",
      "it looks at nothing that is made there" },
    { FOLDER ".decode().map('y = label').filter('y < 5')",
      FOLDER ".read('path').decode().map('y = label').filter('y < 5')", NULL },
    { FOLDER ".decode().resize(8, 8).filter('mean(image) > 5')",
      FOLDER ".read('path').decode().resize(8, 8).filter('mean(image) > 5')",
      "stays behind resize(8, 8): it looks at 'image'" },
    { FOLDER ".decode().filter('9 // label < 5')",
      FOLDER ".read('path').decode().filter('9 // label < 5')", "it can fail" },
    { "range(9).map('y = x').filter('x > 2')", "range(9).map('y = x').filter('x > 2')", NULL },
    /* chains inside others */
    { "range(3).skip(0).interleave(range(5).map('x + 1').map('x * 2'))",
      "range(3).skip(0).interleave(range(5).map('x = (x + 1); x = (x * 2)'))", "are one" },
    { "values({k: [1, 2]}).interleave(element().map('y = k').take(-1)).select(k)",
      "values({k: [1, 2]}).interleave(element())", "take(-1) is left out" },
    /* move_choice */
    { STREAM ".map('x + 1').skip(3)", STREAM ".skip(3).map('x + 1')",
      "skip(3) comes before map('x + 1'): what lies between keeps order and number" },
    { STREAM ".map('x + 1').cast(int8).take(3).shard(2, 1)",
      STREAM ".take(3).shard(2, 1).map('x + 1').cast(int8)", "shard(2, 1) comes before" },
    { "range(9).map('x + 1').skip(3)", "range(9).map('x + 1').skip(3)", NULL },
    { "range(9).filter('x > 1').map('x + 1').skip(3)",
      "range(9).filter('x > 1').map('x + 1').skip(3)", NULL },
    { FOLDER ".filter('label < 5').decode().skip(3)",
      FOLDER ".filter('label < 5').skip(3).read('path').decode()", "comes before read('path')" },
    { "range(9).batch(2).skip(1)", "range(9).batch(2).skip(1)",
      "skip(1) stays behind batch(2): batches are made of good elements" },
    /* late_float */
    { PICTURES ".decode().cast(float32).flip()", READ ".decode().flip().cast(float32)",
      "flip() comes before cast(float32): it only moves pixels" },
    { PICTURES ".decode().normalize(imagenet).random_crop(8, 8).flip(probability=0.5)",
      READ ".decode().random_crop(8, 8).flip(probability=0.5).normalize(imagenet)",
      "decode() makes only the part that random_crop(8, 8) looks at" },
    { PICTURES ".decode().scale(1/255).layout(NCHW)",
      READ ".decode().layout(NCHW).scale(0.00392156862745098)", "comes before scale" },
    { PICTURES ".decode().normalize(imagenet).layout(NCHW)",
      READ ".decode().normalize(imagenet).layout(NCHW)", NULL },
    { PICTURES ".decode().flip().cast(float32)", READ ".decode().flip().cast(float32)", NULL },
    { PICTURES ".decode().cast(float32).resize(8, 8)", READ ".decode().cast(float32).resize(8, 8)",
      NULL },
    /* fuse_maps */
    { "range(9).map('x + 1').map('x * 2')", "range(9).map('x = (x + 1); x = (x * 2)')",
      "map('x + 1') and map('x * 2') are one" },
    { "range(9).map('y = x').map('z = y').map('w = z + x')",
      "range(9).map('y = x; z = y; w = z + x')", "are one" },
    { "range(9).map('y = 2').map('z = y / x')", "range(9).map('y = 2').map('z = y / x')", NULL },
    { "range(9).map('y = 1 // x').map('z = y')", "range(9).map('y = 1 // x').map('z = y')", NULL },
    /* what was there before */
    { PICTURES ".decode().resize(8, 8).flip()", READ ".decode().resize(8, 8) + flip()",
      "flip() is carried out by resize(8, 8)" },
    { PICTURES ".decode().center_crop(8, 8)", READ ".decode().center_crop(8, 8)",
      "decode() makes only the part that center_crop(8, 8) looks at" },
    { "range(9).shuffle(3).repeat(2)", "range(9).shuffle(3).repeat(2)",
      "shuffle(3) and repeat(2): the next pass fills the buffer while one drains" },
    { "range(9).shuffle().repeat(2)", "range(9).shuffle().repeat(2)", NULL },
};

static void check_rewriting(const struct rewriting *r)
{
    char expected[600];
    struct stk_dataset *data = make_dataset(r->chain);
    char *text = stk_dataset_explain(data), *end = text ? strchr(text, '\n') : NULL;
    assert_non_null(end);
    snprintf(expected, sizeof expected, "runs as %s", r->runs_as);
    *end = 0;
    assert_string_equal(text, expected);
    if (!r->says && end[1])
        fail_msg("%s: %s", r->chain, end + 1);
    if (r->says && !strstr(end + 1, r->says))
        fail_msg("%s: no '%s' in\n%s", r->chain, r->says, end + 1);
    stk_text_free(text);
    stk_dataset_unref(data);
}

static void test_rewritings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rewritings / sizeof *rewritings; i++)
        check_rewriting(&rewritings[i]);
}

/* A method call after the other, as in Python: every dataset has its own tree. */
static void test_then(void **state)
{
    (void)state;
    struct stk_dataset *folder = make_dataset(FOLDER ".decode()"), *label = NULL, *all = NULL;
    struct stk_error err;
    assert_int_equal(stk_dataset_then(folder, "select(label)", NULL, &label, &err), STK_OK);
    assert_int_equal(stk_dataset_then(folder, "filter('label < 2')", NULL, &all, &err), STK_OK);
    char *of_label = stk_dataset_explain(label), *of_all = stk_dataset_explain(all);
    assert_non_null(strstr(of_label, "runs as " FOLDER ".select('label')\n"));
    assert_non_null(strstr(of_all, ".read('path').decode()\n"));
    stk_text_free(of_label);
    stk_text_free(of_all);
    stk_dataset_unref(folder);
    stk_dataset_unref(label);
    stk_dataset_unref(all);
}

static void test_json(void **state)
{
    (void)state;
    struct stk_dataset *data = make_dataset("range(9).skip(0).batch(2).skip(1)");
    char *json = NULL;
    assert_int_equal(stk_dataset_plan(data, NULL, true, &json, NULL), STK_OK);
    assert_non_null(strstr(json, "\"chain\": \"range(9).batch(2).skip(1)\", \"rewrites\": "
                                 "[{\"pass\": \"drop_nothing\", \"done\": true, \"text\": "
                                 "\"skip(0) is left out: all elements pass, in their order\"}, "
                                 "{\"pass\": \"move_choice\", \"done\": false, \"text\": "));
    stk_text_free(json);
    stk_dataset_unref(data);
}

/* ---- the same bytes ---- */

static uint64_t random_state = 5;

static uint64_t random_below(uint64_t n)
{
    return stk__hash_mix(random_state++, 3) % n;
}

#define PICK(list) (list)[random_below(sizeof(list) / sizeof *(list))]

struct text {
    char data[1024];
    size_t len;
};

static void add(struct text *text, const char *part)
{
    int n = snprintf(text->data + text->len, sizeof text->data - text->len, "%s", part);
    text->len += (size_t)n;
    assert_true(text->len < sizeof text->data);
}

/* x is int64, h float16, b uint8, v a vector. Maps with // make bad elements. */
static void make_chain(struct text *text)
{
    static const char *const begins[] = {
        "range(70)",
        "range(70).batch(1).unbatch()",
        "range(90).filter('x % 7 != 2')",
        "range(70).shuffle(9)",
        "range(35).shuffle(4).repeat(2)",
        "range(80).shuffle().take(60)",
    };
    static const char *const ops[] = {
        ".map('x = x + 3')",
        ".map('h = float16(x) / 3')",
        ".map('h = h * h + 1')",
        ".map('b = uint8(x) + 250')",
        ".map('y = 7')",
        ".map('y = y + x')",
        ".map('z = 90 // (x % 11)')",
        ".map('z = where(h > 4, h, z)')",
        ".map('b = b * b; z = float16(b)')",
        ".map('h = z - h')",
        ".cast(float16, h)",
        ".cast(float32, h)",
        ".scale(0.5, 1, h)",
        ".filter('x % 3 != 1')",
        ".filter('h < 30')",
        ".filter('50 // (x % 9) > 3')",
        ".skip(0)",
        ".skip(3)",
        ".take(-1)",
        ".take(40)",
        ".shard(1, 0)",
        ".shard(3, 1)",
        ".shuffle(1)",
        ".shuffle(5)",
        ".repeat(1)",
        ".repeat(2)",
        ".select(x, h, z, b, y)",
        ".select(x, h, z, b, y)",
        ".rename({h: z, z: h})",
        ".rename({b: b})",
        ".prefetch(2)",
        ".batch(1).unbatch()",
    };
    static const char *const ends[] = { "",
                                        ".select(x)",
                                        ".select(h, y)",
                                        ".select(z)",
                                        ".rename({x: q}).select(q)",
                                        ".map('x = b')" };
    static const char *const batches[] = { "", ".batch(4)", ".batch(3).skip(1)",
                                           ".batch(5).take(2).prefetch(3)",
                                           ".batch(2).map('z = z + z').shard(2, 0)" };
    *text = (struct text){ .len = 0 };
    add(text, PICK(begins));
    add(text, ".map('h = float16(x); z = h; b = uint8(x); y = x')");
    for (uint64_t i = random_below(8); i > 0; i--)
        add(text, PICK(ops));
    add(text, PICK(ends));
    add(text, PICK(batches));
}

/* Pictures that are whole: what is not used and what is filtered out cannot be bad. */
static void make_picture_chain(struct text *text)
{
    static const char *const ops[] = {
        ".flip(probability=0.5)",
        ".cast(float32)",
        ".scale(1/255)",
        ".normalize(imagenet)",
        ".center_crop(9, 8)",
        ".random_crop(9, 8)",
        ".crop(0, 1, 9, 8)",
        ".random_crop(9, 8, padding=1)",
        ".rot90()",
        ".resize(12, 11)",
        ".filter('label != 1')",
        ".filter('label < 1 or mean(image) > 60')",
        ".skip(2)",
        ".shard(2, 1)",
        ".take(9)",
        ".shuffle(3)",
        ".map('l = label')",
        ".map('l = label; m = mean(image)')",
    };
    static const char *const ends[] = { "", "", ".select(label)", ".select(image)",
                                        ".layout(NCHW).select(label, image)" };
    *text = (struct text){ .len = 0 };
    add(text, "image_folder('tests/golden/decode/..')"
              ".filter('label == 2').shuffle(7).decode().resize_with_crop_or_pad(30, 31)");
    for (uint64_t i = random_below(6); i > 0; i--)
        add(text, PICK(ops));
    add(text, PICK(ends));
}

static char table_file[TEMPORARY_PATH];

static int write_table(void **state)
{
    (void)state;
    FILE *table =
        make_temporary_file(table_file, "stoker_rewrites") ? fopen(table_file, "w") : NULL;
    if (!table)
        return -1;
    fprintf(table, "a,b,c,d,e\n");
    for (int i = 0; i < 200; i++)
        fprintf(table, "%d,%d.5,\"text, %d\",%d,%s\n", i, i * 3, i, 200 - i,
                i % 3 ? "true" : "false");
    return fclose(table);
}

static int remove_table(void **state)
{
    (void)state;
    return unlink(table_file);
}

/* Sources that make some of their fields. */
static void make_source_chain(struct text *text)
{
    static const char *const selects[] = { ".select(a)",
                                           ".select(d, a)",
                                           ".select(b, e)",
                                           ".map('x = b + float64(a)').select(x)",
                                           ".filter('e').select(d)",
                                           ".rename({d: q}).select(q)",
                                           ".filter('len(c) == 8').select(a, b)" };
    static const char *const arrays[] = { ".select(x)", ".select(y)", ".map('z = x[0]').select(z)",
                                          ".filter('y > 2').select(x)",
                                          ".rename({y: q}).select(q)" };
    static const char *const chunks[] = { ".select(gzip_part)", ".select(lzf_row, all_part)",
                                          ".map('z = check_row + all_tiny').select(z)" };
    static const char *const others[] = { "",         ".take(40)",   ".shuffle()",
                                          ".skip(3)", ".shuffle(7)", ".shard(2, 1)" };
    static const char *const columns[] = {
        "", ", {a: int64, b: float64, c: text, d: int32, e: bool}",
        ", {d: float32, a: columns([a, d], int64), b: float64, e: bool, c: text}"
    };
    *text = (struct text){ .len = 0 };
    uint64_t source = random_below(4);
    const char *begin = source == 0   ? ARRAYS
                        : source == 1 ? "npz('tests/golden/arrays/deflated.npz')"
                        : source == 2 ? "hdf5('tests/golden/arrays/chunks.h5')"
                                      : "csv('";
    add(text, begin);
    if (source == 3) {
        add(text, table_file);
        add(text, "'");
        add(text, PICK(columns));
        add(text, ")");
    }
    add(text, PICK(others));
    add(text, source < 2 ? PICK(arrays) : source == 2 ? PICK(chunks) : PICK(selects));
    add(text, PICK(others));
    add(text, random_below(2) ? ".batch(3)" : "");
}

static size_t view_bytes(const struct stk_view *view)
{
    size_t bytes = stk_dtype_bytes(view->dtype);
    for (int d = 0; d < view->rank; d++)
        bytes *= (size_t)view->shape[d];
    return bytes;
}

static void assert_same_batch(const char *text, const struct stk_dataset *data,
                              const struct stk_batch *a, const struct stk_batch *b)
{
    for (int f = 0; f < stk_dataset_n_fields(data); f++) {
        struct stk_field_info info;
        struct stk_view x, y;
        assert_int_equal(stk_dataset_field(data, f, &info), STK_OK);
        assert_int_equal(stk_batch_view(a, info.name, &x, NULL), STK_OK);
        assert_int_equal(stk_batch_view(b, info.name, &y, NULL), STK_OK);
        assert_int_equal(x.dtype, y.dtype);
        assert_int_equal(x.rank, y.rank);
        assert_memory_equal(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape);
        if (memcmp(x.data, y.data, view_bytes(&x)))
            fail_msg("%s: %s differs", text, info.name);
    }
    char *from = stk_batch_origin(a, 0), *same = stk_batch_origin(b, 0);
    assert_string_equal(from, same);
    stk_text_free(from);
    stk_text_free(same);
}

/* How many batches were compared; -1 if the chain cannot be built. */
static int compare(const char *text, const char *options)
{
    struct stk_dataset *plain = NULL, *rewritten = NULL;
    struct stk_error err, same;
    int code = stk__graph_new(text, NULL, NULL, &plain, &err);
    assert_int_equal(code, stk_dataset_new(text, NULL, &rewritten, &same));
    if (code) {
        assert_string_equal(err.text, same.text);
        return -1;
    }
    assert_int_equal(stk_dataset_count(plain), stk_dataset_count(rewritten));
    char all[80];
    snprintf(all, sizeof all, "workers=0 epochs=2 %s", options);
    struct stk_iterator *a = start(plain, all);
    all[strlen("workers=")] = '2';
    struct stk_iterator *b = start(rewritten, all);
    int n = 0;
    for (;; n++) {
        struct stk_batch *x = NULL, *y = NULL;
        struct stk_error first = { 0 }, second = { 0 };
        code = stk_iterator_next(a, &x, &first);
        if (code != stk_iterator_next(b, &y, &second))
            fail_msg("%s %s\n%s\n%s", text, options, first.text, second.text);
        if (code && code != STK_END)
            assert_string_equal(first.text, second.text);
        if (code)
            break;
        assert_same_batch(text, plain, x, y);
        stk_batch_unref(x);
        stk_batch_unref(y);
    }
    stk_iterator_free(a);
    stk_iterator_free(b);
    stk_dataset_unref(plain);
    stk_dataset_unref(rewritten);
    return n;
}

static bool is_rewritten(const char *text)
{
    struct stk_dataset *data = NULL;
    if (stk_dataset_new(text, NULL, &data, NULL))
        return false;
    bool is_done = false;
    for (const struct stk__rewrite *r = data->rewrite; r; r = r->next)
        is_done |= r->is_done;
    stk_dataset_unref(data);
    return is_done;
}

static void compare_many(void (*make)(struct text *), int n, const char *const *options)
{
    int n_batches = 0, n_rewritten = 0;
    for (int i = 0; i < n; i++) {
        struct text text;
        make(&text);
        for (int k = 0; options[k]; k++) {
            int n_compared = compare(text.data, options[k]);
            n_batches += n_compared > 0 ? n_compared : 0;
        }
        n_rewritten += is_rewritten(text.data);
    }
    assert_true(n_rewritten > n / 2);
    assert_true(n_batches > 5 * n);
}

static void test_random_chains(void **state)
{
    (void)state;
    static const char *const options[] = { "seed=3 on_error=fail", "seed=4 on_error=skip", NULL };
    compare_many(make_chain, 1500, options);
}

static void test_random_picture_chains(void **state)
{
    (void)state;
    static const char *const options[] = { "seed=3", NULL };
    compare_many(make_picture_chain, 120, options);
}

static void test_random_source_chains(void **state)
{
    (void)state;
    static const char *const options[] = { "seed=3", NULL };
    compare_many(make_source_chain, 200, options);
}

/* ---- less work ---- */

/* What the row ops of a run did: their run functions are put aside, and these counted. */
static struct {
    struct stk__op op[32];
    int (*run[32])(struct stk_rows *);
    int n;
    uint64_t rows, bytes; /* live rows that went in, bytes that came out */
} work;

static uint64_t written_bytes(const struct stk_rows *rows, int field)
{
    const struct stk_column *column = &rows->out[field];
    uint64_t bytes = column->data ? (uint64_t)rows->n * column->stride : 0;
    for (int i = 0; column->span && i < rows->n; i++)
        bytes += column->span[i].bytes;
    return bytes;
}

static int run_counted(struct stk_rows *rows)
{
    int i = 0;
    while (strcmp(work.op[i].decl.name, rows->inside->name))
        i++;
    for (int row = 0; row < rows->n; row++)
        work.rows += rows->mask[row] == STK_LIVE;
    int rc = work.run[i](rows);
    for (int f = 0; f < rows->out_type->n_fields; f++) {
        bool is_passed = f < rows->in_type->n_fields && (rows->out[f].data == rows->in[f].data) &&
                         (rows->out[f].span == rows->in[f].span);
        work.bytes += is_passed ? 0 : written_bytes(rows, f);
    }
    return rc;
}

static void count_work(const struct stk_dataset *data)
{
    memset(&work, 0, sizeof work);
    for (int i = 0; i < data->n_used; i++) {
        struct stk__node *node = data->node[i];
        if (!node->op->row.run)
            continue;
        assert_true(work.n < 32);
        work.op[work.n] = *node->op;
        work.run[work.n] = node->op->row.run;
        work.op[work.n].row.run = run_counted;
        node->op = &work.op[work.n++];
    }
}

struct effort {
    uint64_t rows, bytes, read;
};

/* Takes the dataset. */
static struct effort effort_of(struct stk_dataset *data)
{
    count_work(data);
    struct stk_iterator *it = start(data, "workers=0 on_error=skip");
    struct stk_batch *batch = NULL;
    struct stk_stats stats;
    while (!stk_iterator_next(it, &batch, NULL))
        stk_batch_unref(batch);
    stk_iterator_stats(it, &stats);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    return (struct effort){ work.rows, work.bytes, stats.bytes_read };
}

struct saving {
    const char *chain;
    int rows, bytes, read; /* percent of the effort without passes, at most */
};

static const struct saving savings[] = {
    { STREAM ".map('x + 1').skip(8)", 20, 20, 100 },
    { "range(90).batch(1).unbatch().map('x + 1').shard(10, 0)", 10, 10, 100 },
    { FOLDER ".decode().select(label).batch(8)", 50, 1, 0 },
    /* More rows than before: the filter now sees the files that cannot be decoded, too. */
    { FOLDER ".decode().filter('label == 3')", 120, 50, 50 },
    { PICTURES ".decode().cast(float32).crop(0, 0, 4, 4)", 100, 20, 120 },
    { "range(90).map('x + 1').map('x * 2').map('x - 3')", 34, 34, 100 },
    { "range(90).select(x).map('y = x + 1; z = x * 2').select(x)", 0, 0, 100 },
    { ARRAYS ".select(y)", 100, 100, 50 },
    { JSON ".parse_json({a: value('a', int64, 1), b: value('b', int64, 2)}).select(b)", 50, 50,
      100 },
};

static void test_less_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof savings / sizeof *savings; i++) {
        const struct saving *s = &savings[i];
        struct stk_dataset *plain = NULL;
        assert_int_equal(stk__graph_new(s->chain, NULL, NULL, &plain, NULL), STK_OK);
        struct effort before = effort_of(plain), after = effort_of(make_dataset(s->chain));
        if (after.rows * 100 > before.rows * (uint64_t)s->rows ||
            after.bytes * 100 > before.bytes * (uint64_t)s->bytes ||
            after.read * 100 > before.read * (uint64_t)s->read)
            fail_msg("%s: %llu of %llu rows, %llu of %llu bytes, %llu of %llu read", s->chain,
                     (unsigned long long)after.rows, (unsigned long long)before.rows,
                     (unsigned long long)after.bytes, (unsigned long long)before.bytes,
                     (unsigned long long)after.read, (unsigned long long)before.read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewritings),
        cmocka_unit_test(test_then),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_random_picture_chains),
        cmocka_unit_test(test_random_source_chains),
        cmocka_unit_test(test_less_work),
    };
    return cmocka_run_group_tests(tests, write_table, remove_table);
}

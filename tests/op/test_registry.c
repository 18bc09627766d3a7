/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry.c: every op that is declared: its declaration, its texts, and a run at defaults
 * and bounds.
 *
 * A new op needs one row in `trials`: what comes before and after it in a small chain, and
 * arguments for what it requires. Everything else follows from the declaration.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "file_tree.h"
#include "lang/param_rows.h"
#include "op/implied.h"
#include "op/registry.h"
#include "row_function.h"
#include "row_stream.h"

#include <ctype.h>
#include <math.h>

struct trial {
    const char *op, *before, *after;
    const char *arg[4]; /* "name=value" for every required parameter */
};

static struct row_stream rows = { .n = 5, .bad = -1 };
static struct row_function function = { .bad = -1, .wrong = -1 };
static struct stk_objects *objects; /* @rows, @twice, @even */

#define PICTURES "files('train/*/*.jpg').decode()."
#define LABELLED "image_folder('train').decode().resize(4, 4).batch(2)."
#define RECORDS                                                                                    \
    "values({record: ['', "                                                                        \
    "'\\x0a\\x10\\x0a\\x0e\\x0a\\x05label\\x12\\x05\\x1a\\x03\\x0a\\x01\\x05']})."
#define TEXTS "values({t: ['a b', 'c d']})."
static const struct trial trials[] = {
    { "adjust_brightness", PICTURES, ".resize(4, 4).batch(2)", { "brightness_factor=1.5" } },
    { "adjust_contrast", PICTURES, ".resize(4, 4).batch(2)", { "contrast_factor=1.5" } },
    { "adjust_gamma", PICTURES, ".resize(4, 4).batch(2)", { "gamma=1.5" } },
    { "adjust_hue", PICTURES, ".resize(4, 4).batch(2)", { "hue_factor=0.1" } },
    { "adjust_saturation", PICTURES, ".resize(4, 4).batch(2)", { "saturation_factor=1.5" } },
    { "adjust_sharpness", PICTURES, ".resize(4, 4).batch(2)", { "sharpness_factor=1.5" } },
    { "affine", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "assert_cardinality", "range(10).filter('x > 4').", ".take(4).batch(2)", { "count=-2" } },
    { "auto_augment", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "autocontrast", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "balance", "range(10).map('y = x // 7').", ".batch(4)", { "field=y" } },
    { "batch", "range(10).", "", { "batch_size=4" } },
    { "bucket_by_length",
      "values({x: [[1], [2, 3]]}).",
      "",
      { "field=x", "boundaries=[2]", "batch_sizes=[2, 2]" } },
    { "cast", "range(10).", ".batch(4)", { "dtype=float32" } },
    { "center_crop", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "choose_from", "range(4).map('x % 2').", ".batch(2)", { "inputs=[range(2), range(5, 7)]" } },
    { "color_jitter", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "concat_fields",
      "values({a: [1, 2], b: [3, 4]}).",
      ".batch(2)",
      { "fields=[a, b]", "into=c" } },
    { "concatenate", "range(3).", ".batch(2)", { "inputs=[range(2)]" } },
    { "counter", "", ".batch(4)", { 0 } },
    { "crop", PICTURES, ".batch(2)", { "top=1", "left=2", "height=5", "width=6" } },
    { "csv", "", ".batch(2)", { "file='people.csv'" } },
    { "cutmix", LABELLED, "", { "num_classes=9" } },
    { "decode", "files('train/*/*.jpg').", ".resize(4, 4).batch(2)", { 0 } },
    { "decode_raw", "values({x: ['abcd', 'efgh']}).", ".batch(2)", { "dtype=uint16" } },
    { "element", "range(3).flat_map(", ".repeat(2)).batch(2)", { 0 } },
    { "encode_jpeg", PICTURES, ".batch(2)", { 0 } },
    { "encode_png", PICTURES, ".batch(2)", { 0 } },
    { "encode_webp", PICTURES, ".batch(2)", { 0 } },
    { "enumerate", "range(10).", ".batch(4)", { 0 } },
    { "cutout", PICTURES, ".resize(4, 4).batch(2)", { "height=5", "width=6" } },
    { "equalize", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "erase", PICTURES, ".resize(4, 4).batch(2)", { "top=1", "left=2", "height=5", "width=6" } },
    { "erasing", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "files", "", ".batch(2)", { "pattern='train/*/*.jpg'" } },
    { "filter", "range(10).", ".batch(2)", { "expression='x > 3'" } },
    { "filter_function", "range(10).", ".batch(2)", { "function=@even" } },
    { "fixed_length", "", ".batch(2)", { "file='data.bin'", "record_bytes=4" } },
    { "flat_map", "files('train-0.tfrecord').", ".batch(2)", { "chain=tfrecord(path)" } },
    { "flip", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "gaussian_blur", PICTURES, ".resize(4, 4).batch(2)", { "kernel_size=3" } },
    { "gaussian_noise", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "generator", "", ".select('number').batch(2)", { "stream=@rows" } },
    { "grayscale", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "group_by_window", "range(10).map('k = x % 3').", "", { "key=k", "window_size=2" } },
    { "hdf5", "", ".batch(2)", { "file='types.h5'" } },
    { "ignore_errors", "range(10).map('y = 1 // x').", ".batch(4)", { 0 } },
    { "image_folder", "", ".batch(2)", { "dir='train'" } },
    { "interleave", "range(3).", ".batch(2)", { "chain=element().repeat(4)" } },
    { "invert", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "jpeg_quality", PICTURES, ".resize(4, 4).batch(2)", { "quality=50" } },
    { "jsonl", "", ".batch(2)", { "file='a.jsonl'", "fields={label: int64, name: 'user.name'}" } },
    { "layout", PICTURES "resize(4, 4).", ".batch(2)", { "order=NCHW" } },
    { "lines", "", ".batch(2)", { "file='words.txt'" } },
    { "lookup", TEXTS, ".batch(2)", { "vocab=['a b', c]" } },
    { "map", "range(10).", ".batch(2)", { "expression='x + 1'" } },
    { "map_function", "range(10).", ".batch(2)", { "function=@twice" } },
    { "mixup", LABELLED, "", { "num_classes=9" } },
    { "normalize", PICTURES "resize(4, 4).", ".batch(2)", { "mean=0.5", "std=0.25" } },
    { "one_hot", "range(5).", ".batch(2)", { "depth=3" } },
    { "ensure_shape", "values({l: [[1, 2], [3]]}).", "", { "shape=[none]" } },
    { "pad", "values({l: [[1], []]}).", ".batch(2)", { "shape=[2]" } },
    { "padded_batch", "values({x: [[1], [2, 3]]}).", "", { "batch_size=4" } },
    { "parse_example",
      RECORDS,
      ".batch(2)",
      { "features={label: varlen(int64), x: varlen(float32)}" } },
    { "parse_sequence_example",
      RECORDS,
      ".batch(2)",
      { "context={label: varlen(int64)}",
        "sequence={x: fixed_sequence([], float32, allow_missing=true)}" } },
    { "parse_json",
      "values({t: ['{\"a\": [1]}', '{\"a\": []}']}).",
      "",
      { "fields={a: list('a', float32)}" } },
    { "npy", "", ".batch(2)", { "file='one.npy'" } },
    { "npz", "", ".batch(2)", { "file='one.npz'" } },
    { "per_image_standardization", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "perspective",
      PICTURES,
      ".resize(4, 4).batch(2)",
      { "coefficients=[1, 0.1, 0, 0, 1, 0, 0, 0.01]" } },
    { "posterize", PICTURES, ".resize(4, 4).batch(2)", { "bits=3" } },
    { "pick", "range(10).", ".batch(2)", { "indices=[3, 1, 3]" } },
    { "prefetch", "range(10).batch(2).", "", { 0 } },
    { "cache", "range(10).map('y = x + 1').", "", { 0 } },
    { "ragged_batch", "range(10).batch(4).", "", { "batch_size=2" } },
    { "rand_augment", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "random", "", ".batch(4)", { 0 } },
    { "random_affine", PICTURES, ".resize(4, 4).batch(2)", { "degrees=10" } },
    { "random_crop", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "random_perspective", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "random_resized_crop", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "random_rotation", PICTURES, ".resize(4, 4).batch(2)", { "degrees=10" } },
    { "range", "", ".batch(4)", { "start=10" } },
    { "read", "files('train/*/*.jpg').", ".batch(2)", { 0 } },
    { "rebatch", "range(10).batch(4).", "", { "batch_size=3" } },
    { "reduce", "range(10).", "", { "initial={n: 0}", "expression='n = n + 1'" } },
    { "rejection_resample", "range(10).map('y = x // 7').", "", { "field=y", "target=[1, 1]" } },
    { "rename", "range(10).", ".batch(2)", { "names={x: y}" } },
    { "repeat", "range(10).", ".batch(2)", { 0 } },
    { "resize", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "resize_and_crop", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "resize_side", PICTURES, "", { "size=5" } },
    { "resize_with_crop_or_pad", PICTURES, ".batch(2)", { "height=5", "width=60" } },
    { "resize_with_pad", PICTURES, ".batch(2)", { "height=5", "width=6" } },
    { "rot90", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "rotate", PICTURES, ".resize(4, 4).batch(2)", { "angle=10" } },
    { "sample_from", "", ".batch(2)", { "inputs=[range(2), range(5, 7)]" } },
    { "scale", "range(10).", ".batch(2)", { "factor=2" } },
    { "scan", "range(10).", ".batch(4)", { "initial={n: 0}", "expression='n = n + 1'" } },
    { "select", "values({x: [1, 2], y: [3, 4]}).", ".batch(2)", { "fields=y" } },
    { "shard", "range(10).", ".batch(2)", { 0 } },
    { "shuffle", "range(10).", ".batch(2)", { 0 } },
    { "skip", "range(10).", ".batch(2)", { "count=3" } },
    { "slice", "values({v: [[1, 2, 3], [4, 5, 6]]}).", ".batch(2)", { 0 } },
    { "solarize", PICTURES, ".resize(4, 4).batch(2)", { "threshold=100" } },
    { "split", "range(10).", ".batch(2)", { "fractions=[0.5, 0.5]" } },
    { "take", "range(10).", ".batch(2)", { "count=3" } },
    { "take_while", "range(10).", ".batch(2)", { "expression='x < 5'" } },
    { "tar", "", ".batch(2)", { "file='shard-0.tar'" } },
    { "text_join", TEXTS, ".batch(2)", { "fields=[t, t]" } },
    { "text_lower", TEXTS, ".batch(2)", { 0 } },
    { "text_regex_full_match", TEXTS, ".batch(2)", { "pattern='a.*'" } },
    { "text_regex_replace", TEXTS, ".batch(2)", { "pattern='a'", "rewrite=b" } },
    { "text_split", TEXTS, ".batch(2)", { "sep=' '", "into=[u, v]" } },
    { "text_strip", TEXTS, ".batch(2)", { 0 } },
    { "text_to_hash_bucket", TEXTS, ".batch(2)", { "num_buckets=3" } },
    { "text_to_number", "values({t: ['1', ' 2 ']}).", ".batch(2)", { 0 } },
    { "text_upper", TEXTS, ".batch(2)", { 0 } },
    { "tfrecord", "", ".batch(2)", { "file='train-0.tfrecord'" } },
    { "trivial_augment", PICTURES, ".resize(4, 4).batch(2)", { 0 } },
    { "unbatch", "range(10).batch(4).", ".batch(3)", { 0 } },
    { "unique", "range(10).map('x // 2').", ".batch(2)", { 0 } },
    { "values", "", ".batch(2)", { "fields={x: [1, 2, 3], name: ['a', 'b', '']}" } },
    { "window", "range(10).", "", { "size=3" } },
    { "zip", "range(3).", ".batch(2)", { "inputs=[range(5).rename({x: y})]" } },
};

static const struct trial *trial_of(const char *op)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        if (!strcmp(trials[i].op, op))
            return &trials[i];
    fail_msg("%s has no row in `trials`: add one", op);
    return NULL;
}

#define FOR_EACH_OP(decl)                                                                          \
    for (int op_index = 0; op_index < stk__ops_namespace()->n_decls; op_index++)                   \
        for (const struct stk_decl *decl = stk__ops_namespace()->decl[op_index]; decl; decl = NULL)

static const struct stk_param no_params[] = { STK_ROWS_END };

static const struct stk_param *params_of(const struct stk_decl *decl)
{
    return decl->params ? decl->params : no_params;
}

/* ---- declarations ---- */

static void check_summary(const struct stk_decl *decl)
{
    size_t len = strlen(decl->summary);
    if (!isupper((unsigned char)decl->summary[0]) || decl->summary[len - 1] != '.' ||
        strchr(decl->summary, '\n'))
        fail_msg("%s: the summary must be one sentence: %s", decl->name, decl->summary);
}

static bool is_open(const struct stk_param *row) /* none, auto or required: no default to check */
{
    bool is_word = row->type == STK_ROW_INT && (row->def.i == STK_NONE || row->def.i == STK_AUTO);
    return is_word || row->flags & STK_REQUIRED || (row->type == STK_ROW_REAL && isnan(row->def.r));
}

static void check_default(const struct stk_decl *decl, const struct stk_param *row)
{
    int n_choices = 0;
    while (row->choices && row->choices[n_choices])
        n_choices++;
    bool is_good = true;
    if (row->type == STK_ROW_INT)
        is_good = row->lo.i <= row->hi.i &&
                  (is_open(row) || (row->def.i >= row->lo.i && row->def.i <= row->hi.i));
    else if (row->type == STK_ROW_REAL)
        is_good = row->lo.r <= row->hi.r &&
                  (is_open(row) || (row->def.r >= row->lo.r && row->def.r <= row->hi.r));
    else if (row->type == STK_ROW_CHOICE)
        is_good = n_choices > 1 && row->def.i >= -1 && row->def.i < n_choices;
    else if (row->type == STK_ROW_NUMBERS || row->type == STK_ROW_TEXTS)
        is_good = row->lo.i >= 0 && row->lo.i <= row->hi.i;
    if (!is_good)
        fail_msg("%s: the default of %s is outside its bounds or choices", decl->name, row->name);
}

static void test_declarations_are_complete(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        assert_true(decl->name && decl->summary && decl->doc && decl->version >= 1);
        check_summary(decl);
        for (const struct stk_param *row = params_of(decl); row->name; row++) {
            if (!row->help || strlen(row->help) < 5 || row->help[strlen(row->help) - 1] == '.')
                fail_msg("%s: the help of %s must be a phrase without a period", decl->name,
                         row->name);
            assert_true(row->offset < decl->params_size);
            check_default(decl, row);
            for (const struct stk_param *other = params_of(decl); other != row; other++)
                assert_string_not_equal(other->name, row->name);
        }
        const struct stk__op *op = stk__op_of(decl);
        assert_true(op->subject > STK__ABOUT_NOTHING && op->subject < STK__N_SUBJECTS);
        const uint32_t carried_out = STK__OP_FETCH | STK__OP_BATCH | STK__OP_PREFETCH |
                                     STK__OP_REPEAT | STK__OP_MULTI | STK__OP_NESTS |
                                     STK__OP_ELEMENT | STK__OP_CACHE;
        assert_true(op->row.run || op->order.at || op->serial.step || op->source.rows ||
                    op->source.next || op->choice.wanted || stk__op_has_source_beside(op) ||
                    op->flags & carried_out);
        bool is_source = op->source.rows || op->source.next;
        assert_true(is_source || stk__op_begins_with(op) || op->flags & STK__OP_ELEMENT ||
                    !(op->flags & STK__OP_ROOT));
        assert_true(!is_source || op->flags & STK__OP_ROOT);
        assert_true(!(op->source.rows || op->source.next) || op->source.describe);
    }
}

static void test_names_are_sorted_and_trials_are_real(void **state)
{
    const struct stk__namespace *ns = stk__ops_namespace();
    (void)state;
    for (int i = 1; i < ns->n_decls; i++)
        assert_true(strcmp(ns->decl[i - 1]->name, ns->decl[i]->name) < 0);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        assert_non_null(stk__op_find(trials[i].op));
    assert_null(stk__op_find("no_such_op"));
}

/* ---- print and parse ---- */

struct text_pair {
    struct stk__text brief, full;
};

/* Parses, binds every call, and prints both forms. */
static int print_both(const char *text, struct text_pair *out, struct stk_error *err)
{
    const struct stk__namespace *ns = stk__ops_namespace();
    const struct stk_value *value;
    struct stk_arena arena;
    *out = (struct text_pair){ 0 };
    stk__arena_init(&arena, 1 << 14);
    int rc = stk__parse(text, objects, &arena, &value, err);
    if (!rc)
        rc = stk__print_value(value, ns, STK__SHORT, &out->brief, err);
    if (!rc)
        rc = stk__print_value(value, ns, STK__CANONICAL, &out->full, err);
    stk__arena_free(&arena);
    return rc;
}

static void free_pair(struct text_pair *pair)
{
    stk__text_free(&pair->brief);
    stk__text_free(&pair->full);
}

/* Both forms read back as the same parameters. False if the text does not bind. */
static bool check_round_trip(const char *text)
{
    struct text_pair first, again;
    struct stk_error err = { 0 };
    if (print_both(text, &first, &err)) {
        free_pair(&first);
        return false;
    }
    const char *forms[] = { first.brief.data, first.full.data };
    for (int i = 0; i < 2; i++) {
        if (print_both(forms[i], &again, &err))
            fail_msg("%s\nwas printed as\n%s\nwhich gives: %s", text, forms[i], err.text);
        assert_string_equal(again.brief.data, first.brief.data);
        assert_string_equal(again.full.data, first.full.data);
        free_pair(&again);
    }
    free_pair(&first);
    return true;
}

static bool is_about(const char *arg, const char *name)
{
    size_t len = strlen(name);
    return !strncmp(arg, name, len) && arg[len] == '=';
}

/* One call of an op with what it requires, and `name` (may be NULL) set to `value`. Returns new. */
static char *call_text(const struct trial *t, const char *name, const char *value)
{
    struct stk__text text = { 0 };
    const char *comma = "";
    stk__text_add(&text, "%s(", t->op);
    for (int i = 0; i < 4 && t->arg[i]; i++) {
        if (name && is_about(t->arg[i], name))
            continue;
        stk__text_add(&text, "%s%s", comma, t->arg[i]);
        comma = ", ";
    }
    if (name)
        stk__text_add(&text, "%s%s=%s", comma, name, value);
    stk__text_add(&text, ")");
    return stk__text_take(&text);
}

static char *chain_text(const struct trial *t, const char *name, const char *value)
{
    struct stk__text text = { 0 };
    char *call = call_text(t, name, value);
    stk__text_add(&text, "%s%s%s", t->before, call, t->after);
    stk_text_free(call);
    return stk__text_take(&text);
}

/* A list of n ones, or n names. */
static char *list_text(const struct stk_param *row, int64_t n)
{
    struct stk__text text = { 0 };
    stk__text_add(&text, "[");
    for (int64_t i = 0; i < n; i++)
        stk__text_add(&text, row->type == STK_ROW_TEXTS ? "%s'x%d'" : "%s%d", i ? ", " : "",
                      (int)i + 1);
    stk__text_add(&text, "]");
    return stk__text_take(&text);
}

enum { MAX_VALUES = 20, MAX_LIST = 5000 };

/* Values worth trying, and those just beyond the bounds, which must be refused. */
struct values {
    char *inside[MAX_VALUES], *outside[2];
    int n_inside, n_outside;
};

static char *int_text(int64_t value)
{
    struct stk__text text = { 0 };
    stk__text_add(&text, "%lld", (long long)value);
    return stk__text_take(&text);
}

static char *real_text(double value)
{
    struct stk__text text = { 0 };
    stk__text_add_real(&text, value);
    return stk__text_take(&text);
}

static void add_ints(const struct stk_param *row, struct values *v)
{
    v->inside[v->n_inside++] = int_text(row->lo.i);
    v->inside[v->n_inside++] = int_text(row->hi.i);
    if (stk__row_has_min(row))
        v->outside[v->n_outside++] = int_text(row->lo.i - 1);
    if (stk__row_has_max(row))
        v->outside[v->n_outside++] = int_text(row->hi.i + 1);
}

static void add_reals(const struct stk_param *row, struct values *v)
{
    v->inside[v->n_inside++] = real_text(row->lo.r);
    v->inside[v->n_inside++] = real_text(row->hi.r);
    if (stk__row_has_min(row))
        v->outside[v->n_outside++] = real_text(nextafter(row->lo.r, -INFINITY));
    if (stk__row_has_max(row))
        v->outside[v->n_outside++] = real_text(nextafter(row->hi.r, INFINITY));
}

static void add_lists(const struct stk_param *row, struct values *v)
{
    v->inside[v->n_inside++] = list_text(row, row->lo.i);
    if (row->lo.i > 0)
        v->outside[v->n_outside++] = list_text(row, row->lo.i - 1);
    if (row->hi.i > MAX_LIST)
        return;
    v->inside[v->n_inside++] = list_text(row, row->hi.i);
    v->outside[v->n_outside++] = list_text(row, row->hi.i + 1);
}

static struct values values_of(const struct stk_param *row)
{
    struct values v = { 0 };
    switch (row->type) {
    case STK_ROW_INT:
        add_ints(row, &v);
        break;
    case STK_ROW_REAL:
        add_reals(row, &v);
        break;
    case STK_ROW_NUMBERS:
    case STK_ROW_TEXTS:
        add_lists(row, &v);
        break;
    case STK_ROW_BOOL:
        v.inside[v.n_inside++] = strdup("true");
        v.inside[v.n_inside++] = strdup("false");
        break;
    default:
        break;
    }
    for (int i = 0; row->choices && row->choices[i] && v.n_inside < MAX_VALUES - 2; i++)
        v.inside[v.n_inside++] = strdup(row->choices[i]);
    if (stk__row_takes_none(row))
        v.inside[v.n_inside++] = strdup("none");
    if (stk__row_takes_auto(row))
        v.inside[v.n_inside++] = strdup("auto");
    return v;
}

static void free_values(struct values *v)
{
    for (int i = 0; i < v->n_inside; i++)
        free(v->inside[i]);
    for (int i = 0; i < v->n_outside; i++)
        free(v->outside[i]);
}

/* A value beyond a bound is refused at the argument, with the parameter's name. */
static void check_refused(const struct stk_param *row, const char *call)
{
    struct text_pair pair;
    struct stk_error err = { 0 };
    int rc = print_both(call, &pair, &err);
    free_pair(&pair);
    if (rc != STK_VALUE || !strstr(err.text, row->name) || !err.len ||
        err.at + err.len > strlen(call))
        fail_msg("%.200s: gives %d: %s", call, rc, err.text);
}

static void test_print_and_parse_undo_each_other(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        const struct trial *t = trial_of(decl->name);
        char *call = call_text(t, NULL, NULL);
        assert_true(check_round_trip(call));
        stk_text_free(call);
        for (const struct stk_param *row = params_of(decl); row->name; row++) {
            struct values v = values_of(row);
            for (int i = 0; i < v.n_inside; i++) {
                call = call_text(t, row->name, v.inside[i]);
                if (!check_round_trip(call))
                    fail_msg("%.200s: a value inside the bounds is refused", call);
                stk_text_free(call);
            }
            for (int i = 0; i < v.n_outside; i++) {
                call = call_text(t, row->name, v.outside[i]);
                check_refused(row, call);
                stk_text_free(call);
            }
            free_values(&v);
        }
    }
}

/* ---- examples in the documentation ---- */

static void check_example(const struct stk_decl *decl, const char *line)
{
    struct stk_dataset *data = NULL;
    struct stk_error err = { 0 };
    if (!check_round_trip(line))
        fail_msg("%s: an example does not parse and bind: %s", decl->name, line);
    if (!strstr(line, decl->name))
        fail_msg("%s: an example does not show it: %s", decl->name, line);
    int rc = stk_dataset_new(line, objects, &data, &err);
    if (rc && rc != STK_IO) /* the files it names need not exist */
        fail_msg("%s: an example does not work: %s\n%s", decl->name, line, err.text);
    if (!rc)
        stk_dataset_unref(data);
}

static void test_examples_work(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        int n_examples = 0;
        for (const char *line = decl->doc, *next; line; line = next) {
            size_t len = strcspn(line, "\n");
            next = line[len] ? line + len + 1 : NULL;
            if (strncmp(line, "    ", 4))
                continue;
            char *example = strndup(line + 4, len - 4);
            check_example(decl, example);
            free(example);
            n_examples++;
        }
        if (!n_examples)
            fail_msg("%s: the documentation has no example", decl->name);
    }
}

/* ---- runs ---- */

/* Reads at most some batches. Returns how reading ended; STK_OK if it did not. */
static int read_some(struct stk_dataset *data, int64_t *n_elements, struct stk_error *err)
{
    struct stk_options *options = stk_options_new();
    struct stk_iterator *it = NULL;
    *n_elements = 0;
    assert_int_equal(stk_options_set(options, "memory", "67108864", err), STK_OK);
    assert_int_equal(stk_options_set(options, "workers", "2", err), STK_OK);
    int rc = stk_iterator_new(data, options, &it, err);
    for (int i = 0; i < 20 && !rc; i++) {
        struct stk_batch *batch;
        rc = stk_iterator_next(it, &batch, err);
        *n_elements += rc ? 0 : stk_batch_n_rows(batch);
        if (!rc)
            stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    stk_options_free(options);
    return rc;
}

static int run_chain(const char *text, int64_t *n_elements, struct stk_error *err)
{
    struct stk_dataset *data = NULL;
    memset(err, 0, sizeof *err);
    *n_elements = 0;
    int rc = stk_dataset_new(text, objects, &data, err);
    if (rc)
        return rc;
    rc = read_some(data, n_elements, err);
    stk_dataset_unref(data);
    return rc == STK_END ? STK_OK : rc;
}

static void test_every_op_runs_at_its_defaults(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        struct stk_error err;
        int64_t n_elements;
        char *chain = chain_text(trial_of(decl->name), NULL, NULL);
        if (run_chain(chain, &n_elements, &err))
            fail_msg("%s\n%s", chain, err.text);
        if (!n_elements)
            fail_msg("%s: yields nothing", chain);
        stk_text_free(chain);
    }
}

/* Runs, or says in one sentence why not. */
static void check_clean(const char *chain)
{
    struct stk_error err;
    int64_t n_elements;
    int rc = run_chain(chain, &n_elements, &err);
    if (rc && (rc == STK_SYNTAX || rc == STK_STATE || rc == STK_CANCELLED ||
               strlen(err.text) < 10 || err.code != rc || strchr(err.text, '\n')))
        fail_msg("%.200s: gives %d (%s)", chain, rc, err.text);
}

static void test_every_op_runs_at_its_bounds(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        const struct trial *t = trial_of(decl->name);
        for (const struct stk_param *row = params_of(decl); row->name; row++) {
            struct values v = values_of(row);
            for (int i = 0; i < v.n_inside; i++) {
                char *chain = chain_text(t, row->name, v.inside[i]);
                check_clean(chain);
                stk_text_free(chain);
            }
            free_values(&v);
        }
    }
}

/* What can come before an op, one of each class: addressed, streams of rows, and of batches. */
static const char *const classes[] = {
    "shuffle(3).",
    "repeat(2).shuffle(3).",
    "ignore_errors().",
    "cache().",
    "batch(2).",
    "window(2).",
    "batch(2).unbatch().",
    "batch(2).ignore_errors().",
    "batch(2).shuffle(2).",
    "batch(2).cache().",
};

/* An op behind an input of another class runs there, or says why it cannot. */
static void check_behind(const struct trial *t, const char *class)
{
    const char *const after[] = { t->after, "", ".batch(1).take(2)" };
    char *call = call_text(t, NULL, NULL);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        struct stk__text text = { 0 };
        stk__text_add(&text, "%s%s%s%s", t->before, class, call, after[i]);
        check_clean(text.data);
        stk__text_free(&text);
    }
    stk_text_free(call);
}

static void test_every_op_runs_behind_every_class(void **state)
{
    (void)state;
    FOR_EACH_OP(decl)
    {
        const struct trial *t = trial_of(decl->name);
        size_t len = strlen(t->before);
        bool has_receiver = len && t->before[len - 1] == '.';
        bool is_function = stk__op_of(decl)->exclusive; /* the test's own take single numbers */
        for (size_t i = 0; has_receiver && !is_function && i < sizeof classes / sizeof *classes;
             i++)
            check_behind(t, classes[i]);
    }
}

/* ---- files for the chains ---- */

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive";
    static const char people[] = "name,age,height,city\nAnn,31,1.7,Bern\nBob,44,1.8,Oslo\n";
    if (enter(state))
        return -1;
    static const char texts[] = "{\"label\": 3, \"user\": {\"name\": \"ann\"}, \"score\": 0.5, "
                                "\"ids\": [1, 2]}\n"
                                "{\"label\": 1, \"user\": {\"name\": \"bob\"}, \"ids\": []}\n";
    write_file("words.txt", words, sizeof words - 1);
    write_file("people.csv", people, sizeof people - 1);
    write_file("a.jsonl", texts, sizeof texts - 1);
    write_file("data.bin", texts, 32);
    write_file("digits.idx", texts, 64);
    copy_file("tests/golden/arrays/types.h5", "types.h5");
    copy_file("tests/golden/arrays/little_f4.npy", "one.npy");
    copy_file("tests/golden/arrays/stored.npz", "one.npz");
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/optimized.jpg", "train/cat/1.jpg");
    copy_file("tests/golden/decode/orientation_3.jpg", "train/dog/2.jpg");
    copy_file("tests/golden/records/plain.tfrecord", "train-0.tfrecord");
    copy_file("tests/golden/records/pictures.tar", "shard-0.tar");
    objects = row_objects(&rows);
    return objects ? function_bind(objects, &function, NULL) : -1;
}

static int tear_down(void **state)
{
    stk_objects_free(objects);
    return leave(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations_are_complete),
        cmocka_unit_test(test_names_are_sorted_and_trials_are_real),
        cmocka_unit_test(test_print_and_parse_undo_each_other),
        cmocka_unit_test(test_examples_work),
        cmocka_unit_test(test_every_op_runs_at_its_defaults),
        cmocka_unit_test(test_every_op_runs_at_its_bounds),
        cmocka_unit_test(test_every_op_runs_behind_every_class),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

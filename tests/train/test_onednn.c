/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn.c: steps whose convolutions are oneDNN's make nothing: neither primitives nor what
 * threads run them with, and allocate nothing of ours; and its plain C is never run. */
#define _GNU_SOURCE
#include "fault_wraps.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stoker/stoker.h>

#include "base/cpu.h"
#include "sanitized.h"
#include "temporary.h"
#include "train/conv/candidate.h"
#include "train/conv/choice_file.h"
#include "train/conv/onednn_counts.h"

enum { REFUSED = 1000, MOST_ROWS = 5 };

/* ---- a trainer that takes oneDNN wherever it can ---- */

static struct stk_model *model_of(const char *chain)
{
    struct stk_model *model;
    struct stk_error err = { 0 };
    if (stk_model_new(chain, &model, &err))
        fail_msg("%s: %s", chain, err.text);
    return model;
}

static struct stk_trainer *trainer_of(const struct stk_model *model, const char *precision)
{
    const struct stk_trainer_options options = { .threads = 3,
                                                 .max_batch = MOST_ROWS,
                                                 .precision = precision };
    struct stk_trainer *trainer;
    struct stk_error err = { 0 };
    if (stk_trainer_new(model, &options, &trainer, &err))
        fail_msg("%s", err.text);
    return trainer;
}

/* What was measured says from now on that oneDNN takes no time. */
static void prefer_onednn(void)
{
    struct stk__cost_list list = { 0 };
    char *path = stk__choice_path();
    stk__costs_read(&list, path);
    for (int i = 0; i < list.n; i++)
        for (int k = 0; k < list.at[i].n; k++)
            if (!strcmp(list.at[i].name[k], "onednn") && list.at[i].cost[k].run < REFUSED)
                list.at[i].cost[k] = (struct stk__way_cost){ 1e-12, 0 };
    remove(path);
    assert_true(stk__costs_write(&list, path));
    stk__costs_free(&list);
    free(path);
}

static int n_by_onednn(const struct stk_trainer *trainer)
{
    char *plan = stk_trainer_plan(trainer);
    int n = 0;
    for (const char *at = plan; (at = strstr(at, "by onednn")); at++)
        n++;
    stk_text_free(plan);
    return n;
}

static bool has_onednn(void)
{
    const struct stk__conv_task task = { .conv = { 8, 8, 16, 8, 8, 16, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,
                                                   1 },
                                         .cpu_level = (int)stk__cpu_best(),
                                         .n_images = 1 };
    struct stk__conv_way way;
    struct stk_error err = { 0 };
    fault_disarm(); /* a test before may have failed */
    if (!stk__conv_onednn.can(&task)) {
        print_message("skipped: oneDNN is not asked on a processor without AVX2\n");
        return false;
    }
    if (stk__conv_way_open(&way, &stk__conv_onednn, &task, &err)) {
        print_message("skipped: %s\n", err.text);
        return false;
    }
    stk__conv_way_close(&way);
    return true;
}

/* ---- steps ---- */

struct batch {
    float *images, *outputs;
    int32_t labels[MOST_ROWS];
    int64_t shape[4];
};

static struct batch batch_of(const struct stk_trainer *trainer)
{
    struct batch b = { .shape = { MOST_ROWS } };
    int64_t outputs;
    stk_trainer_shapes(trainer, b.shape + 1, &outputs);
    size_t n = (size_t)(b.shape[0] * b.shape[1] * b.shape[2] * b.shape[3]);
    b.images = malloc(n * sizeof *b.images);
    b.outputs = malloc((size_t)(MOST_ROWS * outputs) * sizeof *b.outputs);
    assert_true(b.images && b.outputs);
    for (size_t i = 0; i < n; i++)
        b.images[i] = (float)(i % 17) / 17;
    for (int i = 0; i < MOST_ROWS; i++)
        b.labels[i] = (int32_t)(i % outputs);
    return b;
}

static void step(struct stk_trainer *trainer, const struct batch *b, int64_t rows)
{
    const int64_t shape[4] = { rows, b->shape[1], b->shape[2], b->shape[3] };
    struct stk_view images = stk_view_rows(b->images, STK_F32, 4, shape);
    struct stk_view labels = stk_view_rows(b->labels, STK_I32, 1, shape);
    struct stk_error err = { 0 };
    struct stk_step out;
    if (stk_trainer_step(trainer, &images, &labels, &out, &err) ||
        stk_trainer_eval(trainer, &images, &labels, &out, &err) ||
        stk_trainer_predict(trainer, &images, b->outputs, &err))
        fail_msg("%s", err.text);
    assert_true(isfinite(out.loss));
}

static void check_steps(const char *chain, const char *precision)
{
    struct stk_model *model = model_of(chain);
    stk_trainer_free(trainer_of(model, precision)); /* measures */
    prefer_onednn();
    struct stk_trainer *trainer = trainer_of(model, precision);
    struct batch b = batch_of(trainer);
    int n_ways = n_by_onednn(trainer);
    const struct stk__onednn_counts before = stk__onednn_counts();
    fault_arm(FAULT_ALLOCATION, 1, true);
    for (int64_t rows = MOST_ROWS; rows > 0; rows--)
        step(trainer, &b, rows);
    size_t heap = mallinfo2().uordblks; /* of all threads and libraries, oneDNN's among them */
    step(trainer, &b, MOST_ROWS);
    size_t later = mallinfo2().uordblks;
    assert_false(fault_disarm());
    const struct stk__onednn_counts after = stk__onednn_counts();
    print_message("%s, %s: %d directions by oneDNN, %ld runs\n", chain, precision, n_ways,
                  after.runs - before.runs);
    assert_true(n_ways > 0 && after.runs > before.runs);
    assert_int_equal(after.primitives, before.primitives);
    assert_int_equal(after.slots, before.slots);
    assert_int_equal(after.plain, 0);
    if (!IS_SANITIZED) /* whose heap that is not */
        assert_int_equal(later, heap);
    free(b.images);
    free(b.outputs);
    stk_trainer_free(trainer);
    stk_model_free(model);
}

static void test_steps_make_nothing(void **unused)
{
    static const char *const chains[] = {
        /* bands, of which the last is shorter; edges of images; strides; 1×1; whole images */
        "input(67, 53, 3).conv2d(24, 3, padding=same, activation=relu).maxpool(2)"
        ".conv2d(40, 3, activation=relu).maxpool(3, 2).conv2d(32, 5, 2, same).flatten().dense(4)",
        "input(61, 61, 3).conv2d(32, 3, 2, same, use_bias=false).batchnorm().activation(relu)"
        ".conv2d(64, 1, activation=relu).conv2d(48, 1, 2).residual(conv2d(48, 3, padding=same))"
        ".global_avgpool().dense(3)",
        "input(40, 24, 16).conv2d(32, 3, dilation_rate=2, padding=same).conv2d(32, 3, groups=2)"
        ".global_avgpool().dense(3)",
    };
    (void)unused;
    if (!has_onednn()) {
        print_message("no oneDNN here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        check_steps(chains[i], "float32");
        check_steps(chains[i], "mixed_float16");
    }
}

/* ---- its plain C ---- */

static float *values(size_t n)
{
    float *at = aligned_alloc(64, (n * sizeof *at + 63) / 64 * 64);
    assert_non_null(at);
    for (size_t i = 0; i < n; i++)
        at[i] = (float)(i % 13) / 13 - 0.5f;
    return at;
}

/* Rows one by one, for which oneDNN may have plain C alone, as all at once. */
static void check_single_rows(const struct stk__conv *c)
{
    const struct stk__conv_task task = { .conv = *c,
                                         .cpu_level = (int)stk__cpu_best(),
                                         .n_images = 1 };
    size_t n = (size_t)(c->out_height * c->out_width * c->filters);
    float *image = values((size_t)(c->height * c->width * c->channels));
    float *weights = values((size_t)(c->channels * c->filters)), *whole = values(n),
          *single = values(n);
    struct stk__conv_way way;
    assert_int_equal(stk__conv_way_open(&way, &stk__conv_onednn, &task, NULL), STK_OK);
    float *packed = values(way.packed_floats), *scratch = values(way.scratch_floats);
    way.candidate->pack(&way, weights, packed, 0, 1);
    struct stk__conv_job job = {
        .n_images = 1,
        .to = c->out_height,
        .image = { .at = image, .across = c->channels, .down = c->width * c->channels },
        .output = { .at = whole, .across = c->filters, .down = c->out_width * c->filters },
        .packed = packed,
        .low = -INFINITY,
        .high = INFINITY,
        .scratch = scratch,
    };
    way.candidate->run(&way, &job);
    job.output.at = single;
    for (job.from = 0; job.from < c->out_height; job.from++) {
        job.to = job.from + 1;
        way.candidate->run(&way, &job);
    }
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(whole[i] - single[i]) <= 1e-5f * (float)c->channels);
    stk__conv_way_close(&way);
    float *const all[] = { image, weights, whole, single, packed, scratch };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_plain_c_is_turned_down(void **unused)
{
    (void)unused;
    if (!has_onednn()) {
        print_message("no oneDNN here\n");
        skip();
    }
    const long before = stk__onednn_counts().turned_down;
    check_single_rows(
        &(struct stk__conv){ 56, 56, 64, 56, 56, 128, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1 });
    check_single_rows(
        &(struct stk__conv){ 28, 28, 128, 28, 28, 256, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1 });
    check_single_rows(
        &(struct stk__conv){ 56, 56, 64, 28, 28, 128, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0, 1 });
    print_message("turned down: plain C for %ld heights\n",
                  stk__onednn_counts().turned_down - before);
    assert_int_equal(stk__onednn_counts().plain, 0);
}

static char directory[TEMPORARY_PATH];

static int enter(void **unused)
{
    (void)unused;
    return !make_temporary_directory(directory, "stoker_onednn") ||
           setenv("XDG_CACHE_HOME", directory, 1);
}

static int leave(void **unused)
{
    char *path = stk__choice_path();
    (void)unused;
    remove(path);
    *strrchr(path, '/') = 0;
    remove(path);
    free(path);
    return remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_make_nothing),
        cmocka_unit_test(test_plain_c_is_turned_down),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

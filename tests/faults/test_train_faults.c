/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_faults.c: files and calls of the training step while the n-th allocation, read or output
 * call fails, for every n: an error that says so, nothing leaked, and no file that is half there. */
#define _GNU_SOURCE
#include "fault_wraps.h"
#include "lang/lang.h"
#include "output_faults.h"
#include "temporary.h"
#include "train/file/events.h"
#include "train/file/onnx_writer.h"
#include "train/file/safetensors.h"
#include "train/loss/loss.h"
#include "train/loss/loss_scale.h"
#include "train/optimizer/optimizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_FAULTS = 500 };

WRAP(ssize_t, write, (int fd, const void *data, size_t bytes), __real_write(fd, data, bytes))
WRAP(int, rename, (const char *from, const char *to), __real_rename(from, to))
WRAP(int, fsync, (int fd), fd < 0) /* nothing here ends the machine, so the real one only costs */

/* ---- what is done ---- */

static char folder[TEMPORARY_PATH], path[TEMPORARY_PATH + 8];

static int write_tensors(struct stk_error *err)
{
    static const float values[6] = { 1, 2, 3, 4, 5, 6 };
    static const char *const key[] = { "step" }, *const text[] = { "3" };
    const struct stk_pairs metadata = { key, text, 1 };
    const struct stk__saved_tensor tensors[] = {
        { "kernel", STK_F32, 2, { 2, 3 }, values, sizeof values },
        { "bias", STK_F32, 1, { 3 }, values, sizeof values / 2 },
    };
    return stk__safetensors_write(path, tensors, 2, &metadata, err);
}

static int read_tensors(struct stk_error *err)
{
    struct stk__safetensors file;
    int rc = stk__safetensors_open(&file, path, err);
    if (rc)
        return rc;
    assert_int_equal(file.n_tensors, 2);
    assert_string_equal(stk__safetensors_text(&file, "step"), "3");
    assert_int_equal(stk__safetensors_find(&file, "bias")->bytes, 12);
    stk__safetensors_close(&file);
    return STK_OK;
}

static int write_model(struct stk_error *err)
{
    static const float values[100];
    struct stk__onnx onnx = { .name = "net", .opset = 17 };
    stk__onnx_input(&onnx, &(struct stk__onnx_tensor){ "x", STK_F32, 2, { -1, 10 }, NULL });
    stk__onnx_weight(&onnx, &(struct stk__onnx_tensor){ "w", STK_F32, 2, { 10, 10 }, values });
    stk__onnx_node(&onnx,
                   &(struct stk__onnx_node){ "MatMul", "dense", { "x", "w" }, { "y" }, { { 0 } } });
    stk__onnx_node(&onnx,
                   &(struct stk__onnx_node){
                       "Softmax", "softmax", { "y" }, { "z" }, { stk__onnx_int("axis", -1) } });
    stk__onnx_output(&onnx, &(struct stk__onnx_tensor){ "z", STK_F32, 2, { -1, 10 }, NULL });
    stk__onnx_metadata(&onnx, "chain", "dense(10)");
    int rc = stk__onnx_write(&onnx, path, err);
    stk__onnx_free(&onnx);
    return rc;
}

static int write_events(struct stk_error *err)
{
    const struct stk__event_scalar scalars[] = { { "loss", 1 }, { "accuracy", 0.5f } };
    struct stk__events events;
    char name[128] = "";
    int rc = stk__events_open(&events, folder, 1, err);
    if (!rc) {
        snprintf(name, sizeof name, "%s", events.path);
        rc = stk__events_add(&events, scalars, 2, 1, 2, err);
        stk__events_close(&events);
    }
    if (*name)
        unlink(name);
    return rc;
}

static int read_calls(struct stk_error *err)
{
    struct stk_arena arena;
    struct stk__optimizer optimizer;
    struct stk__loss loss;
    struct stk__loss_scale scale;
    const struct stk_value *value;
    stk__arena_init(&arena, 256);
    int rc = stk__parse("v = adam(piecewise([10, 20], [1, 2, 3]))", NULL, &arena, &value, err);
    if (!rc)
        rc = stk__optimizer_read(value, &arena, &optimizer, err);
    if (!rc)
        rc = stk__parse("v = cross_entropy(class_weights=[1, 2, 3])", NULL, &arena, &value, err);
    if (!rc)
        rc = stk__loss_read(value, &arena, &loss, err);
    if (!rc)
        rc = stk__parse("v = dynamic(form=pytorch)", NULL, &arena, &value, err);
    if (!rc)
        rc = stk__loss_scale_read(value, &arena, &scale, err);
    stk__arena_free(&arena);
    return rc;
}

/* The message of what is no call names the calls, which takes memory. */
static int refuse_call(struct stk_error *err)
{
    struct stk_arena arena;
    struct stk__optimizer optimizer;
    const struct stk_value *value;
    stk__arena_init(&arena, 256);
    int rc = stk__parse("v = 3", NULL, &arena, &value, err);
    if (!rc)
        rc = stk__optimizer_read(value, &arena, &optimizer, err);
    stk__arena_free(&arena);
    return rc == STK_VALUE ? STK_OK : rc;
}

static const struct {
    const char *name;
    int (*run)(struct stk_error *err);
    bool makes_file;
} deeds[] = {
    { "write tensors", write_tensors, true }, { "read tensors", read_tensors, false },
    { "write a model", write_model, true },   { "write events", write_events, false },
    { "read calls", read_calls, false },      { "refuse a call", refuse_call, false },
};
enum { N_DEEDS = sizeof deeds / sizeof *deeds };

/* ---- faults ---- */

static void put_old_file(void)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("old", file);
    fclose(file);
}

static bool is_old_file(void)
{
    char text[4] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, 3, file) > 0);
    fclose(file);
    return !strcmp(text, "old");
}

static void prepare(int deed)
{
    struct stk_error err = { 0 };
    if (deeds[deed].makes_file)
        put_old_file();
    else
        assert_int_equal(write_tensors(&err), STK_OK);
}

/* Runs a deed with one failing call; true if there was one. */
static bool try_fault(int deed, enum fault_kind kind, long n)
{
    struct stk_error err = { 0 };
    prepare(deed);
    arm_output(kind == FAULT_NONE ? n : 0);
    long before = fault_live_blocks();
    if (kind != FAULT_NONE)
        fault_arm(kind, n, false);
    int rc = deeds[deed].run(&err);
    bool has_failed = kind == FAULT_NONE ? disarm_output() : fault_disarm();
    if (fault_live_blocks() != before)
        fail_msg("%s, fault %ld: a block is left (%ld)", deeds[deed].name, n, fault_live_ordinal());
    if (has_failed != (rc != STK_OK) || (rc && (rc != err.code || !*err.text)))
        fail_msg("%s, fault %ld: %d '%s'", deeds[deed].name, n, rc, err.text);
    if (rc && kind == FAULT_ALLOCATION)
        assert_true(rc == STK_MEMORY || strstr(err.text, "memory"));
    /* The name has either file, whole; the new one only if the directory's sync alone failed. */
    if (rc && deeds[deed].makes_file && !is_old_file())
        assert_true(kind != FAULT_ALLOCATION && n > 1);
    return has_failed;
}

static void try_all(enum fault_kind kind)
{
    for (int deed = 0; deed < N_DEEDS; deed++) {
        long n = 1;
        while (try_fault(deed, kind, n))
            assert_true(++n < MAX_FAULTS);
        if (kind == FAULT_ALLOCATION)
            assert_true(n > 1);
    }
}

static void test_without_memory(void **state)
{
    (void)state;
    try_all(FAULT_ALLOCATION);
}

static void test_without_reads(void **state)
{
    (void)state;
    try_all(FAULT_ACCESS);
}

static void test_without_room(void **state)
{
    (void)state;
    try_all(FAULT_NONE);
}

static void test_few_bytes_at_a_time(void **state)
{
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(write_tensors(&err), STK_OK);
    fault_arm(FAULT_SHORT, 1, true);
    int rc = read_tensors(&err);
    assert_true(fault_disarm());
    assert_int_equal(rc, STK_OK);
}

static int make_folder(void **state)
{
    (void)state;
    assert_true(make_temporary_directory(folder, "stk_train_faults"));
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails if a temporary file is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_without_reads),
        cmocka_unit_test(test_without_room),
        cmocka_unit_test(test_few_bytes_at_a_time),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_choice.c: the choice among candidates, and the file that remembers what they cost. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "train/conv/choice.h"
#include "train/conv/choice_file.h"

static char directory[64], path[128];

static int enter(void **context)
{
    (void)context;
    strcpy(directory, "/tmp/stoker-choice-XXXXXX");
    if (!mkdtemp(directory))
        return 1;
    snprintf(path, sizeof path, "%s/stoker/convolutions", directory);
    return setenv("XDG_CACHE_HOME", directory, 1);
}

static int leave(void **context)
{
    char inner[128];
    (void)context;
    snprintf(inner, sizeof inner, "%s/stoker", directory);
    remove(path);
    remove(inner);
    return remove(directory);
}

static struct stk__conv_task task_of(int channels, int kernel, enum stk__direction direction)
{
    int out = 20 - kernel + 1;
    return (struct stk__conv_task){ .conv = { 20, 20, channels, out, out, 32, kernel, kernel, 1, 1,
                                              1, 1, 0, 0, 0, 0, 1 },
                                    .direction = direction,
                                    .cpu_level = (int)stk__cpu_best(),
                                    .n_images = 1 };
}

static struct stk__conv_choices *open_choices(struct stk__choice_options options)
{
    options.seconds = 1e-5;
    struct stk__conv_choices *choices = stk__choices_open(&options);
    assert_non_null(choices);
    return choices;
}

/* What was decided, and why. Returns new. */
static char *choose(struct stk__conv_choices *choices, const struct stk__conv_task *task,
                    int64_t batch)
{
    struct stk__text why = { 0 };
    struct stk__conv_way way;
    assert_int_equal(stk__conv_choose(choices, task, batch, &way, &why, NULL), 0);
    char *text = stk__text_take(&why);
    assert_true(way.candidate->can(task));
    if (!strstr(text, way.candidate->name))
        fail_msg("%s is not %s", text, way.candidate->name);
    assert_true(way.packed_floats > 0);
    stk__conv_way_close(&way);
    return text;
}

static void check_choice(struct stk__conv_choices *choices, const struct stk__conv_task *task,
                         int64_t batch, const char *wanted)
{
    char *text = choose(choices, task, batch);
    if (!strstr(text, wanted))
        fail_msg("\"%s\", not \"%s\"", text, wanted);
    free(text);
}

static void test_measured_once(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(32, 3, STK__FORWARD);
    struct stk__conv_choices *choices = open_choices((struct stk__choice_options){ 0 });
    char *text = choose(choices, &task, 32);
    assert_non_null(strstr(text, "direct"));
    assert_non_null(strstr(text, "winograd"));
    assert_non_null(strstr(text, ", measured"));
    assert_null(strstr(text, "before"));
    free(text);
    stk__choices_close(choices);
    choices = open_choices((struct stk__choice_options){ 0 });
    check_choice(choices, &task, 32, "measured before");
    task.direction = STK__TO_WEIGHTS; /* another one */
    text = choose(choices, &task, 32);
    assert_null(strstr(text, "before"));
    free(text);
    stk__choices_close(choices);
}

/* Tiles of 6×6 lose digits that only halves do not have. */
static void test_half(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(32, 3, STK__FORWARD);
    struct stk__conv_choices *choices =
        open_choices((struct stk__choice_options){ .forgets = true });
    for (int i = 0; i < 3; i++) {
        task.is_half = i == 1; /* its cost is known behind that */
        char *text = choose(choices, &task, 32);
        assert_int_equal(strstr(text, "winograd-6") != NULL, i == 1);
        free(text);
    }
    stk__choices_close(choices);
}

static void test_one_candidate(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(32, 5, STK__FORWARD);
    struct stk__conv_choices *choices =
        open_choices((struct stk__choice_options){ .forgets = true });
    task.cpu_level = STK__CPU_SCALAR;
    check_choice(choices, &task, 32, "direct: nothing else can");
    task = task_of(32, 3, STK__FORWARD);
    check_choice(choices, &task, 32, ", measured");
    stk__choices_close(choices);
    assert_int_not_equal(access(path, F_OK), 0); /* as it was told */
}

static void test_rule(void **context)
{
    (void)context;
    struct stk__conv_task wide = task_of(32, 3, STK__TO_IMAGE),
                          narrow = task_of(3, 3, STK__FORWARD);
    struct stk__conv_choices *choices =
        open_choices((struct stk__choice_options){ .deterministic = true });
    check_choice(choices, &wide, 32, "winograd: by rule");
    check_choice(choices, &narrow, 32, "direct: by rule");
    wide.is_half = true;
    check_choice(choices, &wide, 32, "winograd: by rule");
    wide.conv.height = wide.conv.width = 26;
    wide.conv.out_height = wide.conv.out_width = 24;
    check_choice(choices, &wide, 32, "winograd-6: by rule");
    wide.is_half = false;
    check_choice(choices, &wide, 32, "winograd: by rule");
    stk__choices_close(choices);
    assert_int_not_equal(access(path, F_OK), 0);
    choices = open_choices((struct stk__choice_options){ .only = "direct" });
    check_choice(choices, &wide, 32, "direct: as asked for");
    stk__choices_close(choices);
    wide = task_of(32, 5, STK__FORWARD);
    choices = open_choices((struct stk__choice_options){ .only = "winograd" });
    check_choice(choices, &wide, 32, "direct"); /* it cannot */
    stk__choices_close(choices);
}

/* ---- the file ---- */

static void put(struct stk__cost_list *list, const char *key, double direct, double winograd)
{
    struct stk__costs *costs = stk__costs_add(list, strdup(key));
    assert_non_null(costs);
    costs->n = 2;
    strcpy(costs->name[0], "direct");
    strcpy(costs->name[1], "winograd");
    costs->cost[0] = (struct stk__way_cost){ direct, 0.125 };
    costs->cost[1] = (struct stk__way_cost){ winograd, 0.25 };
}

static void test_lines_of_others(void **context)
{
    (void)context;
    struct stk__cost_list ours = { 0 }, theirs = { 0 }, read = { 0 };
    put(&ours, "a; b", 1, 0.5);
    put(&theirs, "c", 3, 4);
    put(&theirs, "a; b", 5, 6);
    assert_true(stk__costs_write(&ours, path));
    assert_true(stk__costs_write(&theirs, path));
    stk__costs_read(&read, path);
    assert_int_equal(read.n, 2);
    struct stk__costs *costs = stk__costs_find(&read, "a; b");
    assert_non_null(costs);
    assert_int_equal(costs->n, 2);
    assert_string_equal(costs->name[1], "winograd");
    assert_true(costs->cost[0].run == 5 && costs->cost[1].run == 6 && costs->cost[1].once == 0.25);
    stk__costs_free(&ours);
    stk__costs_free(&theirs);
    stk__costs_free(&read);
}

static size_t slurp(char *to, size_t cap)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(to, 1, cap, file);
    fclose(file);
    return n;
}

static void spill(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* Every byte flipped, every length cut: a line is there as it was written, or it is not. */
static void test_damage(void **context)
{
    char text[1024], damaged[1024];
    struct stk__cost_list list = { 0 };
    (void)context;
    put(&list, "one", 1, 2);
    put(&list, "two", 3, 4);
    assert_true(stk__costs_write(&list, path));
    stk__costs_free(&list);
    size_t n = slurp(text, sizeof text);
    for (size_t i = 0; i < 2 * n; i++) {
        memcpy(damaged, text, n);
        damaged[i % n] ^= (char)(1 << i % 7);
        spill(damaged, i < n ? n : i - n);
        stk__costs_read(&list, path);
        assert_true(list.n <= 2);
        for (int k = 0; k < list.n; k++) {
            bool is_one = !strcmp(list.at[k].key, "one");
            assert_true(is_one || !strcmp(list.at[k].key, "two"));
            assert_true(list.at[k].n == 2 && list.at[k].cost[0].run == (is_one ? 1 : 3) &&
                        list.at[k].cost[1].run == (is_one ? 2 : 4));
        }
        stk__costs_free(&list);
    }
    spill("", 0);
    struct stk__conv_task task = task_of(8, 3, STK__FORWARD);
    struct stk__conv_choices *choices = open_choices((struct stk__choice_options){ 0 });
    check_choice(choices, &task, 1, "direct");
    stk__choices_close(choices);
    stk__costs_read(&list, path);
    assert_int_equal(list.n, 1);
    stk__costs_free(&list);
}

/* A place that cannot be written is no reason to fail. */
static void test_no_place(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(8, 3, STK__FORWARD);
    struct stk__conv_choices *choices =
        open_choices((struct stk__choice_options){ .path = "/dev/null/stoker/convolutions" });
    check_choice(choices, &task, 1, "measured");
    stk__choices_close(choices);
}

/* Packing counts by the images of a step. */
static void test_batch(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(32, 3, STK__FORWARD);
    struct stk__conv_choices *choices = open_choices((struct stk__choice_options){ 0 });
    free(choose(choices, &task, 32));
    stk__choices_close(choices);
    struct stk__cost_list list = { 0 };
    stk__costs_read(&list, path);
    assert_int_equal(list.n, 1);
    struct stk__costs *costs = &list.at[0];
    for (int i = 0; i < costs->n; i++) {
        bool is_winograd = !strcmp(costs->name[i], "winograd"),
             is_direct = !strcmp(costs->name[i], "direct");
        costs->cost[i] = (struct stk__way_cost){ is_winograd ? 0.001
                                                 : is_direct ? 0.002
                                                             : 0.003,
                                                 is_winograd ? 0.008 : 0 };
    }
    assert_true(stk__costs_write(&list, path));
    stk__costs_free(&list);
    choices = open_choices((struct stk__choice_options){ 0 });
    check_choice(choices, &task, 1, "direct: 2 ms");
    check_choice(choices, &task, 32, "winograd: 1.25 ms");
    stk__choices_close(choices);
}

static struct stk__costs *costs_named(struct stk__cost_list *list, const char *name, int *index)
{
    assert_int_equal(list->n, 1);
    for (*index = 0; *index < list->at[0].n; ++*index)
        if (!strcmp(list->at[0].name[*index], name))
            return &list->at[0];
    return NULL;
}

/* Sets what a candidate was measured to take, in the file. False if it was not measured. */
static bool put_time(const char *name, double seconds)
{
    struct stk__cost_list list = { 0 };
    int index;
    stk__costs_read(&list, path);
    struct stk__costs *costs = costs_named(&list, name, &index);
    if (costs) {
        costs->cost[index] = (struct stk__way_cost){ seconds, 0 };
        remove(path);
        assert_true(stk__costs_write(&list, path));
    }
    stk__costs_free(&list);
    return costs != NULL;
}

static void check_again(const struct stk__conv_task *task, const char *wanted)
{
    struct stk__conv_choices *choices = open_choices((struct stk__choice_options){ 0 });
    check_choice(choices, task, 32, wanted);
    stk__choices_close(choices);
}

/* What is optional must win by more than noise, and is measured where a file does not know it. */
static void test_optional(void **context)
{
    (void)context;
    struct stk__conv_task task = task_of(32, 5, STK__FORWARD);
    struct stk__cost_list list = { 0 };
    int index;
    check_again(&task, "direct");
    if (!put_time("onednn", 0.00099)) {
        print_message("no oneDNN here\n");
        skip();
    }
    put_time("direct", 0.001);
    check_again(&task, "direct: 1 ms");
    put_time("onednn", 0.0009);
    check_again(&task, "onednn: 900");
    put_time("onednn", 100000); /* it refused */
    check_again(&task, "direct: 1 ms an image, measured before");
    stk__costs_read(&list, path);
    assert_non_null(costs_named(&list, "onednn", &index));
    list.at[0].n = 1; /* as a machine without it left the file */
    remove(path);
    assert_true(stk__costs_write(&list, path));
    stk__costs_free(&list);
    check_again(&task, "onednn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_measured_once, enter, leave),
        cmocka_unit_test_setup_teardown(test_half, enter, leave),
        cmocka_unit_test_setup_teardown(test_one_candidate, enter, leave),
        cmocka_unit_test_setup_teardown(test_optional, enter, leave),
        cmocka_unit_test_setup_teardown(test_rule, enter, leave),
        cmocka_unit_test_setup_teardown(test_lines_of_others, enter, leave),
        cmocka_unit_test_setup_teardown(test_damage, enter, leave),
        cmocka_unit_test_setup_teardown(test_no_place, enter, leave),
        cmocka_unit_test_setup_teardown(test_batch, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

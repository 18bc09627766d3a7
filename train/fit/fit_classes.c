/* SPDX-License-Identifier: Apache-2.0 */
/* fit_classes.c: whether labels mean the same classes in training, in validation and in use.
 *
 * A source numbers the classes that it finds, so one that lacks a class gives other numbers to those
 * behind it, and every answer counts as wrong. Names are what tells.
 */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 4 }; /* names that a message lists */

struct names {
    const char **item;
    int64_t n;
};

/* ---- lists ---- */

static int names_of_data(const struct stk_dataset *data, const char *field, struct stk_arena *arena,
                         struct names *out, struct stk_error *err)
{
    *out = (struct names){ 0 };
    while (stk_dataset_class_name(data, field, out->n))
        out->n++;
    out->item = stk_arena_alloc(arena, sizeof *out->item * (size_t)(out->n + 1));
    for (int64_t i = 0; out->item && i < out->n; i++)
        out->item[i] = stk_dataset_class_name(data, field, i);
    return out->item ? STK_OK : stk__out_of_memory(err);
}

static int names_of_lines(const char *lines, struct stk_arena *arena, struct names *out,
                          struct stk_error *err)
{
    *out = (struct names){ 0 };
    char *text = stk_arena_text(arena, lines);
    out->item = stk_arena_alloc(arena, sizeof *out->item * (strlen(lines) + 1));
    if (!text || !out->item)
        return stk__out_of_memory(err);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        out->item[out->n++] = line;
    }
    return STK_OK;
}

void stk__fit_list_classes(const struct stk_fit *fit, struct stk__text *out)
{
    const char *name;
    for (int64_t i = 0; (name = stk_dataset_class_name(fit->train, fit->label[0], i)); i++)
        stk__text_add(out, "%s\n", name);
}

/* ---- comparing ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first number whose names differ; -1: the lists are the same. */
static int64_t first_difference(const struct names *a, const struct names *b)
{
    int64_t i = 0;
    while (i < a->n && i < b->n && !strcmp(a->item[i], b->item[i]))
        i++;
    return i == a->n && i == b->n ? -1 : i;
}

/* Appends which names are in one list alone; how many. */
static int64_t add_alone(const struct names *in, const struct names *other, const char *whose,
                         struct stk__text *out)
{
    const char **sorted = malloc(sizeof *sorted * (size_t)(other->n + 1));
    int64_t n = 0;
    if (!sorted) {
        out->failed = true;
        return 0;
    }
    memcpy(sorted, other->item, sizeof *sorted * (size_t)other->n);
    qsort(sorted, (size_t)other->n, sizeof *sorted, compare_texts);
    for (int64_t i = 0; i < in->n; i++) {
        if (bsearch(&in->item[i], sorted, (size_t)other->n, sizeof *sorted, compare_texts))
            continue;
        if (n++ < SOME)
            stk__text_add(out, "%s'%.40s'", n > 1 ? ", " : "", in->item[i]);
    }
    if (n > SOME)
        stk__text_add(out, " and %lld more", (long long)(n - SOME));
    if (n)
        stk__text_add(out, " %s in %s alone, ", n == 1 ? "is" : "are", whose);
    free(sorted);
    return n;
}

static void add_name(const struct names *names, int64_t i, struct stk__text *out)
{
    if (i < names->n)
        stk__text_add(out, "'%.40s'", names->item[i]);
    else
        stk__text_add(out, "no class");
}

/* "'cat' is in train alone, so label 0 is 'cat' in train and 'dog' in valid"; how many names the
 * second list has alone. */
static int64_t add_difference(const struct names list[2], const char *const whose[2],
                              struct stk__text *out)
{
    int64_t i = first_difference(&list[0], &list[1]);
    int64_t alone = add_alone(&list[0], &list[1], whose[0], out);
    int64_t alone_here = add_alone(&list[1], &list[0], whose[1], out);
    stk__text_add(out, "%slabel %lld is ", alone + alone_here ? "so " : "", (long long)i);
    add_name(&list[0], i, out);
    stk__text_add(out, " in %s and ", whose[0]);
    add_name(&list[1], i, out);
    stk__text_add(out, " in %s", whose[1]);
    return alone_here;
}

static bool is_same(const struct names list[2])
{
    return !list[0].n || !list[1].n || first_difference(&list[0], &list[1]) < 0;
}

/* ---- train and valid ---- */

static int fail_valid(const struct stk_fit *fit, const struct names list[2], struct stk_error *err)
{
    const char *const whose[2] = { "train", "valid" };
    struct stk__text text = { 0 };
    int64_t alone = add_difference(list, whose, &text);
    const char *fix = alone ? "leave those classes out of valid, or give both the same "
                              "classes=[…]"
                      : fit->valid_piece.text
                          ? "classes=@train in valid's image_folder or files gives it the numbers "
                            "of train"
                          : "classes=train in valid's image_folder or files gives it the numbers "
                            "of train";
    const struct stk__recipe_piece *piece = &fit->valid_piece;
    int rc = stk__fail_at(err, STK_VALUE, piece->at, piece->len,
                          "valid does not number its classes as train does: %s; %s",
                          text.data ? text.data : "", fix);
    stk__text_free(&text);
    return rc;
}

int stk__fit_compare_classes(const struct stk_fit *fit, struct stk_error *err)
{
    struct stk_arena arena;
    struct names list[2];
    if (!fit->valid)
        return STK_OK;
    stk__arena_init(&arena, 1 << 12);
    int rc = names_of_data(fit->train, fit->label[0], &arena, &list[0], err);
    if (!rc)
        rc = names_of_data(fit->valid, fit->label[1], &arena, &list[1], err);
    if (!rc && !is_same(list))
        rc = fail_valid(fit, list, err);
    stk__arena_free(&arena);
    return rc;
}

/* ---- a checkpoint and data that it is used on ---- */

/* "classes=['cat', 'dog']", as long as that is short. */
static void add_fix(const struct names *names, struct stk__text *out)
{
    stk__text_add(out, "classes=[");
    for (int64_t i = 0; i < names->n && i < 2 * SOME; i++)
        stk__text_add(out, "%s'%.40s'", i ? ", " : "", names->item[i]);
    stk__text_add(out, "%s]", names->n > 2 * SOME ? ", …" : "");
}

static int fail_data(const char *path, const struct names list[2], struct stk_error *err)
{
    const char *const whose[2] = { "the checkpoint", "the data" };
    struct stk__text text = { 0 }, fix = { 0 };
    int64_t alone = add_difference(list, whose, &text);
    add_fix(&list[0], &fix);
    int rc = stk_fail(err, STK_VALUE,
                      "%s was trained on other classes than the data has: %s; %s%s in the data's "
                      "image_folder or files gives it the numbers of the checkpoint",
                      path, text.data ? text.data : "",
                      alone ? "without classes that the model does not know, " : "",
                      fix.data ? fix.data : "classes=[…]");
    stk__text_free(&text);
    stk__text_free(&fix);
    return rc;
}

int stk_checkpoint_check_classes(const char *path, const struct stk_dataset *dataset,
                                 const char *field, struct stk_error *err)
{
    struct stk__safetensors file;
    struct stk_arena arena;
    struct names list[2];
    int rc = stk__safetensors_open(&file, path, err);
    if (rc)
        return rc;
    stk__arena_init(&arena, 1 << 12);
    const char *lines = stk__safetensors_text(&file, "data_classes");
    rc = names_of_lines(lines ? lines : "", &arena, &list[0], err);
    if (!rc)
        rc = names_of_data(dataset, field, &arena, &list[1], err);
    if (!rc && !is_same(list))
        rc = fail_data(path, list, err);
    stk__arena_free(&arena);
    stk__safetensors_close(&file);
    return rc;
}

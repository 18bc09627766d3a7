/* SPDX-License-Identifier: Apache-2.0 */
/* lang_decls.h: a small namespace with every type of row, for the tests and the fuzzer of lang. */
#pragma once
#include "lang/lang.h"

#include <float.h>
#include <math.h>

static const char *const lang_methods[] = { "nearest", "bilinear", "area", "3x3", NULL };
static const char *const lang_presets[] = { "imagenet", "none_at_all", NULL };

struct lang_resize {
    int64_t height, width, seed, depth;
    double scale, gamma;
    bool antialias;
    int method;
    const char *field;
};
static const struct stk_param lang_resize_rows[] = {
    STK_INT_ROW(lang_resize, height, 0, 1, 65535, STK_REQUIRED, "output height"),
    STK_INT_ROW(lang_resize, width, 64, 1, 65535, 0, "output width"),
    STK_CHOICE_ROW(lang_resize, method, lang_methods, 1, 0, "how"),
    STK_BOOL_ROW(lang_resize, antialias, false, 0, "widen the filter when shrinking"),
    STK_REAL_ROW(lang_resize, scale, 1, 0, DBL_MAX, 0, "multiplier"),
    STK_REAL_ROW(lang_resize, gamma, NAN, -1, 1, STK_TAKES_NONE, "power"),
    STK_INT_ROW(lang_resize, seed, STK_NONE, INT64_MIN, INT64_MAX, STK_TAKES_NONE, "seed"),
    STK_INT_ROW(lang_resize, depth, STK_AUTO, 1, 64, STK_TAKES_AUTO | STK_TUNABLE, "read-ahead"),
    STK_TEXT_ROW(lang_resize, field, NULL, 0, "which \"field\""),
    STK_ROWS_END,
};
static const struct stk_decl lang_resize_decl = { "resize",         3,
                                                  "Resample.",      "Prose.\n\n    resize(1, 2)",
                                                  lang_resize_rows, sizeof(struct lang_resize) };

struct lang_files {
    struct stk_texts pattern;
    struct stk_numbers mean, sizes;
    struct stk_pairs names;
    const struct stk_value *data;
    const char *root;
};
static const struct stk_param lang_files_rows[] = {
    STK_TEXTS_ROW(lang_files, pattern, 1, 4, STK_REQUIRED | STK_VARIADIC, "patterns"),
    STK_NUMBERS_ROW(lang_files, mean, lang_presets, 1, 3, 0, "one per channel"),
    STK_NUMBERS_ROW(lang_files, sizes, NULL, 2, 2, 0, "height and width"),
    STK_PAIRS_ROW(lang_files, names, 0, "old to new"),
    STK__VALUE_ROW(lang_files, data, 0, "anything"),
    STK_TEXT_ROW(lang_files, root, ".", 0, "where"),
    STK_ROWS_END,
};
static const struct stk_decl lang_files_decl = { "files",         1,
                                                 "Files.",        NULL,
                                                 lang_files_rows, sizeof(struct lang_files) };

struct lang_zip {
    int64_t count;
    struct stk__chains inputs;
    bool strict;
};
static const struct stk_param lang_zip_rows[] = {
    STK_INT_ROW(lang_zip, count, 1, -5, INT64_MAX, 0, "copies"),
    STK__CHAINS_ROW(lang_zip, inputs, STK_VARIADIC, "chains"),
    STK_BOOL_ROW(lang_zip, strict, true, 0, "same length"),
    STK_ROWS_END,
};
static const struct stk_decl lang_zip_decl = { "zip",         2,
                                               "Zip.",        "",
                                               lang_zip_rows, sizeof(struct lang_zip) };

struct lang_values {
    const struct stk_value *data;
    struct stk_numbers fractions;
};
static const struct stk_param lang_values_rows[] = {
    STK__VALUE_ROW(lang_values, data, STK_REQUIRED, "data"),
    STK_NUMBERS_ROW(lang_values, fractions, NULL, 0, 9, STK_VARIADIC, "parts"),
    STK_ROWS_END,
};
static const struct stk_decl lang_values_decl = { "values",         1,
                                                  "Values.",        "",
                                                  lang_values_rows, sizeof(struct lang_values) };

static const struct stk_param lang_decode_rows[] = { STK_ROWS_END };
static const struct stk_decl lang_decode_decl = { "decode", 1, "Decode.", "", lang_decode_rows, 0 };

static const struct stk_decl *const lang_decls[] = { &lang_decode_decl, &lang_files_decl,
                                                     &lang_resize_decl, &lang_values_decl,
                                                     &lang_zip_decl };
static const struct stk__namespace lang_namespace = { "pipeline", lang_decls, 5 };

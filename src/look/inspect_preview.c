/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_preview.c: fields and first elements of a file, by running the chain that is proposed for
 * it. Where a source would go over the whole file first, it gets the file's beginning, in memory,
 * so that the time does not depend on the file's size. */
#define _GNU_SOURCE
#include "base/controls.h"
#include "look/inspect.h"

#include "base/error.h"
#include "base/json_out.h"
#include "base/type.h"
#include "codec/image/codec.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "lang/quote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXT, JSON, SHOWN_VALUES = 6, SHOWN_BYTES = 40, SHOWN_BINARY = 12 };

/* ---- values ---- */

static void add_number(struct stk__text *out, int dtype, const void *at)
{
    const struct stk__elementwise_kernels *kernels = &stk__kernels()->elementwise;
    float single;
    double real;
    int64_t whole;
    if (stk__dtype_kind(dtype) != 'f') {
        if (dtype == STK_I64 || dtype == STK_U64)
            memcpy(&whole, at, sizeof whole);
        else
            kernels->convert[dtype][STK_I64](&whole, at, NULL, NULL, 1);
        stk__text_add(out, dtype == STK_U64 ? "%" PRIu64 : "%" PRId64, whole);
        return;
    }
    if (dtype == STK_F64) {
        memcpy(&real, at, sizeof real);
    } else {
        if (dtype == STK_F32)
            memcpy(&single, at, sizeof single);
        else
            kernels->convert[dtype][STK_F32](&single, at, NULL, NULL, 1);
        real = (double)single;
    }
    stk__text_add_rounded(out, real, 6);
}

static void add_array(struct stk__text *out, const struct stk_view *view)
{
    int64_t n = 1;
    for (int d = 0; d < view->rank; d++) {
        stk__text_add(out, "%s%" PRId64, d ? ", " : "[", view->shape[d]);
        n *= view->shape[d];
    }
    stk__text_add(out, "%s", view->rank ? "] " : "");
    for (int64_t i = 0; i < n && i < SHOWN_VALUES; i++) {
        stk__text_add(out, "%s", i ? " " : "");
        add_number(out, view->dtype,
                   (const char *)view->data + (size_t)i * stk_dtype_bytes(view->dtype));
    }
    stk__text_add(out, "%s", n > SHOWN_VALUES ? " …" : "");
}

/* No control characters, and UTF-8 but for a last character that may be cut. */
static bool is_text(const char *data, size_t n)
{
    for (size_t i = 0, bytes; i < n; i += bytes) {
        bytes = stk__utf8_bytes(data + i, n - i);
        if ((!bytes && n - i >= 4) || (uint8_t)data[i] < 9)
            return false;
        bytes += !bytes;
    }
    return true;
}

static void add_value(struct stk__text *out, const struct stk_view *view)
{
    if (view->kind != STK_BYTES) {
        add_array(out, view);
        return;
    }
    size_t bytes = view->n_splits > 1 ? (size_t)(view->splits[1] - view->splits[0]) : 0;
    size_t shown = bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES;
    struct stk__image_info info;
    if (!stk__image_info(view->data, bytes, &info, NULL)) {
        stk__text_add(out, "a picture of %u x %u pixels in %zu bytes", info.width, info.height,
                      bytes);
        return;
    }
    if (!is_text(view->data, shown)) {
        for (size_t i = 0; i < shown && i < SHOWN_BINARY; i++)
            stk__text_add(out, "%02x ", ((const uint8_t *)view->data)[i]);
        stk__text_add(out, "… (%zu bytes)", bytes);
        return;
    }
    while (shown < bytes && shown && ((const uint8_t *)view->data)[shown] >> 6 == 2)
        shown--; /* no half of a character */
    stk__text_add_json(out, view->data, shown);
    if (shown < bytes)
        stk__text_add(out, "… (%zu bytes)", bytes);
}

/* ---- running ---- */

/* Makes a note of a fault; the copy in memory has the name of the file. A pattern stays as it is:
 * with the directory in its place the note would deny what is there. */
static void note_fault(struct stk__inspection *in, const char *what, const char *path,
                       const struct stk_error *err)
{
    bool is_copy = strcmp(path, in->path) && !in->pattern.len;
    const char *at = is_copy ? strstr(err->text, path) : NULL;
    in->is_damaged = true;
    if (at)
        stk__inspect_note(in, "%s%.*s%s%s", what, (int)(at - err->text), err->text, in->path,
                          at + strlen(path));
    else
        stk__inspect_note(in, "%s%s", what, err->text);
}

struct preview {
    const char *path; /* of the file, or of the copy of its beginning */
    struct stk_dataset *dataset;
    struct stk_batch *element[STK__PREVIEWED];
    int n;
};

static void drop(struct preview *preview)
{
    for (int i = 0; i < preview->n; i++)
        stk_batch_unref(preview->element[i]);
    stk_dataset_unref(preview->dataset);
}

/* Reads the first elements. A fault in them is a note. */
static int iterate(struct stk__inspection *in, struct preview *preview, struct stk_error *err)
{
    struct stk_iterator *it = NULL;
    struct stk_options *options = stk_options_new();
    int code = options ? stk_options_set(options, "workers", "0", err) : stk__out_of_memory(err);
    if (!code)
        code = stk_iterator_new(preview->dataset, options, &it, err);
    while (!code && preview->n < STK__PREVIEWED) {
        code = stk_iterator_next(it, &preview->element[preview->n], err);
        preview->n += !code;
    }
    stk_iterator_free(it);
    stk_options_free(options);
    if (code == STK_MEMORY || !code || code == STK_END)
        return code == STK_END ? STK_OK : code;
    note_fault(in, "reading the first elements: ", preview->path, err);
    return STK_OK;
}

static void add_field(struct stk__inspection *in, const struct preview *preview, int f)
{
    const struct stk_field *field = &preview->dataset->root->type.field[f];
    struct stk__text type = { 0 }, *text = &in->fields[TEXT], *json = &in->fields[JSON];
    stk__field_text(field, &type);
    stk__text_add(text, "  ");
    stk__text_add_shown(text, field->name, 12);
    stk__text_add(text, " %-20s ", type.data ? type.data : "");
    stk__json_open(json, NULL, '{');
    stk__json_string(json, "name", field->name);
    stk__json_string(json, "type", type.data ? type.data : "");
    stk__json_open(json, "first", '[');
    json->failed |= type.failed;
    stk__text_free(&type);
    for (int i = 0; i < preview->n; i++) {
        struct stk__text value = { 0 };
        struct stk_view view;
        stk_batch_view_at(preview->element[i], f, &view);
        add_value(&value, &view);
        stk__text_add(text, "%s%s", i ? " | " : "", value.data ? value.data : "");
        stk__json_bytes(json, NULL, value.data ? value.data : "", value.len);
        json->failed |= value.failed;
        stk__text_free(&value);
    }
    stk__text_add(text, "\n");
    stk__json_close(json, ']');
    stk__json_close(json, '}');
}

/* The chain on a path; a fault is a note, because what is known already is of use. */
static int build(struct stk__inspection *in, const char *path, struct stk_dataset **out,
                 struct stk_error *err)
{
    struct stk__text chain = { 0 };
    stk__text_add(&chain, "%s(", in->source);
    stk__quote(&chain, path);
    stk__text_add(&chain, "%s", in->rest.data ? in->rest.data : ")");
    int code = chain.failed ? stk__out_of_memory(err) : stk_dataset_new(chain.data, NULL, out, err);
    stk__text_free(&chain);
    if (!code || code == STK_MEMORY)
        return code;
    note_fault(in, "", path, err);
    return STK_OK;
}

/* A file in memory with the first bytes; its descriptor, or -1. */
static int make_sample(const struct stk__inspection *in)
{
    int fd = memfd_create("stoker-inspect", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < in->sample_bytes) {
        ssize_t n = write(fd, in->head + done, in->sample_bytes - done);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

/* The chain for the first elements only. Counts all where the source has seen the whole file. */
static int shorten(struct stk__inspection *in, struct preview *preview, struct stk_error *err)
{
    struct stk_dataset *whole = preview->dataset, *part = NULL;
    char calls[32];
    int64_t count = stk_dataset_count(whole);
    if (!in->sample_bytes && count >= 0 && in->head)
        stk__inspect_count(in, "elements", (uint64_t)count);
    snprintf(calls, sizeof calls, "take(%d)", STK__PREVIEWED);
    int code = stk_dataset_then(whole, calls, NULL, &part, err);
    if (!code) {
        stk_dataset_unref(whole);
        preview->dataset = part;
    }
    return code;
}

int stk__inspect_preview(struct stk__inspection *in, struct stk_error *err)
{
    struct preview preview = { 0 };
    char path[64];
    int fd = -1;
    if (in->compression > STK__COMPRESSION_NONE && !in->sample_bytes) {
        stk__inspect_note(in, "it is compressed as a whole: stoker reads such files unpacked only");
        in->source = NULL;
        return STK_OK;
    }
    if (in->head && in->sample_bytes) {
        fd = make_sample(in);
        if (fd < 0) {
            stk__inspect_note(in,
                              "there is no preview: no memory for a copy of the first elements");
            return STK_OK;
        }
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    preview.path = fd >= 0 ? path : in->pattern.len ? in->pattern.data : in->path;
    int code = build(in, preview.path, &preview.dataset, err);
    if (!code && preview.dataset)
        code = shorten(in, &preview, err);
    if (!code && preview.dataset)
        code = iterate(in, &preview, err);
    for (int f = 0; !code && preview.dataset && f < stk_dataset_n_fields(preview.dataset); f++)
        add_field(in, &preview, f);
    if (preview.dataset)
        drop(&preview);
    if (fd >= 0)
        close(fd);
    return code;
}

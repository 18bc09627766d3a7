/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c: stk_inspect: what is in a file, told from its content. */
#include "look/inspect.h"
#include "base/controls.h"

#include "base/error.h"
#include "base/json_out.h"
#include "codec/record/tfrecord_frame.h"
#include "io/byte_stream.h"
#include "io/directory.h"
#include "lang/quote.h"
#include "op/source/packed_classes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT, JSON };

/* In this order: the surest signs first. */
static const struct stk__inspector *const inspectors[] = {
    &stk__inspect_image, &stk__inspect_npy, &stk__inspect_npz,
    &stk__inspect_hdf5,  &stk__inspect_tar, &stk__inspect_tfrecord,
    &stk__inspect_jsonl, &stk__inspect_csv, &stk__inspect_text,
};

/* ---- what was found ---- */

void stk__inspect_count(struct stk__inspection *in, const char *name, uint64_t n)
{
    stk__text_add(&in->facts[TEXT], "  %-12s %" PRIu64 "\n", name, n);
    stk__json_count(&in->facts[JSON], name, n);
}

void stk__inspect_say(struct stk__inspection *in, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stk__text_add(&in->facts[TEXT], "  ");
    stk__text_add_shown(&in->facts[TEXT], name, 12);
    stk__text_add(&in->facts[TEXT], " ");
    stk__text_add_shown(&in->facts[TEXT], text, 0);
    stk__text_add(&in->facts[TEXT], "\n");
    stk__json_string(&in->facts[JSON], name, text);
}

void stk__inspect_note(struct stk__inspection *in, const char *format, ...)
{
    char text[STK_ERROR_TEXT + 128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stk__text_add(&in->notes[TEXT], "  ");
    stk__text_add_shown(&in->notes[TEXT], text, 0);
    stk__text_add(&in->notes[TEXT], "\n");
    stk__json_string(&in->notes[JSON], NULL, text);
}

int stk__inspect_classes(struct stk__inspection *in, struct stk_error *err)
{
    enum { SHOWN = 12 };
    struct stk__paths files = { 0 };
    struct stk__packed_classes *classes = NULL;
    const char *field, *name;
    int code = stk__paths_add(&files, in->path, strlen(in->path));
    code = code ? stk__out_of_memory(err) : stk__packed_classes_open(&files, &classes, err);
    for (int f = 0; !code && (field = stk__packed_classes_field(classes, f)); f++) {
        struct stk__text list = { 0 };
        int64_t n = 0;
        for (; (name = stk__packed_classes_name(classes, field, n)); n++)
            if (n < SHOWN)
                stk__text_add(&list, "%s%s", n ? ", " : "", name);
        stk__inspect_say(in, "classes", "%" PRId64 " in %s: %s%s", n, field,
                         list.data ? list.data : "", n > SHOWN ? ", …" : "");
        stk__text_free(&list);
    }
    stk__packed_classes_close(classes);
    stk__paths_free(&files);
    return code;
}

void stk__sizes_add(struct stk__sizes *sizes, uint64_t bytes)
{
    sizes->least = !sizes->n || bytes < sizes->least ? bytes : sizes->least;
    sizes->most = bytes > sizes->most ? bytes : sizes->most;
    sizes->total += bytes;
    sizes->n++;
}

void stk__inspect_sizes(struct stk__inspection *in, const char *noun,
                        const struct stk__sizes *sizes, uint64_t seen_bytes)
{
    stk__inspect_count(in, noun, sizes->n);
    if (!sizes->n)
        return;
    stk__inspect_say(in, "sizes", "%" PRIu64 " to %" PRIu64 " bytes, %.1f on average", sizes->least,
                     sizes->most, (double)sizes->total / (double)sizes->n);
    if (in->is_whole || in->is_damaged)
        return;
    if (in->compression == STK__COMPRESSION_NONE && seen_bytes)
        stk__inspect_note(in,
                          "only the first %" PRIu64 " bytes were looked at; in all there are "
                          "about %.0f %s",
                          seen_bytes,
                          (double)in->file_bytes / (double)seen_bytes * (double)sizes->n, noun);
    else
        stk__inspect_note(in, "only the first %" PRIu64 " bytes (unpacked) were looked at",
                          seen_bytes);
}

/* ---- reading ---- */

static bool is_tfrecord_head(const uint8_t *head, size_t n)
{
    uint64_t length;
    return n >= STK__TFRECORD_HEADER && stk__tfrecord_length(head, &length);
}

/* Reads until the end, the limit, or a fault, of which a note is made if something was read. */
static int read_all(struct stk__inspection *in, struct stk__byte_stream *stream,
                    struct stk_error *err)
{
    size_t got = 0, cap = 0;
    int code = STK_OK;
    while (!code && in->n_head < STK__INSPECTED_BYTES) {
        if (in->n_head == cap) {
            cap = cap ? 4 * cap : 1 << 16;
            uint8_t *grown = realloc(in->head, cap + 64);
            if (!grown)
                return stk__out_of_memory(err);
            in->head = grown;
        }
        code = stk__byte_stream_read(stream, in->head + in->n_head, cap - in->n_head, &got, err);
        in->n_head += code ? 0 : got;
    }
    memset(in->head + in->n_head, 0, 64);
    in->is_whole = code == STK_END;
    in->compression = stk__byte_stream_compression(stream);
    if (!code || code == STK_END)
        return STK_OK;
    if (!in->n_head || code != STK_DATA)
        return code;
    in->is_damaged = true;
    stk__inspect_note(in, "damaged: %s", err->text);
    return STK_OK;
}

static int read_head(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__byte_stream *stream;
    const struct stk__byte_stream_options options = { .path = in->path,
                                                      .is_plain = is_tfrecord_head };
    int code = stk__byte_stream_open(&options, &stream, err);
    if (code)
        return code;
    code = read_all(in, stream, err);
    stk__byte_stream_close(stream);
    return code;
}

static int fail_unknown(const struct stk__inspection *in, struct stk_error *err)
{
    char bytes[3 * 8 + 1] = "";
    for (size_t i = 0; i < in->n_head && i < 8; i++)
        snprintf(bytes + 3 * i, 4, " %02x", in->head[i]);
    if (!in->n_head)
        return stk_fail(err, STK_DATA, "'%s' is empty", in->path);
    return stk_fail(err, STK_DATA, "'%s' is nothing that stoker knows: it begins with the bytes%s",
                    in->path, bytes);
}

static int describe_file(struct stk__inspection *in, struct stk_error *err)
{
    int code = read_head(in, err);
    if (code)
        return code;
    for (size_t i = 0; i < sizeof inspectors / sizeof *inspectors; i++)
        if (inspectors[i]->recognises(in))
            return inspectors[i]->describe(in, err);
    return fail_unknown(in, err);
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct stat status;
    if (stat(in->path, &status))
        return stk_fail(err, STK_IO, "cannot read '%s': %s", in->path, strerror(errno));
    in->file_bytes = (uint64_t)status.st_size;
    if (S_ISDIR(status.st_mode) && stk__is_cache_directory(in->path))
        return stk__inspect_cache(in, err);
    if (S_ISDIR(status.st_mode))
        return stk__inspect_directory(in, err);
    if (!S_ISREG(status.st_mode))
        return stk_fail(err, STK_IO, "'%s' is neither a file nor a directory", in->path);
    return describe_file(in, err);
}

static bool has_failed(const struct stk__inspection *in)
{
    bool failed = in->rest.failed || in->pattern.failed;
    for (int i = 0; i < 2; i++)
        failed |= in->facts[i].failed || in->notes[i].failed || in->fields[i].failed;
    return failed;
}

void stk__inspection_clear(struct stk__inspection *in)
{
    free(in->head);
    stk__text_free(&in->rest);
    stk__text_free(&in->pattern);
    for (int i = 0; i < 2; i++) {
        stk__text_free(&in->facts[i]);
        stk__text_free(&in->notes[i]);
        stk__text_free(&in->fields[i]);
    }
}

static int describe_and_preview(struct stk__inspection *in, struct stk_error *err)
{
    int code = describe(in, err);
    return !code && in->source && !in->is_unseen ? stk__inspect_preview(in, err) : code;
}

int stk__inspect_file(struct stk__inspection *in, struct stk_error *err)
{
    int code = describe_and_preview(in, err);
    return !code && has_failed(in) ? stk__out_of_memory(err) : code;
}

static void add_chain(const struct stk__inspection *in, struct stk__text *out)
{
    stk__text_add(out, "%s(", in->source);
    stk__quote(out, in->pattern.len ? in->pattern.data : in->path);
    stk__text_add_n(out, in->rest.data ? in->rest.data : "", in->rest.len);
}

typedef void (*print_fn)(const struct stk__inspection *in, struct stk__text *out);

static int inspect(const char *path, print_fn print, char **out, struct stk_error *err)
{
    struct stk__inspection in = { .path = path };
    struct stk__text text = { 0 };
    struct stk_error unheard;
    err = err ? err : &unheard; /* notes are made of it */
    *out = NULL;
    int code = describe_and_preview(&in, err);
    if (!code)
        print(&in, &text);
    if (!code && (has_failed(&in) || !(*out = stk__text_take(&text))))
        code = stk__out_of_memory(err);
    stk__text_free(&text);
    stk__inspection_clear(&in);
    return code;
}

int stk_inspect(const char *path, bool json, char **out, struct stk_error *err)
{
    return inspect(path, json ? stk__inspect_json_out : stk__inspect_text_out, out, err);
}

static void print_chain(const struct stk__inspection *in, struct stk__text *out)
{
    if (in->source)
        add_chain(in, out);
}

int stk__inspect_chain(const char *path, char **chain, struct stk_error *err)
{
    return inspect(path, print_chain, chain, err);
}

/* ---- printing ---- */

void stk__inspect_text_out(const struct stk__inspection *in, struct stk__text *out)
{
    stk__text_add_shown(out, in->path, 0);
    stk__text_add(out, ": %s", in->format);
    if (in->compression > STK__COMPRESSION_NONE)
        stk__text_add(out, ", %s", stk__compression_words[in->compression]);
    if (in->head)
        stk__text_add(out, ", %" PRIu64 " bytes", in->file_bytes);
    stk__text_add(out, "\n%s", in->facts[TEXT].data ? in->facts[TEXT].data : "");
    if (in->fields[TEXT].len)
        stk__text_add(out, "\nfields\n%s", in->fields[TEXT].data);
    if (in->source) {
        stk__text_add(out, "\nchain\n  ");
        add_chain(in, out);
        stk__text_add(out, "\n");
    }
    if (in->notes[TEXT].len)
        stk__text_add(out, "\nnotes\n%s", in->notes[TEXT].data);
}

static void add_items(struct stk__text *out, const char *name, const struct stk__text *items)
{
    stk__json_open(out, name, '[');
    stk__text_add_n(out, items->data ? items->data : "", items->len);
    stk__json_close(out, ']');
}

void stk__inspect_json_out(const struct stk__inspection *in, struct stk__text *out)
{
    struct stk__text chain = { 0 };
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "path", in->path);
    stk__json_string(out, "format", in->format);
    if (in->head) {
        stk__json_count(out, "bytes", in->file_bytes);
        stk__json_string(out, "compression", stk__compression_words[in->compression]);
    }
    stk__json_bool(out, "is_whole", in->is_whole || !in->head);
    stk__json_bool(out, "is_damaged", in->is_damaged);
    if (in->facts[JSON].len) {
        stk__json_name(out, NULL);
        stk__text_add_n(out, in->facts[JSON].data, in->facts[JSON].len);
    }
    add_items(out, "fields", &in->fields[JSON]);
    if (in->source) {
        add_chain(in, &chain);
        stk__json_bytes(out, "chain", chain.data ? chain.data : "", chain.len);
        out->failed |= chain.failed;
        stk__text_free(&chain);
    }
    add_items(out, "notes", &in->notes[JSON]);
    stk__json_close(out, '}');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c: samples of tar archives, as WebDataset makes them. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory/arena.h"
#include "op/declaration.h"
#include "op/source/packed_classes.h"
#include "op/source/record_source.h"
#include "op/source/tar_sample.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tar {
    struct stk_texts file;
    struct stk_pairs fields;
    int compression;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(tar, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_PAIRS_ROW(
        tar, fields, 0,
        "for each field the ending of its member, as in {image: 'jpg;png', label: 'cls'}; "
        "'__key__' is the name that a sample's members share; none: as in the first "
        "sample"),
    STK_CHOICE_ROW(tar, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "of the files; auto: by their first bytes"),
    STK_TEXT_ROW(tar, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_ROWS_END,
};

static const char key_ending[] = "__key__";

/* One field: its name, and the endings that it may have, in lower case, with ';' between them. */
struct wanted {
    char *name, *ending;
    bool is_number;
};

struct sample_source {
    struct stk__record_source source;
    struct stk__packed_classes *classes; /* of files that pack made; or NULL */
    struct wanted field[STK_MAX_FIELDS];
    int n_fields;
};

/* ---- fields ---- */

/* Endings whose members are a number in decimal digits, as WebDataset has them. */
static bool is_number_ending(const char *ending)
{
    static const char *const words[] = { "cls", "cls2", "class", "count", "index", "inx", "id" };
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found = !strcmp(ending, words[i]);
    return found;
}

static int add_field(struct sample_source *source, const char *name, const char *ending,
                     struct stk_error *err)
{
    if (source->n_fields == STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "a sample may have at most %d fields; name those wanted",
                        STK_MAX_FIELDS);
    struct wanted *w = &source->field[source->n_fields++];
    *w = (struct wanted){ strdup(name), strdup(ending), false };
    if (!w->name || !w->ending)
        return stk__out_of_memory(err);
    for (char *c = w->ending; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    w->is_number = is_number_ending(w->ending);
    return STK_OK;
}

static bool is_ending(const char *endings, const struct stk__tar_name *name)
{
    for (const char *at = endings; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strcspn(at, ";") == name->extension_bytes &&
            !strncasecmp(at, (const char *)name->extension, name->extension_bytes))
            return true;
    }
    return false;
}

/* ---- samples ---- */

struct found {
    struct stk_span span[STK_MAX_FIELDS];
    bool is_there[STK_MAX_FIELDS];
    bool is_sparse[STK_MAX_FIELDS];
    /* a key that its header has in two pieces, and its length; spans of it are unset */
    uint8_t joined[sizeof(((struct stk__tar_member *)0)->joined)];
    size_t joined_bytes;
};

static void take_member(const struct sample_source *source, uint8_t *member_at,
                        const struct stk__tar_member *member, struct found *found)
{
    struct stk__tar_name name;
    if (!stk__tar_split(member, &name))
        return;
    for (int f = 0; f < source->n_fields; f++) {
        bool is_key = !strcmp(source->field[f].ending, key_ending);
        if (found->is_there[f] || (!is_key && !is_ending(source->field[f].ending, &name)))
            continue;
        found->is_there[f] = true;
        found->is_sparse[f] = !is_key && member->is_sparse;
        if (!is_key) {
            found->span[f].data = member_at + member->data;
            found->span[f].bytes = (size_t)member->size;
        } else if (name.key != member->joined) {
            found->span[f].data = (uint8_t *)(uintptr_t)name.key;
            found->span[f].bytes = name.key_bytes;
        } else {
            memcpy(found->joined, name.key, name.key_bytes);
            found->joined_bytes = name.key_bytes;
        }
    }
}

static int fail_missing(const struct sample_source *source, int field, const char *has,
                        struct stk_error *err)
{
    char wanted[256] = "";
    size_t n = 0;
    for (const char *at = source->field[field].ending, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ";");
        if (n < sizeof wanted)
            n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s'.%.*s'", n ? " or " : "",
                                  (int)(end - at), at);
    }
    return stk_fail(err, STK_DATA, "there is no member %s for field '%s'; there is%s", wanted,
                    source->field[field].name, *has ? has : " none");
}

static int fail_sparse(const struct sample_source *source, int field, struct stk_error *err)
{
    return stk_fail(err, STK_DATA,
                    "the member '.%s' for field '%s' is stored with holes (a sparse file of GNU "
                    "tar), which is not read; make the archive without tar's --sparse (-S)",
                    source->field[field].ending, source->field[field].name);
}

static void note_ending(const struct stk__tar_member *member, char *text, size_t size)
{
    struct stk__tar_name name;
    size_t len = strlen(text);
    if (stk__tar_split(member, &name) && len + name.extension_bytes + 3 < size)
        snprintf(text + len, size - len, " .%.*s", (int)name.extension_bytes,
                 (const char *)name.extension);
}

/* The members of one sample. */
static int find_members(const struct sample_source *source, uint8_t *data, uint64_t bytes,
                        struct found *found, struct stk_error *err)
{
    char has[200] = "";
    *found = (struct found){ 0 };
    for (uint64_t at = 0; at < bytes;) {
        struct stk__tar_member member;
        int code = stk__tar_parse(data + at, bytes - at, &member, err);
        if (code == STK_END)
            break;
        if (code == STK_AGAIN)
            return stk_fail(err, STK_DATA, "truncated: the archive ends within a header");
        if (code)
            return code;
        if (member.data + member.size > bytes - at)
            return stk_fail(
                err, STK_DATA, "truncated: a member has %llu bytes, but only %llu are left",
                (unsigned long long)member.size, (unsigned long long)(bytes - at - member.data));
        take_member(source, data + at, &member, found);
        note_ending(&member, has, sizeof has);
        at += member.total < bytes - at ? member.total : bytes - at;
    }
    for (int f = 0; f < source->n_fields; f++)
        if (!found->is_there[f])
            return fail_missing(source, f, has, err);
        else if (found->is_sparse[f])
            return fail_sparse(source, f, err);
    return STK_OK;
}

static bool read_int(struct stk_span text, int64_t *out)
{
    char copy[32], *end;
    while (text.bytes && isspace(text.data[text.bytes - 1]))
        text.bytes--;
    if (!text.bytes || text.bytes >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = 0;
    *out = strtoll(copy, &end, 10);
    return !*end && !isspace((unsigned char)copy[0]);
}

static int write_fields(const struct sample_source *source, const struct found *found,
                        struct stk_column *column, int row, struct stk_error *err)
{
    for (int f = 0; f < source->n_fields; f++) {
        int64_t number;
        if (!source->field[f].is_number) {
            column[f].span[row] = found->span[f];
            continue;
        }
        if (!read_int(found->span[f], &number))
            return stk_fail(err, STK_DATA, "field '%s' should be a whole number, but is '%.*s'",
                            source->field[f].name,
                            found->span[f].bytes < 40 ? (int)found->span[f].bytes : 40,
                            (const char *)found->span[f].data);
        memcpy(column[f].data + (size_t)row * column[f].stride, &number, sizeof number);
    }
    return STK_OK;
}

/* Gives a joined key a place to stay. */
static void set_joined(const struct sample_source *source, struct found *found, uint8_t *place)
{
    memcpy(place, found->joined, found->joined_bytes);
    for (int f = 0; f < source->n_fields; f++)
        if (!found->span[f].data)
            found->span[f] = (struct stk_span){ place, found->joined_bytes, NULL };
}

static void set_owner(const struct sample_source *source, struct found *found,
                      struct stk_buffer *owner)
{
    for (int f = 0; f < source->n_fields; f++)
        if (found->span[f].data)
            found->span[f].owner = owner;
}

/* ---- as a stream ---- */

static enum stk__cut cut(const void *context, const uint8_t *data, size_t have, bool is_ended,
                         size_t *bytes)
{
    struct stk__tar_member first_member, next_member;
    struct stk__tar_name first = { 0 };
    size_t at = 0;
    (void)context;
    while (at < have) {
        struct stk__tar_member *m = first.key ? &next_member : &first_member;
        struct stk__tar_name name;
        struct stk_error err;
        int code = stk__tar_parse(data + at, have - at, m, &err);
        bool is_cut = code == STK_END || code == STK_DATA, is_begun = first.key;
        if (!code && stk__tar_split(m, &name)) {
            is_cut = first.key && (name.key_bytes != first.key_bytes ||
                                   memcmp(name.key, first.key, name.key_bytes));
            first = first.key ? first : name;
        }
        *bytes = at;
        if (is_cut && first.key)
            return STK__CUT_RECORD;
        if (code == STK_END)
            return STK__CUT_END;
        if (code == STK_DATA && at)
            return STK__CUT_NONE; /* members of no sample, which are good */
        if (code == STK_DATA)
            return *bytes = have < STK__TAR_BLOCK ? have : STK__TAR_BLOCK, STK__CUT_LOST;
        if (code == STK_AGAIN || m->data + m->size > have - at) /* what came before is whole */
            return !is_ended || !at ? STK__CUT_MORE : is_begun ? STK__CUT_RECORD : STK__CUT_NONE;
        bool is_whole = m->total <= have - at;
        if (!is_whole && !is_ended)
            return STK__CUT_MORE;
        at += is_whole ? m->total : have - at;
    }
    *bytes = at;
    return !is_ended ? STK__CUT_MORE : first.key ? STK__CUT_RECORD : STK__CUT_NONE;
}

static int write_row(const void *context, struct stk_span record, struct stk__chunk *out,
                     struct stk_error *err)
{
    const struct sample_source *source = context;
    struct found found;
    int code = find_members(source, record.data, record.bytes, &found, err);
    if (code)
        return code;
    if (found.joined_bytes) /* the header is ours, and needed no more */
        set_joined(source, &found, record.data);
    set_owner(source, &found, record.owner);
    code = write_fields(source, &found, out->column, out->n, err);
    for (int f = 0; f < source->n_fields; f++) {
        struct stk_span *span = out->column[f].span ? &out->column[f].span[out->n] : NULL;
        if (span && code)
            *span = (struct stk_span){ 0 };
        else if (span)
            stk__buffer_ref(record.owner);
    }
    return code;
}

static const struct stk__cutter cutter = {
    .op = "tar", .noun = "sample", .cut = cut, .write = write_row
};

/* ---- the source ---- */

static void close_tar(void *state)
{
    struct sample_source *source = state;
    if (!source)
        return;
    for (int f = 0; f < source->n_fields; f++) {
        free(source->field[f].name);
        free(source->field[f].ending);
    }
    stk__record_source_close(&source->source);
    stk__packed_classes_close(source->classes);
    free(source);
}

static const char *class_name(const void *state, const char *field, int64_t value)
{
    const struct sample_source *source = state;
    const char *packed = NULL;
    for (int f = 0; f < source->n_fields && !packed; f++)
        if (!strcmp(source->field[f].name, field))
            packed = stk__packed_classes_stored(source->classes, source->field[f].ending);
    return packed ? stk__packed_classes_name(source->classes, packed, value) : NULL;
}

/* Fields as in these members of one sample: the key, and one for each. */
static int add_fields_of(struct sample_source *source, const uint8_t *data, uint64_t bytes,
                         struct stk_error *err)
{
    int code = add_field(source, "key", key_ending, err);
    for (uint64_t at = 0; at < bytes && !code;) {
        struct stk__tar_member member;
        struct stk__tar_name name;
        char text[64];
        if (stk__tar_parse(data + at, bytes - at, &member, err))
            break;
        at += member.total;
        if (!stk__tar_split(&member, &name) || name.extension_bytes >= sizeof text)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)name.extension_bytes,
                 (const char *)name.extension);
        char *field = strdup(text);
        for (char *c = field; c && *c; c++)
            *c = isalnum((unsigned char)*c) ? *c : '_';
        code = field ? add_field(source, field, text, err) : stk__out_of_memory(err);
        free(field);
    }
    return code;
}

static int infer_fields(struct sample_source *source, struct stk_error *err)
{
    struct stk__file_place place;
    const uint64_t first = 0;
    if (!source->source.records)
        return stk_fail(err, STK_VALUE,
                        "name the fields of a stream, as in {image: 'jpg', label: 'cls'}");
    if (!stk__record_files_count(source->source.records))
        return stk_fail(err, STK_VALUE,
                        "there is no sample to see the fields of; name them, as in {image: 'jpg'}");
    stk__record_files_locate(source->source.records, 1, &first, &place);
    uint8_t *data = malloc(place.bytes + 1);
    if (!data)
        return stk__out_of_memory(err);
    struct stk__data_files *files = source->source.records->files;
    int code = stk__data_file_read(files, place, data, err);
    if (code)
        stk__error_prefix(err, "'%s': ", files->item[place.file].path);
    else
        code = add_fields_of(source, data, place.bytes, err);
    free(data);
    return code;
}

static int open_tar(const void *given, struct stk_arena *arena, void **state, struct stk_error *err)
{
    const struct tar *p = given;
    const struct stk__record_scan scan = { .scan = stk__tar_scan,
                                           .format = "tar",
                                           .home = p->index };
    const struct stk__record_reader format = { &scan, &cutter,
                                               (enum stk__compression)p->compression };
    struct sample_source *source = calloc(1, sizeof *source);
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    int code = stk__record_source_open(&source->source, &p->file, &format, err);
    if (!code)
        code = stk__packed_classes_open(&source->source.list->paths, &source->classes, err);
    for (int i = 0; i < p->fields.n && !code; i++)
        code = add_field(source, p->fields.name[i], p->fields.value[i], err);
    if (!code && !p->fields.n)
        code = infer_fields(source, err);
    if (code)
        close_tar(source);
    else
        *state = source;
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct sample_source *source = inf->state;
    (void)err;
    inf->out->n_fields = source->n_fields;
    for (int f = 0; f < source->n_fields; f++) {
        const struct wanted *w = &source->field[f];
        bool is_text = !strcmp(w->ending, key_ending) || !strcmp(w->ending, "txt");
        inf->out->field[f] =
            w->is_number
                ? (struct stk_field){ .name = w->name, .kind = STK_FIXED, .dtype = STK_I64 }
                : (struct stk_field){ .name = w->name,
                                      .kind = STK_BYTES,
                                      .dtype = STK_U8,
                                      .flags = is_text ? STK_FIELD_TEXT : 0 };
        inf->from[f] = -1;
    }
    return STK_OK;
}

static int read_row(struct stk_rows *r, int i, struct stk_error *err)
{
    const struct stk_span *sample = &r->inside->fetched[i];
    struct found found;
    int code = find_members(r->state, sample->data, sample->bytes, &found, err);
    if (code)
        return code;
    set_owner(r->state, &found, sample->owner);
    if (found.joined_bytes) {
        uint8_t *place = stk_rows_alloc(r, found.joined_bytes);
        if (!place)
            return stk__out_of_memory(err);
        set_joined(r->state, &found, place);
    }
    return write_fields(r->state, &found, r->out, i, err);
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    (void)index;
    for (int i = 0; i < r->n; i++) {
        struct stk_error err;
        int code = r->mask[i] == STK_LIVE ? read_row(r, i, &err) : STK_OK;
        if (code)
            stk_rows_fail(r, i, code, "%s", err.text);
    }
    return STK_OK;
}

const struct stk__op stk__op_tar = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "tar", 1, "Samples of tar archives, as WebDataset makes them.",
              "Members that follow one another and have the same name up to the first dot are a "
              "sample; what follows that dot (the ending, in any case) says which field a member "
              "is. Members with the endings cls, cls2, class, count, index, inx and id are numbers "
              "(int64), all others bytes. Without a mapping there is a field `key` with the name, "
              "and one for each ending of the first sample.\n"
              "\n"
              "    tar('shard-*.tar', {image: 'jpg;png', label: 'cls'}).decode()\n"
              "    tar('shard-*.tar').shuffle().take(10)\n"
              "\n"
              "Any sample can be reached, so len, shuffle() and shard work on the whole; headers "
              "are read once for that, and where samples lie is remembered for large files "
              "(index). Archives that are compressed, pipes and standard input ('-') are a stream. "
              "Names may be those of ustar, pax and GNU tar.\n"
              "\n"
              "A damaged header makes one bad sample of everything up to the next good header; a "
              "sample that lacks a field is bad and says what it has.",
              params, sizeof(struct tar) },
    .flags = STK__OP_ROOT | STK__OP_BLOCKS,
    .open = open_tar,
    .close = close_tar,
    .held_bytes = stk__record_source_bytes,
    .infer = infer,
    .source = { STK__RECORD_SOURCE, .rows = rows, .class_name = class_name },
};

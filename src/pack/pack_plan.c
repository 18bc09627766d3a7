/* SPDX-License-Identifier: Apache-2.0 */
/* pack_plan.c: what a pack will store: passes, fields, shards and their names. */
#define _GNU_SOURCE
#include "pack/pack.h"

#include "base/type.h"
#include "exec/exec.h"
#include "lang/objects.h"
#include "op/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* MAX_OPEN: shards that are filled at the same time, each with a block in memory. */
enum { MAX_SHARDS = 1000000, MAX_OPEN = 4096, MAX_VARIANTS = 100000, MAX_DIGITS = 19 };

/* ---- names ---- */

/* One {…} at `at`: which number it stands for and how many digits it has at least. Returns its end,
 * or NULL. */
static const char *read_place(const char *at, bool *is_shard, int *digits)
{
    static const char *const words[] = { "{shard", "{shards" };
    size_t len = strcspn(at, ":}");
    char *end = (char *)(uintptr_t)(at + len);
    *is_shard = len == strlen(words[0]) && !strncmp(at, words[0], len);
    if (!*is_shard && !(len == strlen(words[1]) && !strncmp(at, words[1], len)))
        return NULL;
    *digits = 1;
    if (*end == ':') {
        long width = strtol(end + 1, &end, 10);
        *digits = width >= 1 && width <= MAX_DIGITS ? (int)width : 0;
        end += *end == 'd';
    }
    return *end == '}' && *digits ? end + 1 : NULL;
}

int stk__pack_name(const char *out, int64_t shard, int64_t n_shards, struct stk__text *name,
                   struct stk_error *err)
{
    bool has_shard = false, is_shard;
    int digits;
    for (const char *at = out; *at;) {
        if ((*at == '{' || *at == '}') && at[1] == at[0]) {
            stk__text_add_n(name, at, 1);
            at += 2;
        } else if (*at == '{') {
            const char *end = read_place(at, &is_shard, &digits);
            if (!end)
                return stk_fail(err, STK_VALUE,
                                "'%s' is no name for files: at '%s' it can have {shard}, "
                                "{shard:05d}, {shards} or {shards:05d}; {{ stands for a bracket",
                                out, at);
            has_shard = has_shard || is_shard;
            stk__text_add(name, "%0*lld", digits, (long long)(is_shard ? shard : n_shards));
            at = end;
        } else {
            stk__text_add_n(name, at++, 1);
        }
    }
    if (!has_shard && n_shards > 1)
        return stk_fail(err, STK_VALUE,
                        "%lld shards cannot all be called '%s': put {shard:05d} into the name",
                        (long long)n_shards, out);
    return name->failed ? stk__out_of_memory(err) : STK_OK;
}

/* "out/train-{shard}…" has its manifest in out/train.manifest.json. */
static int name_manifest(struct stk__pack *pack, struct stk_error *err)
{
    const char *out = pack->wanted->out, *slash = strrchr(out, '/');
    size_t lead = slash ? (size_t)(slash - out) + 1 : 0, len = lead + strcspn(out + lead, "{");
    bool is_cut = out[len] != 0;
    while (is_cut && len > lead && strchr("-_.", out[len - 1]))
        len--;
    if (asprintf(&pack->manifest_path, "%.*s%smanifest.json", (int)len, out,
                 len > lead ? "." : "") < 0)
        pack->manifest_path = NULL;
    if (!pack->manifest_path ||
        asprintf(&pack->journal_path, "%s.partial", pack->manifest_path) < 0)
        pack->journal_path = NULL;
    return pack->journal_path ? STK_OK : stk__out_of_memory(err);
}

static int name_shards(struct stk__pack *pack, struct stk_error *err)
{
    const char *out = pack->wanted->out, *slash = out ? strrchr(out, '/') : NULL;
    if (!out || !*out || (slash && !slash[1]))
        return stk_fail(err, STK_VALUE,
                        "packing needs names for its files, such as "
                        "'train-{shard:05d}-of-{shards:05d}.tfrecord'");
    if (slash && memchr(out, '{', (size_t)(slash - out)))
        return stk_fail(err, STK_VALUE,
                        "'%s': all files must be in one directory, so {…} can only "
                        "be behind the last slash",
                        out);
    for (int64_t s = 0; s < pack->n_shards; s++) {
        struct stk__text name = { 0 };
        int rc = stk__pack_name(out, s, pack->n_shards, &name, err);
        pack->shard[s].path = rc ? NULL : stk__text_take(&name);
        pack->shard[s].file.fd = -1;
        stk__text_free(&name);
        if (rc || !pack->shard[s].path)
            return rc ? rc : stk__out_of_memory(err);
    }
    return name_manifest(pack, err);
}

/* ---- fields ---- */

/* A list of texts is stored as one value; lists of lists are not. */
static int refuse_lists(const struct stk_field *field, struct stk_error *err)
{
    bool is_texts = field->kind == STK_BYTES && !(field->flags & STK_FIELD_LISTS);
    if (is_texts || !(field->flags & STK_FIELD_PACKED))
        return STK_OK;
    return stk_fail(err, STK_TYPE,
                    "field '%s' has several lists per element, which cannot be stored as one "
                    "value; leave it out with select",
                    field->name);
}

/* A batch is stored row by row. */
static int take_batch_apart(struct stk_field *field, struct stk_error *err)
{
    bool is_fixed = true;
    if (field->flags & STK_FIELD_LISTS) {
        field->flags &= (uint8_t)~STK_FIELD_LISTS;
        return refuse_lists(field, err);
    }
    if (field->flags & STK_FIELD_PACKED) {
        field->flags &= (uint8_t)~STK_FIELD_PACKED;
        field->rank = field->kind == STK_BYTES ? 0 : field->rank;
        return STK_OK;
    }
    if (field->kind == STK_BYTES || field->kind == STK_RAGGED || !field->rank)
        return stk_fail(err, STK_TYPE,
                        "field '%s' has one value for a whole batch, so batches "
                        "cannot be stored element by element; leave it out with "
                        "select",
                        field->name);
    field->rank--;
    memmove(field->shape, field->shape + 1, field->rank * sizeof *field->shape);
    for (int d = 0; d < field->rank; d++)
        is_fixed = is_fixed && field->shape[d] >= 0;
    field->kind = is_fixed ? STK_FIXED : STK_SHAPED;
    return STK_OK;
}

static int add_variant(struct stk_type *type, struct stk_error *err)
{
    if (stk_type_find(type, "variant") >= 0)
        return stk_fail(err, STK_VALUE,
                        "the number of its variant is stored with each element as "
                        "'variant', which is a field already; rename it");
    if (type->n_fields == STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "an element has at most %d fields, and the variant is one",
                        STK_MAX_FIELDS);
    type->field[type->n_fields++] =
        (struct stk_field){ .name = "variant", .kind = STK_FIXED, .dtype = STK_I64 };
    return STK_OK;
}

/* The type of what is stored of a dataset; names are borrowed from it. */
static int stored_type(const struct stk__pack *pack, struct stk_dataset *dataset,
                       struct stk_type *out, bool *is_batched, struct stk_error *err)
{
    struct stk__plan *plan;
    int rc = stk__plan_new(dataset, &pack->options, &plan, err);
    if (rc)
        return rc;
    *is_batched = stk__plan_delivers_batches(plan);
    stk__plan_unref(plan);
    *out = dataset->root->type;
    for (int f = 0; f < out->n_fields && !rc; f++)
        rc =
            *is_batched ? take_batch_apart(&out->field[f], err) : refuse_lists(&out->field[f], err);
    return rc;
}

/* ---- passes ---- */

static bool is_random(const struct stk__call *call)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), call->name);
    const struct stk_value *given = call->n_args ? call->arg[0].value : NULL;
    bool is_function =
        given && given->kind == STK__OBJECT && given->object.bound->kind == STK__FUNCTION;
    return (decl && stk__op_of(decl)->flags & STK_OP_RANDOM) ||
           (is_function && given->object.bound->function.is_random);
}

/* A copy of a chain without its random ops; chains inside other calls stay as they are. */
static struct stk_value *without_random(const struct stk_value *chain, struct stk_arena *arena)
{
    struct stk_value *copy = stk_arena_alloc(arena, sizeof *copy);
    struct stk__call *call =
        stk_arena_alloc(arena, (size_t)chain->n_calls * sizeof *chain->call + 1);
    if (!copy || !call)
        return NULL;
    *copy = *chain;
    copy->n_calls = 0;
    copy->call = call;
    for (int i = 0; i < chain->n_calls; i++)
        if (!is_random(&chain->call[i]))
            call[copy->n_calls++] = chain->call[i];
    return copy;
}

static int require_random(const struct stk_dataset *dataset, struct stk_error *err)
{
    for (int i = 0; i < dataset->value->n_calls; i++)
        if (is_random(&dataset->value->call[i]))
            return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "the chain has no random op, so its variants would all be the same");
}

static int make_original(struct stk__pack *pack, struct stk_dataset *dataset,
                         struct stk_dataset **out, struct stk_error *err)
{
    struct stk__text text = { 0 };
    const struct stk_value *chain = without_random(dataset->value, &pack->arena);
    int rc = chain ? STK_OK : stk__out_of_memory(err);
    if (!rc)
        rc = stk__print_value(chain, stk__ops_namespace(), STK__SHORT, &text, err);
    if (!rc && text.failed)
        rc = stk__out_of_memory(err);
    if (!rc)
        rc = stk_dataset_new(text.data, dataset->objects, out, err);
    if (rc && err) {
        err->at = err->len = 0; /* the place is in our text, not in the user's */
        stk__error_prefix(err, "without its random ops the chain cannot run: ");
    }
    stk__text_free(&text);
    return rc;
}

static bool is_alike(const struct stk_field *a, const struct stk_field *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) && !strcmp(a->name, b->name);
}

/* Originals and variants are elements of one kind. */
static int check_original(const struct stk__pack *pack, struct stk_dataset *original,
                          struct stk_error *err)
{
    struct stk_type type;
    bool is_batched;
    int rc = stored_type(pack, original, &type, &is_batched, err);
    const struct stk_type *whole = &pack->type;
    for (int f = 0; !rc && f < whole->n_fields - 1; f++) {
        if (type.n_fields == whole->n_fields - 1 && is_alike(&type.field[f], &whole->field[f]))
            continue;
        struct stk__text here = { 0 }, there = { 0 };
        stk__field_text(&whole->field[f], &here);
        stk__type_text(&type, &there);
        rc = stk_fail(err, STK_TYPE,
                      "keep_original: field '%s' is %s, but without its random ops the chain has "
                      "%s; make them equal, for example by resize before the random ops",
                      whole->field[f].name, here.data ? here.data : "?",
                      there.data ? there.data : "?");
        stk__text_free(&here);
        stk__text_free(&there);
    }
    return rc;
}

static int set_pass(struct stk__pack *pack, int64_t variant, struct stk_dataset *dataset,
                    struct stk_error *err)
{
    int64_t before = variant > 1 ? variant - 1 : 0;
    const struct stk__options *o = &pack->options;
    int64_t count = stk__node_count(dataset->root, (int)o->rank, (int)o->world, NULL);
    if (count == STK_INFINITE_COUNT)
        return stk_fail(err, STK_VALUE,
                        "the chain never ends, so it cannot be stored; take(n) makes it finite");
    pack->pass[pack->n_passes++] = (struct stk__pack_pass){
        .dataset = stk_dataset_ref(dataset),
        .epoch = o->epoch + before,
        .variant = variant,
        .first = pack->n_elements,
        .count = pack->is_batched ? STK_UNKNOWN_COUNT : count,
    };
    pack->is_ranged = pack->is_ranged && pack->pass[pack->n_passes - 1].count >= 0;
    pack->n_elements += pack->is_ranged ? (uint64_t)count : 0;
    return STK_OK;
}

static int plan_passes(struct stk__pack *pack, struct stk_dataset *dataset, struct stk_error *err)
{
    int64_t n = pack->wanted->variants ? pack->wanted->variants : 1;
    struct stk_dataset *original = NULL;
    int rc = STK_OK;
    pack->pass = calloc((size_t)n + 1, sizeof *pack->pass);
    if (!pack->pass)
        return stk__out_of_memory(err);
    pack->is_ranged = true;
    if (n > 1 || pack->wanted->keep_original)
        rc = require_random(dataset, err);
    if (!rc && pack->wanted->keep_original)
        rc = make_original(pack, dataset, &original, err);
    if (!rc && original)
        rc = check_original(pack, original, err);
    if (!rc && original)
        rc = set_pass(pack, 0, original, err);
    for (int64_t variant = 1; !rc && variant <= n; variant++)
        rc = set_pass(pack, variant, dataset, err);
    if (original)
        stk_dataset_unref(original);
    return rc;
}

/* ---- shards ---- */

static int divide(struct stk__pack *pack, struct stk_error *err)
{
    const size_t block = (size_t)1 << 20, least = (size_t)64 << 10, all = (size_t)64 << 20;
    uint64_t n = (uint64_t)pack->n_shards;
    pack->block_bytes = block;
    if (!pack->is_ranged && n > MAX_OPEN)
        return stk_fail(err, STK_VALUE,
                        "nobody knows how many elements will come, so all files are written at the "
                        "same time, and that can be at most %d, not %lld",
                        MAX_OPEN, (long long)pack->n_shards);
    if (!pack->is_ranged) {
        size_t share = all / n;
        pack->block_bytes = share < least ? least : share < block ? share : block;
        return STK_OK;
    }
    if (pack->n_elements < n)
        return stk_fail(err, STK_VALUE,
                        "there are %llu elements, too few for %lld shards: some would be empty",
                        (unsigned long long)pack->n_elements, (long long)pack->n_shards);
    __extension__ typedef unsigned __int128 wide;
    for (uint64_t s = 0; s < n; s++) {
        pack->shard[s].first = (uint64_t)((wide)pack->n_elements * s / n);
        pack->shard[s].end = (uint64_t)((wide)pack->n_elements * (s + 1) / n);
    }
    return STK_OK;
}

static int choose(const char *const *names, const char *name, const char *what,
                  struct stk_error *err)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name ? name : names[0]))
            return i;
    stk_fail(err, STK_VALUE, "the %s can be %s, %s%s%s, not '%s'", what, names[0], names[1],
             names[2] ? ", " : "", names[2] ? names[2] : "", name);
    return -1;
}

/* Endings of compressions that are not written here. */
#define UNWRITTEN ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".br", ".zip"

/* Whether a name ends in this, before endings of compressed files or as one of them. */
static bool has_ending(const char *name, const char *ending)
{
    static const char *const compressed[] = { "", ".gz", ".gzip", ".zlib", ".z", UNWRITTEN };
    size_t len = strlen(name), ending_len = strlen(ending);
    for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++) {
        size_t more = strlen(compressed[i]);
        if (len > ending_len + more && !strcasecmp(name + len - more, compressed[i]) &&
            !strncasecmp(name + len - more - ending_len, ending, ending_len))
            return true;
    }
    return false;
}

static int format_of_ending(const char *name)
{
    static const struct {
        const char *ending;
        int format;
    } endings[] = { { ".tfrecord", 0 }, { ".tfrecords", 0 }, { ".tar", 1 }, { ".tgz", 1 } };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (has_ending(name, endings[i].ending))
            return endings[i].format;
    return -1;
}

/* What the names of the files say by their ending, or -1: others will take them for that. Numbers may
 * come last, as in x.tar-{shard}-of-{shards}. */
static int said_by_name(const char *name, int (*said_by_ending)(const char *name))
{
    size_t len = name ? strcspn(name, "{") : 0, all = name ? strlen(name) : 0;
    int said = all ? said_by_ending(name) : -1;
    while (len && strchr("-._", name[len - 1]))
        len--;
    char *before = said < 0 && len && name[all - 1] == '}' ? strndup(name, len) : NULL;
    said = before ? said_by_ending(before) : said;
    free(before);
    return said;
}

static int choose_format(const struct stk_pack_options *w, struct stk_error *err)
{
    static const char *const formats[] = { "tfrecord", "tar", NULL };
    int named = said_by_name(w->out, format_of_ending);
    int wanted = w->format ? choose(formats, w->format, "format", err) : named < 0 ? 0 : named;
    if (wanted < 0 || named < 0 || named == wanted)
        return wanted;
    stk_fail(err, STK_VALUE,
             "the files are named '%s', as %s files are, but the format is to be %s; leave the "
             "format out, or give them another ending",
             w->out, formats[named], formats[wanted]);
    return -1;
}

/* Whether a name has an ending and something before it. */
static bool ends_in(const char *name, const char *ending)
{
    size_t len = strlen(name), n = strlen(ending);
    return len > n && !strcasecmp(name + len - n, ending);
}

static int form_of_ending(const char *name)
{
    static const struct {
        const char *ending;
        int form;
    } endings[] = { { ".gz", STK__FORM_GZIP },
                    { ".gzip", STK__FORM_GZIP },
                    { ".tgz", STK__FORM_GZIP },
                    { ".zlib", STK__FORM_ZLIB },
                    { ".z", STK__FORM_ZLIB } };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(name, endings[i].ending))
            return endings[i].form;
    return -1;
}

static const char *const unwritten[] = { UNWRITTEN };

static int unwritten_ending(const char *name)
{
    for (int i = 0; i < (int)(sizeof unwritten / sizeof *unwritten); i++)
        if (ends_in(name, unwritten[i]))
            return i;
    return -1;
}

/* Names that promise what is not in the files would mislead whoever reads them. */
static int refuse_unwritten(const char *name, struct stk_error *err)
{
    int i = said_by_name(name, unwritten_ending);
    if (i < 0)
        return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "the files are named '%s', but %s is not written; .gz and .zlib are, or leave "
                    "the ending out",
                    name, unwritten[i]);
}

static int choose_form(const struct stk_pack_options *w, struct stk_error *err)
{
    static const char *const forms[] = { "none", "gzip", "zlib", NULL };
    if (refuse_unwritten(w->out, err))
        return -1;
    int named = said_by_name(w->out, form_of_ending);
    int wanted = w->compression ? choose(forms, w->compression, "compression", err)
                 : named < 0    ? 0
                                : named;
    if (wanted < 0 || named < 0 || named == wanted)
        return wanted;
    stk_fail(
        err, STK_VALUE,
        "the files are named '%s', as files compressed by %s are, but the compression is to be "
        "%s; leave the compression out, or give them another ending",
        w->out, forms[named], forms[wanted]);
    return -1;
}

static int read_wishes(struct stk__pack *pack, struct stk_error *err)
{
    const struct stk_pack_options *w = pack->wanted;
    int format = choose_format(w, err), form = format < 0 ? -1 : choose_form(w, err);
    if (form < 0)
        return STK_VALUE;
    if (format && form == STK__FORM_ZLIB)
        return stk_fail(err, STK_VALUE,
                        "no reader of tar archives takes zlib; gzip is what they "
                        "read");
    if (w->shards < 1 || w->shards > MAX_SHARDS)
        return stk_fail(err, STK_VALUE, "shards can be 1 to %d, not %lld", MAX_SHARDS,
                        (long long)w->shards);
    if (w->variants < 0 || w->variants > MAX_VARIANTS)
        return stk_fail(err, STK_VALUE, "variants can be 1 to %d, not %lld", MAX_VARIANTS,
                        (long long)w->variants);
    pack->format = format ? &stk__record_tar : &stk__record_tfrecord;
    pack->form = (enum stk__stream_form)form;
    pack->n_shards = w->shards;
    pack->has_variant = w->variants || w->keep_original;
    pack->shard = calloc((size_t)w->shards, sizeof *pack->shard);
    return pack->shard ? STK_OK : stk__out_of_memory(err);
}

int stk__pack_plan(struct stk__pack *pack, struct stk_dataset *dataset, struct stk_error *err)
{
    int rc = read_wishes(pack, err);
    pack->is_bound = dataset->objects != NULL;
    if (!rc)
        rc = name_shards(pack, err);
    if (!rc)
        rc = stored_type(pack, dataset, &pack->type, &pack->is_batched, err);
    if (!rc && pack->has_variant)
        rc = add_variant(&pack->type, err);
    if (!rc)
        rc = pack->format->lay_out(&pack->type, &pack->arena, &pack->layout, err);
    if (!rc)
        rc = plan_passes(pack, dataset, err);
    if (!rc)
        rc = divide(pack, err);
    if (!rc)
        rc = stk__pack_head(pack, dataset, err);
    return rc;
}

void stk__pack_free(struct stk__pack *pack)
{
    for (int p = 0; p < pack->n_passes; p++)
        stk_dataset_unref(pack->pass[p].dataset);
    for (int64_t s = 0; pack->shard && s < pack->n_shards; s++)
        free(pack->shard[s].path);
    free(pack->pass);
    free(pack->shard);
    free(pack->head);
    free(pack->manifest_path);
    free(pack->journal_path);
    stk__arena_free(&pack->arena);
}

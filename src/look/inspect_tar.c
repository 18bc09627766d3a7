/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_tar.c: tar archives: samples, and the endings of their members. */
#include "look/inspect.h"

#include "base/error.h"
#include "codec/image/codec.h"
#include "lang/quote.h"
#include "op/source/tar_sample.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_ENDINGS = 32, MOST_LETTERS = 32 };

struct ending {
    char text[MOST_LETTERS];
    struct stk__sizes sizes;
};

struct walk {
    struct stk__tar_key key;
    uint64_t n_samples, n_other; /* other: members of no sample */
    uint64_t n_sparse;
    struct stk__sizes sizes; /* of samples: headers, data and padding */
    uint64_t at, sample_at;  /* of the next member; of the sample that is passed over */
    size_t preview_end;      /* behind the samples that are shown */
    struct ending ending[MOST_ENDINGS];
    int n_endings;
    bool has_more_endings, is_ended;
};

static struct ending *find_ending(struct walk *walk, const struct stk__tar_name *name)
{
    char text[MOST_LETTERS];
    size_t n = name->extension_bytes < sizeof text ? name->extension_bytes : sizeof text - 1;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)tolower(name->extension[i]);
    text[n] = 0;
    for (int i = 0; i < walk->n_endings; i++)
        if (!strcmp(walk->ending[i].text, text))
            return &walk->ending[i];
    walk->has_more_endings |= walk->n_endings == MOST_ENDINGS;
    if (walk->n_endings == MOST_ENDINGS)
        return NULL;
    struct ending *fresh = &walk->ending[walk->n_endings++];
    memcpy(fresh->text, text, sizeof text);
    return fresh;
}

static void end_sample(struct walk *walk)
{
    if (!walk->key.is_set)
        return;
    stk__sizes_add(&walk->sizes, walk->at - walk->sample_at);
    if (++walk->n_samples <= STK__PREVIEWED)
        walk->preview_end = (size_t)walk->at;
    walk->key.is_set = false;
}

static int take_member(struct walk *walk, const struct stk__tar_member *member)
{
    struct stk__tar_name name;
    int code = STK_OK;
    if (!stk__tar_split(member, &name)) {
        walk->n_other += member->is_file;
        return STK_OK;
    }
    if (walk->key.is_set && !stk__tar_key_takes(&walk->key, &name, &code))
        end_sample(walk);
    if (!code && !walk->key.is_set) {
        walk->sample_at = walk->at;
        stk__tar_key_takes(&walk->key, &name, &code);
    }
    walk->n_sparse += member->is_sparse;
    struct ending *ending = find_ending(walk, &name);
    if (ending)
        stk__sizes_add(&ending->sizes, member->size);
    return code;
}

/* The member at walk->at; STK_END where there is none, or its data is not all there. */
static int step(const struct stk__inspection *in, struct walk *walk, struct stk_error *err)
{
    struct stk__tar_member member;
    uint64_t left = in->n_head - walk->at;
    if (!left)
        return STK_END;
    int code = stk__tar_parse(in->head + walk->at, left, &member, err);
    walk->is_ended = code == STK_END;
    if (walk->is_ended)
        return code;
    if (!in->is_whole && (code == STK_AGAIN || (!code && member.total > left)))
        return STK_END;
    if (code == STK_AGAIN || (!code && member.data + member.size > left))
        return stk_fail(err, STK_DATA, "the file is cut within this member");
    if (!code && take_member(walk, &member))
        return stk__out_of_memory(err);
    walk->at += code ? 0 : member.total < left ? member.total : left;
    return code;
}

/* ---- the chain ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words))
        words++;
    return *words != NULL;
}

static bool is_class(const char *ending)
{
    static const char *const words[] = { "cls", "cls2", "class", NULL };
    return is_one_of(ending, words);
}

/* Endings that every sample has, and images under any of theirs. */
static void propose(struct stk__inspection *in, const struct walk *walk)
{
    struct stk__text images = { 0 };
    const char *separator = "";
    bool has_label = false;
    for (int i = 0; i < walk->n_endings; i++)
        if (stk__is_image_ending(walk->ending[i].text))
            stk__text_add(&images, "%s%s", images.len ? ";" : "", walk->ending[i].text);
    stk__text_add(&in->rest, ", {");
    if (images.len) {
        stk__text_add(&in->rest, "image: '%s'", images.data);
        separator = ", ";
    }
    for (int i = 0; i < walk->n_endings; i++) {
        const struct ending *ending = &walk->ending[i];
        if (stk__is_image_ending(ending->text) || ending->sizes.n < walk->n_samples)
            continue;
        bool is_label = is_class(ending->text) && !has_label;
        has_label |= is_label;
        stk__text_add(&in->rest, "%s", separator);
        stk__quote_name(&in->rest, is_label ? "label" : ending->text);
        stk__text_add(&in->rest, ": ");
        stk__quote(&in->rest, ending->text);
        separator = ", ";
    }
    stk__text_add(&in->rest, "})%s", images.len ? ".decode()" : "");
    in->rest.failed |= images.failed;
    stk__text_free(&images);
}

static bool recognises(const struct stk__inspection *in)
{
    return in->n_head >= STK__TAR_BLOCK && stk__tar_is_header(in->head);
}

static void say_endings(struct stk__inspection *in, const struct walk *walk)
{
    for (int i = 0; i < walk->n_endings; i++) {
        const struct ending *ending = &walk->ending[i];
        char name[MOST_LETTERS + 2];
        snprintf(name, sizeof name, ".%s", ending->text);
        stk__inspect_say(
            in, name, "in %" PRIu64 " samples, %" PRIu64 " to %" PRIu64 " bytes, %.1f on average",
            ending->sizes.n, ending->sizes.least, ending->sizes.most,
            (double)ending->sizes.total / (double)ending->sizes.n);
    }
    if (walk->has_more_endings)
        stk__inspect_note(in, "there are more than %d endings", MOST_ENDINGS);
    if (walk->n_sparse)
        stk__inspect_note(in,
                          "%" PRIu64 " members are stored with holes, which is not read: make the "
                          "archive without tar's --sparse (-S)",
                          walk->n_sparse);
    if (walk->n_other)
        stk__inspect_note(in, "%" PRIu64 " members belong to no sample: they have no ending",
                          walk->n_other);
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct walk walk = { 0 };
    int code = STK_OK;
    while (!code)
        code = step(in, &walk, err);
    if (in->is_whole)
        end_sample(&walk);
    stk__tar_key_free(&walk.key);
    if (code == STK_MEMORY)
        return code;
    in->format = "tar";
    stk__inspect_sizes(in, "samples", &walk.sizes, walk.at);
    say_endings(in, &walk);
    if (code != STK_END) {
        in->is_damaged = true;
        stk__inspect_note(in,
                          "damaged: the member at byte %" PRIu64 "%s: %s; what follows was not "
                          "looked at",
                          walk.at,
                          in->compression > STK__COMPRESSION_NONE ? " of the unpacked data" : "",
                          err->text);
    }
    if (code == STK_END && in->is_whole && !walk.is_ended)
        stk__inspect_note(in, "the archive has no end mark: it may be cut");
    if (!walk.n_samples)
        return STK_OK;
    in->source = "tar";
    in->sample_bytes = walk.preview_end;
    propose(in, &walk);
    return stk__inspect_classes(in, err);
}

const struct stk__inspector stk__inspect_tar = { recognises, describe };

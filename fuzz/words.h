/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: bytes from 128 on stand for words of declarations, so that a few bytes are a long text. */
#pragma once
#include "base/text.h"
#include "lang/lang.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

struct words {
    const char *word[MAX_WORDS];
    int n;
};

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

static inline void add_word(struct words *words, const char *word)
{
    for (int i = 0; i < words->n; i++)
        if (!strcmp(words->word[i], word))
            return;
    require(words->n < MAX_WORDS);
    words->word[words->n++] = word;
}

/* Names of its rows, and of what they choose from. */
static inline void add_rows(struct words *words, const struct stk_decl *decl)
{
    for (const struct stk_param *row = decl->params; row->name; row++) {
        add_word(words, row->name);
        for (const char *const *label = row->choices; label && *label; label++)
            add_word(words, *label);
    }
}

static inline void add_namespace(struct words *words, const struct stk__namespace *ns)
{
    for (int i = 0; i < ns->n_decls; i++) {
        add_word(words, ns->decl[i]->name);
        add_rows(words, ns->decl[i]);
    }
}

/* Returns new. Where there are more than 128 words, a byte of 255 and the next one say the rest. */
static inline char *text_of(const struct words *words, const uint8_t *bytes, size_t n_bytes)
{
    struct stk__text text = { 0 };
    for (size_t i = 0; i < n_bytes; i++) {
        int word = bytes[i] - 128;
        if (word == 127 && i + 1 < n_bytes)
            word += bytes[++i];
        if (word < 0)
            stk__text_add_n(&text, (const char *)&bytes[i], 1);
        else
            stk__text_add(&text, "%s", words->word[word % words->n]);
    }
    return stk__text_take(&text);
}

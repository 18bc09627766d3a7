/* SPDX-License-Identifier: Apache-2.0 */
/* text_op.h: what ops on texts (fields of bytes) share: the field they read and the one they make,
 * the pieces between separators, and values that are made of whole texts or of their pieces. */
#pragma once
#include "op/field/array_field.h"

#define STK__TEXT_FIELD_HELP "field with the texts; none: the only one there is"
#define STK__TEXT_INTO_HELP "name of the new field; none: it replaces the texts"
#define STK__TEXT_SEP_HELP                                                                         \
    "the text is cut where this is, and a list is made of its pieces; '': at white space; none: "  \
    "it is not cut"

struct stk__text_use {
    int from, to;   /* fields of the input and of the output */
    bool has_lists; /* elements have lists of texts, and get lists */
};

/* Bytes of single elements. */
bool stk__is_text(const struct stk_field *field);

/* Picks the field, of texts or lists of them, passes all others on and makes room for the same as
 * the result. */
int stk__text_infer(struct stk_infer *inf, const char *name, const char *into,
                    struct stk__text_use *use, struct stk_error *err);

/* Makes a text of that of each row. */
typedef int (*stk__text_change_fn)(struct stk_rows *rows);

/* Carries it out: where rows have lists, with every text of them as a row of its own. */
int stk__text_run(struct stk_rows *rows, const struct stk__text_use *use,
                  stk__text_change_fn change);

/* A text as it lies in the input: the same bytes, or some of them, need no copy. */
static inline struct stk_span stk__text_part(const struct stk_span *text, size_t from, size_t len)
{
    return (struct stk_span){ text->data ? text->data + from : NULL, len, text->owner };
}

/* Space, \t, \n, \v, \f and \r. */
static inline bool stk__is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The text without white space at its ends. */
struct stk_span stk__text_trim(const struct stk_span *text);

/* Texts in messages are cut after so many bytes. */
enum { STK__TEXT_SHOWN = 40 };
#define STK__TEXT_SHOW(span)                                                                       \
    (int)((span).bytes < STK__TEXT_SHOWN ? (span).bytes : STK__TEXT_SHOWN),                        \
        (span).data ? (const char *)(span).data : "", (span).bytes > STK__TEXT_SHOWN ? "…" : ""

/* ---- lists of texts ---- */

/* One list per element. */
bool stk__is_texts(const struct stk_field *field);

/* A list of copies of so many texts, as a row of such a field; false when out of memory. */
bool stk__texts_pack(struct stk_rows *rows, const struct stk_span *text, size_t n,
                     struct stk_span *out);

/* ---- pieces ---- */

/* The pieces of a text: what Python's split gives. An empty separator: runs of white space, and
 * none at the ends. */
struct stk__text_pieces {
    struct stk_span rest;
    const char *sep;
    size_t sep_bytes;
    bool is_over;
};

struct stk__text_pieces stk__pieces_of(const struct stk_span *text, const char *sep);
bool stk__pieces_next(struct stk__text_pieces *pieces, struct stk_span *piece);

/* ---- values made of texts ---- */

struct stk__text_values;

/* Makes the value of a text; false, with the row marked, if there is none. */
typedef bool (*stk__text_value_fn)(const struct stk__text_values *how, struct stk_rows *rows,
                                   int row, const struct stk_span *text, void *dst);

struct stk__text_values {
    struct stk__text_use use;
    /* NULL: one value per text; else one per piece, none of an empty text. Lists of texts have one
     * per text. */
    const char *sep;
    stk__text_value_fn make;
    const void *ctx;
    int dtype;
};

/* As stk__text_infer, of texts or lists of them; `use` of *how gets its values. */
int stk__text_values_infer(struct stk_infer *inf, const char *name, const char *into,
                           struct stk__text_values *how, struct stk_error *err);
int stk__text_values_run(struct stk_rows *rows, const struct stk__text_values *how);

/* The same for ops whose state is nothing but that. */
int stk__text_values_keep(struct stk_infer *inf, const char *name, const char *into,
                          struct stk__text_values how, struct stk_error *err);
int stk__text_values_run_kept(struct stk_rows *rows);

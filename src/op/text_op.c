/* SPDX-License-Identifier: Apache-2.0 */
/* text_op.c: fields of texts, their pieces, and values made of them. */
#include "op/text_op.h"

#include "base/blob.h"
#include "base/error.h"

#include <string.h>

bool stk__is_text(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

bool stk__is_texts(const struct stk_field *field)
{
    uint8_t many = field->flags & (STK_FIELD_PACKED | STK_FIELD_LISTS);
    return field->kind == STK_BYTES && many == STK_FIELD_PACKED;
}

bool stk__texts_pack(struct stk_rows *rows, const struct stk_span *text, size_t n,
                     struct stk_span *out)
{
    if (n > INT32_MAX)
        return false;
    size_t bytes = stk__blob_bytes(text, 1, (int)n);
    *out = (struct stk_span){ stk_rows_alloc(rows, bytes), bytes, NULL };
    if (out->data)
        stk__blob_write(text, 1, (int)n, 1, out->data);
    return out->data != NULL;
}

static bool is_text_or_texts(const struct stk_field *field)
{
    return stk__is_text(field) || stk__is_texts(field);
}

int stk__text_infer(struct stk_infer *inf, const char *name, const char *into,
                    struct stk__text_use *use, struct stk_error *err)
{
    enum { TYPICAL_TEXT = 64 };
    use->from = stk_infer_pick(inf, name, stk__is_text, "a field of bytes", err);
    if (use->from < 0)
        return err->code;
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[use->from];
    made.flags &= STK_FIELD_TEXT;
    inf->scratch_bytes = TYPICAL_TEXT;
    return stk__result_put(inf, use->from, into, made, &use->to, err);
}

struct stk_span stk__text_trim(const struct stk_span *text)
{
    size_t from = 0, end = text->bytes;
    while (from < end && stk__is_blank(text->data[from]))
        from++;
    while (end > from && stk__is_blank(text->data[end - 1]))
        end--;
    return stk__text_part(text, from, end - from);
}

/* ---- pieces ---- */

struct stk__pieces stk__pieces_of(const struct stk_span *text, const char *sep)
{
    return (struct stk__pieces){ .rest = *text, .sep = sep, .sep_bytes = strlen(sep) };
}

static void drop_front(struct stk_span *span, size_t bytes)
{
    *span = stk__text_part(span, bytes, span->bytes - bytes);
}

static bool next_word(struct stk_span *rest, struct stk_span *piece)
{
    size_t from = 0, end;
    while (from < rest->bytes && stk__is_blank(rest->data[from]))
        from++;
    for (end = from; end < rest->bytes && !stk__is_blank(rest->data[end]);)
        end++;
    *piece = stk__text_part(rest, from, end - from);
    drop_front(rest, end);
    return piece->bytes > 0;
}

/* Where the separator begins; the length of the text if there is none. */
static size_t find_sep(const struct stk__pieces *pieces)
{
    const uint8_t *data = pieces->rest.data;
    size_t bytes = pieces->rest.bytes, n = pieces->sep_bytes;
    for (size_t at = 0; at + n <= bytes; at++) {
        const uint8_t *found = memchr(data + at, pieces->sep[0], bytes - n + 1 - at);
        if (!found)
            break;
        at = (size_t)(found - data);
        if (!memcmp(found, pieces->sep, n))
            return at;
    }
    return bytes;
}

bool stk__pieces_next(struct stk__pieces *pieces, struct stk_span *piece)
{
    if (!pieces->sep_bytes)
        return next_word(&pieces->rest, piece);
    if (pieces->is_over)
        return false;
    size_t end = find_sep(pieces);
    *piece = stk__text_part(&pieces->rest, 0, end);
    pieces->is_over = end == pieces->rest.bytes;
    if (!pieces->is_over)
        drop_front(&pieces->rest, end + pieces->sep_bytes);
    return true;
}

/* ---- values made of texts ---- */

int stk__text_values_infer(struct stk_infer *inf, const char *name, const char *into,
                           struct stk__text_values *how, struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    how->use.from = stk_infer_pick(inf, name, is_text_or_texts, "a field of bytes", err);
    if (how->use.from < 0)
        return err->code;
    stk_infer_pass(inf);
    const struct stk_field *from = &inf->in[0]->field[how->use.from];
    how->has_lists = stk__is_texts(from);
    if (how->has_lists && how->sep)
        return stk_fail(err, STK_TYPE, "sep cuts texts, and the field '%s' has lists of them",
                        from->name);
    bool is_even = how->has_lists && from->rank, is_ragged = how->sep || how->has_lists;
    struct stk_field made = { .name = from->name,
                              .kind = is_ragged && !is_even ? STK_RAGGED : STK_FIXED,
                              .dtype = (uint8_t)how->dtype,
                              .rank = is_ragged,
                              .shape = { is_even ? from->shape[0] : -1 } };
    inf->scratch_bytes = is_ragged ? TYPICAL_LIST : 0;
    return stk__result_put(inf, how->use.from, into, made, &how->use.to, err);
}

static int64_t count_pieces(const struct stk_span *text, const char *sep)
{
    struct stk__pieces pieces = stk__pieces_of(text, sep);
    struct stk_span piece;
    int64_t n = 0;
    while (text->bytes && stk__pieces_next(&pieces, &piece))
        n++;
    return n;
}

static int make_list(struct stk_rows *rows, int row, const struct stk__text_values *how)
{
    const struct stk_span *text = &rows->in[how->use.from].span[row];
    int64_t n = count_pieces(text, how->sep);
    uint8_t *dst = stk__array_put(rows, how->use.to, row, &n);
    if (!dst)
        return STK_MEMORY;
    struct stk__pieces pieces = stk__pieces_of(text, how->sep);
    struct stk_span piece;
    for (int64_t i = 0; i < n && stk__pieces_next(&pieces, &piece); i++)
        if (!how->make(how, rows, row, &piece, dst + (size_t)i * stk_dtype_bytes(how->dtype)))
            break;
    return STK_OK;
}

/* A value for each text of a list. */
static int make_values(struct stk_rows *rows, int row, const struct stk__text_values *how)
{
    struct stk__blob list = stk__blob_open(rows->in[how->use.from].span[row].data);
    uint8_t *dst = stk__array_put(rows, how->use.to, row, &list.n);
    if (!dst)
        return STK_MEMORY;
    for (int64_t i = 0; i < list.n; i++) {
        const struct stk_span text = { list.data + list.splits[i],
                                       (size_t)(list.splits[i + 1] - list.splits[i]), NULL };
        if (!how->make(how, rows, row, &text, dst + (size_t)i * stk_dtype_bytes(how->dtype)))
            break;
    }
    return STK_OK;
}

int stk__text_values_run(struct stk_rows *rows, const struct stk__text_values *how)
{
    const struct stk_span *text = rows->in[how->use.from].span;
    struct stk_column *out = &rows->out[how->use.to];
    int code = STK_OK;
    for (int i = 0; i < rows->n && !code; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (how->has_lists)
            code = make_values(rows, i, how);
        else if (how->sep)
            code = make_list(rows, i, how);
        else
            how->make(how, rows, i, &text[i], out->data + (size_t)i * out->stride);
    }
    return code;
}

int stk__text_values_keep(struct stk_infer *inf, const char *name, const char *into,
                          struct stk__text_values how, struct stk_error *err)
{
    struct stk__text_values *kept = stk_arena_alloc(inf->arena, sizeof *kept);
    if (!kept)
        return stk__out_of_memory(err);
    *kept = how;
    inf->state = kept;
    return stk__text_values_infer(inf, name, into, kept, err);
}

int stk__text_values_run_kept(struct stk_rows *rows)
{
    return stk__text_values_run(rows, rows->state);
}

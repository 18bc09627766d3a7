/* SPDX-License-Identifier: Apache-2.0 */
/* text_op.c: fields of texts, their pieces, and values made of them. */
#include "op/text/text_op.h"

#include "base/error.h"
#include "base/rows/blob.h"
#include "base/rows/chunk.h"

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
    enum { TYPICAL_TEXT = 64, TYPICAL_LIST = 1024 };
    use->from = stk_infer_pick(inf, name, is_text_or_texts, "a field of bytes", err);
    if (use->from < 0)
        return err->code;
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[use->from];
    use->has_lists = stk__is_texts(&made);
    made.flags &= STK_FIELD_TEXT | STK_FIELD_PACKED;
    inf->scratch_bytes = use->has_lists ? TYPICAL_LIST : TYPICAL_TEXT;
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

/* ---- every text of lists ---- */

static struct stk__blob list_of(const struct stk_rows *rows, int from, int row)
{
    return stk__blob_open(rows->in[from].span[row].data);
}

static int64_t count_texts(const struct stk_rows *rows, int from)
{
    int64_t n = 0;
    for (int i = 0; i < rows->n; i++)
        n += rows->mask[i] == STK_LIVE ? list_of(rows, from, i).n : 0;
    return n;
}

static void list_texts(const struct stk_rows *rows, int from, struct stk_span *text)
{
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__blob list = list_of(rows, from, i);
        for (int64_t k = 0; k < list.n; k++)
            *text++ = (struct stk_span){ list.data + list.splits[k],
                                         (size_t)(list.splits[k + 1] - list.splits[k]), NULL };
    }
}

/* The texts of all live rows as rows, with no other field; false when out of memory. */
static bool open_texts(struct stk_rows *rows, const struct stk__text_use *use,
                       struct stk_rows *texts)
{
    int64_t n = count_texts(rows, use->from);
    size_t room = (size_t)n + 1;
    struct stk_span *span = n < INT32_MAX ? stk_rows_alloc(rows, 2 * room * sizeof *span) : NULL;
    uint8_t *mask = stk_rows_alloc(rows, room);
    struct stk_column *column = stk_rows_alloc(rows, 2 * STK_MAX_FIELDS * sizeof *column);
    if (!span || !mask || !column)
        return false;
    memset(mask, STK_LIVE, room);
    list_texts(rows, use->from, span);
    column[use->from] = (struct stk_column){ .span = span };
    column[STK_MAX_FIELDS + use->to] = (struct stk_column){ .span = span + room };
    *texts = *rows;
    texts->n = (int)n;
    texts->in = column;
    texts->out = column + STK_MAX_FIELDS;
    texts->mask = mask;
    return true;
}

/* A list with a bad text is bad for the same reason. */
static void blame(struct stk_rows *rows, int row, const struct stk__fault *faults, int text)
{
    while (faults && faults->row != text)
        faults = faults->next;
    stk_rows_fail(rows, row, faults ? faults->code : STK_MEMORY, "%s",
                  faults ? faults->text : "out of memory");
}

static int close_texts(struct stk_rows *rows, const struct stk__text_use *use,
                       const struct stk_rows *texts)
{
    int text = 0;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        int n = (int)list_of(rows, use->from, i).n;
        for (int k = text; k < text + n; k++)
            if (texts->mask[k] != STK_LIVE)
                blame(rows, i, *texts->inside->faults, k);
        if (rows->mask[i] == STK_LIVE && !stk__texts_pack(rows, texts->out[use->to].span + text,
                                                          (size_t)n, &rows->out[use->to].span[i]))
            return STK_MEMORY;
        text += n;
    }
    return STK_OK;
}

int stk__text_run(struct stk_rows *rows, const struct stk__text_use *use,
                  stk__text_change_fn change)
{
    struct stk__fault *faults = NULL;
    struct stk__rows_inside inside = *rows->inside;
    struct stk_rows texts;
    if (!use->has_lists)
        return change(rows);
    if (!open_texts(rows, use, &texts))
        return STK_MEMORY;
    inside.faults = &faults;
    texts.inside = &inside;
    int code = change(&texts);
    if (!code)
        code = close_texts(rows, use, &texts);
    stk__faults_free(faults);
    return code;
}

/* ---- pieces ---- */

struct stk__text_pieces stk__pieces_of(const struct stk_span *text, const char *sep)
{
    return (struct stk__text_pieces){ .rest = *text, .sep = sep, .sep_bytes = strlen(sep) };
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
static size_t find_sep(const struct stk__text_pieces *pieces)
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

bool stk__pieces_next(struct stk__text_pieces *pieces, struct stk_span *piece)
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
    how->use.has_lists = stk__is_texts(from);
    if (how->use.has_lists && how->sep)
        return stk_fail(err, STK_TYPE, "sep cuts texts, and the field '%s' has lists of them",
                        from->name);
    bool is_even = how->use.has_lists && from->rank, is_ragged = how->sep || how->use.has_lists;
    struct stk_field made = { .name = from->name,
                              .kind = is_ragged && !is_even ? STK_RAGGED : STK_FIXED,
                              .dtype = (uint8_t)how->dtype,
                              .rank = is_even ? from->rank : is_ragged,
                              .shape = { -1 } };
    if (is_even)
        memcpy(made.shape, from->shape, sizeof made.shape);
    inf->scratch_bytes = is_ragged ? TYPICAL_LIST : 0;
    return stk__result_put(inf, how->use.from, into, made, &how->use.to, err);
}

static int64_t count_pieces(const struct stk_span *text, const char *sep)
{
    struct stk__text_pieces pieces = stk__pieces_of(text, sep);
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
    struct stk__text_pieces pieces = stk__pieces_of(text, how->sep);
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
        if (how->use.has_lists)
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

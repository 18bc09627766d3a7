/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: the content of the files that a field names. The executor's I/O carries it out. */
#include "op/order/order.h"

#include <string.h>

struct read {
    const char *field;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(read, field, NULL, STK_TAKES_NONE,
                 "the field with the paths; none takes the only one that holds paths"),
    STK_ROWS_END,
};

static bool is_path(const struct stk_field *field)
{
    return field->kind == STK_BYTES && field->flags & STK_FIELD_PATH &&
           !(field->flags & STK_FIELD_PACKED);
}

static bool is_bytes(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct read *p = inf->params;
    int f = stk_infer_pick(inf, p->field, p->field ? is_bytes : is_path, "a path", err);
    if (f < 0)
        return STK_TYPE;
    stk_infer_pass(inf);
    struct stk_field *field = &inf->out->field[f];
    if (!strcmp(field->name, "path")) {
        if (stk_type_find(inf->in[0], "bytes") >= 0)
            return stk_fail(err, STK_NAME,
                            "the content of 'path' would be called 'bytes', which "
                            "exists already; rename one of them before");
        field->name = "bytes";
    }
    field->flags = 0;
    inf->from[f] = -1;
    inf->reads = UINT32_C(1) << f;
    inf->is_optional = true;
    return STK_OK;
}

const struct stk__op stk__op_read = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "read", 1, "Read the files whose paths a field holds.",
              "The path is replaced by the file's content. A field called `path` becomes "
              "`bytes`; any other keeps its name. Files are read ahead, many at a time. A read is "
              "inserted automatically where an op wants content and finds a path, so "
              "`files('*.jpg').decode()` needs none. Where an element came from stays known: "
              "errors and provenance name the file.\n"
              "\n"
              "    files('texts/*.txt').read().batch(16)\n"
              "    lines('list.txt').read(text)\n"
              "\n"
              "A file that cannot be read makes its element bad; on_error says what becomes of "
              "it.",
              params, sizeof(struct read) },
    .flags = STK__OP_FETCH | STK_OP_HEAVY,
    .infer = infer,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* encode_op.c: images to bytes, whatever the format. */
#include "op/image/encode_op.h"

#include "base/cancel.h"

#include <string.h>

bool stk__is_image_u8(const struct stk_field *field)
{
    return stk__is_image(field) && field->dtype == STK_U8;
}

bool stk__is_image_u8_u16(const struct stk_field *field)
{
    return stk__is_image(field) && (field->dtype == STK_U8 || field->dtype == STK_U16);
}

static bool has_channels(const struct stk__encode_limits *limits, int64_t channels)
{
    return channels >= 1 && channels <= 4 && strchr(limits->channels, (int)('0' + channels));
}

static int name_output(const struct stk_infer *inf, struct stk_field *field, struct stk_error *err)
{
    if (strcmp(field->name, "image"))
        return STK_OK;
    if (stk_type_find(inf->in[0], "bytes") >= 0)
        return stk_fail(err, STK_NAME,
                        "there is a field 'bytes' already; rename it or 'image' before encoding");
    field->name = "bytes";
    return STK_OK;
}

int stk__encode_infer(struct stk_infer *inf, const char *name,
                      const struct stk__encode_limits *limits, struct stk_error *err)
{
    struct stk_error local;
    struct stk__encode_state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->limits = limits;
    state->field = stk_infer_pick(inf, name, limits->fits, limits->what, err ? err : &local);
    if (state->field < 0)
        return err ? err->code : local.code;
    stk_infer_pass(inf);
    inf->from[state->field] = -1;
    inf->state = state;
    struct stk_field *field = &inf->out->field[state->field];
    int64_t channels = field->shape[2];
    if (channels >= 0 && !has_channels(limits, channels))
        return stk_fail(err, STK_TYPE, "field '%s' has %d channels; the format takes one of %s",
                        field->name, (int)channels, limits->channels);
    *field = (struct stk_field){ .name = field->name, .kind = STK_BYTES, .dtype = STK_U8 };
    return name_output(inf, field, err);
}

int stk__encode_thread_open(const void *params, const void *state, void **thread,
                            struct stk_error *err)
{
    (void)params, (void)state;
    *thread = stk__encoder_new();
    return *thread ? STK_OK : stk_fail(err, STK_MEMORY, "out of memory");
}

void stk__encode_thread_close(void *thread)
{
    stk__encoder_free(thread);
}

static int encode_row(struct stk_rows *rows, int row, stk__encode_one *encode,
                      struct stk_error *err)
{
    const struct stk__encode_state *state = rows->state;
    struct stk__picture picture = stk__picture_get(rows, state->field, row);
    if (!has_channels(state->limits, picture.channels))
        return stk_fail(err, STK_DATA, "the image has %d channels; the format takes one of %s",
                        (int)picture.channels, state->limits->channels);
    struct stk__pixels pixels = { .data = picture.data,
                                  .height = (uint32_t)picture.height,
                                  .width = (uint32_t)picture.width,
                                  .channels = picture.channels,
                                  .is_wide = rows->in_type->field[state->field].dtype == STK_U16 };
    struct stk__encoded encoded;
    int code = encode(rows->thread, rows->params, &pixels, &encoded, err);
    if (code) /* encoders that were told to stop say that it cannot be done */
        return stk__cancel_is_asked() ? stk_fail(err, STK_CANCELLED, "cancelled") : code;
    uint8_t *bytes = stk_rows_alloc(rows, encoded.n_bytes);
    if (!bytes)
        return STK_MEMORY;
    memcpy(bytes, encoded.bytes, encoded.n_bytes);
    stk__encoder_rest(rows->thread);
    rows->out[state->field].span[row] =
        (struct stk_span){ .data = bytes, .bytes = encoded.n_bytes };
    return STK_OK;
}

int stk__encode_run(struct stk_rows *rows, stk__encode_one *encode)
{
    for (int i = 0; i < rows->n; i++) {
        struct stk_error err;
        int code = rows->mask[i] == STK_LIVE ? encode_row(rows, i, encode, &err) : STK_OK;
        if (code == STK_MEMORY)
            return code;
        if (code)
            stk_rows_fail(rows, i, code, "%s", err.text);
    }
    return STK_OK;
}

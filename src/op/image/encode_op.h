/* SPDX-License-Identifier: Apache-2.0 */
/* encode_op.h: what ops that make files of images share. The field has the same place in input and
 * output. */
#pragma once
#include "codec/image/encode.h"
#include "op/image/image_op.h"

/* What a format can hold. */
struct stk__encode_limits {
    bool (*fits)(const struct stk_field *field); /* by kind and dtype */
    const char *what;                            /* in words */
    const char *channels;                        /* numbers of them, as characters */
};

struct stk__encode_state {
    int field;
    const struct stk__encode_limits *limits;
};

/* The image becomes bytes; a field named image is called bytes. */
int stk__encode_infer(struct stk_infer *inf, const char *name,
                      const struct stk__encode_limits *limits, struct stk_error *err);

bool stk__is_image_u8(const struct stk_field *field);
bool stk__is_image_u8_u16(const struct stk_field *field);

int stk__encode_thread_open(const void *params, const void *state, void **thread,
                            struct stk_error *err);
void stk__encode_thread_close(void *thread);

typedef int stk__encode_one(struct stk__encoder *encoder, const void *params,
                            const struct stk__pixels *pixels, struct stk__encoded *out,
                            struct stk_error *err);
int stk__encode_run(struct stk_rows *rows, stk__encode_one *encode);

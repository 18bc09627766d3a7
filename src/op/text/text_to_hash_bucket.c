/* SPDX-License-Identifier: Apache-2.0 */
/* text_to_hash_bucket.c: texts as numbers of buckets. */
#include "base/error.h"
#include "base/fingerprint.h"
#include "op/text/text_op.h"

#include <string.h>

struct text_to_hash_bucket {
    int64_t num_buckets;
    const char *field, *sep, *into;
};

static const struct stk_param params[] = {
    STK_INT_ROW(text_to_hash_bucket, num_buckets, 0, 1, INT64_MAX, STK_REQUIRED,
                "number of buckets"),
    STK_TEXT_ROW(text_to_hash_bucket, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(text_to_hash_bucket, sep, NULL, STK_TAKES_NONE, STK__TEXT_SEP_HELP),
    STK_TEXT_ROW(text_to_hash_bucket, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

static bool make(const struct stk__text_values *how, struct stk_rows *rows, int row,
                 const struct stk_span *text, void *dst)
{
    const struct text_to_hash_bucket *p = how->ctx;
    uint64_t bucket = stk__fingerprint(text->data, text->bytes) % (uint64_t)p->num_buckets;
    (void)rows;
    (void)row;
    memcpy(dst, &bucket, sizeof bucket);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct text_to_hash_bucket *p = inf->params;
    struct stk__text_values how = { .sep = p->sep, .make = make, .ctx = p, .dtype = STK_I64 };
    return stk__text_values_keep(inf, p->field, p->into, how, err);
}

static const char doc[] =
    "A hash of the text modulo num_buckets, as int64: the numbers that "
    "tf.strings.to_hash_bucket_fast gives (FarmHash's Fingerprint64). With `sep` the text is cut "
    "into pieces, each a number of a list; an empty text is an empty list.\n"
    "\n"
    "    values({word: ['Hello', 'TensorFlow']}).text_to_hash_bucket(3)\n"
    "    values({t: ['a b c', 'b']}).text_to_hash_bucket(1000, sep='', into=ids)";

const struct stk__op stk__op_text_to_hash_bucket = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_to_hash_bucket", 1, "Hash texts to numbers of buckets.", doc, params,
              sizeof(struct text_to_hash_bucket) },
    .infer = infer,
    .row = { .run = stk__text_values_run_kept },
};

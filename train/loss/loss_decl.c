/* SPDX-License-Identifier: Apache-2.0 */
/* loss_decl.c: losses as they are written: declarations, and reading a call. */
#include "train/loss/loss.h"
#include "train/model/declared.h"

static const char *const forms[] = { "keras", "pytorch", NULL };

struct binary {
    double label_smoothing;
};

static const struct stk_param binary_rows[] = {
    STK_REAL_ROW(binary, label_smoothing, 0, 0, 1, 0, "how far targets are moved towards 1/2"),
    STK_ROWS_END,
};

struct entropy {
    double label_smoothing;
    struct stk_numbers class_weights;
    int form;
};

static const struct stk_param entropy_rows[] = {
    STK_REAL_ROW(entropy, label_smoothing, 0, 0, 1, 0,
                 "the part of each target that is spread over all classes"),
    STK_NUMBERS_ROW(entropy, class_weights, NULL, 0, INT32_MAX, 0,
                    "how much each class counts, in the order of labels; []: all the same"),
    STK_CHOICE_ROW(entropy, form, forms, 0, 0, "whose class weights"),
    STK_ROWS_END,
};

struct squares {
    char none;
};

static const struct stk_param squares_rows[] = { STK_ROWS_END };

enum { N_CALLS = STK__LOSS_SQUARES + 1 };

static const struct stk_decl decls[N_CALLS] = {
    [STK__LOSS_BINARY] = { "binary_cross_entropy", 1, "For outputs that are each true or false.",
                           "The mean over all outputs, which are logits: as Keras' "
                           "BinaryCrossentropy(from_logits=True) and PyTorch's "
                           "BCEWithLogitsLoss. A model whose last layer is sigmoid has the same "
                           "loss and gradients; one that ends in softmax is refused.\n"
                           "\n"
                           "    binary_cross_entropy(label_smoothing=0.1)",
                           binary_rows, sizeof(struct binary) },
    [STK__LOSS_CROSS_ENTROPY] = { "cross_entropy", 1, "For one class out of several.",
                                  "The mean over the batch of the cross entropy of "
                                  "softmax(outputs) "
                                  "and the targets: labels, or a value for each class (one-hot, or "
                                  "soft as of mixup). A model whose last layer is softmax has "
                                  "the same loss and gradients. Refused are models that end in "
                                  "sigmoid, have one output, or put out a map of more than one "
                                  "pixel.\n"
                                  "\n"
                                  "Class weights multiply the losses of a class's rows. With "
                                  "form=keras the sum is divided by the number of rows, as by "
                                  "fit(class_weight=…); with form=pytorch by the sum of their "
                                  "weights, and smoothed or soft targets are weighted class by "
                                  "class, as by CrossEntropyLoss(weight=…).\n"
                                  "\n"
                                  "    cross_entropy()\n"
                                  "    cross_entropy(label_smoothing=0.1)\n"
                                  "    cross_entropy(class_weights=[1, 1, 5], form=pytorch)",
                                  entropy_rows, sizeof(struct entropy) },
    [STK__LOSS_SQUARES] = { "mse", 1, "The mean of squared differences.",
                            "Over all outputs, as Keras' MeanSquaredError and PyTorch's MSELoss.\n"
                            "\n"
                            "    mse()",
                            squares_rows, sizeof(struct squares) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2] };
const struct stk__namespace stk__losses = { "loss", calls, N_CALLS };

static int read_entropy(const struct stk__call *call, struct stk_arena *arena,
                        struct stk__loss *out, struct stk_error *err)
{
    struct entropy p;
    int rc = stk__call_bind(call, &decls[STK__LOSS_CROSS_ENTROPY], arena, &p, err);
    for (int i = 0; !rc && i < p.class_weights.n; i++)
        if (!(p.class_weights.item[i] >= 0))
            rc = stk__fail_at(err, STK_VALUE, call->at, call->len,
                              "cross_entropy: the weight of class %d is below 0", i);
    if (rc)
        return rc;
    out->label_smoothing = p.label_smoothing;
    out->is_pytorch = p.form == 1;
    out->n_classes = p.class_weights.n;
    out->class_weight = p.class_weights.item;
    return STK_OK;
}

static int read_binary(const struct stk__call *call, struct stk_arena *arena, struct stk__loss *out,
                       struct stk_error *err)
{
    struct binary p;
    int rc = stk__call_bind(call, &decls[STK__LOSS_BINARY], arena, &p, err);
    out->label_smoothing = p.label_smoothing;
    return rc;
}

int stk__loss_read(const struct stk_value *value, struct stk_arena *arena, struct stk__loss *out,
                   struct stk_error *err)
{
    const struct stk__call *call;
    struct squares none;
    int which;
    int rc = stk__declared_call(value, &stk__losses, "a loss is", &call, &which, err);
    if (rc)
        return rc;
    *out = (struct stk__loss){ .kind = (enum stk__loss_kind)which, .name = decls[which].name };
    if (which == STK__LOSS_CROSS_ENTROPY)
        return read_entropy(call, arena, out, err);
    if (which == STK__LOSS_BINARY)
        return read_binary(call, arena, out, err);
    return stk__call_bind(call, &decls[which], arena, &none, err);
}

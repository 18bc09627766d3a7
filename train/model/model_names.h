/* SPDX-License-Identifier: Apache-2.0 */
/* model_names.h: names of layers, which are unique: given, or counted as Keras counts them. */
#pragma once
#include "train/model/layer.h"

struct stk__names {
    struct stk__taken_name {
        uint64_t hash;
        const char *name;
    } * taken;
    int n_taken;
    /* of each declaration, how many names were counted: [n_decls] */
    int *counted;
};

/* Sets b->name, from the parameter `name` or by counting: conv2d, conv2d_1, conv2d_2. Fails where a
 * given name is taken or is none. */
int stk__names_take(struct stk__build *b);

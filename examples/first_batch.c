/* SPDX-License-Identifier: Apache-2.0 */
/* first_batch.c: a chain, an iterator, a batch.
 * Build: cc first_batch.c $(pkg-config --cflags --libs stoker) */
#include <stdio.h>
#include <stoker/stoker.h>

static int report(const struct stk_error *err)
{
    fprintf(stderr, "first_batch: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    const char *chain = argc > 1 ? argv[1] : "range(1000).shuffle(seed=7).map('x * 2').batch(8)";
    struct stk_error err;
    struct stk_dataset *data;
    struct stk_iterator *it;
    struct stk_batch *batch;
    if (stk_dataset_new(chain, NULL, &data, &err) || stk_iterator_new(data, NULL, &it, &err))
        return report(&err);
    if (stk_iterator_next(it, &batch, &err))
        return report(&err);
    for (int i = 0; i < stk_batch_n_fields(batch); i++) {
        struct stk_view view;
        stk_batch_view_at(batch, i, &view);
        printf("%s: %s[", view.name, view.kind == STK_BYTES ? "bytes" : stk_dtype_name(view.dtype));
        for (int d = 0; d < view.rank; d++)
            printf("%s%lld", d ? ", " : "", (long long)view.shape[d]);
        printf("]\n");
    }
    stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pack.c: any names for files, and any text as the journal that an earlier pack left. The first
 * byte says which. */
#define _GNU_SOURCE
#include "pack/pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_name(const uint8_t *data, size_t size)
{
    char *out = malloc(size + 1);
    struct stk__text name = { 0 };
    struct stk_error err;
    if (!out)
        return;
    memcpy(out, data, size);
    out[size] = 0;
    stk__pack_name(out, 7, 1 + size % 3, &name, &err);
    stk__text_free(&name);
    free(out);
}

/* A plan that is made once: it is as good as new when no shard is done. */
static struct stk__pack *plan(void)
{
    static const struct stk_pack_options wanted = { .out = "x-{shard}", .shards = 3 };
    static struct stk__pack pack;
    struct stk_dataset *chain;
    if (!pack.head) {
        pack = (struct stk__pack){ .wanted = &wanted, .journal = -1 };
        pack.options = stk__options_default();
        stk__arena_init(&pack.arena, 4096);
        if (stk_dataset_new("range(9)", NULL, &chain, NULL) || stk__pack_plan(&pack, chain, NULL))
            abort(); /* the chain stays, since the plan names its fields */
    }
    for (int64_t s = 0; s < pack.n_shards; s++)
        pack.shard[s].is_done = false;
    return &pack;
}

static void read_journal(const uint8_t *data, size_t size, bool has_head)
{
    struct stk__pack *pack = plan();
    struct stk__text text = { 0 };
    struct stk_error err;
    bool is_other;
    stk__text_add(&text, "%s", has_head ? pack->head : "");
    stk__text_add_n(&text, (const char *)data, size);
    int rc = stk__pack_adopt(pack, "x.partial", text.data, &is_other, &err);
    if (rc != STK_OK && rc != STK_STATE)
        abort();
    for (int64_t s = 0; s < pack->n_shards; s++)
        if (pack->shard[s].is_done && is_other)
            abort();
    stk__text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] % 4 == 0)
        read_name(data + 1, size - 1);
    else
        read_journal(data + 1, size - 1, data[0] % 4 != 1);
    return 0;
}

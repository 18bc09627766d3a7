/* SPDX-License-Identifier: Apache-2.0 */
/* look.c: from the metrics of a run to a few numbers. */
#include "look.h"

#include "figures.h"
#include "json_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const struct cli_json *map, const char *name)
{
    return strtod(cli_json_text(map, name), NULL);
}

/* "resize+cast": an op and those that are done with it. */
static void name_op(const struct cli_json *json, char *out, size_t size)
{
    const struct cli_json *with = cli_json_get(json, "with");
    int len = snprintf(out, size, "%s", cli_json_text(json, "op"));
    for (with = with ? with->child : NULL; with && (size_t)len < size; with = with->next)
        len += snprintf(out + len, size - (size_t)len, "+%s", with->text);
}

static void read_ops(const struct cli_json *ops, struct cli_look *out)
{
    for (const struct cli_json *op = ops ? ops->child : NULL; op && out->n_ops < CLI_LOOK_OPS;
         op = op->next) {
        struct cli_look_op *to = &out->op[out->n_ops++];
        name_op(op, to->name, sizeof to->name);
        to->wall = number(op, "wall");
    }
}

static void read_metrics(const struct cli_json *m, struct cli_look *out)
{
    const struct cli_json *consumer = cli_json_get(m, "consumer");
    const struct cli_json *window = cli_json_get(m, "window"), *memory = cli_json_get(m, "memory");
    const struct cli_json *cache = cli_json_get(m, "cache");
    *out = (struct cli_look){
        .elapsed = number(m, "elapsed"),
        .elements = number(m, "elements"),
        .batches = number(m, "batches"),
        .epochs = number(m, "epochs"),
        .errors = number(m, "errors"),
        .read_bytes = number(cli_json_get(m, "reads"), "bytes"),
        .waited = number(consumer, "waited"),
        .consumer = number(consumer, "inside") + number(consumer, "outside"),
        .window = number(window, "limit"),
        .ready = number(window, "ready"),
        .threads = number(cli_json_get(m, "workers"), "limit"),
        .used_bytes = number(memory, "used"),
        .budget_bytes = number(memory, "budget"),
        .hits = number(cache, "hits"),
        .misses = number(cache, "misses"),
    };
    read_ops(cli_json_get(m, "ops"), out);
}

bool cli_look_at(struct stk_iterator *it, struct cli_look *out)
{
    char *text = NULL;
    struct stk_error unseen;
    if (stk_iterator_metrics(it, "json", &text, &unseen))
        return false;
    struct cli_json *metrics = cli_json_parse(text);
    if (metrics)
        read_metrics(metrics, out);
    cli_json_free(metrics);
    stk_text_free(text);
    return metrics != NULL;
}

double cli_look_rate(const struct cli_look *first, const struct cli_look *last)
{
    return cli_per_second(last->elements - first->elements, last->elapsed - first->elapsed);
}

double cli_look_waits(const struct cli_look *first, const struct cli_look *last)
{
    double share = cli_per_second(last->waited - first->waited, last->consumer - first->consumer);
    return share < 1 ? share : 1;
}

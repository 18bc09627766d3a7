/* SPDX-License-Identifier: Apache-2.0 */
/* model_text.c: a model as a table for people. */
#include "train/model/node_kind.h"

#include <stdio.h>
#include <string.h>

enum { N_COLUMNS = 5, CELL = 160 };

struct row {
    char cell[N_COLUMNS][CELL];
};

/* Characters of UTF-8. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* "1,234,567". */
static void put_count(char cell[CELL], int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            cell[at++] = ',';
        cell[at++] = digits[i];
    }
    cell[at] = 0;
}

/* "1.81 G", or nothing for 0. */
static void put_macs(char cell[CELL], int64_t macs)
{
    static const char *const units[] = { "", " K", " M", " G", " T", " P", " E" };
    double value = (double)macs;
    int unit = 0;
    for (; value >= 999.5; value /= 1000)
        unit++;
    if (macs && !unit)
        snprintf(cell, CELL, "%lld", (long long)macs);
    else if (macs)
        snprintf(cell, CELL, "%.*f%s",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, units[unit]);
    else
        cell[0] = 0;
}

static void put_bytes(char cell[CELL], double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int unit = 0;
    for (; bytes >= 1023.5 && unit < 6; bytes /= 1024)
        unit++;
    snprintf(cell, CELL, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
}

static int64_t values_of(const struct stk__model *model, const struct stk__model_node *node)
{
    int64_t n = 0;
    for (int i = 0; i < node->n_weights; i++)
        n += model->weight[node->first_weight + i].n_values;
    return n;
}

/* False: no memory. */
static bool put_row(struct row *row, const struct stk__model *model,
                    const struct stk__model_node *node)
{
    char shape[STK__SHAPE_TEXT];
    int64_t n = values_of(model, node);
    struct stk__text kind = { 0 };
    stk__text_add(&kind, "%s", node->kind->name);
    if (node->kind->add_text)
        node->kind->add_text(node, &kind);
    snprintf(row->cell[0], CELL, "%s", node->name);
    snprintf(row->cell[1], CELL, "%s", kind.data ? kind.data : "");
    snprintf(row->cell[2], CELL, "%s", stk__shape_text(&node->shape, shape));
    row->cell[3][0] = 0;
    if (n)
        put_count(row->cell[3], n);
    put_macs(row->cell[4], node->macs);
    bool is_whole = !kind.failed;
    stk__text_free(&kind);
    return is_whole;
}

static void add_row(struct stk__text *out, const struct row *row, const int width[N_COLUMNS])
{
    int pending = 0; /* spaces that are written only if something follows */
    for (int i = 0; i < N_COLUMNS; i++) {
        int fill = width[i] - width_of(row->cell[i]);
        bool is_number = i >= 3;
        if (!row->cell[i][0]) {
            pending += width[i] + 2;
            continue;
        }
        stk__text_add(out, "%*s%s", pending + (is_number ? fill : 0), "", row->cell[i]);
        pending = 2 + (is_number ? 0 : fill);
    }
    stk__text_add(out, "\n");
}

static void widen(const struct row *row, int width[N_COLUMNS])
{
    for (int i = 0; i < N_COLUMNS; i++)
        if (width_of(row->cell[i]) > width[i])
            width[i] = width_of(row->cell[i]);
}

static void add_totals(const struct stk__model *model, int64_t batch, struct stk__text *out)
{
    struct stk__model_totals totals = stk__model_totals(model);
    char trainable[CELL], statistics[CELL], macs[CELL], bytes[CELL];
    put_count(trainable, totals.trainable);
    put_count(statistics, totals.statistics);
    put_bytes(bytes, ((double)totals.trainable + (double)totals.statistics) * 4);
    stk__text_add(out, "\nweights      %s trainable, %s statistics: %s in float32\n", trainable,
                  statistics, bytes);
    put_macs(macs, totals.macs);
    stk__text_add(out, "forward      %s multiplications for each element\n", macs[0] ? macs : "0");
    put_bytes(bytes, (double)totals.activation_values * 4 * (double)batch);
    stk__text_add(out, "activations  %s in float32 for a batch of %lld\n", bytes, (long long)batch);
}

void stk__model_table(const struct stk__model *model, int64_t batch, struct stk__text *out)
{
    const struct row head = { { "layer", "kind", "output", "weights", "MACs" } };
    int width[N_COLUMNS] = { 0 };
    struct row row;
    widen(&head, width);
    for (int i = 0; i < model->n_nodes; i++) {
        out->failed |= !put_row(&row, model, &model->node[i]);
        widen(&row, width);
    }
    add_row(out, &head, width);
    for (int i = 0; i < model->n_nodes; i++) {
        out->failed |= !put_row(&row, model, &model->node[i]);
        add_row(out, &row, width);
    }
    add_totals(model, batch, out);
}

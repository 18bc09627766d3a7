/* SPDX-License-Identifier: Apache-2.0 */
/* dropout_group.c: values that are left out by chance. Words are drawn by seed, layer, batch, image and
 * index, so any thread may draw them, and the backward pass draws them again instead of keeping them. */
#include "train/step/strips.h"

#include "base/hash.h"
#include "base/rng.h"

#include <string.h>

struct draw {
    uint32_t key[2], counter[4];
    uint32_t limit; /* words below it: the value is left out */
    float factor;   /* of those that stay */
};

static struct draw draw_of(const struct stk__step_work *work, const struct stk__step_group *group,
                           int64_t image)
{
    const struct stk__run *run = work->run;
    const struct stk__model_node *node = stk__group_node(run->plan, group);
    uint64_t seed = stk__hash_bytes(run->seed, node->name, strlen(node->name));
    if (node->seed != STK_NONE)
        seed = stk__hash_bytes((uint64_t)node->seed, "dropout", 7);
    double limit = node->rate * 0x1p32;
    return (struct draw){ .key = { (uint32_t)seed, (uint32_t)(seed >> 32) },
                          .counter = { 0, (uint32_t)image, (uint32_t)run->n_batches,
                                       (uint32_t)(run->n_batches >> 32) },
                          .limit = limit >= 0x1p32 ? UINT32_MAX : (uint32_t)limit,
                          .factor = (float)(1 / (1 - node->rate)) };
}

static void drop_span(struct draw *draw, const float *from, size_t n, float *to, bool adds)
{
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word[4];
        stk__philox(draw->counter, draw->key, word);
        draw->counter[0]++;
        for (size_t k = 0; k < 4 && i + k < n; k++) {
            float value = word[k] < draw->limit ? 0 : from[i + k] * draw->factor;
            to[i + k] = adds ? to[i + k] + value : value;
        }
    }
}

/* Rows begin a new group of four words. */
static void drop_image(const struct stk__step_work *work, const struct stk__step_group *group,
                       struct draw draw, const struct stk__map *from, const struct stk__map *to,
                       bool adds)
{
    size_t row = (size_t)from->width * (size_t)from->channels;
    for (int y = 0, end; y < from->height; y = end) {
        end = stk__strip_end(group, y, from->height);
        struct stk__step_image x = stk__map_load(from, y, end - y, stk__strip(work, group, 0));
        float *strip = stk__strip(work, group, 1);
        struct stk__step_image rows =
            adds ? stk__map_load(to, y, end - y, strip) : stk__rows_to(to, y, end - y, strip);
        for (int j = 0; j < x.height; j++)
            drop_span(&draw, x.at + j * x.down, row, rows.at + j * rows.down, adds);
        stk__map_store(to, y, &rows);
    }
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map x = stk__input_map(work, group, 0, i);
        struct stk__map y = stk__map_at(work, group->out, i);
        drop_image(work, group, draw_of(work, group, work->first + i), &x, &y, false);
    }
    stk__clear_frames(work, group->out);
}

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map dy = stk__map_at(work, group->d_out, i);
        struct stk__map dx = stk__d_input_map(work, group, 0, i);
        drop_image(work, group, draw_of(work, group, work->first + i), &dy, &dx, group->adds[0]);
    }
}

static void use(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map x = stk__input_map(work, group, 0, i);
        struct stk__map y = stk__map_at(work, group->out, i);
        for (int at = 0, end; at < x.height; at = end) {
            end = stk__strip_end(group, at, x.height);
            struct stk__step_image rows =
                stk__map_load(&x, at, end - at, stk__strip(work, group, 0));
            stk__map_store(&y, at, &rows);
        }
    }
    stk__clear_frames(work, group->out);
}

static const struct stk__part forward_parts[] = { { forward, STK__IN | STK__OUT, false }, { 0 } };
static const struct stk__part backward_parts[] = { { backward, STK__D_IN | STK__D_OUT, false },
                                                   { 0 } };
static const struct stk__part use_parts[] = { { use, STK__IN | STK__OUT, false }, { 0 } };

const struct stk__group_type stk__dropout_group = { .name = "dropout",
                                                    .forward = forward_parts,
                                                    .backward = backward_parts,
                                                    .use = use_parts,
                                                    .n_strips = 2 };

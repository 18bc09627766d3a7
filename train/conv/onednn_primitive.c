/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_primitive.c: see onednn_primitive.h. */
#include "train/conv/onednn_primitive.h"

#include "train/conv/onednn_counts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE = STK__ONEDNN_IMAGE,
    OUTPUT = STK__ONEDNN_OUTPUT,
    WEIGHTS = STK__ONEDNN_WEIGHTS,
    BIAS = STK__ONEDNN_BIAS,
    ROOM = STK__ONEDNN_ROOM,
    N_MEMORIES = STK__ONEDNN_MEMORIES
};

static _Atomic long n_primitives, n_plain, n_slots, n_runs, n_turned_down;

struct stk__onednn_counts stk__onednn_counts(void)
{
    return (struct stk__onednn_counts){ n_primitives, n_plain, n_slots, n_runs, n_turned_down };
}

/* What a thread runs a primitive with. */
struct slot {
    struct slot *next;
    dnnl_stream_t stream;
    dnnl_memory_t memory[N_MEMORIES];
    void *at[N_MEMORIES]; /* where they are */
    void *room;           /* NULL: that of the job is large enough */
};

struct stk__onednn_primitive {
    const struct stk__onednn_library *lib;
    enum stk__direction direction;
    dnnl_memory_desc_t desc[N_MEMORIES];
    dnnl_primitive_t primitive;
    size_t room_bytes;    /* of the jobs' */
    pthread_mutex_t lock; /* over free slots */
    struct slot *free;
};

/* ---- descriptions ---- */

static bool describe(const struct stk__onednn_library *lib, const struct stk__onednn_rows *rows,
                     dnnl_memory_desc_t *out)
{
    const dnnl_dims_t dims = { 1, rows->channels, rows->n, rows->width };
    return !lib->dnnl_memory_desc_init_by_tag(out, 4, dims, dnnl_f32, dnnl_nhwc);
}

bool stk__onednn_any_weights(const struct stk__conv *c, dnnl_memory_desc_t *out)
{
    const struct stk__onednn_library *lib = stk__onednn_library();
    dnnl_dims_t dims = { c->groups, c->filters / c->groups, c->channels / c->groups,
                         c->kernel_height, c->kernel_width };
    bool is_one = c->groups == 1;
    return !lib->dnnl_memory_desc_init_by_tag(out, is_one ? 4 : 5, is_one ? dims + 1 : dims,
                                              dnnl_f32, dnnl_format_tag_any);
}

static bool describe_conv(const struct stk__conv_task *task, const struct stk__onednn_piece *p,
                          const struct stk__onednn_primitive *of, dnnl_convolution_desc_t *out)
{
    const struct stk__onednn_library *lib = of->lib;
    const struct stk__conv *c = &task->conv;
    const dnnl_dims_t strides = { c->stride_y, c->stride_x };
    const dnnl_dims_t dilates = { c->dilation_y - 1, c->dilation_x - 1 };
    const dnnl_dims_t before = { p->pad_top, p->pad_left };
    const dnnl_dims_t behind = { (p->output.n - 1) * c->stride_y +
                                     (c->kernel_height - 1) * c->dilation_y + 1 - p->image.n -
                                     p->pad_top,
                                 (p->output.width - 1) * c->stride_x +
                                     (c->kernel_width - 1) * c->dilation_x + 1 - p->image.width -
                                     p->pad_left };
    const dnnl_memory_desc_t *x = &of->desc[IMAGE], *y = &of->desc[OUTPUT], *w = &of->desc[WEIGHTS],
                             *b = &of->desc[BIAS];
    if (task->direction == STK__FORWARD)
        return !lib->dnnl_dilated_convolution_forward_desc_init(out, dnnl_forward_training,
                                                                dnnl_convolution_direct, x, w, b, y,
                                                                strides, dilates, before, behind);
    if (task->direction == STK__TO_IMAGE)
        return !lib->dnnl_dilated_convolution_backward_data_desc_init(
            out, dnnl_convolution_direct, x, w, y, strides, dilates, before, behind);
    return !lib->dnnl_dilated_convolution_backward_weights_desc_init(
        out, dnnl_convolution_direct, x, w, b, y, strides, dilates, before, behind);
}

/* Kernels are named "jit:avx512_core", "brgconv_1x1:avx512_core", "x64:gemm:jit"; or "ref:any". */
static bool is_plain(const struct stk__onednn_library *lib, dnnl_primitive_desc_t desc)
{
    const char *name = "";
    lib->dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "ref") != NULL;
}

/* Fills in what its memories are. NULL: oneDNN has nothing fast for it. */
static dnnl_primitive_desc_t choose(const struct stk__conv_task *task,
                                    const struct stk__onednn_piece *piece,
                                    const dnnl_memory_desc_t *weights,
                                    struct stk__onednn_primitive *of)
{
    const struct stk__onednn_library *lib = of->lib;
    const dnnl_dims_t filters = { task->conv.filters };
    bool is_gradient = task->direction == STK__TO_WEIGHTS;
    dnnl_convolution_desc_t conv;
    dnnl_primitive_desc_t desc;
    of->desc[WEIGHTS] = *weights;
    if (!describe(lib, &piece->image, &of->desc[IMAGE]) ||
        !describe(lib, &piece->output, &of->desc[OUTPUT]) ||
        lib->dnnl_memory_desc_init_by_tag(&of->desc[BIAS], 1, filters, dnnl_f32, dnnl_a) ||
        !describe_conv(task, piece, of, &conv) ||
        lib->dnnl_primitive_desc_create(&desc, &conv, lib->attributes, lib->engine, NULL))
        return NULL;
    of->desc[WEIGHTS] = *lib->dnnl_primitive_desc_query_md(
        desc, is_gradient ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    of->desc[ROOM] = *lib->dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    bool is_slow = is_plain(lib, desc);
    if (!is_slow && of->desc[WEIGHTS].format_kind == dnnl_blocked)
        return desc;
    n_turned_down += is_slow;
    lib->dnnl_primitive_desc_destroy(desc);
    return NULL;
}

bool stk__onednn_has_fast(const struct stk__conv_task *task, const struct stk__onednn_piece *piece,
                          const dnnl_memory_desc_t *weights)
{
    struct stk__onednn_primitive unmade = { .lib = stk__onednn_library() };
    int before = stk__onednn_begin_alone(unmade.lib);
    dnnl_primitive_desc_t desc = choose(task, piece, weights, &unmade);
    if (desc)
        unmade.lib->dnnl_primitive_desc_destroy(desc);
    stk__onednn_end_alone(unmade.lib, before);
    return desc != NULL;
}

/* ---- slots ---- */

static void free_slot(const struct stk__onednn_library *lib, struct slot *slot)
{
    for (int i = 0; i < N_MEMORIES; i++)
        if (slot->memory[i])
            lib->dnnl_memory_destroy(slot->memory[i]);
    if (slot->stream)
        lib->dnnl_stream_destroy(slot->stream);
    free(slot->room);
    free(slot);
}

static struct slot *new_slot(const struct stk__onednn_primitive *p)
{
    const struct stk__onednn_library *lib = p->lib;
    struct slot *slot = calloc(1, sizeof *slot);
    size_t room = stk__onednn_room_bytes(p);
    if (!slot)
        return NULL;
    bool ok = !lib->dnnl_stream_create(&slot->stream, lib->engine, dnnl_stream_default_flags);
    for (int i = 0; i < N_MEMORIES && ok; i++)
        ok = !lib->dnnl_memory_create(&slot->memory[i], &p->desc[i], lib->engine, DNNL_MEMORY_NONE);
    if (ok && room > p->room_bytes)
        ok = (slot->room = aligned_alloc(64, (room + 63) / 64 * 64)) != NULL;
    if (ok) {
        n_slots++;
        return slot;
    }
    free_slot(lib, slot);
    return NULL;
}

static void give_slot(struct stk__onednn_primitive *p, struct slot *slot)
{
    pthread_mutex_lock(&p->lock);
    slot->next = p->free;
    p->free = slot;
    pthread_mutex_unlock(&p->lock);
}

/* A new one where more threads came than were told of; NULL: there can be none. */
static struct slot *take_slot(struct stk__onednn_primitive *p)
{
    pthread_mutex_lock(&p->lock);
    struct slot *slot = p->free;
    if (slot)
        p->free = slot->next;
    pthread_mutex_unlock(&p->lock);
    return slot ? slot : new_slot(p);
}

static bool add_slots(struct stk__onednn_primitive *p, int n)
{
    for (int i = 0; i < n; i++) {
        struct slot *slot = new_slot(p);
        if (!slot)
            return false;
        give_slot(p, slot);
    }
    return true;
}

/* ---- primitives ---- */

static bool compile(struct stk__onednn_primitive *p, const struct stk__conv_task *task,
                    const struct stk__onednn_piece *piece, const dnnl_memory_desc_t *weights)
{
    int before = stk__onednn_begin_alone(p->lib);
    dnnl_primitive_desc_t desc = choose(task, piece, weights, p);
    if (desc) {
        if (p->lib->dnnl_primitive_create(&p->primitive, desc))
            p->primitive = NULL;
        n_plain += p->primitive && is_plain(p->lib, desc);
        p->lib->dnnl_primitive_desc_destroy(desc);
    }
    stk__onednn_end_alone(p->lib, before);
    n_primitives += p->primitive != NULL;
    return p->primitive != NULL;
}

struct stk__onednn_primitive *stk__onednn_primitive_new(const struct stk__conv_task *task,
                                                        const struct stk__onednn_piece *piece,
                                                        const dnnl_memory_desc_t *weights,
                                                        size_t room_bytes)
{
    struct stk__onednn_primitive *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->lib = stk__onednn_library();
    p->direction = task->direction;
    p->room_bytes = room_bytes;
    pthread_mutex_init(&p->lock, NULL);
    if (compile(p, task, piece, weights) && add_slots(p, task->n_threads > 1 ? task->n_threads : 1))
        return p;
    stk__onednn_primitive_free(p);
    return NULL;
}

void stk__onednn_primitive_free(struct stk__onednn_primitive *p)
{
    if (!p)
        return;
    for (struct slot *slot = p->free, *next; slot; slot = next) {
        next = slot->next;
        free_slot(p->lib, slot);
    }
    if (p->primitive)
        p->lib->dnnl_primitive_destroy(p->primitive);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

const dnnl_memory_desc_t *stk__onednn_weights(const struct stk__onednn_primitive *p)
{
    return &p->desc[WEIGHTS];
}

size_t stk__onednn_room_bytes(const struct stk__onednn_primitive *p)
{
    return p->lib->dnnl_memory_desc_get_size(&p->desc[ROOM]);
}

/* ---- running ---- */

/* Tells memories where they are, if that is new. */
static bool point(const struct stk__onednn_library *lib, struct slot *slot,
                  float *const at[N_MEMORIES])
{
    for (int i = 0; i < N_MEMORIES; i++) {
        void *to = i == ROOM && slot->room ? slot->room : (void *)at[i];
        if (slot->at[i] != to && lib->dnnl_memory_set_data_handle(slot->memory[i], to))
            return false;
        slot->at[i] = to;
    }
    return true;
}

static bool execute(const struct stk__onednn_primitive *p, struct slot *slot,
                    float *const at[N_MEMORIES])
{
    bool is_weights = p->direction == STK__TO_WEIGHTS, is_image = p->direction == STK__TO_IMAGE;
    const dnnl_exec_arg_t args[] = {
        { is_image ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, slot->memory[IMAGE] },
        { p->direction == STK__FORWARD ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, slot->memory[OUTPUT] },
        { is_weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, slot->memory[WEIGHTS] },
        { DNNL_ARG_SCRATCHPAD, slot->memory[ROOM] },
        { is_weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, slot->memory[BIAS] },
    };
    int n = sizeof args / sizeof *args - (is_image ? 1 : 0);
    int before = stk__onednn_begin_alone(p->lib);
    bool ok = point(p->lib, slot, at) &&
              !p->lib->dnnl_primitive_execute(p->primitive, slot->stream, n, args);
    stk__onednn_end_alone(p->lib, before);
    return ok;
}

bool stk__onednn_run(struct stk__onednn_primitive *p, float *const at[N_MEMORIES])
{
    struct slot *slot = take_slot(p);
    if (!slot)
        return false;
    bool ok = execute(p, slot, at);
    n_runs++;
    give_slot(p, slot);
    return ok;
}

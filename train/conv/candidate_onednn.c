/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_onednn.c: convolutions by oneDNN, where it is installed (onednn_library.h).
 *
 * Its kernels want images without gaps, and are compiled for heights (onednn_primitive.h). A job
 * is cut into pieces of at most `most_rows` rows; of a piece, rows that lie close together are
 * used in place, others go through scratch:
 *
 *     image rows ─▶ close ─┐
 *                          ├─▶ primitive ─▶ close ─▶ output rows
 *     packed weights ──────┘
 *
 * Each kind of piece gets its primitive when it first occurs, which a rehearsal of the step sees to
 * (`rehearses` in candidate.h). All have the layout of weights that the first one preferred, and
 * for some heights oneDNN then has plain C alone, which is never taken:
 *
 *     forward, to weights   rows of zeros fill such a piece up to the height of the first primitive
 *     to image              it is cut in two, again and again; single rows look at the frame, too
 *
 * Where oneDNN fails while it runs, results are NaN, which a step reports.
 *
 * Within 1e-5 of the sum of the terms' sizes.
 */
#include "base/cpu.h"
#include "train/conv/candidate.h"
#include "train/conv/onednn_layout.h"
#include "train/conv/onednn_primitive.h"
#include "train/kernel/train_kernel.h"

#include <math.h>
#include <pthread.h>
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

/* ---- pieces ---- */

static int reach_y(const struct stk__conv *c)
{
    return (c->kernel_height - 1) * c->dilation_y;
}

/* Outputs [from, to), and all they look at, frame and all. */
static struct stk__onednn_piece piece_of_outputs(const struct stk__conv *c, int from, int to)
{
    return (
        struct stk__onednn_piece){ .image = { .first = from * c->stride_y - c->pad_top,
                                              .n = (to - from - 1) * c->stride_y + reach_y(c) + 1,
                                              .width = c->pad_left + c->width + c->pad_right,
                                              .channels = c->channels },
                                   .output = { from, to - from, c->out_width, c->filters } };
}

static int divide_up(int n, int by)
{
    return n > 0 ? (n + by - 1) / by : -(-n / by);
}

/* Rows of the image within [from, to) that outputs look at, and these outputs, or those of the
 * frame too. None if n is 0. */
static struct stk__onednn_piece piece_of_image(const struct stk__conv *c, int from, int to,
                                               bool has_frame)
{
    int low = divide_up(from + c->pad_top - reach_y(c), c->stride_y);
    int high = (to - 1 + c->pad_top) / c->stride_y;
    low = low > 0 || has_frame ? low : 0;
    high = high < c->out_height || has_frame ? high : c->out_height - 1;
    int first = low * c->stride_y - c->pad_top, last = high * c->stride_y - c->pad_top + reach_y(c);
    first = first > from ? first : from;
    last = last < to - 1 ? last : to - 1;
    bool is_any = low <= high && first <= last;
    return (struct stk__onednn_piece){ .image = { first, is_any ? last - first + 1 : 0, c->width,
                                                  c->channels },
                                       .output = { low, high - low + 1, c->out_width, c->filters },
                                       .pad_top = first + c->pad_top - low * c->stride_y,
                                       .pad_left = c->pad_left };
}

static struct stk__onednn_piece piece_of(const struct stk__conv_task *task, int from, int to)
{
    return task->direction == STK__TO_IMAGE ? piece_of_image(&task->conv, from, to, false)
                                            : piece_of_outputs(&task->conv, from, to);
}

static size_t rows_floats(const struct stk__onednn_rows *rows)
{
    return (size_t)rows->n * (size_t)rows->width * (size_t)rows->channels;
}

static bool is_same(const struct stk__onednn_piece *a, const struct stk__onednn_piece *b)
{
    return a->image.n == b->image.n && a->output.n == b->output.n && a->pad_top == b->pad_top;
}

/* ---- kinds of pieces ---- */

struct kind {
    struct kind *next;
    struct stk__onednn_piece piece;
    struct stk__onednn_primitive *primitive; /* NULL: there is nothing fast */
};

/* Of a band in the middle. */
struct first {
    int rows;
    struct stk__onednn_piece piece;
    struct stk__onednn_primitive *primitive; /* its kind's */
};

struct state {
    pthread_mutex_t lock; /* over the list of kinds */
    struct kind *kinds;
    struct first first;
    int most_rows;
    dnnl_memory_desc_t weights;
    struct stk__onednn_layout layout;
    float *no_bias;        /* zeros */
    size_t at[N_MEMORIES]; /* in scratch, floats */
    size_t room_bytes;
};

/* NULL: out of memory. */
static struct kind *add_kind(const struct stk__conv_task *task, struct state *s,
                             const struct stk__onednn_piece *piece)
{
    struct kind *kind = calloc(1, sizeof *kind);
    if (!kind)
        return NULL;
    kind->piece = *piece;
    kind->primitive = stk__onednn_primitive_new(task, piece, &s->weights, s->room_bytes);
    kind->next = s->kinds;
    s->kinds = kind;
    return kind;
}

/* A rehearsal has met all that steps will; one that is new then is made all the same. */
static struct kind *find_kind(const struct stk__conv_task *task, struct state *s,
                              const struct stk__onednn_piece *piece)
{
    pthread_mutex_lock(&s->lock);
    struct kind *kind = s->kinds;
    while (kind && !is_same(&kind->piece, piece))
        kind = kind->next;
    if (!kind)
        kind = add_kind(task, s, piece);
    pthread_mutex_unlock(&s->lock);
    return kind;
}

/* ---- ways ---- */

/* No more instructions than the level has: what oneDNN uses cannot be restricted task by task. */
static bool can(const struct stk__conv_task *task)
{
    return task->cpu_level != STK__CPU_SCALAR && task->cpu_level == (int)stk__cpu_best();
}

static void close_way(struct stk__conv_way *way)
{
    struct state *s = way->state;
    if (!s)
        return;
    for (struct kind *kind = s->kinds, *next; kind; kind = next) {
        next = kind->next;
        stk__onednn_primitive_free(kind->primitive);
        free(kind);
    }
    stk__onednn_layout_free(&s->layout);
    free(s->no_bias);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static size_t in_lines(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* Of the largest piece. */
static void size_scratch(struct stk__conv_way *way, struct state *s,
                         const struct stk__onednn_piece *piece)
{
    const struct stk__conv *c = &way->task.conv;
    bool is_image = way->task.direction == STK__TO_IMAGE;
    struct stk__onednn_rows image = piece->image, output = piece->output;
    image.n = is_image ? s->most_rows : (s->most_rows - 1) * c->stride_y + reach_y(c) + 1;
    output.n = is_image ? (s->most_rows - 1 + reach_y(c)) / c->stride_y + 2 : s->most_rows;
    s->at[IMAGE] = 0;
    s->at[OUTPUT] = s->at[IMAGE] + in_lines(rows_floats(&image));
    s->at[WEIGHTS] = s->at[OUTPUT] + in_lines(rows_floats(&output));
    s->at[BIAS] = s->at[WEIGHTS];
    if (way->task.direction == STK__TO_WEIGHTS)
        s->at[BIAS] += in_lines(way->packed_floats);
    s->at[ROOM] = s->at[BIAS] + in_lines((size_t)c->filters);
    way->scratch_floats = s->at[ROOM] + in_lines((s->room_bytes + 3) / sizeof(float));
}

/* What pieces of an image are cut into in the end: they differ by their place in a stride. */
static bool has_single_rows(const struct stk__conv_task *task, const dnnl_memory_desc_t *weights)
{
    const struct stk__conv *c = &task->conv;
    for (int row = 0; row < c->stride_y && row < c->height; row++) {
        struct stk__onednn_piece piece = piece_of_image(c, row, row + 1, true);
        if (piece.image.n > 0 && !stk__onednn_has_fast(task, &piece, weights))
            return false;
    }
    return true;
}

static bool describe_weights(struct stk__conv_way *way, struct state *s)
{
    const struct stk__conv *c = &way->task.conv;
    s->weights = *stk__onednn_weights(s->first.primitive);
    s->room_bytes = stk__onednn_room_bytes(s->first.primitive);
    way->packed_floats =
        stk__onednn_library()->dnnl_memory_desc_get_size(&s->weights) / sizeof(float);
    s->no_bias = calloc((size_t)c->filters, sizeof *s->no_bias);
    return s->no_bias && stk__onednn_layout_make(&s->layout, &s->weights);
}

/* The first primitive decides how weights lie, and how much scratch jobs bring. */
static int add_first(const struct stk__conv_task *task, struct state *s, int height,
                     struct stk_error *err)
{
    int rows = task->n_rows > 0 && task->n_rows < height ? task->n_rows : height;
    int from = rows * 2 <= height ? rows : 0;
    struct stk__onednn_piece piece = piece_of(task, from, from + rows);
    s->room_bytes = SIZE_MAX;
    if (piece.image.n > 0 && stk__onednn_any_weights(&task->conv, &s->weights) &&
        !add_kind(task, s, &piece))
        return stk__out_of_memory(err);
    s->first = (struct first){ rows, piece, s->kinds ? s->kinds->primitive : NULL };
    return STK_OK;
}

static int open_state(struct stk__conv_way *way, struct state *s, struct stk_error *err)
{
    const struct stk__conv_task *task = &way->task;
    bool is_image = task->direction == STK__TO_IMAGE;
    int height = is_image ? task->conv.height : task->conv.out_height;
    int rc = add_first(task, s, height, err);
    if (rc)
        return rc;
    if (!s->first.primitive ||
        (is_image && !has_single_rows(task, stk__onednn_weights(s->first.primitive))))
        return stk_fail(err, STK_VALUE, "oneDNN has nothing fast for this convolution");
    int most = s->first.rows + reach_y(&task->conv);
    s->most_rows = most < height ? most : height;
    if (!describe_weights(way, s))
        return stk__out_of_memory(err);
    size_scratch(way, s, &s->first.piece);
    return STK_OK;
}

static int open_way(struct stk__conv_way *way, struct stk_error *err)
{
    if (!stk__onednn_library())
        return stk_fail(err, STK_IO, "there is no " STK__ONEDNN_NAME);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return stk__out_of_memory(err);
    pthread_mutex_init(&s->lock, NULL);
    way->state = s;
    way->row_unit = 1;
    int rc = open_state(way, s, err);
    if (rc) {
        close_way(way);
        way->state = NULL;
    }
    return rc;
}

static void pack(const struct stk__conv_way *way, const float *weights, float *packed, int part,
                 int n_parts)
{
    const struct state *s = way->state;
    stk__onednn_pack(&s->layout, &way->task.conv, weights, packed, part, n_parts);
}

static void unpack(const struct stk__conv_way *way, float *const *sums, int n_sums, float *weights,
                   int part, int n_parts)
{
    const struct state *s = way->state;
    stk__onednn_unpack(&s->layout, &way->task.conv, sums, n_sums, weights, part, n_parts);
}

/* ---- rows ---- */

static float *place_of(const struct stk__rows *rows, const struct stk__onednn_rows *part, int image,
                       int left)
{
    return rows->at + image * rows->apart + (part->first - rows->first) * rows->down -
           left * rows->across;
}

static bool is_close(const struct stk__rows *rows, const struct stk__onednn_rows *part)
{
    return rows->across == part->channels &&
           (rows->down == rows->across * part->width || part->n == 1);
}

static void copy_row(const float *from, int64_t from_across, float *to, int64_t to_across,
                     const struct stk__onednn_rows *part)
{
    size_t pixel = (size_t)part->channels;
    if (from_across == part->channels && to_across == part->channels) {
        memcpy(to, from, pixel * (size_t)part->width * sizeof *to);
        return;
    }
    for (int x = 0; x < part->width; x++)
        memcpy(to + x * to_across, from + x * from_across, pixel * sizeof *to);
}

/* Rows that lie close together, as many as `all` has: these, or a copy with zeros behind them. */
static float *gather(const struct stk__rows *rows, const struct stk__onednn_rows *part,
                     const struct stk__onednn_rows *all, float *from, float *copy)
{
    if (is_close(rows, part) && part->n == all->n)
        return from;
    int64_t row = (int64_t)part->width * part->channels;
    for (int y = 0; y < part->n; y++)
        copy_row(from + y * rows->down, rows->across, copy + y * row, part->channels, part);
    memset(copy + part->n * row, 0, (rows_floats(all) - rows_floats(part)) * sizeof *copy);
    return copy;
}

/* A destination: in place, or scratch that is copied later. */
static float *written(const struct stk__rows *rows, const struct stk__onednn_rows *part,
                      const struct stk__onednn_rows *all, float *to, float *copy)
{
    return is_close(rows, part) && part->n == all->n ? to : copy;
}

static void scatter(const float *copy, const struct stk__rows *rows,
                    const struct stk__onednn_rows *part, float *to)
{
    int64_t row = (int64_t)part->width * part->channels;
    for (int y = 0; y < part->n && copy != to; y++)
        copy_row(copy + y * row, part->channels, to + y * rows->down, rows->across, part);
}

static void clear_rows(const struct stk__rows *rows, struct stk__onednn_rows part, int image,
                       int first, int behind)
{
    part.first = first;
    float *to = place_of(rows, &part, image, 0);
    for (int y = first; y < behind; y++, to += rows->down)
        for (int x = 0; x < part.width; x++)
            memset(to + x * rows->across, 0, (size_t)part.channels * sizeof *to);
}

/* ---- running ---- */

/* One image's piece on its way through a primitive. */
struct pass {
    const struct stk__conv_way *way;
    const struct stk__conv_job *job;
    struct stk__onednn_piece piece, whole;   /* whole: with rows that fill it up */
    struct stk__onednn_primitive *primitive; /* of the whole; NULL: there was no memory for it */
    float *at[N_MEMORIES];
};

static void fill(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
}

static void run_primitive(const struct pass *pass)
{
    const struct stk__onednn_piece *p = &pass->whole;
    if (pass->primitive && stk__onednn_run(pass->primitive, pass->at))
        return;
    if (pass->way->task.direction == STK__FORWARD)
        fill(pass->at[OUTPUT], rows_floats(&p->output));
    else if (pass->way->task.direction == STK__TO_IMAGE)
        fill(pass->at[IMAGE], rows_floats(&p->image));
    else
        fill(pass->at[WEIGHTS], pass->way->packed_floats);
}

/* From the left of the frame on. */
static void gather_image(struct pass *pass, int image)
{
    const struct stk__onednn_rows *x = &pass->piece.image;
    const struct stk__rows *rows = &pass->job->image;
    float *from = place_of(rows, x, image, pass->way->task.conv.pad_left);
    pass->at[IMAGE] = gather(rows, x, &pass->whole.image, from, pass->at[IMAGE]);
}

static void gather_output(struct pass *pass, int image)
{
    const struct stk__onednn_rows *y = &pass->piece.output;
    const struct stk__rows *rows = &pass->job->output;
    pass->at[OUTPUT] =
        gather(rows, y, &pass->whole.output, place_of(rows, y, image, 0), pass->at[OUTPUT]);
}

static void forward(struct pass *pass, int image)
{
    const struct state *s = pass->way->state;
    const struct stk__conv_job *job = pass->job;
    const struct stk__onednn_rows *y = &pass->piece.output;
    float *out = place_of(&job->output, y, image, 0);
    gather_image(pass, image);
    pass->at[OUTPUT] = written(&job->output, y, &pass->whole.output, out, pass->at[OUTPUT]);
    pass->at[WEIGHTS] = (float *)job->packed;
    pass->at[BIAS] = job->bias ? (float *)job->bias : s->no_bias;
    run_primitive(pass);
    if (job->low > -INFINITY || job->high < INFINITY)
        stk__train_kernels_at(pass->way->task.cpu_level)
            ->activation.clamp(pass->at[OUTPUT], rows_floats(y), job->low, job->high,
                               pass->at[OUTPUT]);
    scatter(pass->at[OUTPUT], &job->output, y, out);
}

static void to_image(struct pass *pass, int image)
{
    const struct stk__conv_job *job = pass->job;
    const struct stk__onednn_rows *x = &pass->piece.image;
    float *out = place_of(&job->image, x, image, 0);
    gather_output(pass, image);
    pass->at[IMAGE] = written(&job->image, x, &pass->whole.image, out, pass->at[IMAGE]);
    pass->at[WEIGHTS] = (float *)job->packed;
    run_primitive(pass);
    scatter(pass->at[IMAGE], &job->image, x, out);
}

/* oneDNN writes gradients of weights, so they are made in scratch and added. */
static void to_weights(struct pass *pass, int image)
{
    const struct stk__conv_job *job = pass->job;
    void (*add)(const float *, size_t, float *) =
        stk__train_kernels_at(pass->way->task.cpu_level)->pixel.add;
    gather_image(pass, image);
    gather_output(pass, image);
    run_primitive(pass);
    add(pass->at[WEIGHTS], pass->way->packed_floats, job->sums);
    if (job->bias_sums)
        add(pass->at[BIAS], (size_t)pass->way->task.conv.filters, job->bias_sums);
}

static void run_rows(const struct stk__conv_way *way, const struct stk__conv_job *job, int image,
                     int from, int to);

/* Another way where there is no primitive for a piece. True if all is done by it. */
static bool make_do(struct pass *pass, int image, int from, int to)
{
    struct state *s = pass->way->state;
    bool is_image = pass->way->task.direction == STK__TO_IMAGE;
    int middle = is_image ? from + (to - from) / 2 : from + s->first.rows;
    if (from < middle && middle < to) {
        run_rows(pass->way, pass->job, image, from, middle);
        run_rows(pass->way, pass->job, image, middle, to);
        return true;
    }
    if (is_image) {
        pass->piece = pass->whole = piece_of_image(&pass->way->task.conv, from, to, true);
        const struct kind *kind = find_kind(&pass->way->task, s, &pass->piece);
        pass->primitive = kind ? kind->primitive : NULL;
    } else {
        pass->whole = s->first.piece;
        pass->primitive = s->first.primitive;
    }
    return false;
}

/* Some rows of an image. */
static void run_rows(const struct stk__conv_way *way, const struct stk__conv_job *job, int image,
                     int from, int to)
{
    static void (*const directions[])(struct pass *, int) = { forward, to_image, to_weights };
    struct state *s = way->state;
    struct pass pass = { .way = way, .job = job, .piece = piece_of(&way->task, from, to) };
    const struct stk__onednn_rows *x = &pass.piece.image;
    if (way->task.direction == STK__TO_IMAGE) { /* what no output looks at */
        clear_rows(&job->image, *x, image, from, x->n ? x->first : to);
        clear_rows(&job->image, *x, image, x->n ? x->first + x->n : to, to);
    }
    if (x->n == 0)
        return;
    const struct kind *kind = find_kind(&way->task, s, &pass.piece);
    pass.whole = pass.piece;
    pass.primitive = kind ? kind->primitive : NULL;
    if (kind && !kind->primitive && make_do(&pass, image, from, to))
        return;
    for (int i = 0; i < N_MEMORIES; i++)
        pass.at[i] = job->scratch + s->at[i];
    directions[way->task.direction](&pass, image);
}

static void run(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    const struct state *s = way->state;
    for (int image = 0; image < job->n_images; image++)
        for (int from = job->from, to; from < job->to; from = to) {
            to = job->to - from < s->most_rows ? job->to : from + s->most_rows;
            run_rows(way, job, image, from, to);
        }
}

const struct stk__conv_candidate stk__conv_onednn = { .name = "onednn",
                                                      .can = can,
                                                      .open = open_way,
                                                      .close = close_way,
                                                      .pack = pack,
                                                      .unpack = unpack,
                                                      .run = run,
                                                      .handicap = 1.05,
                                                      .is_optional = true,
                                                      .rehearses = true };

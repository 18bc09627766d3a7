/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.c: the list of candidates, and how long a way takes on this machine. */
#define _GNU_SOURCE /* clock_gettime */
#include "train/conv/candidate.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

const struct stk__conv_candidate *const stk__conv_candidates[] = { &stk__conv_direct,
                                                                   &stk__conv_winograd,
                                                                   &stk__conv_winograd_6,
#if defined STK__HAS_ONEDNN
                                                                   &stk__conv_onednn,
#endif
                                                                   NULL };

int stk__conv_way_open(struct stk__conv_way *way, const struct stk__conv_candidate *candidate,
                       const struct stk__conv_task *task, struct stk_error *err)
{
    *way = (struct stk__conv_way){ .task = *task, .candidate = candidate };
    return candidate->open(way, err);
}

void stk__conv_way_close(struct stk__conv_way *way)
{
    if (way->candidate && way->candidate->close)
        way->candidate->close(way);
    *way = (struct stk__conv_way){ 0 };
}

/* ---- measuring ---- */

/* Everything a way is run with. */
struct bench {
    const struct stk__conv_way *way;
    float *image, *output, *weights, *packed, *scratch, *bias;
    struct stk__rows image_rows, output_rows;
    bool is_banded;
    int n_rows, height; /* of a band, and of what is cut into bands */
};

/* Small values without a pattern, none 0. Returns new, or NULL. */
static float *take_values(size_t n)
{
    size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
    float *values = aligned_alloc(64, bytes ? bytes : 64);
    uint32_t state = 1;
    for (size_t i = 0; values && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ((float)(state >> 9) + 1) / (1 << 23) - 0.5f;
    }
    return values;
}

/* Memory for n rows of each image. */
static float *take_rows(const struct stk__conv_task *task, struct stk__framed framed, int n,
                        struct stk__rows *rows)
{
    rows->across = framed.channels;
    rows->down = rows->across * framed.width;
    rows->apart = (rows->down * n + 15) / 16 * 16;
    float *block = take_values((size_t)rows->apart * (size_t)task->n_images);
    rows->at = block ? block + framed.top * rows->down + framed.left * rows->across : NULL;
    return block;
}

static bool take_memory(struct bench *b)
{
    const struct stk__conv_task *task = &b->way->task;
    const struct stk__conv *c = &task->conv;
    struct stk__framed image = stk__conv_image(c), output = stk__conv_output(c);
    b->height = task->direction == STK__TO_IMAGE ? c->height : c->out_height;
    int unit = b->way->row_unit > 1 ? b->way->row_unit : 1;
    int n_rows = task->n_rows < unit ? unit : task->n_rows / unit * unit;
    b->is_banded = task->n_rows > 0 && n_rows < b->height;
    b->n_rows = b->is_banded ? n_rows : b->height;
    b->image = take_rows(task, image, image.height, &b->image_rows);
    b->output =
        take_rows(task, output,
                  b->is_banded ? b->n_rows + c->kernel_height * c->dilation_y + 2 : output.height,
                  &b->output_rows);
    b->weights = take_values((size_t)(c->kernel_height * c->kernel_width) *
                             (size_t)(c->channels / c->groups) * (size_t)c->filters);
    b->packed = take_values(b->way->packed_floats);
    b->scratch = take_values(b->way->scratch_floats);
    b->bias = take_values((size_t)c->filters);
    return b->image && b->output && b->weights && b->packed && b->scratch && b->bias;
}

static void free_memory(struct bench *b)
{
    free(b->image);
    free(b->output);
    free(b->weights);
    free(b->packed);
    free(b->scratch);
    free(b->bias);
}

/* The first row of the output that a band looks at or writes. */
static int first_row(const struct bench *b, int from)
{
    const struct stk__conv *c = &b->way->task.conv;
    if (b->way->task.direction != STK__TO_IMAGE)
        return from;
    return (int)floor((double)(from + c->pad_top - (c->kernel_height - 1) * c->dilation_y) /
                      c->stride_y);
}

static void run_all(const struct bench *b)
{
    const struct stk__conv_task *task = &b->way->task;
    bool is_forward = task->direction == STK__FORWARD;
    struct stk__conv_job job = { .n_images = task->n_images,
                                 .image = b->image_rows,
                                 .output = b->output_rows,
                                 .packed = b->packed,
                                 .bias = is_forward ? b->bias : NULL,
                                 .low = 0,
                                 .high = INFINITY,
                                 .sums = b->packed,
                                 .bias_sums = is_forward ? NULL : b->bias,
                                 .scratch = b->scratch };
    for (int from = 0; from < b->height; from = job.to) {
        job.from = from;
        job.to = from + b->n_rows < b->height ? from + b->n_rows : b->height;
        if (b->is_banded) {
            job.output.first = first_row(b, from);
            job.output.at = b->output + (b->output_rows.at - b->output) % b->output_rows.down;
        }
        b->way->candidate->run(b->way, &job);
    }
}

static void run_once(const struct bench *b)
{
    if (b->way->task.direction == STK__TO_WEIGHTS)
        b->way->candidate->unpack(b->way, &(float *){ b->packed }, 1, b->weights, 0, 1);
    else
        b->way->candidate->pack(b->way, b->weights, b->packed, 0, 1);
}

/* The fastest run of those that fit in the time. */
static double fastest(const struct bench *b, void (*call)(const struct bench *b), double seconds)
{
    enum { FEW = 2, MANY = 100 };
    double best = INFINITY, total = 0;
    for (int i = 0; i < FEW || (i < MANY && total < seconds); i++) {
        uint64_t begin = stk__clock_ns();
        call(b);
        double took = (double)(stk__clock_ns() - begin) * 1e-9;
        best = took < best ? took : best;
        total += took;
    }
    return best;
}

int stk__way_measure(const struct stk__conv_way *way, double seconds, struct stk__way_cost *out,
                     struct stk_error *err)
{
    struct bench b = { .way = way };
    bool is_there = take_memory(&b);
    if (is_there) {
        out->once = fastest(&b, run_once, seconds / 8);
        out->run = fastest(&b, run_all, seconds) / way->task.n_images;
    }
    free_memory(&b);
    return is_there ? STK_OK : stk__out_of_memory(err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_jpeg.c: the kernels of the JPEG decoder at one level against scalar: on any bits, any
 * coefficients and any samples. */
#include "checkkernel.h"

#include "codec/image/baseline.h"
#include "jpeg_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64, MAX_WIDTH = 512, N_SAMPLES = MAX_WIDTH + 2 * MARGIN, MAX_PAIRS = 24 };

/* Operands. Kernels that clear or decode blocks have one chunk per version. */
static struct work {
    uint8_t samples[3][N_SAMPLES];
    int n, channels, bias;
    uint16_t quant[64];
    struct stk__jpeg_chunk chunk[2];
    struct stk__jpeg_pair pairs[2][MAX_PAIRS];
    int n_pairs;
    uint8_t bytes[64 * STK__JPEG_MAX_BLOCK_BYTES];
    struct stk__jpeg_tables tables;
    int n_blocks;
} work;

/* Of one version. */
static struct result {
    uint8_t bytes[8][4 * MAX_WIDTH + 64];
    struct stk__jpeg_bits bits;
    ptrdiff_t n_read, n_written;
    bool is_good;
} results[2];

struct call {
    const struct stk__jpeg_kernels *kernels;
    int version;
};

/* ---- pixels ---- */

static const uint8_t *row(int i)
{
    return work.samples[i] + MARGIN;
}

static void run_widen_h2v1(const struct call *call)
{
    call->kernels->widen_h2v1(results[call->version].bytes[0], row(0), work.n);
}

static void run_widen_h2v2(const struct call *call)
{
    call->kernels->widen_h2v2(results[call->version].bytes[0], row(0), row(1), work.n);
}

static void run_widen_h1v2(const struct call *call)
{
    call->kernels->widen_h1v2(results[call->version].bytes[0], row(0), row(1), work.n, work.bias);
}

static void run_ycc_to_rgb(const struct call *call)
{
    const uint8_t *planes[3] = { row(0), row(1), row(2) };
    call->kernels->ycc_to_rgb(results[call->version].bytes[0], planes, work.n, work.channels);
}

static void run_interleave(const struct call *call)
{
    const uint8_t *planes[3] = { row(0), row(1), row(2) };
    call->kernels->interleave(results[call->version].bytes[0], planes, work.n, work.channels);
}

static void fill_samples(int round)
{
    work.n = 1 + (int)(random_word() % 100);
    work.channels = 3 + round % 2;
    work.bias = 1 + (int)(random_word() % 2);
    for (int i = 0; i < 3; i++)
        for (int x = 0; x < N_SAMPLES; x++) {
            uint64_t word = random_word();
            work.samples[i][x] = (uint8_t)(word >> 32 & 3 ? word : word & 1 ? 255 : 0);
        }
}

/* ---- blocks ---- */

static void run_transform(const struct call *call)
{
    struct result *result = &results[call->version];
    struct stk__jpeg_pair *pairs = work.pairs[call->version];
    for (int i = 0; i < work.n_pairs; i++)
        pairs[i].dst = result->bytes[0] + 16 * i;
    result->is_good =
        call->kernels->transform(pairs, work.n_pairs, work.quant, sizeof result->bytes[0]);
}

static void run_transform_fast(const struct call *call)
{
    struct result *result = &results[call->version];
    struct stk__jpeg_pair *pairs = work.pairs[call->version];
    for (int i = 0; i < work.n_pairs; i++)
        pairs[i].dst = result->bytes[0] + 16 * i;
    call->kernels->transform_fast(pairs, work.n_pairs, work.quant, sizeof result->bytes[0]);
}

static void run_reduce(const struct call *call)
{
    struct result *result = &results[call->version];
    struct stk__jpeg_pair *pairs = work.pairs[call->version];
    int size = 1 << work.n_pairs % 3;
    for (int i = 0; i < work.n_pairs; i++)
        pairs[i].dst = result->bytes[0] + 2 * size * i;
    result->is_good =
        call->kernels->reduce(pairs, work.n_pairs, work.quant, sizeof result->bytes[0], size);
    if (!result->is_good)
        memset(result->bytes, 0, sizeof result->bytes);
}

/* As in files, small or large; as in no file; DC alone. */
static int16_t random_coefficient(int kind, bool is_large, int at)
{
    uint64_t word = random_word();
    if (kind == 1)
        return (int16_t)word;
    if (at && (kind == 2 || word >> 60))
        return 0;
    int most = is_large ? 200 : 10;
    return (int16_t)((int)(word % (2 * (unsigned)most + 1)) - most);
}

static void fill_pairs(int round)
{
    int kind = round % 3;
    bool is_large = random_word() % 2;
    work.n_pairs = 1 + (int)(random_word() % MAX_PAIRS);
    for (int i = 0; i < 64; i++)
        work.quant[i] = (uint16_t)(random_word() % (kind == 1 ? 65536 : 30) + 1);
    for (int i = 0; i < 2 * work.n_pairs; i++)
        for (int k = 0; k < 64; k++)
            work.chunk[0].block[i][k] = work.chunk[1].block[i][k] =
                random_coefficient(kind, is_large, k);
    for (int i = 0; i < work.n_pairs; i++) {
        int16_t left = random_coefficient(kind, is_large, 0),
                right = random_coefficient(kind, is_large, 0);
        bool is_single = random_word() % 8 == 0;
        for (int v = 0; v < 2; v++) {
            int16_t *block = work.chunk[v].block[2 * i];
            work.pairs[v][i] = (struct stk__jpeg_pair){
                block, is_single ? block : block + 64, NULL, { left, is_single ? left : right }
            };
        }
        if (is_single)
            for (int v = 0; v < 2; v++)
                memset(work.chunk[v].block[2 * i + 1], 0, 128);
    }
}

/* ---- bits ---- */

static void run_scan(const struct call *call, bool is_skipped)
{
    struct result *result = &results[call->version];
    struct stk__jpeg_chunk *chunk = &work.chunk[call->version];
    const struct stk__jpeg_table *dc = work.tables.dc_of[0];
    int16_t *differences = (int16_t *)(void *)result->bytes;
    _Static_assert(sizeof result->bytes >= STK__JPEG_MAX_BLOCKS * sizeof *differences, "there");
    memset(chunk->block, 0, sizeof chunk->block);
    result->bits = (struct stk__jpeg_bits){ .next = work.bytes };
    if (is_skipped)
        result->is_good = call->kernels->skip(&result->bits, dc, chunk, work.n_blocks, differences);
    else
        result->is_good = call->kernels->decode(&result->bits, dc, chunk, work.n_blocks);
}

/* Up to n bytes out of n_blocks bytes. What lies behind those that count means nothing. */
static void run_unstuff(const struct call *call)
{
    struct result *result = &results[call->version];
    struct stk__jpeg_copy copy = { result->bytes[0], result->bytes[0] + work.n, work.bytes,
                                   work.bytes + work.n_blocks };
    result->is_good = call->kernels->unstuff(&copy);
    result->n_read = copy.src - work.bytes;
    result->n_written = copy.dst - result->bytes[0];
    memset(copy.dst, 0, (size_t)(result->bytes[1] - copy.dst));
}

static void fill_coded_bytes(int round)
{
    unsigned rarity = 1u << random_word() % 8;
    work.n = (int)(random_word() % 500);
    work.n_blocks = (int)(random_word() % 500);
    for (int i = 0; i < 500; i++) {
        uint64_t word = random_word();
        work.bytes[i] = (uint8_t)(word >> 32 & 63 ? word >> 16 : 0xff);
        if (i && work.bytes[i - 1] == 0xff && (round % 2 || word % rarity))
            work.bytes[i] = 0;
    }
}

static void run_decode(const struct call *call)
{
    run_scan(call, false);
}

static void run_skip(const struct call *call)
{
    run_scan(call, true);
}

/* The codes of a file that libjpeg wrote, with its scan, or with any bits. */
static void fill_bits(int round)
{
    const struct jpeg_recipe recipe = { .width = 64,
                                        .height = 32,
                                        .quality = 1 + (int)(random_word() % 100),
                                        .colours = JPEG_YCC,
                                        .across = 1,
                                        .down = 1,
                                        .is_optimized = random_word() % 2,
                                        .motif = round % 3 };
    struct jpeg_file file = make_jpeg(&recipe);
    static struct stk__jpeg_header header;
    if (!stk__jpeg_header_read(&header, file.bytes, file.n) ||
        !stk__jpeg_tables_make(&work.tables, &header))
        exit(2);
    for (size_t i = 0; i < sizeof work.bytes; i++)
        work.bytes[i] = (uint8_t)random_word();
    size_t n = (size_t)(header.end - header.scan);
    bool is_real = round % 2;
    if (is_real)
        memcpy(work.bytes, header.scan, n < sizeof work.bytes ? n : sizeof work.bytes);
    work.n_blocks = is_real ? 1 + (int)(random_word() % 48) : 1 + (int)(random_word() % 6);
    for (int i = 0; i < STK__JPEG_MAX_BLOCKS; i++)
        for (int v = 0; v < 2; v++) {
            work.chunk[v].steer[i].ac = work.tables.ac_of[i % 3];
            work.chunk[v].steer[i].next_dc = work.tables.dc_of[(i + 1) % 3];
        }
    free(file.bytes);
}

/* ---- comparing ---- */

static const struct jpeg_job {
    const char *name;
    void (*fill)(int round);
    void (*run)(const struct call *call);
    int n_rounds;
} jobs[] = {
    { "jpeg_unstuff", fill_coded_bytes, run_unstuff, 20000 },
    { "jpeg_decode", fill_bits, run_decode, 600 },
    { "jpeg_skip", fill_bits, run_skip, 600 },
    { "jpeg_transform", fill_pairs, run_transform, 3000 },
    { "jpeg_transform_fast", fill_pairs, run_transform_fast, 3000 },
    { "jpeg_reduce", fill_pairs, run_reduce, 6000 },
    { "jpeg_widen_h2v1", fill_samples, run_widen_h2v1, 2000 },
    { "jpeg_widen_h2v2", fill_samples, run_widen_h2v2, 2000 },
    { "jpeg_widen_h1v2", fill_samples, run_widen_h1v2, 2000 },
    { "jpeg_ycc_to_rgb", fill_samples, run_ycc_to_rgb, 4000 },
    { "jpeg_interleave", fill_samples, run_interleave, 2000 },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs };

/* Of two places the next bit is the same, however many bits are in the window. */
static bool is_same_place(const struct stk__jpeg_bits *a, const struct stk__jpeg_bits *b)
{
    return (a->next - b->next) * 8 == (ptrdiff_t)a->n_bits - (ptrdiff_t)b->n_bits;
}

/* What a kernel left behind when it found the data damaged means nothing. */
static bool is_same(bool is_scan)
{
    const struct result *a = &results[0], *b = &results[1];
    if (a->is_good != b->is_good || a->n_read != b->n_read || a->n_written != b->n_written)
        return false;
    if (is_scan && !a->is_good)
        return true;
    return !memcmp(a->bytes, b->bytes, sizeof a->bytes) &&
           (!is_scan || is_same_place(&a->bits, &b->bits)) &&
           !memcmp(work.chunk[0].block, work.chunk[1].block, sizeof work.chunk[0].block);
}

static int check_job(const struct jpeg_job *job, int level)
{
    memset(work.chunk, 0, sizeof work.chunk); /* damaged data leave blocks that may differ */
    for (int round = 0; round < job->n_rounds; round++) {
        memset(results, 0x5a, sizeof results);
        results[0].is_good = results[1].is_good = true;
        job->fill(round);
        for (int v = 0; v < 2; v++)
            job->run(&(struct call){ &stk__kernels_at(v ? level : 0)->jpeg, v });
        if (!is_same(job->fill == fill_bits)) {
            printf("FAIL %s in round %d\n", job->name, round);
            return 1;
        }
    }
    return 0;
}

int check_jpeg(int level, const char *filter)
{
    int n_bad = 0;
    memset(&work, 0, sizeof work);
    for (int i = 0; i < N_JOBS; i++)
        n_bad += is_wanted(jobs[i].name, filter) ? check_job(&jobs[i], level) : 0;
    return n_bad;
}

/* ---- timing ---- */

struct timed {
    const struct jpeg_job *job;
    struct call call;
};

static void run_timed(void *ctx)
{
    const struct timed *timed = ctx;
    timed->job->run(&timed->call);
}

void bench_jpeg(int level, const char *filter)
{
    for (int i = 0; i < N_JOBS; i++) {
        const struct jpeg_job *job = &jobs[i];
        if (!is_wanted(job->name, filter))
            continue;
        job->fill(3);
        work.n = MAX_WIDTH;
        bool has_blocks = job->fill == fill_bits || job->fill == fill_pairs;
        double n = job->fill == fill_pairs ? 2 * work.n_pairs : has_blocks ? work.n_blocks : work.n;
        struct timed scalar = { job, { &stk__kernels_at(0)->jpeg, 0 } };
        struct timed other = { job, { &stk__kernels_at(level)->jpeg, 1 } };
        print_time(job->name, has_blocks ? "block" : "sample", time_call(run_timed, &scalar) / n,
                   time_call(run_timed, &other) / n);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_csv.c: the kernels of delimited text at one level against scalar. */
#include "checkkernel.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1500, MAX_MARKS = 2048, N_CELLS = 64, STEP = 2, WIDTH = 40 };

static struct work {
    uint8_t text[MAX_BYTES + 64];
    uint32_t from, to;
    int room;
    struct stk__csv_cell cell[N_CELLS * STEP];
    uint8_t numbers[N_CELLS * STEP][WIDTH];
} work;

static struct result {
    uint32_t mark[MAX_MARKS], from;
    int n;
    int64_t whole[N_CELLS];
    int8_t places[N_CELLS];
} results[2];

static void run_marks(const struct stk__kernels *kernels, struct result *result)
{
    static const uint8_t byte[] = { '\n', '\r', '"', ',' };
    result->from = work.from;
    result->n =
        kernels->csv_marks(work.text, &result->from, work.to, byte, result->mark, work.room);
    memset(result->mark + result->n, 0, (size_t)(MAX_MARKS - result->n) * sizeof *result->mark);
}

/* Structure everywhere, here and there, or nowhere; behind the end it must not count. */
static void fill_text(int round)
{
    unsigned rarity = 1u << random_word() % 9;
    work.to = (uint32_t)(random_word() % MAX_BYTES);
    work.from = work.to ? (uint32_t)(random_word() % work.to) : 0;
    work.room = 64 + (int)(random_word() % (round % 2 ? 100 : MAX_MARKS - 64));
    for (int i = 0; i < MAX_BYTES + 64; i++) {
        uint64_t word = random_word();
        work.text[i] = word % rarity ? (uint8_t)(word >> 32) : (uint8_t) "\n\r\","[word >> 60 & 3];
    }
}

static void run_digits(const struct stk__kernels *kernels, struct result *result)
{
    kernels->csv_digits(work.cell, STEP, N_CELLS, result->whole, result->places);
}

/* Numbers, what is almost one, and anything; followed by more digits. */
static int write_number(char *out, uint64_t word)
{
    long long value = (long long)(word >> (word & 63));
    switch (word >> 6 & 7) {
    case 0:
        return snprintf(out, WIDTH, "%lld", value);
    case 1:
        return snprintf(out, WIDTH, "%.*f", (int)(word >> 60), (double)value * 0x1p-40);
    case 2:
        return snprintf(out, WIDTH, "-%.*g", (int)(word >> 60) + 3, (double)value * 0x1p-63);
    case 3:
        return snprintf(out, WIDTH, "%s%lld.", word >> 63 ? "+" : "", value % 100000);
    case 4:
        return snprintf(out, WIDTH, ".%0*lld", (int)(word >> 59 & 15) + 1, value % 1000000);
    default:
        break;
    }
    int n = (int)(word >> 58 & 31);
    for (int i = 0; i < n; i++)
        out[i] = "0123456789.-+ e"[random_word() % (word >> 9 & 1 ? 11 : 15)];
    return n;
}

static void fill_numbers(int round)
{
    (void)round;
    for (int i = 0; i < N_CELLS * STEP; i++) {
        char text[WIDTH];
        int n = write_number(text, random_word());
        n = n > 20 ? 20 : n;
        memset(work.numbers[i], '5', WIDTH);
        memcpy(work.numbers[i], text, (size_t)n);
        work.cell[i] = (struct stk__csv_cell){ work.numbers[i], (uint32_t)n, false };
    }
}

static const struct csv_job {
    const char *name, *unit;
    void (*fill)(int round);
    void (*run)(const struct stk__kernels *kernels, struct result *result);
} jobs[] = {
    { "csv_marks", "byte", fill_text, run_marks },
    { "csv_digits", "number", fill_numbers, run_digits },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs, N_ROUNDS = 20000 };

static int check_job(const struct csv_job *job, int level)
{
    for (int round = 0; round < N_ROUNDS; round++) {
        memset(results, 0x5a, sizeof results);
        job->fill(round);
        for (int v = 0; v < 2; v++)
            job->run(stk__kernels_at(v ? level : 0), &results[v]);
        if (memcmp(&results[0], &results[1], sizeof results[0])) {
            printf("FAIL %s in round %d\n", job->name, round);
            return 1;
        }
    }
    return 0;
}

int check_csv(int level, const char *filter)
{
    int n_bad = 0;
    memset(&work, 0, sizeof work);
    for (int i = 0; i < N_JOBS; i++)
        n_bad += is_wanted(jobs[i].name, filter) ? check_job(&jobs[i], level) : 0;
    return n_bad;
}

struct timed {
    const struct csv_job *job;
    int level;
};

static void run_timed(void *ctx)
{
    const struct timed *timed = ctx;
    timed->job->run(stk__kernels_at(timed->level), &results[0]);
}

/* A delimiter every nine bytes, and numbers with six places. */
void bench_csv(int level, const char *filter)
{
    work.from = 0;
    work.to = MAX_BYTES;
    work.room = MAX_MARKS;
    for (int i = 0; i < MAX_BYTES; i++)
        work.text[i] = i % 9 ? '7' : ',';
    for (int i = 0; i < N_CELLS * STEP; i++) {
        int n = snprintf((char *)work.numbers[i], WIDTH, "%.6f", (double)i * 0.0123);
        work.cell[i] = (struct stk__csv_cell){ work.numbers[i], (uint32_t)n, false };
    }
    for (int i = 0; i < N_JOBS; i++) {
        struct timed scalar = { &jobs[i], 0 }, other = { &jobs[i], level };
        double n = jobs[i].run == run_marks ? MAX_BYTES : N_CELLS;
        if (is_wanted(jobs[i].name, filter))
            print_time(jobs[i].name, jobs[i].unit, time_call(run_timed, &scalar) / n,
                       time_call(run_timed, &other) / n);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_weaving.c: random nests whose chains are opened as elements come, against tf.data's order in
 * a few loops, for several numbers of workers.
 *
 *     test_weaving [FIRST_SEED [CHAINS [PATIENCE_S]]]
 *
 * tests/project/mutate.py runs it on an executor with one rule broken.
 */
#define _GNU_SOURCE
#include "api_call.h"
#include "base/rng.h"
#include "file_tree.h"

#include <signal.h>

enum { MAX_ELEMENTS = 12, MAX_CYCLE = 5, MAX_ROWS = 4096, N_FILES = 12 };
static const int64_t BAD = -1; /* in place of a row's number */

struct rows {
    int64_t x[MAX_ROWS];
    int n;
};

/* A nest: how many elements, and how their chains are woven. */
struct nest {
    int n, cycle, block;
    int n_taken; /* of each of the passes; 0: all */
    int n_passes;
    struct rows chain[MAX_ELEMENTS];
    char text[4096];
};

/* ---- dice ---- */

struct dice {
    uint64_t seed;
    uint32_t n;
};

static int roll(struct dice *dice, int n)
{
    uint64_t word = dice->seed * 0x9e3779b97f4a7c15u + ++dice->n * 0xd1342543de82ef95u;
    word = (word ^ word >> 32) * 0xd6e8feb86659fd93u;
    return (int)((word ^ word >> 29) % (uint64_t)n);
}

/* ---- the model ---- */

static void add(struct rows *rows, int64_t x)
{
    if (rows->n == MAX_ROWS)
        fail_msg("the model has more than %d rows", MAX_ROWS);
    rows->x[rows->n++] = x;
}

/* Places take turns. One without a chain opens that of the next element; one whose chain has ended
 * loses its turn. */
static void weave(const struct nest *nest, struct rows *out)
{
    const struct rows *chain[MAX_CYCLE] = { 0 };
    int n_taken[MAX_CYCLE], turn = 0, next = 0, n_open = 0;
    while (next < nest->n || n_open) {
        if (!chain[turn] && next < nest->n) {
            chain[turn] = &nest->chain[next++];
            n_taken[turn] = 0;
            n_open++;
        }
        for (int i = 0; chain[turn] && i < nest->block; i++) {
            if (n_taken[turn] < chain[turn]->n) {
                add(out, chain[turn]->x[n_taken[turn]++]);
                continue;
            }
            chain[turn] = NULL;
            n_open--;
        }
        turn = (turn + 1) % nest->cycle;
    }
}

/* All passes; bad rows are counted instead, as those among the first ones are that a take lets by. */
static int expect(const struct nest *nest, struct rows *out)
{
    static struct rows pass;
    int n_bad = 0;
    pass.n = out->n = 0;
    weave(nest, &pass);
    int n = nest->n_taken && nest->n_taken < pass.n ? nest->n_taken : pass.n;
    for (int i = 0; i < n * nest->n_passes; i++) {
        if (pass.x[i % n] == BAD)
            n_bad++;
        else
            add(out, pass.x[i % n]);
    }
    return n_bad;
}

/* ---- chains ---- */

static const char *show_rest(const struct nest *nest)
{
    static char rest[64];
    int len = nest->n_taken ? snprintf(rest, sizeof rest, ".take(%d)", nest->n_taken) : 0;
    snprintf(rest + len, sizeof rest - (size_t)len, ".repeat(%d).batch(7)", nest->n_passes);
    return rest;
}

/* An element x has as many rows as a formula says, 0 to 6; every so many are bad, six times each. */
static void make_counted(struct nest *nest, struct dice *dice)
{
    int factor = roll(dice, 7), shift = roll(dice, 7), bad_at = 2 + roll(dice, 9);
    bool is_filtered = roll(dice, 2);
    int n = 0;
    for (int x = 0; x < nest->n; x++) {
        if (is_filtered && x % 4 == 2)
            continue;
        struct rows *chain = &nest->chain[n++];
        bool is_bad = x % bad_at == 1;
        for (int i = 0; i < (is_bad ? 6 : (x * factor + shift) % 7); i++)
            add(chain, is_bad ? BAD : 100 * x + i);
    }
    snprintf(
        nest->text, sizeof nest->text,
        "range(%d).%s.map('x = x + 0 // (x %% %d - 1)').interleave(element().repeat(6).enumerate()"
        ".take_while('index < (x * %d + %d) %% 7').map('x = x * 100 + index').select(x), %d, %d)%s",
        nest->n, is_filtered ? "filter('x % 4 != 2')" : "shuffle(1)", bad_at, factor, shift,
        nest->cycle, nest->block, show_rest(nest));
    nest->n = n;
}

/* Rows of the files that make_files wrote: file f has (f * 5) % 13 lines, of which those by 9 are no
 * numbers; there is no file 7, and file 5 begins as an archive does, and is none. */
static void read_file(int f, struct rows *out)
{
    if (f == 5 || f == 7)
        add(out, BAD);
    for (int i = 0; i < f * 5 % 13 && f != 5 && f != 7; i++)
        add(out, i == 9 ? BAD : 100 * f + i);
}

static void make_files(void)
{
    for (int f = 0; f < N_FILES; f++) {
        char name[32], text[512] = "";
        size_t len = 0;
        snprintf(name, sizeof name, "%d.txt%s", f, f == 5 ? ".gz" : "");
        for (int i = 0; i < f * 5 % 13; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, i == 9 ? "nine\n" : "%d\n",
                                    100 * f + i);
        if (f == 5)
            write_file(name, "\x1f\x8b and no more", 14);
        else if (f != 7)
            write_file(name, text, len);
    }
}

/* Files that a list names, line by line. */
static void make_read(struct nest *nest, struct dice *dice)
{
    char list[512] = "";
    size_t len = 0;
    for (int i = 0; i < nest->n; i++) {
        int f = roll(dice, N_FILES);
        read_file(f, &nest->chain[i]);
        len +=
            (size_t)snprintf(list + len, sizeof list - len, "%d.txt%s\n", f, f == 5 ? ".gz" : "");
    }
    write_file("list", list, len);
    snprintf(nest->text, sizeof nest->text,
             "lines('list').interleave(lines(text).text_to_number(int64).rename({text: x}), %d, "
             "%d)%s",
             nest->cycle, nest->block, show_rest(nest));
}

/* ---- runs ---- */

static const struct nest *current;
static uint64_t current_seed;
static const char *current_options;

static void complain(const char *what)
{
    fprintf(stderr, "FAIL %s\nseed %llu, %s: %s\n", what, (unsigned long long)current_seed,
            current_options, current->text);
    leave(NULL);
    exit(1);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    fprintf(stderr, "HANG\nseed %llu, %s: %s\n", (unsigned long long)current_seed, current_options,
            current->text);
    abort();
}

static int run(const char *text, const char *options, struct rows *out)
{
    struct stk_iterator *it = start_chain(text, options);
    struct stk_batch *batch;
    struct stk_stats stats;
    struct stk_error err;
    out->n = 0;
    while (!stk_iterator_next(it, &batch, &err)) {
        struct stk_view x = view_of(batch, "x");
        for (int64_t i = 0; i < x.shape[0]; i++)
            add(out, ((const int64_t *)x.data)[i]);
        stk_batch_unref(batch);
    }
    stk_iterator_stats(it, &stats);
    stk_iterator_free(it);
    return (int)stats.errors;
}

static void check_same(const struct rows *found, const struct rows *expected)
{
    if (found->n != expected->n)
        complain("rows are missing or too many");
    if (memcmp(found->x, expected->x, sizeof *found->x * (size_t)found->n))
        complain("rows come in another order");
}

static const char *const pools[] = { "workers=0 on_error=skip", "workers=1 on_error=skip",
                                     "workers=2 on_error=skip", "workers=4 on_error=skip" };
enum { N_POOLS = sizeof pools / sizeof *pools };

static int check_nest(const struct nest *nest)
{
    static struct rows found, expected;
    int n_bad = expect(nest, &expected);
    for (int i = 0; i < N_POOLS; i++) {
        current_options = pools[i];
        if (run(nest->text, pools[i], &found) != n_bad)
            complain("another number of bad rows");
        check_same(&found, &expected);
    }
    return expected.n;
}

/* What a chain draws depends on its element alone: it is the same where chains are no streams. */
static void check_draws(struct dice *dice, struct nest *nest)
{
    static struct rows found, expected;
    static const char *const outer[] = { "skip(0)", "shuffle(1)" };
    struct rows *rows[] = { &expected, &found };
    for (int i = 0; i < 2; i++) {
        snprintf(nest->text, sizeof nest->text,
                 "range(%d).%s.interleave(range(6).shuffle(), %d, %d)%s", nest->n, outer[i],
                 nest->cycle, nest->block, show_rest(nest));
        current_options = pools[roll(dice, N_POOLS)];
        run(nest->text, current_options, rows[i]);
    }
    check_same(&found, &expected);
}

static int check_seed(uint64_t seed)
{
    static struct nest nest;
    struct dice dice = { .seed = seed };
    current = &nest;
    current_seed = seed;
    for (int i = 0; i < MAX_ELEMENTS; i++)
        nest.chain[i].n = 0;
    nest.n = roll(&dice, MAX_ELEMENTS + 1);
    nest.cycle = 1 + roll(&dice, MAX_CYCLE);
    nest.block = 1 + roll(&dice, 4);
    nest.n_taken = roll(&dice, 3) ? 0 : 1 + roll(&dice, 20);
    nest.n_passes = 1 + roll(&dice, 3);
    if (roll(&dice, 4) == 0) {
        check_draws(&dice, &nest);
        return 0;
    }
    if (roll(&dice, 2))
        make_counted(&nest, &dice);
    else
        make_read(&nest, &dice);
    return check_nest(&nest);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 300, n_rows = 0;
    unsigned patience = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 60;
    if (enter(NULL))
        return 1;
    make_files();
    signal(SIGALRM, on_alarm);
    for (uint64_t seed = first; seed < first + n; seed++) {
        alarm(patience);
        n_rows += (uint64_t)check_seed(seed);
    }
    alarm(0);
    printf("ok: %llu nests with %d pools: %llu rows\n", (unsigned long long)n, N_POOLS,
           (unsigned long long)n_rows);
    return leave(NULL);
}

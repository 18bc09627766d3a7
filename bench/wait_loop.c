/* SPDX-License-Identifier: Apache-2.0 */
/* wait_loop.c: threads that do nothing but wait, to see how well this machine keeps the time.
 *
 *     wait_loop --threads N --count N --us N
 *
 * The threads share `count` waits of `us` microseconds each. What they reach is what a reader of
 * files could reach at best on storage that takes so long. Prints one JSON object with the names
 * that `stoker run --json` has.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_THREADS = 1024 };

static long n_threads, n_waits, wait_us;
static atomic_long n_begun;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *wait_often(void *unused)
{
    const struct timespec wait = { wait_us / 1000000, wait_us % 1000000 * 1000 };
    while (atomic_fetch_add(&n_begun, 1) < n_waits)
        nanosleep(&wait, NULL);
    return unused;
}

static double run(void)
{
    pthread_t thread[MAX_THREADS];
    double start = now();
    for (long i = 0; i < n_threads; i++)
        if (pthread_create(&thread[i], NULL, wait_often, NULL)) {
            fprintf(stderr, "wait_loop: cannot start thread %ld of %ld\n", i + 1, n_threads);
            exit(1);
        }
    for (long i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    return now() - start;
}

static long number_after(int n_words, char **words, const char *name)
{
    for (int i = 1; i + 1 < n_words; i += 2)
        if (!strcmp(words[i], name))
            return strtol(words[i + 1], NULL, 10);
    return 0;
}

int main(int n_words, char **words)
{
    n_threads = number_after(n_words, words, "--threads");
    n_waits = number_after(n_words, words, "--count");
    wait_us = number_after(n_words, words, "--us");
    if (n_threads < 1 || n_threads > MAX_THREADS || n_waits < 1 || wait_us < 1) {
        fprintf(stderr, "usage: wait_loop --threads N --count N --us N (at most %d threads)\n",
                MAX_THREADS);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* as for the reads that are slowed down */
    double seconds = run();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    printf("{\"elements\":%ld,\"epochs\":1,\"seconds\":%.6f,\"elements_per_s\":%.3f,"
           "\"best_epoch_elements_per_s\":%.3f,\"first_batch_s\":%.6f,\"peak_rss_mb\":%.3f,"
           "\"cpu_seconds\":%.6f}\n",
           n_waits, seconds, (double)n_waits / seconds, (double)n_waits / seconds,
           (double)wait_us * 1e-6, (double)usage.ru_maxrss / 1024, cpu);
    return 0;
}

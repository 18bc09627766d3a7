/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: when progress is shown, and the plain lines of it. */
#define _GNU_SOURCE
#include "progress.h"

#include "complain.h"
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double live_interval = 0.25, lines_interval = 5; /* seconds */

/* What suits where stderr goes. A dump on the terminal has it to itself. */
static enum cli_progress_kind suitable(const struct cli_args *args)
{
    const char *term = getenv("TERM");
    if (!isatty(STDERR_FILENO))
        return CLI_PROGRESS_LINES;
    if (args->dump && isatty(STDOUT_FILENO))
        return CLI_PROGRESS_NONE;
    return !term || !*term || !strcmp(term, "dumb") ? CLI_PROGRESS_LINES : CLI_PROGRESS_LIVE;
}

int cli_progress_begin(struct cli_progress *progress, const struct cli_args *args, int64_t total)
{
    static const char *const words[] = { "none", "lines", "live" }; /* as enum cli_progress_kind */
    const char *given = args->progress ? args->progress : "auto";
    *progress = (struct cli_progress){ .total = total };
    if (!strcmp(given, "auto")) {
        progress->kind = suitable(args);
    } else {
        int kind = 0;
        while (kind < 3 && strcmp(given, words[kind]))
            kind++;
        if (kind == 3) {
            cli_complain("--progress is auto, live, lines or none, not '%s'", given);
            return CLI_USAGE;
        }
        progress->kind = (enum cli_progress_kind)kind;
    }
    if (args->quiet)
        progress->kind = CLI_PROGRESS_NONE;
    return CLI_OK;
}

static double interval_of(const struct cli_progress *progress)
{
    return progress->kind == CLI_PROGRESS_LIVE ? live_interval : lines_interval;
}

int64_t cli_progress_patience(const struct cli_progress *progress)
{
    return progress->kind == CLI_PROGRESS_NONE ? -1 : (int64_t)(interval_of(progress) * 1000);
}

static void print_line(const struct cli_progress *progress, const struct cli_look *first,
                       const struct cli_look *last)
{
    char elements[16], rate[16], clock[16], of[32] = "";
    if (progress->total >= 0)
        snprintf(of, sizeof of, " of %" PRId64, progress->total);
    fprintf(stderr,
            "%s  %.0f%s batches, %s elements, %s/s; the consumer waits %.0f %% of the time; "
            "%.0f MB, %.0f errors\n",
            cli_clock(clock, last->elapsed), last->batches, of,
            cli_short_number(elements, last->elements),
            cli_short_number(rate, cli_look_rate(first, last)), cli_look_waits(first, last) * 100,
            cli_megabytes(last->used_bytes), last->errors);
}

void cli_progress_tick(struct cli_progress *progress, struct stk_iterator *it, double now)
{
    static const struct cli_look nothing;
    bool is_first = progress->due == 0;
    if (progress->kind == CLI_PROGRESS_NONE || now < progress->due)
        return;
    progress->due = now + interval_of(progress);
    struct cli_look *last = &progress->look[progress->n_looks % CLI_PROGRESS_LOOKS];
    if (is_first || !cli_look_at(it, last))
        return;
    bool is_live = progress->kind == CLI_PROGRESS_LIVE;
    int back = is_live ? CLI_PROGRESS_LOOKS - 1 : 1;
    back = progress->n_looks < back ? progress->n_looks : back;
    const struct cli_look *first =
        back ? &progress->look[(progress->n_looks - back) % CLI_PROGRESS_LOOKS] : &nothing;
    progress->n_looks++;
    if (is_live)
        cli_live_draw(progress, first, last);
    else
        print_line(progress, first, last);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->kind == CLI_PROGRESS_LIVE)
        cli_live_clear(progress);
    progress->kind = CLI_PROGRESS_NONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* training.c: a training on the terminal.
 *
 *     epoch 3 of 20  ██████████▌           412 of 1600  loss 0.412  accuracy 87.5 %  3.12k/s  waits 4 %  ETA 0:42
 *
 * The bar is one line that is written over; words that a narrow terminal has no room for are left out. Where
 * stderr is no terminal there is a line every five seconds.
 */
#define _GNU_SOURCE
#include "training.h"

#include "complain.h"
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const double bar_interval = 0.1, lines_interval = 5; /* seconds */
enum { BAR = 24, MIN_BAR = 6, MAX_COLUMNS = 240 };

int cli_training_begin(struct cli_training *training, const struct cli_args *args)
{
    struct cli_progress progress;
    int code = cli_progress_begin(&progress, args, -1);
    *training = (struct cli_training){ .kind = progress.kind,
                                       .is_quiet = args->quiet,
                                       .lines = args->quiet || args->json ? NULL : stdout };
    return code;
}

/* ---- pieces ---- */

/* Since the epoch began. */
static double rate_of(const struct cli_training *t, const struct stk_fit_event *e)
{
    return cli_per_second((double)(e->seen_rows - t->epoch_rows), e->seconds - t->epoch_began);
}

static double waits_of(const struct cli_training *t, const struct stk_fit_event *e)
{
    double seconds = e->seconds - t->epoch_began;
    return seconds > 0 ? (e->waited_seconds - t->epoch_waited) / seconds * 100 : 0;
}

/* " 87.5 %", or "" where the loss knows no right and wrong. */
static const char *accuracy_text(char out[32], const struct stk_fit_means *means)
{
    out[0] = 0;
    if (!isnan(means->accuracy))
        snprintf(out, 32, "  accuracy %.2f %%", means->accuracy * 100);
    return out;
}

/* Seconds until the last epoch is over, validations not counted; negative: nobody knows. */
static double seconds_left(const struct cli_training *t, const struct stk_fit_event *e)
{
    double steps = (double)e->step, seconds = e->seconds - t->epoch_began;
    if (e->steps <= 0 || !e->step)
        return -1;
    double all = (double)(e->epochs - e->epoch) * (double)e->steps;
    return (all - steps) * seconds / steps;
}

static void state_text(const struct cli_training *t, const struct stk_fit_event *e, char *out,
                       size_t size)
{
    char of[32] = "", accuracy[32], rate[16], clock[16], left[40] = "";
    bool is_valid = e->kind == STK_FIT_VALID;
    const struct stk_fit_means *means = is_valid ? &e->valid : &e->train;
    double eta = seconds_left(t, e);
    if (e->steps >= 0)
        snprintf(of, sizeof of, " of %" PRId64, e->steps);
    if (eta >= 0)
        snprintf(left, sizeof left, "  ETA %s", cli_clock(clock, eta));
    if (is_valid)
        snprintf(out, size, "validation  %" PRId64 " rows%s", means->rows,
                 accuracy_text(accuracy, means));
    else
        snprintf(out, size, "%" PRId64 "%s  loss %.4g%s  %s/s  waits %.0f %%%s", e->step, of,
                 means->loss, accuracy_text(accuracy, means), cli_short_number(rate, rate_of(t, e)),
                 waits_of(t, e), left);
}

/* ---- the bar ---- */

static bool has_blocks(void)
{
    const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    const char *locale = NULL;
    for (int i = 0; i < 3 && (!locale || !*locale); i++)
        locale = getenv(variables[i]);
    return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

static int terminal_columns(void)
{
    struct winsize size = { 0 };
    int columns = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
    return columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
}

static size_t add_bar(char *out, size_t size, double share, int width)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    bool blocks = has_blocks();
    int parts = (int)(share * width * 8 + 0.5), columns = parts / 8;
    size_t len = 0;
    for (int i = 0; i < columns; i++)
        len += (size_t)snprintf(out + len, size - len, "%s", blocks ? "█" : "#");
    if (blocks && parts % 8) {
        len += (size_t)snprintf(out + len, size - len, "%s", eighths[parts % 8]);
        columns++;
    }
    return len + (size_t)snprintf(out + len, size - len, "%*s  ", width - columns, "");
}

/* Leaves out what does not fit, figure by figure: half a number is another number. */
static void shorten(char *state, int room)
{
    while ((int)strlen(state) > room) {
        char *last = NULL;
        for (char *next = state; (next = strstr(next, "  ")); next += 2)
            last = next;
        *(last ? last : state) = 0;
    }
}

static void draw(struct cli_training *t, const struct stk_fit_event *e)
{
    char line[1024], state[200];
    int columns = terminal_columns() - 1;
    double share = e->steps > 0 ? (double)e->step / (double)e->steps : 0;
    state_text(t, e, state, sizeof state);
    size_t len = (size_t)snprintf(line, sizeof line, "epoch %" PRId64 " of %" PRId64 "  ",
                                  e->epoch + 1, e->epochs);
    int room = columns - (int)len - (int)strlen(state) - 2;
    if (e->steps > 0 && room >= MIN_BAR)
        len +=
            add_bar(line + len, sizeof line - len, share > 1 ? 1 : share, room < BAR ? room : BAR);
    else
        shorten(state, columns > (int)len ? columns - (int)len : 0);
    snprintf(line + len, sizeof line - len, "%s", state);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    t->is_drawn = true;
}

static void clear(struct cli_training *t)
{
    if (t->is_drawn)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    t->is_drawn = false;
}

/* ---- lines ---- */

static void print_epoch(struct cli_training *t, const struct stk_fit_event *e)
{
    char accuracy[32], rate[16], clock[16];
    FILE *out = t->lines;
    fprintf(out, "epoch %" PRId64 "  loss %.4g%s", e->epoch + 1, e->train.loss,
            accuracy_text(accuracy, &e->train));
    if (e->valid.rows)
        fprintf(out, "  valid loss %.4g%s", e->valid.loss, accuracy_text(accuracy, &e->valid));
    fprintf(out, "  %s  %s/s  waits %.0f %%", cli_clock(clock, e->seconds - t->epoch_began),
            cli_short_number(rate, rate_of(t, e)), waits_of(t, e));
    if (e->last.loss_scale != 1)
        fprintf(out, "  loss scale %g", (double)e->last.loss_scale);
    if (e->n_skipped)
        fprintf(out, "  %" PRId64 " steps skipped", e->n_skipped);
    if (e->epoch_bad)
        fprintf(out, "  %" PRId64 " bad elements", e->epoch_bad);
    fprintf(out, "%s\n", e->is_best ? "  best" : "");
    fflush(out);
}

static void print_line(const struct cli_training *t, const struct stk_fit_event *e)
{
    char state[200];
    state_text(t, e, state, sizeof state);
    fprintf(stderr, "epoch %" PRId64 " of %" PRId64 "  %s\n", e->epoch + 1, e->epochs, state);
}

void cli_training_tell(struct cli_training *t, const struct stk_fit_event *e, double now)
{
    if (e->message && !t->is_quiet) {
        clear(t);
        fprintf(stderr, "%s\n", e->message);
    }
    if (e->kind == STK_FIT_EPOCH) {
        clear(t);
        if (t->lines)
            print_epoch(t, e);
        t->epoch_began = e->seconds;
        t->epoch_waited = e->waited_seconds;
        t->epoch_rows = e->seen_rows;
        return;
    }
    if (t->kind == CLI_PROGRESS_NONE || now < t->due)
        return;
    bool is_first = t->due == 0;
    t->due = now + (t->kind == CLI_PROGRESS_LIVE ? bar_interval : lines_interval);
    if (t->kind == CLI_PROGRESS_LIVE)
        draw(t, e);
    else if (!is_first)
        print_line(t, e);
}

void cli_training_end(struct cli_training *t)
{
    clear(t);
    t->kind = CLI_PROGRESS_NONE;
}

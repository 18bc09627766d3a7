/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: the view of a run on a terminal, drawn anew in its place.
 *
 *     batches       812 of 3200, epoch 2, 0:08, ETA 0:24
 *     rate          1.62k elements/s, 61.4 MB/s read, 0 errors
 *     waiting       ██████████▌                 38 % of the consumer's time
 *     ready         ███▊                        2 of 16 batches
 *     memory        ██                          148 of 2048 MB
 *     decode        ██████████████████████████  1.82 of 2 threads
 *
 * A frame is one write: it goes up to where the last one began, writes line over line, and clears what
 * is left. Nothing about the terminal is changed that would have to be put back: the cursor is where
 * it is, below. Lines never wrap; where a terminal was made narrower, those that have count for
 * more.
 */
#define _GNU_SOURCE
#include "complain.h"
#include "figures.h"
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MIN_LABEL = 8, MAX_BAR = 32, MIN_BAR = 4, MAX_LINES = 40, NARROW = 64 };

struct screen {
    int columns, rows;
    bool has_blocks; /* characters that are not ASCII can be shown */
    bool is_narrow;  /* words are left out */
    int label;       /* columns of the first word */
};

/* A frame as it is written. */
struct frame {
    struct screen screen;
    char text[1 << 14];
    size_t len;
    int n, columns[MAX_LINES];
};

static struct screen find_screen(void)
{
    struct winsize size = { 0 };
    const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    const char *locale = NULL;
    struct screen screen = { .columns = 80, .rows = 24 };
    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col) {
        screen.columns = size.ws_col;
        screen.rows = size.ws_row ? size.ws_row : 24;
    }
    for (int i = 0; i < 3 && (!locale || !*locale); i++)
        locale = getenv(variables[i]);
    screen.is_narrow = screen.columns < NARROW;
    screen.has_blocks = locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
    return screen;
}

/* As wide as the longest name, if that leaves room. */
static int label_columns(const struct screen *screen, const struct cli_look *look)
{
    int columns = MIN_LABEL, most = screen->columns / 4;
    for (int i = 0; i < look->n_ops; i++)
        if ((int)strlen(look->op[i].name) > columns)
            columns = (int)strlen(look->op[i].name);
    columns = columns < most ? columns : most;
    return (columns > MIN_LABEL ? columns : MIN_LABEL) + 1;
}

static void put(struct frame *frame, const char *text, size_t len)
{
    if (frame->len + len < sizeof frame->text) {
        memcpy(frame->text + frame->len, text, len);
        frame->len += len;
    }
}

/* Bytes of a text that take up to so many columns; what we write takes one a character. */
static size_t bytes_of_columns(const char *text, int columns, int *n)
{
    size_t bytes = 0;
    *n = 0;
    while (text[bytes] && (*n < columns || (text[bytes] & 0xc0) == 0x80))
        *n += (text[bytes++] & 0xc0) != 0x80;
    return bytes;
}

static void add_line(struct frame *frame, const char *label, const char *rest)
{
    const char *bold = cli_style(stderr, CLI_BOLD), *plain = cli_style(stderr, CLI_PLAIN);
    int room = frame->screen.columns - 1, n_label, n_rest;
    int width = frame->screen.label;
    char padded[128];
    if (frame->n + 1 >= frame->screen.rows || frame->n == MAX_LINES)
        return;
    snprintf(padded, sizeof padded, "%-*.*s", width, width - 1, label);
    size_t label_bytes = bytes_of_columns(padded, room, &n_label);
    size_t rest_bytes = bytes_of_columns(rest, room - n_label, &n_rest);
    put(frame, bold, strlen(bold));
    put(frame, padded, label_bytes);
    put(frame, plain, strlen(plain));
    put(frame, rest, rest_bytes);
    put(frame, "\033[K\n", 4);
    frame->columns[frame->n++] = n_label + n_rest;
}

/* A share of a bar, and what it is in words. */
static void add_bar(struct frame *frame, const char *label, double share, const char *figure)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    const int figure_columns = frame->screen.is_narrow ? 18 : 30;
    int width = frame->screen.columns - 1 - frame->screen.label - figure_columns;
    char rest[512];
    size_t len = 0;
    width = width > MAX_BAR ? MAX_BAR : width < MIN_BAR ? MIN_BAR : width;
    share = share > 1 ? 1 : share >= 0 ? share : 0;
    int parts = (int)(share * width * 8 + 0.5), columns = parts / 8;
    bool has_blocks = frame->screen.has_blocks;
    for (int i = 0; i < columns; i++)
        len += (size_t)snprintf(rest + len, sizeof rest - len, "%s", has_blocks ? "█" : "#");
    if (has_blocks && parts % 8) {
        len += (size_t)snprintf(rest + len, sizeof rest - len, "%s", eighths[parts % 8]);
        columns++;
    }
    snprintf(rest + len, sizeof rest - len, "%*s  %s", width - columns, "", figure);
    add_line(frame, label, rest);
}

static void add_head(struct frame *frame, const struct cli_progress *progress,
                     const struct cli_look *first, const struct cli_look *last)
{
    char of[32] = "", clock[16], left[32] = "", a[16], b[16], text[160];
    double rate = cli_per_second(last->batches - first->batches, last->elapsed - first->elapsed);
    if (progress->total >= 0)
        snprintf(of, sizeof of, " of %" PRId64, progress->total);
    if (progress->total >= 0 && rate > 0)
        snprintf(left, sizeof left, ", ETA %s",
                 cli_clock(b, ((double)progress->total - last->batches) / rate));
    snprintf(text, sizeof text, "%.0f%s, epoch %.0f, %s%s", last->batches, of, last->epochs + 1,
             cli_clock(clock, last->elapsed), frame->screen.is_narrow ? "" : left);
    add_line(frame, "batches", text);
    double bytes = last->read_bytes - first->read_bytes;
    snprintf(text, sizeof text,
             frame->screen.is_narrow ? "%s/s, %.1f MB/s, %s errors"
                                     : "%s elements/s, %.1f MB/s read, %s errors",
             cli_short_number(a, cli_look_rate(first, last)),
             cli_megabytes(cli_per_second(bytes, last->elapsed - first->elapsed)),
             cli_short_number(b, last->errors));
    add_line(frame, "rate", text);
}

static void add_state(struct frame *frame, const struct cli_look *first,
                      const struct cli_look *last)
{
    char text[80];
    double waits = cli_look_waits(first, last);
    double hits = last->hits - first->hits, asked = hits + last->misses - first->misses;
    bool is_narrow = frame->screen.is_narrow;
    snprintf(text, sizeof text, "%.0f %%%s", waits * 100,
             is_narrow ? "" : " of the consumer's time");
    add_bar(frame, "waiting", waits, text);
    snprintf(text, sizeof text, "%.0f of %.0f%s", last->ready, last->window,
             is_narrow ? "" : " batches");
    add_bar(frame, "ready", last->window > 0 ? last->ready / last->window : 0, text);
    snprintf(text, sizeof text, "%.0f of %.0f MB", cli_megabytes(last->used_bytes),
             cli_megabytes(last->budget_bytes));
    add_bar(frame, "memory", last->budget_bytes > 0 ? last->used_bytes / last->budget_bytes : 0,
            text);
    if (asked > 0) {
        snprintf(text, sizeof text, "%.0f %%%s", hits / asked * 100,
                 is_narrow ? "" : " of the elements are there");
        add_bar(frame, "cache", hits / asked, text);
    }
}

/* How many threads were at work in each op. */
static void add_ops(struct frame *frame, const struct cli_look *first, const struct cli_look *last)
{
    double threads = last->threads > 1 ? last->threads : 1;
    for (int i = 0; i < last->n_ops; i++) {
        double before = i < first->n_ops ? first->op[i].wall : 0;
        double busy = cli_per_second(last->op[i].wall - before, last->elapsed - first->elapsed);
        char text[48];
        snprintf(text, sizeof text, "%.2f of %.0f%s%s", busy, threads,
                 frame->screen.is_narrow ? "" : " thread",
                 frame->screen.is_narrow || threads <= 1 ? "" : "s");
        add_bar(frame, last->op[i].name, busy / threads, text);
    }
}

/* Back to where the last frame began: lines that are wider than the terminal is now take several. */
static void go_up(const struct cli_progress *progress, struct frame *frame)
{
    char text[32];
    int rows = 0;
    for (int i = 0; i < progress->n_drawn; i++) {
        int columns = progress->drawn_columns[i];
        rows += columns ? (columns + frame->screen.columns - 1) / frame->screen.columns : 1;
    }
    if (!rows)
        return;
    int len = snprintf(text, sizeof text, "\r\033[%dA", rows);
    put(frame, text, (size_t)len);
}

static void write_frame(const struct frame *frame)
{
    fwrite(frame->text, 1, frame->len, stderr);
    fflush(stderr);
}

void cli_live_draw(struct cli_progress *progress, const struct cli_look *first,
                   const struct cli_look *last)
{
    struct frame frame = { .screen = find_screen() };
    frame.screen.label = label_columns(&frame.screen, last);
    go_up(progress, &frame);
    add_head(&frame, progress, first, last);
    add_state(&frame, first, last);
    add_ops(&frame, first, last);
    put(&frame, "\033[J", 3);
    write_frame(&frame);
    progress->n_drawn = frame.n;
    memcpy(progress->drawn_columns, frame.columns, sizeof progress->drawn_columns);
}

void cli_live_clear(struct cli_progress *progress)
{
    struct frame frame = { .screen = find_screen() };
    if (!progress->n_drawn)
        return;
    go_up(progress, &frame);
    put(&frame, "\033[J", 3);
    write_frame(&frame);
    progress->n_drawn = 0;
}

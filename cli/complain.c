/* SPDX-License-Identifier: Apache-2.0 */
/* complain.c: messages with the line of the chain and a mark under the place.
 *
 *     stoker: unknown op 'decod'; did you mean 'decode'?
 *       files('train').decod().batch(32)
 *                       ^~~~~
 *
 * Columns are counted in characters as a terminal shows them. A long line is cut to a window around
 * the place, with … where it goes on; a recipe's line comes with its number.
 */
#define _GNU_SOURCE
#include "complain.h"

#include "args.h"

#include "utf8.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_COLUMNS = 96, LEAD_COLUMNS = 32 };

const char *cli_style(FILE *file, enum cli_style style)
{
    static const char *const codes[] = { "\033[0m",    "\033[1m",    "\033[2m",
                                         "\033[1;31m", "\033[1;32m", "\033[36m" };
    const char *no_color = getenv("NO_COLOR");
    bool is_on = !(no_color && *no_color) && isatty(fileno(file));
    return is_on ? codes[style] : "";
}

void cli_complain(const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fprintf(stderr, "%sstoker:%s ", cli_style(stderr, CLI_RED), cli_style(stderr, CLI_PLAIN));
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* One character of a line: its bytes, and its columns on a terminal. Bad bytes and controls show as
 * one. */
static size_t next_character(const char *text, size_t n, int *columns)
{
    uint32_t code;
    int len = cli_utf8_read(text, n, &code);
    *columns = len ? cli_utf8_columns(code) : 1;
    return len ? (size_t)len : 1;
}

static int count_columns(const char *text, size_t n)
{
    int total = 0, columns;
    for (size_t i = 0; i < n; total += columns)
        i += next_character(text + i, n - i, &columns);
    return total;
}

/* Bytes of the longest beginning of text that fits into so many columns. */
static size_t fit_columns(const char *text, size_t n, int limit)
{
    size_t i = 0;
    for (int total = 0, columns; i < n; total += columns) {
        size_t len = next_character(text + i, n - i, &columns);
        if (total + columns > limit)
            break;
        i += len;
    }
    return i;
}

static void print_plain(const char *text, size_t n)
{
    int columns;
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t code = 0;
        len = next_character(text + i, n - i, &columns);
        bool is_shown =
            cli_utf8_read(text + i, n - i, &code) && code >= 0x20 && (code < 0x7f || code >= 0xa0);
        if (is_shown)
            fwrite(text + i, 1, len, stderr);
        else
            fputc(code == '\t' ? ' ' : '?', stderr);
    }
}

/* A stretch of one line with the place in it, in bytes from the line's beginning. */
struct place {
    const char *line;
    size_t line_len, at, len;
    int number; /* of the line, from 1 */
};

static struct place find_place(const char *text, uint32_t at, uint32_t len)
{
    size_t size = strlen(text), from = at < size ? at : size;
    if (from == size)
        while (from && strchr(" \t\r\n", text[from - 1]))
            from--;
    struct place place = { .number = 1 };
    const char *start = text;
    for (const char *c = text; c < text + from; c++)
        if (*c == '\n')
            start = c + 1, place.number++;
    place.line = start;
    place.line_len = strcspn(start, "\r\n");
    place.at = from - (size_t)(start - text);
    place.at = place.at < place.line_len ? place.at : place.line_len;
    size_t most = place.line_len - place.at;
    place.len = len < most ? len : most;
    return place;
}

/* Drops the beginning of a line that is too long, leaving some columns before the place. */
static bool cut_front(struct place *place)
{
    int before = count_columns(place->line, place->at);
    int whole = count_columns(place->line, place->line_len);
    int marked = count_columns(place->line + place->at, place->len);
    if (whole <= WINDOW_COLUMNS || before + marked < WINDOW_COLUMNS)
        return false;
    size_t drop = fit_columns(place->line, place->at, before - LEAD_COLUMNS);
    place->line += drop;
    place->line_len -= drop;
    place->at -= drop;
    return drop > 0;
}

static void print_place(struct place place, bool has_number)
{
    char gutter[24] = "  ";
    if (has_number)
        snprintf(gutter, sizeof gutter, "  %d | ", place.number);
    bool is_cut = cut_front(&place);
    size_t shown = fit_columns(place.line, place.line_len, WINDOW_COLUMNS);
    fprintf(stderr, "%s%s", gutter, is_cut ? "…" : "");
    print_plain(place.line, shown);
    fprintf(stderr, "%s\n", shown < place.line_len ? "…" : "");
    size_t end = place.at + place.len < shown ? place.at + place.len : shown;
    size_t begin = place.at < end ? place.at : end;
    int indent = (int)strlen(gutter) + is_cut + count_columns(place.line, begin);
    int marked = count_columns(place.line + begin, end - begin);
    fprintf(stderr, "%*s%s^", indent, "", cli_style(stderr, CLI_GREEN));
    for (int i = 1; i < marked; i++)
        fputc('~', stderr);
    fprintf(stderr, "%s\n", cli_style(stderr, CLI_PLAIN));
}

static int exit_code(int status, bool is_running)
{
    switch (status) {
    case STK_IO:
    case STK_DATA:
    case STK_MEMORY:
    case STK_CANCELLED:
        return 1;
    case STK_BUDGET:
        return is_running ? 1 : 2;
    default:
        return 2;
    }
}

int cli_report(const struct stk_error *err, const struct cli_chain *chain, bool is_running)
{
    bool has_place = chain && err->len > 0;
    struct place place = { 0 };
    if (has_place)
        place = find_place(chain->text, err->at, err->len);
    const char *text = *err->text ? err->text : stk_status_text(err->code);
    if (has_place && chain->file)
        cli_complain("%s, line %d: %s", chain->file, place.number, text);
    else
        cli_complain("%s", text);
    if (has_place)
        print_place(place, strchr(chain->text, '\n') != NULL);
    return exit_code(err->code, is_running);
}

static bool reader_is_gone(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO };
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static const char *loss; /* why not all was given to stdout, or NULL */

void cli_output_lose(const char *why)
{
    loss = why;
}

bool cli_output_is_broken(void)
{
    return loss || ferror(stdout);
}

int cli_output_finish(int code)
{
    bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    if (!loss && (is_written || reader_is_gone()))
        return code;
    cli_complain("cannot write all output%s", loss ? loss : "; is the disk full?");
    return code ? code : 1;
}

bool cli_write(const char *path, const char *text)
{
    FILE *file = text ? fopen(path, "we") : NULL;
    bool is_written = file && fputs(text, file) >= 0;
    int cause = text ? errno : ENOMEM;
    if (file && fclose(file) && is_written) {
        is_written = false;
        cause = errno;
    }
    errno = cause;
    return is_written;
}

int cli_save(const char *path, const char *text)
{
    bool is_written = cli_write(path, text);
    if (!is_written)
        cli_complain("cannot write %s: %s", path, strerror(errno));
    return is_written ? CLI_OK : CLI_FAILED;
}

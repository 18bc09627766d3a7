/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_csv.c: delimited text, told by the same number of delimiters in every row. */
#include "api/inspect.h"
#include "lang/quote.h"

#include <string.h>

enum { LOOKED_AT = 20, SAMPLE = 1 << 20, MOST_ROW = 1 << 16 };

static const char delimiters[] = ",\t;|";

struct row {
    size_t end, next; /* the row's last byte, and where the next one begins */
    int n[sizeof delimiters - 1];
    bool is_ended;
};

/* The row at `at`; quotes hide what they enclose. */
static struct row read_row(const struct stk__inspection *in, size_t at)
{
    struct row row = { .end = in->n_head, .next = in->n_head };
    bool is_quoted = false;
    for (size_t i = at; i < in->n_head && !row.is_ended; i++) {
        const char *found = in->head[i] ? strchr(delimiters, in->head[i]) : NULL;
        is_quoted ^= in->head[i] == '"';
        if (is_quoted)
            continue;
        if (found)
            row.n[found - delimiters]++;
        if (in->head[i] == '\n') {
            row.is_ended = true;
            row.end = i;
            row.next = i + 1;
        }
    }
    return row;
}

/* The delimiter that every one of the first rows has as often as the first row, or 0. */
static char find_delimiter(const struct stk__inspection *in)
{
    bool fits[sizeof delimiters - 1] = { true, true, true, true };
    struct row first = read_row(in, 0);
    int n_rows = 0;
    for (size_t at = 0; at < in->n_head && n_rows < LOOKED_AT; n_rows++) {
        struct row row = read_row(in, at);
        if (!row.is_ended && (!in->is_whole || row.end - at > MOST_ROW))
            break;
        bool is_empty = row.end == at;
        for (size_t d = 0; d < sizeof fits && !is_empty; d++)
            fits[d] = fits[d] && row.n[d] && row.n[d] == first.n[d];
        at = row.next;
    }
    for (size_t d = 0; d < sizeof fits && n_rows > 1; d++)
        if (fits[d])
            return delimiters[d];
    return 0;
}

static bool recognises(const struct stk__inspection *in)
{
    return stk__inspect_text.recognises(in) && find_delimiter(in);
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__sizes sizes = { 0 };
    char delimiter[2] = { find_delimiter(in), 0 };
    size_t at = 0;
    (void)err;
    while (at < in->n_head) {
        struct row row = read_row(in, at);
        if (!row.is_ended && !in->is_whole)
            break;
        if (row.end > at)
            stk__sizes_add(&sizes, row.end - at);
        at = row.next;
        if (at <= SAMPLE || !in->sample_bytes)
            in->sample_bytes = at;
    }
    in->format = "CSV";
    in->source = "csv";
    stk__inspect_sizes(in, "rows", &sizes, at);
    stk__inspect_note(in, "the first row is taken for names; header=false if it has values");
    if (*delimiter != ',') {
        stk__text_add(&in->rest, ", delimiter=");
        stk__quote(&in->rest, delimiter);
    }
    stk__text_add(&in->rest, ")");
    return STK_OK;
}

const struct stk__inspector stk__inspect_csv = { recognises, describe };

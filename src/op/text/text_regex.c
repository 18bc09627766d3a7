/* SPDX-License-Identifier: Apache-2.0 */
/* text_regex.c: text_regex_replace and text_regex_full_match, by PCRE2.
 *
 * A pattern may want time that grows exponentially with the text, so the effort per text is limited,
 * and a text that wants more makes its element bad. The compiled pattern is shared; what a match
 * needs belongs to the worker.
 */
#include "base/error.h"
#include "base/text.h"
#include "op/text/text_op.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1000000, MOST_HEAP_KIB = 32768, JIT_STACK = 32768, MOST_JIT_STACK = 8 << 20 };

struct pattern {
    struct stk__text_use use;        /* of text_regex_replace */
    struct stk__text_values matches; /* of text_regex_full_match */
    pcre2_code *code;
    uint32_t n_groups;
};

/* ---- what both ops do ---- */

static int compile(const char *text, uint32_t options, struct stk_arena *arena, void **state,
                   struct stk_error *err)
{
    struct pattern *pattern = stk_arena_alloc(arena, sizeof *pattern);
    PCRE2_UCHAR why[160];
    PCRE2_SIZE at;
    int code;
    if (!pattern)
        return stk__out_of_memory(err);
    options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    if (!pattern->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return stk_fail(err, STK_VALUE, "the pattern '%.100s' is wrong at character %zu: %s", text,
                        at + 1, (const char *)why);
    }
    /* Where there is no compiler for this machine, patterns are interpreted. */
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &pattern->n_groups);
    *state = pattern;
    return STK_OK;
}

/* What open made may be shared by other datasets, so infer writes to a copy. */
static struct pattern *copy_pattern(struct stk_infer *inf)
{
    struct pattern *copy = stk_arena_alloc(inf->arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *(const struct pattern *)inf->state;
    inf->state = copy;
    return copy;
}

static void close_pattern(void *state)
{
    pcre2_code_free(((struct pattern *)state)->code);
}

struct worker {
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    struct stk__text made; /* the result of a row */
};

static void thread_close(void *thread)
{
    struct worker *worker = thread;
    pcre2_match_data_free(worker->match);
    pcre2_match_context_free(worker->limits);
    pcre2_jit_stack_free(worker->stack);
    stk__text_free(&worker->made);
    free(worker);
}

static int thread_open(const void *params, const void *state, void **thread, struct stk_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    (void)params;
    if (!worker)
        return stk__out_of_memory(err);
    worker->match =
        pcre2_match_data_create_from_pattern(((const struct pattern *)state)->code, NULL);
    worker->limits = pcre2_match_context_create(NULL);
    worker->stack = pcre2_jit_stack_create(JIT_STACK, MOST_JIT_STACK, NULL);
    if (!worker->match || !worker->limits || !worker->stack) {
        thread_close(worker);
        return stk__out_of_memory(err);
    }
    pcre2_set_match_limit(worker->limits, MOST_STEPS);
    pcre2_set_heap_limit(worker->limits, MOST_HEAP_KIB);
    pcre2_jit_stack_assign(worker->limits, NULL, worker->stack);
    *thread = worker;
    return STK_OK;
}

/* Looks for a match from a place on: 1, 0, or below if the row was marked or memory is out. */
static int find_match(struct stk_rows *rows, int row, const struct stk_span *text, size_t from)
{
    const struct pattern *pattern = rows->state;
    const struct worker *worker = rows->thread;
    PCRE2_UCHAR why[160];
    PCRE2_SPTR data = text->data ? text->data : (PCRE2_SPTR) "";
    int code =
        pcre2_match(pattern->code, data, text->bytes, from, 0, worker->match, worker->limits);
    if (code == PCRE2_ERROR_JIT_STACKLIMIT)
        code = pcre2_match(pattern->code, data, text->bytes, from, PCRE2_NO_JIT, worker->match,
                           worker->limits);
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return code >= 0;
    if (code == PCRE2_ERROR_NOMEMORY)
        return -STK_MEMORY;
    pcre2_get_error_message(code, why, sizeof why);
    stk_rows_fail(rows, row, STK_DATA, "'%.*s%s' is too much effort for the pattern: %s",
                  STK__TEXT_SHOW(*text), (const char *)why);
    return -STK_DATA;
}

/* ---- text_regex_replace ---- */

struct replace {
    const char *pattern, *rewrite;
    bool replace_global;
    const char *field, *into;
};

static const struct stk_param replace_params[] = {
    STK_TEXT_ROW(replace, pattern, NULL, STK_REQUIRED, "the regular expression"),
    STK_TEXT_ROW(replace, rewrite, NULL, STK_REQUIRED,
                 "what is put in place of a match; \\1 to \\9 stand for its groups, \\0 for all"),
    STK_BOOL_ROW(replace, replace_global, true, 0, "all matches, not only the first"),
    STK_TEXT_ROW(replace, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(replace, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

static int replace_open(const void *params, struct stk_arena *arena, void **state,
                        struct stk_error *err)
{
    return compile(((const struct replace *)params)->pattern, 0, arena, state, err);
}

static int check_rewrite(const char *rewrite, uint32_t n_groups, struct stk_error *err)
{
    for (const char *at = rewrite; *at; at++) {
        if (*at != '\\' || *++at == '\\')
            continue;
        if (*at < '0' || *at > '9')
            return stk_fail(err, STK_VALUE,
                            "the rewrite '%.100s' has a backslash that is not before a digit or "
                            "another one",
                            rewrite);
        if ((uint32_t)(*at - '0') > n_groups)
            return stk_fail(err, STK_VALUE,
                            "the rewrite '%.100s' wants group %c, but the pattern has %u", rewrite,
                            *at, n_groups);
    }
    return STK_OK;
}

static int replace_infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct replace *p = inf->params;
    struct pattern *pattern = copy_pattern(inf);
    if (!pattern)
        return stk__out_of_memory(err);
    int code = check_rewrite(p->rewrite, pattern->n_groups, err);
    return code ? code : stk__text_infer(inf, p->field, p->into, &pattern->use, err);
}

static void add_rewrite(struct worker *worker, const char *rewrite, const uint8_t *text)
{
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(worker->match);
    uint32_t n_set = pcre2_get_ovector_count(worker->match);
    while (*rewrite) {
        size_t plain = strcspn(rewrite, "\\");
        stk__text_add_n(&worker->made, rewrite, plain);
        rewrite += plain;
        if (!*rewrite)
            return;
        uint32_t group = (uint32_t)(rewrite[1] - '0');
        if (rewrite[1] == '\\')
            stk__text_add_n(&worker->made, rewrite, 1);
        else if (group < n_set && place[2 * group] != PCRE2_UNSET)
            stk__text_add_n(&worker->made, (const char *)text + place[2 * group],
                            place[2 * group + 1] - place[2 * group]);
        rewrite += 2;
    }
}

/* Bytes of the character at a place that is not the end. */
static size_t character_bytes(const struct stk_span *text, size_t at)
{
    size_t bytes = stk__utf8_bytes((const char *)text->data + at, text->bytes - at);
    return bytes ? bytes : 1;
}

/* Writes the row's result to worker->made; *n_found matches were replaced. An empty match right
 * behind another match does not count, as in RE2. 0, or below as find_match. */
static int replace_row(struct stk_rows *rows, int row, const struct stk_span *text, int *n_found)
{
    const struct replace *p = rows->params;
    struct worker *worker = rows->thread;
    size_t at = 0, last_end = SIZE_MAX;
    int found = 0;
    worker->made.len = 0;
    *n_found = 0;
    while (at <= text->bytes && (p->replace_global || !*n_found)) {
        found = find_match(rows, row, text, at);
        if (found <= 0)
            break;
        const PCRE2_SIZE *place = pcre2_get_ovector_pointer(worker->match);
        size_t begin = place[0], end = place[1];
        if (begin == end && begin == last_end) {
            size_t step = begin < text->bytes ? character_bytes(text, begin) : 1;
            if (begin < text->bytes)
                stk__text_add_n(&worker->made, (const char *)text->data + begin, step);
            at = begin + step;
            continue;
        }
        stk__text_add_n(&worker->made, (const char *)text->data + at, begin - at);
        add_rewrite(worker, p->rewrite, text->data);
        at = last_end = end;
        ++*n_found;
    }
    if (at < text->bytes)
        stk__text_add_n(&worker->made, (const char *)text->data + at, text->bytes - at);
    return worker->made.failed ? -STK_MEMORY : found < 0 ? found : 0;
}

/* A text without a match stays where it is. */
static int replace_rows(struct stk_rows *rows)
{
    const struct pattern *pattern = rows->state;
    const struct worker *worker = rows->thread;
    const struct stk_span *text = rows->in[pattern->use.from].span;
    struct stk_span *out = rows->out[pattern->use.to].span;
    for (int i = 0; i < rows->n; i++) {
        int n_found;
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (replace_row(rows, i, &text[i], &n_found) == -STK_MEMORY)
            return STK_MEMORY;
        out[i] = text[i];
        if (!n_found || rows->mask[i] != STK_LIVE)
            continue;
        size_t bytes = worker->made.len;
        uint8_t *data = stk_rows_alloc(rows, bytes + !bytes);
        if (!data)
            return STK_MEMORY;
        if (bytes)
            memcpy(data, worker->made.data, bytes);
        out[i] = (struct stk_span){ .data = data, .bytes = bytes };
    }
    return STK_OK;
}

static int replace_run(struct stk_rows *rows)
{
    return stk__text_run(rows, &((const struct pattern *)rows->state)->use, replace_rows);
}

#define PATTERNS                                                                                   \
    "Patterns are those of PCRE2 over UTF-8, which RE2's nearly all are too; `$` is the very "     \
    "end, "                                                                                        \
    "and bytes that are no UTF-8 match nothing. A text that takes a pattern more than a million "  \
    "steps, or tens of megabytes, makes its element bad."

static const char replace_doc[] =
    "As tf.strings.regex_replace: all matches, or the first one, become `rewrite`; of lists of "
    "texts "
    "in each. " PATTERNS "\n"
    "\n"
    "    values({t: ['Text with <b>tags</b>']}).text_regex_replace('<[^>]+>', ' ')\n"
    "    values({t: ['anna 31', 'bo']}).text_regex_replace('(\\\\w+) (\\\\d+)', '\\\\2 \\\\1', "
    "into=turned)";

const struct stk__op stk__op_text_regex_replace = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_regex_replace", 1, "Replace what matches a regular expression.", replace_doc,
              replace_params, sizeof(struct replace) },
    .open = replace_open,
    .close = close_pattern,
    .infer = replace_infer,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = replace_run },
};

/* ---- text_regex_full_match ---- */

struct full_match {
    const char *pattern, *field, *into;
};

static const struct stk_param match_params[] = {
    STK_TEXT_ROW(full_match, pattern, NULL, STK_REQUIRED, "the regular expression"),
    STK_TEXT_ROW(full_match, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(full_match, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

static int match_open(const void *params, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    return compile(((const struct full_match *)params)->pattern, PCRE2_ANCHORED | PCRE2_ENDANCHORED,
                   arena, state, err);
}

static bool match_text(const struct stk__text_values *how, struct stk_rows *rows, int row,
                       const struct stk_span *text, void *dst)
{
    int found = find_match(rows, row, text, 0);
    (void)how;
    if (found == -STK_MEMORY)
        stk_rows_fail(rows, row, STK_MEMORY, "out of memory");
    *(bool *)dst = found > 0;
    return found >= 0;
}

static int match_infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct full_match *p = inf->params;
    struct pattern *pattern = copy_pattern(inf);
    if (!pattern)
        return stk__out_of_memory(err);
    pattern->matches = (struct stk__text_values){ .make = match_text, .dtype = STK_BOOL };
    return stk__text_values_infer(inf, p->field, p->into, &pattern->matches, err);
}

static int match_run(struct stk_rows *rows)
{
    const struct pattern *pattern = rows->state;
    return stk__text_values_run(rows, &pattern->matches);
}

static const char match_doc[] =
    "As tf.strings.regex_full_match: a bool that says whether the whole text matches, which "
    "`filter` can use; of lists of texts one for each. '.*word.*' looks for a part. " PATTERNS "\n"
    "\n"
    "    values({t: ['TF lib', 'lib TF']}).text_regex_full_match('.*lib$')\n"
    "    lines('words.txt').text_regex_full_match('[a-z]+', into=ok).filter('ok')";

const struct stk__op stk__op_text_regex_full_match = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_regex_full_match", 1, "Say whether texts match a regular expression.",
              match_doc, match_params, sizeof(struct full_match) },
    .open = match_open,
    .close = close_pattern,
    .infer = match_infer,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = match_run },
};

/* SPDX-License-Identifier: Apache-2.0 */
/* causes.c: see causes.h. */
#include "exec/watch/causes.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Where a number or a quoted name that begins at `at` ends; `at` if there is none. */
static const char *skip_varying(const char *at)
{
    if (is_digit(*at)) {
        while (is_digit(*at) || (*at == '.' && is_digit(at[1])))
            at++;
        return at;
    }
    const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
    return end ? end + 1 : at;
}

void stk__cause_text(const char *message, char *out, size_t size)
{
    size_t len = 0;
    while (*message) {
        char one[] = { *message, 0 };
        const char *end = skip_varying(message), *piece = one;
        if (end != message)
            piece = is_digit(*message) ? "#" : *message == '"' ? "\"…\"" : "'…'";
        size_t n = strlen(piece);
        if (len + n >= size)
            break;
        memcpy(out + len, piece, n);
        len += n;
        message = end != message ? end : message + 1;
    }
    while (*message && len && ((unsigned char)out[len - 1] & 0x80)) /* no half of a character */
        len--;
    out[len] = 0;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* The entry of a cause, a new one if need be; the last one takes what finds no room. */
static struct stk__cause *find(struct stk__causes *causes, const char *op, int code,
                               const char *text)
{
    for (int i = 0; i < causes->n; i++) {
        struct stk__cause *cause = &causes->cause[i];
        if (cause->code == code && is_same(cause->op, op) && !strcmp(cause->text, text))
            return cause;
    }
    if (causes->n == STK__MAX_CAUSES)
        return &causes->cause[STK__MAX_CAUSES - 1];
    struct stk__cause *cause = &causes->cause[causes->n++];
    bool is_last = causes->n == STK__MAX_CAUSES;
    cause->op = is_last ? NULL : op;
    cause->code = is_last ? STK_DATA : code;
    strcpy(cause->text, is_last ? "others" : text);
    return cause;
}

void stk__causes_add(struct stk__causes *causes, const struct stk__fault *fault)
{
    char text[STK__CAUSE_BYTES];
    stk__cause_text(fault ? fault->text : "out of memory", text, sizeof text);
    const char *op = fault && fault->op ? fault->op : "stoker";
    pthread_mutex_lock(&causes->lock);
    find(causes, op, fault ? fault->code : STK_MEMORY, text)->n++;
    pthread_mutex_unlock(&causes->lock);
}

int stk__causes_read(struct stk__causes *causes, struct stk__cause *out)
{
    pthread_mutex_lock(&causes->lock);
    int n = causes->n;
    memcpy(out, causes->cause, sizeof *out * (size_t)n);
    pthread_mutex_unlock(&causes->lock);
    return n;
}

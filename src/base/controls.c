/* SPDX-License-Identifier: Apache-2.0 */
/* controls.c: see controls.h. */
#include "base/controls.h"

#include <stdio.h>
#include <string.h>

static size_t control_bytes(const char *text)
{
    unsigned char c = (unsigned char)text[0], next = c ? (unsigned char)text[1] : 0;
    if (c == 0xc2 && next >= 0x80 && next < 0xa0)
        return 2;
    return c && (c < ' ' || c == 0x7f);
}

size_t stk__control_escape(const char *text, char out[8])
{
    size_t n = control_bytes(text);
    unsigned char c = n ? (unsigned char)text[n - 1] : 0;
    if (c == '\n' || c == '\t' || c == '\r')
        snprintf(out, 8, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    else
        snprintf(out, 8, "\\x%02x", c);
    return n;
}

void stk__controls_show(const char *text, char *out, size_t size)
{
    size_t len = 0;
    while (*text) {
        char escape[8];
        size_t n_control = stk__control_escape(text, escape), n = n_control ? strlen(escape) : 1;
        if (len + n >= size)
            break;
        memcpy(out + len, n_control ? escape : text, n);
        len += n;
        text += n_control ? n_control : 1;
    }
    out[len] = 0;
}

void stk__text_add_shown(struct stk__text *text, const char *value, int width)
{
    size_t from = text->len;
    while (*value) {
        char escape[8];
        size_t n_control = stk__control_escape(value, escape);
        stk__text_add_n(text, n_control ? escape : value, n_control ? strlen(escape) : 1);
        value += n_control ? n_control : 1;
    }
    int len = (int)(text->len - from);
    stk__text_add(text, "%*s", len < width ? width - len : 0, "");
}

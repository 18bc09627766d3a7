/* SPDX-License-Identifier: Apache-2.0 */
/* error.c: result codes and messages. */
#include "base/error.h"
#include "base/controls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *stk_status_text(int code)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        STK_STATUS_LIST(TEXT)
#undef TEXT
    };
    bool is_known = code >= 0 && (size_t)code < sizeof texts / sizeof *texts;
    return is_known ? texts[code] : "unknown status";
}

/* Every message passes here, and with it whatever names and data it holds. */
static void write_text(struct stk_error *err, const char *format, va_list args)
{
    char raw[STK_ERROR_TEXT];
    vsnprintf(raw, sizeof raw, format, args);
    stk__controls_show(raw, err->text, sizeof err->text);
}

int stk_fail(struct stk_error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    write_text(err, format, args);
    va_end(args);
    err->code = code;
    err->at = err->len = 0;
    return code;
}

int stk__fail_at(struct stk_error *err, int code, uint32_t at, uint32_t len, const char *format,
                 ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    write_text(err, format, args);
    va_end(args);
    err->code = code;
    err->at = at;
    err->len = len;
    return code;
}

void stk__error_prefix(struct stk_error *err, const char *format, ...)
{
    if (!err)
        return;
    char cause[STK_ERROR_TEXT];
    memcpy(cause, err->text, sizeof cause);
    va_list args;
    va_start(args, format);
    write_text(err, format, args);
    va_end(args);
    stk__error_suffix(err, cause);
}

void stk__error_suffix(struct stk_error *err, const char *text)
{
    if (!err)
        return;
    size_t len = strlen(err->text);
    stk__controls_show(text, err->text + len, sizeof err->text - len);
}

int stk__out_of_memory(struct stk_error *err)
{
    return stk_fail(err, STK_MEMORY, "out of memory");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* error.h: messages with a place in the chain's text. stk_fail is in op.h. */
#pragma once
#include <stoker/op.h>

/* As stk_fail, with the place in the text that the message is about. */
int stk__fail_at(struct stk_error *err, int code, uint32_t at, uint32_t len, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));

/* Puts text before the message. */
void stk__error_prefix(struct stk_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* And behind it. */
void stk__error_suffix(struct stk_error *err, const char *text);

int stk__out_of_memory(struct stk_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* py_errors.c: failures of the library as exceptions; the classes are in stoker/_errors.py. */
#include "ext.h"

#include <stdio.h>

static const char *const code_names[] = {
#define CODE_NAME(name, text) [STK_##name] = #name,
    STK_STATUS_LIST(CODE_NAME)
#undef CODE_NAME
};

PyObject *ext_exception(const struct stk_error *err, const char *text, size_t shift)
{
    int n_codes = (int)(sizeof code_names / sizeof *code_names);
    const char *code = err->code > 0 && err->code < n_codes ? code_names[err->code] : "STATE";
    const char *message = *err->text ? err->text : stk_status_text(err->code);
    bool has_place = text && err->len;
    return ext_call("_errors", "make", "(sNkky)", code, ext_text(message),
                    has_place ? (unsigned long)(err->at + shift) : 0ul, (unsigned long)err->len,
                    has_place ? text : "");
}

PyObject *ext_raise(const struct stk_error *err, const char *text, size_t shift)
{
    PyObject *exception = ext_exception(err, text, shift);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *ext_raise_state(const char *message)
{
    struct stk_error err = { .code = STK_STATE };
    snprintf(err.text, sizeof err.text, "%s", message);
    return ext_raise(&err, NULL, 0);
}

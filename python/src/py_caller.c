/* SPDX-License-Identifier: Apache-2.0 */
/* py_caller.c: what streams and functions of Python share: how the library refers to them, and the
 * exceptions that they raised and nobody has seen yet.
 *
 * An exception travels through the library as text with a number in it. Of those that are kept,
 * the first few have all their frames; of the others the local variables are let go, because a run
 * may meet many bad elements whose exceptions nobody asks for.
 */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAILURES = 1024, WHOLE_FAILURES = 16 };

static const char *const failure_mark = "Python exception ";

static atomic_ullong n_numbers; /* given so far */

unsigned long long ext_number_new(void)
{
    return atomic_fetch_add(&n_numbers, 1) + 1;
}

/* ---- bindings ---- */

struct ext_binding *ext_binding_new(PyObject *object)
{
    struct ext_binding *binding = calloc(1, sizeof *binding);
    if (!binding) {
        PyErr_NoMemory();
        return NULL;
    }
    atomic_init(&binding->refs, 1);
    binding->object = object;
    return binding;
}

void ext_binding_ref(struct ext_binding *binding)
{
    atomic_fetch_add_explicit(&binding->refs, 1, memory_order_relaxed);
}

void ext_binding_unref(void *context)
{
    struct ext_binding *binding = context;
    if (atomic_fetch_sub_explicit(&binding->refs, 1, memory_order_acq_rel) == 1)
        free(binding);
}

void ext_binding_drop(struct ext_binding *binding)
{
    if (!binding)
        return;
    binding->object = NULL;
    ext_binding_unref(binding);
}

/* ---- failures ---- */

/* Drops the oldest one that nobody asked for. */
static void trim(PyObject *failures)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (failures && PyDict_Size(failures) >= MAX_FAILURES &&
        PyDict_Next(failures, &at, &key, &value)) {
        Py_INCREF(key);
        PyDict_DelItem(failures, key);
        Py_DECREF(key);
    }
}

/* The lines of the traceback stay, the local variables go. */
static void clear_frames(PyObject *trace)
{
    PyObject *module = PyImport_ImportModule("traceback");
    PyObject *done = module ? PyObject_CallMethod(module, "clear_frames", "O", trace) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(module);
    PyErr_Clear();
}

int ext_failure_keep(PyObject *failures, struct stk_error *err)
{
    PyObject *type, *value, *trace;
    unsigned long long number = ext_number_new();
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace)
        PyException_SetTraceback(value, trace);
    if (trace && failures && PyDict_Size(failures) >= WHOLE_FAILURES)
        clear_frames(trace);
    trim(failures);
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    PyObject *text = value ? PyObject_Str(value) : NULL,
             *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    if (key && value && failures)
        PyDict_SetItem(failures, key, value);
    const char *name_text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *value_text = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool is_fault = !type || PyErr_GivenExceptionMatches(type, PyExc_Exception);
    *err = (struct stk_error){ .code = is_fault ? STK_DATA : STK_STATE };
    snprintf(err->text, sizeof err->text, "%s%llu: %s: %.300s", failure_mark, number,
             name_text ? name_text : "exception", value_text ? value_text : "");
    PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return err->code;
}

PyObject *ext_failure_take(PyObject *failures, const char *message)
{
    const char *mark = strstr(message, failure_mark);
    PyObject *key =
        mark && failures
            ? PyLong_FromUnsignedLongLong(strtoull(mark + strlen(failure_mark), NULL, 10))
            : NULL;
    PyObject *found = key ? Py_XNewRef(PyDict_GetItemWithError(failures, key)) : NULL;
    if (found)
        PyDict_DelItem(failures, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return found;
}

/* add_note(text), with what was said before the exception's own text: op and element. */
void ext_failure_note(PyObject *failure, const char *message)
{
    const char *mark = strstr(message, failure_mark);
    size_t len = mark ? (size_t)(mark - message) : 0;
    while (len && (message[len - 1] == ' ' || message[len - 1] == ':'))
        len--;
    PyObject *text = len ? PyUnicode_DecodeUTF8(message, (Py_ssize_t)len, "surrogateescape") : NULL;
    PyObject *done = text ? PyObject_CallMethod(failure, "add_note", "O", text) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(text);
    PyErr_Clear();
}

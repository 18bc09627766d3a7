/* SPDX-License-Identifier: Apache-2.0 */
/* py_calls.c: small things around calls of Python. */
#include "ext.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

PyObject *ext_call(const char *module, const char *name, const char *format, ...)
{
    char path[64];
    va_list list;
    snprintf(path, sizeof path, "stoker.%s", module);
    va_start(list, format);
    PyObject *args = Py_VaBuildValue(format, list);
    va_end(list);
    PyObject *from = args ? PyImport_ImportModule(path) : NULL;
    PyObject *function = from ? PyObject_GetAttrString(from, name) : NULL;
    PyObject *result = function ? PyObject_Call(function, args, NULL) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(from);
    Py_XDECREF(args);
    return result;
}

PyObject *ext_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *ext_shape(const int64_t *shape, int rank)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int d = 0; tuple && d < rank; d++) {
        PyObject *n = shape[d] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(shape[d]);
        if (!n || PyTuple_SetItem(tuple, d, n) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

void *ext_new(PyTypeObject *type, size_t bytes)
{
    bool has_gc = PyType_HasFeature(type, Py_TPFLAGS_HAVE_GC);
    PyObject *self = has_gc ? PyObject_GC_New(PyObject, type) : PyObject_New(PyObject, type);
    if (self)
        memset((char *)self + sizeof *self, 0, bytes - sizeof *self);
    return self;
}

void ext_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_GC))
        PyObject_GC_Del(self);
    else
        PyObject_Free(self);
    Py_DECREF(type);
}

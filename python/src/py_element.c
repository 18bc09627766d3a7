/* SPDX-License-Identifier: Apache-2.0 */
/* py_element.c: what a generator yields or a function returns, as memory for the library. Arrays are
 * lent as they are; numbers and lists are written to scratch. */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ext_cell_release(struct ext_cell *cell)
{
    if (cell->buffer.obj)
        PyBuffer_Release(&cell->buffer);
    if (cell->tensor.managed)
        ext_dlpack_release(cell->tensor.managed, cell->tensor.is_versioned);
    cell->tensor.managed = NULL;
    Py_CLEAR(cell->value);
}

void ext_cell_clear(struct ext_cell *cell)
{
    ext_cell_release(cell);
    free(cell->scratch);
    cell->scratch = NULL;
    cell->scratch_bytes = 0;
}

static int make_room(struct ext_cell *cell, size_t bytes)
{
    if (bytes <= cell->scratch_bytes)
        return 0;
    size_t wanted = bytes > 2 * cell->scratch_bytes ? bytes : 2 * cell->scratch_bytes;
    char *grown = realloc(cell->scratch, wanted);
    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    cell->scratch = grown;
    cell->scratch_bytes = wanted;
    return 0;
}

/* ---- shapes ---- */

static void shape_text(const int64_t *shape, int rank, char *text, size_t size)
{
    size_t len = 0;
    text[0] = 0;
    for (int d = 0; d < rank && len < size; d++) {
        const char *comma = d ? ", " : "";
        len += (size_t)(shape[d] < 0 ? snprintf(text + len, size - len, "%sNone", comma)
                                     : snprintf(text + len, size - len, "%s%lld", comma,
                                                (long long)shape[d]));
    }
}

static int check_shape(const struct stk_field_info *field, const int64_t *shape, int rank)
{
    bool is_right = rank == field->rank;
    for (int d = 0; is_right && d < rank; d++)
        is_right = field->shape[d] < 0 || field->shape[d] == shape[d];
    if (is_right)
        return 0;
    char given[160], wanted[160];
    shape_text(shape, rank, given, sizeof given);
    shape_text(field->shape, field->rank, wanted, sizeof wanted);
    PyErr_Format(PyExc_ValueError, "field '%s': the shape is (%s), but the spec says (%s)",
                 field->name, given, wanted);
    return -1;
}

static int check_dtype(const struct stk_field_info *field, int dtype)
{
    if (dtype == field->dtype)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "field '%s': the array is %s, but the spec says %s; convert it before",
                 field->name, dtype < 0 ? "of another dtype" : stk_dtype_name(dtype),
                 stk_dtype_name(field->dtype));
    return -1;
}

static int64_t bytes_of(const struct stk_field_info *field, const int64_t *shape)
{
    int64_t bytes = (int64_t)stk_dtype_bytes(field->dtype);
    for (int d = 0; d < field->rank; d++)
        bytes *= shape[d];
    return bytes;
}

/* ---- arrays ---- */

/* An array that is checked and lent, or copied if its values do not lie one behind the other. */
static int lend(struct ext_cell *cell, const struct stk_field_info *field, struct stk_cell *out)
{
    const struct ext_tensor *tensor = &cell->tensor;
    int64_t stride = (int64_t)stk_dtype_bytes(field->dtype);
    bool is_contiguous = true;
    if (check_dtype(field, tensor->dtype) < 0 ||
        check_shape(field, tensor->shape, tensor->rank) < 0)
        return -1;
    out->bytes = (size_t)bytes_of(field, tensor->shape);
    memcpy(out->shape, tensor->shape, sizeof out->shape);
    for (int d = tensor->rank - 1; d >= 0; d--) {
        is_contiguous &= tensor->shape[d] == 1 || tensor->strides[d] == stride;
        stride *= tensor->shape[d];
    }
    out->data = tensor->data;
    if (is_contiguous || !out->bytes)
        return 0;
    if (make_room(cell, out->bytes) < 0)
        return -1;
    ext_copy_strided(tensor, cell->scratch);
    out->data = cell->scratch;
    return 0;
}

static int set_buffer(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                      struct stk_cell *out)
{
    Py_buffer *view = &cell->buffer;
    if (PyObject_GetBuffer(value, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0)
        return -1;
    int rank = view->ndim <= STK_MAX_RANK ? view->ndim : STK_MAX_RANK;
    cell->tensor = (struct ext_tensor){
        .data = view->buf, .rank = rank, .dtype = ext_dtype_of_format(view->format, view->itemsize)
    };
    for (int d = 0; d < rank; d++) {
        cell->tensor.shape[d] = view->shape[d];
        cell->tensor.strides[d] = view->strides[d];
    }
    return lend(cell, field, out);
}

static int set_dlpack(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                      struct stk_cell *out)
{
    return ext_dlpack_import(value, &cell->tensor) < 0 ? -1 : lend(cell, field, out);
}

/* ---- numbers and nested lists ---- */

/* The lengths of the first list at each depth. 0, or -1 with an exception. */
static int measure(PyObject *value, int rank, int64_t *shape)
{
    PyObject *at = Py_NewRef(value);
    int rc = 0;
    for (int d = 0; d < rank && !rc; d++) {
        Py_ssize_t n = at ? PySequence_Size(at) : 0;
        PyObject *first = at && n > 0 && d + 1 < rank ? PySequence_GetItem(at, 0) : NULL;
        rc = n < 0 || PyErr_Occurred() ? -1 : 0;
        shape[d] = n;
        Py_XDECREF(at);
        at = first;
    }
    Py_XDECREF(at);
    return rc;
}

struct writer {
    const struct stk_field_info *field;
    const int64_t *shape;
    char *to;
};

static int write_values(struct writer *w, PyObject *value, int d)
{
    if (d == w->field->rank) {
        int rc = ext_number_write(w->field->dtype, value, w->to);
        w->to += stk_dtype_bytes(w->field->dtype);
        return rc;
    }
    Py_ssize_t n = PySequence_Size(value);
    if (n >= 0 && n != w->shape[d])
        PyErr_Format(PyExc_ValueError,
                     "field '%s': lists of %zd and of %lld values do not make an array",
                     w->field->name, n, (long long)w->shape[d]);
    int rc = n == w->shape[d] ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && !rc; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        rc = item ? write_values(w, item, d + 1) : -1;
        Py_XDECREF(item);
    }
    return rc;
}

static int set_values(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                      struct stk_cell *out)
{
    int64_t shape[STK_MAX_RANK] = { 0 };
    if (measure(value, field->rank, shape) < 0)
        return -1;
    for (int d = 0; d < field->rank; d++) /* an empty list has no lists in it to measure */
        if (d && !shape[d - 1] && field->shape[d] >= 0)
            shape[d] = field->shape[d];
    if (check_shape(field, shape, field->rank) < 0)
        return -1;
    out->bytes = (size_t)bytes_of(field, shape);
    memcpy(out->shape, shape, sizeof shape);
    if (make_room(cell, out->bytes ? out->bytes : 1) < 0)
        return -1;
    struct writer writer = { field, shape, cell->scratch };
    out->data = cell->scratch;
    return write_values(&writer, value, 0);
}

static int set_text(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                    struct stk_cell *out)
{
    if (PyUnicode_Check(value)) {
        Py_ssize_t n;
        const char *text = PyUnicode_AsUTF8AndSize(value, &n);
        *out = (struct stk_cell){ .data = text, .bytes = (size_t)n, .shape = { n } };
        return text ? 0 : -1;
    }
    if (!PyObject_CheckBuffer(value)) {
        PyErr_Format(PyExc_TypeError, "field '%s': bytes or str are wanted, not %R", field->name,
                     (PyObject *)Py_TYPE(value));
        return -1;
    }
    if (PyObject_GetBuffer(value, &cell->buffer, PyBUF_SIMPLE) < 0)
        return -1;
    *out = (struct stk_cell){ .data = cell->buffer.buf,
                              .bytes = (size_t)cell->buffer.len,
                              .shape = { cell->buffer.len } };
    return 0;
}

/* Adds one text behind those that are there; `at` is where it begins. */
static int add_text(struct ext_cell *cell, const struct stk_field_info *field, PyObject *item,
                    size_t *at)
{
    struct stk_cell one;
    struct ext_cell part = { 0 };
    int rc = set_text(&part, field, item, &one);
    if (!rc && !(rc = make_room(cell, *at + one.bytes + 1)) && one.bytes)
        memcpy(cell->scratch + *at, one.data, one.bytes);
    *at += rc ? 0 : one.bytes;
    ext_cell_release(&part);
    return rc;
}

/* The texts of a batch: where they begin, and behind that all of them. */
static int set_texts(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                     struct stk_cell *out)
{
    Py_ssize_t n = PyUnicode_Check(value) || PyBytes_Check(value) ? -1 : PySequence_Size(value);
    if (n < 0) {
        PyErr_Format(PyExc_TypeError, "field '%s': a list of bytes or str is wanted, not %R",
                     field->name, (PyObject *)Py_TYPE(value));
        return -1;
    }
    size_t head = ((size_t)n + 1) * sizeof(int64_t), at = head;
    int rc = make_room(cell, head + 1);
    for (Py_ssize_t i = 0; i <= n && !rc; i++) {
        ((int64_t *)(void *)cell->scratch)[i] = (int64_t)(at - head);
        PyObject *item = i < n ? PySequence_GetItem(value, i) : NULL;
        rc = i == n ? 0 : item ? add_text(cell, field, item, &at) : -1;
        Py_XDECREF(item);
    }
    if (!rc)
        *out = (struct stk_cell){ .data = cell->scratch + head,
                                  .bytes = at - head,
                                  .shape = { n },
                                  .splits = (const int64_t *)(void *)cell->scratch };
    return rc;
}

/* Says which field it was, where the message does not. */
static void name_field(const struct stk_field_info *field)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool is_plain =
        type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_OverflowError;
    if (bytes && is_plain && strncmp(bytes, "field '", 7) != 0) {
        PyErr_Format(type, "field '%s': %U", field->name, text);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(text);
}

int ext_cell_set(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                 struct stk_cell *out)
{
    int rc;
    ext_cell_release(cell);
    cell->value = Py_NewRef(value);
    *out = (struct stk_cell){ 0 };
    if (field->kind == STK_BYTES && field->rank)
        rc = set_texts(cell, field, value, out);
    else if (field->kind == STK_BYTES)
        rc = set_text(cell, field, value, out);
    else if (field->rank && PyObject_CheckBuffer(value))
        rc = set_buffer(cell, field, value, out);
    else if (field->rank && !PyList_Check(value) && !PyTuple_Check(value) &&
             PyObject_HasAttrString(value, "__dlpack__"))
        rc = set_dlpack(cell, field, value, out);
    else
        rc = set_values(cell, field, value, out);
    if (rc)
        name_field(field);
    return rc;
}

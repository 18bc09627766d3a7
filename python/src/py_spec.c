/* SPDX-License-Identifier: Apache-2.0 */
/* py_spec.c: the fields of elements that Python makes, and their values one by one. */
#include "ext.h"

#include <string.h>

/* ---- fields ---- */

static int read_shape(struct stk_field_info *field, PyObject *shape)
{
    Py_ssize_t rank = PyTuple_Size(shape);
    if (rank > STK_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "field '%s': more than %d dimensions", field->name,
                     (int)STK_MAX_RANK);
        return -1;
    }
    field->rank = (int)rank;
    for (Py_ssize_t d = 0; d < rank; d++) {
        PyObject *n = PyTuple_GetItem(shape, d);
        field->shape[d] = n == Py_None ? -1 : PyLong_AsLongLong(n);
        if (n == Py_None && field->kind == STK_FIXED)
            field->kind = STK_SHAPED;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* One field from (name, kind, dtype, shape), as Field gives it. */
static int read_field(struct stk_field_info *field, PyObject *row, PyObject *names, Py_ssize_t i)
{
    PyObject *name, *shape;
    const char *kind, *dtype;
    if (!PyArg_ParseTuple(row, "UssO!", &name, &kind, &dtype, &PyTuple_Type, &shape))
        return -1;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    field->name = PyUnicode_AsUTF8AndSize(name, NULL);
    if (PyTuple_SetItem(names, i, name) < 0 || !field->name)
        return -1;
    bool is_bytes = !strcmp(kind, "bytes");
    field->kind = is_bytes ? STK_BYTES : !strcmp(kind, "ragged") ? STK_RAGGED : STK_FIXED;
    field->dtype = is_bytes ? STK_U8 : ext_dtype_of_name(dtype);
    if (field->dtype >= 0)
        return read_shape(field, shape);
    PyErr_Format(PyExc_TypeError, "field '%s': '%s' is not a dtype", field->name, dtype);
    return -1;
}

int ext_spec_read(struct ext_spec *self, PyObject *rows)
{
    Py_ssize_t n = PyTuple_Size(rows);
    if (n < 1 || n > EXT_MAX_FIELDS) {
        PyErr_Format(PyExc_ValueError, "a spec has 1 to %d fields, not %zd", (int)EXT_MAX_FIELDS,
                     n);
        return -1;
    }
    self->n_fields = (int)n;
    self->names = PyTuple_New(n);
    int rc = self->names ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && !rc; i++)
        rc = read_field(&self->field[i], PyTuple_GetItem(rows, i), self->names, i);
    for (int i = 0; i < self->n_fields && !rc; i++)
        self->is_nested |= strchr(self->field[i].name, '/') != NULL;
    return rc;
}

void ext_spec_clear(struct ext_spec *self)
{
    Py_CLEAR(self->names);
}

/* ---- elements ---- */

/* Whether the only field of an element lies in a tuple: a field may be a tuple of numbers
 * itself. */
static bool is_wrapped(const struct ext_spec *self, PyObject *element)
{
    PyObject *item =
        PyTuple_Check(element) && PyTuple_Size(element) == 1 ? PyTuple_GetItem(element, 0) : NULL;
    return item && (!self->field[0].rank || PyObject_CheckBuffer(item) ||
                    PyObject_HasAttrString(item, "__dlpack__"));
}

/* The value that a dict has for a name, or dicts in it for the parts of one: a/b is [a][b]. Returns
 * borrowed; NULL, maybe without an exception. */
static PyObject *find(PyObject *dict, PyObject *name)
{
    PyObject *value = PyDict_GetItemWithError(dict, name);
    if (value || PyErr_Occurred())
        return value;
    PyObject *part = PyObject_CallMethod(name, "partition", "s", "/"); /* before, "/", behind */
    PyObject *inner = part ? PyDict_GetItemWithError(dict, PyTuple_GetItem(part, 0)) : NULL;
    if (inner && PyDict_Check(inner))
        value = find(inner, PyTuple_GetItem(part, 2));
    Py_XDECREF(part);
    return value;
}

/* Values of a dict, those of dicts in it one by one. */
static Py_ssize_t count_values(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, n = 0;
    while (PyDict_Next(dict, &at, &key, &value))
        n += PyDict_Check(value) ? count_values(value) : 1;
    return n;
}

/* The value of field i of an element. Returns new. */
static PyObject *pick(const struct ext_spec *self, PyObject *element, int i)
{
    const char *name = self->field[i].name;
    if (PyDict_Check(element)) {
        PyObject *value = find(element, PyTuple_GetItem(self->names, i));
        if (!value && !PyErr_Occurred())
            PyErr_Format(PyExc_KeyError, "the element has no field '%s'; it has %R", name, element);
        return Py_XNewRef(value);
    }
    if (self->n_fields == 1 && !is_wrapped(self, element))
        return Py_NewRef(element);
    if (!PyTuple_Check(element) && !PyList_Check(element)) {
        PyErr_Format(PyExc_TypeError, "an element of %d fields is a dict or a tuple, not %R",
                     self->n_fields, (PyObject *)Py_TYPE(element));
        return NULL;
    }
    if (PySequence_Size(element) == self->n_fields)
        return PySequence_GetItem(element, i);
    PyErr_Format(PyExc_ValueError, "the element has %zd values, but the spec has %d fields",
                 PySequence_Size(element), self->n_fields);
    return NULL;
}

static int check_keys(const struct ext_spec *self, PyObject *element)
{
    if (!PyDict_Check(element))
        return 0;
    if ((self->is_nested ? count_values(element) : PyDict_Size(element)) == self->n_fields)
        return 0;
    PyObject *keys = PyDict_Keys(element);
    if (keys)
        PyErr_Format(PyExc_ValueError, "the element has the fields %R, but the spec says %R", keys,
                     self->names);
    Py_XDECREF(keys);
    return -1;
}

int ext_spec_take(const struct ext_spec *self, PyObject *element, struct ext_cell *kept,
                  struct stk_cell *out)
{
    int rc = check_keys(self, element);
    for (int i = 0; i < self->n_fields && !rc; i++) {
        PyObject *value = pick(self, element, i);
        rc = value ? ext_cell_set(&kept[i], &self->field[i], value, &out[i]) : -1;
        Py_XDECREF(value);
    }
    return rc;
}

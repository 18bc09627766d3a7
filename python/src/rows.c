/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: Bytes and Ragged: fields of a batch whose rows differ in length. */
#include "ext.h"

/* Both are a block of values and the places at which rows begin and end. Rows of a Ragged may be
 * lists of texts, or of lists: then splits count entries, which are rows of a Bytes or a Ragged of
 * their own. */
struct rows {
    PyObject base;
    PyObject *batch;
    char *data;
    const int64_t *splits; /* [n + 1] */
    Py_ssize_t n;
    const int64_t *entry_splits; /* [n_entries + 1], or NULL: a row has values */
    Py_ssize_t n_entries;
    int64_t row_length; /* of rows that are equally long, else -1 */
    bool is_text;
    int dtype, rank;
    int64_t shape[STK_MAX_RANK]; /* of all values together */
    int64_t value_bytes;         /* of one step along the first dimension */
};

static PyObject *rows_new(PyTypeObject *type, PyObject *batch, const struct stk_view *view)
{
    struct rows *self = ext_new(type, sizeof *self);
    if (!self)
        return NULL;
    self->batch = Py_NewRef(batch);
    self->data = view->data;
    self->splits = view->splits;
    self->n = (Py_ssize_t)view->n_splits - 1;
    if (view->row_splits) {
        self->entry_splits = view->splits;
        self->n_entries = self->n;
        self->splits = view->row_splits;
        self->n = (Py_ssize_t)view->n_row_splits - 1;
    }
    self->row_length = view->row_length;
    self->is_text = view->kind == STK_BYTES;
    self->dtype = view->dtype;
    self->rank = view->rank;
    self->value_bytes = (int64_t)stk_dtype_bytes(view->dtype);
    for (int d = 0; d < view->rank; d++) {
        self->shape[d] = view->shape[d];
        self->value_bytes *= d ? view->shape[d] : 1;
    }
    return (PyObject *)self;
}

PyObject *ext_field_new(PyObject *batch, const struct stk_view *view)
{
    if (view->kind == STK_BYTES && !view->rank)
        return PyBytes_FromStringAndSize(view->data,
                                         (Py_ssize_t)(view->splits[1] - view->splits[0]));
    if (view->kind == STK_BYTES && !view->row_splits)
        return rows_new(ext_types.bytes, batch, view);
    if (view->kind == STK_BYTES || view->kind == STK_RAGGED)
        return rows_new(ext_types.ragged, batch, view);
    PyObject *array = ext_array_new(batch, view->data, view->dtype, view->rank, view->shape);
    if (array)
        ((struct ext_array *)array)->is_writable = view->memory == STK_HEAP;
    return array;
}

static void rows_dealloc(PyObject *self)
{
    Py_XDECREF(((struct rows *)self)->batch);
    ext_free(self);
}

static Py_ssize_t rows_length(PyObject *self)
{
    return ((struct rows *)self)->n;
}

/* ---- one row ---- */

static PyObject *bytes_row(PyObject *object, Py_ssize_t i)
{
    const struct rows *self = (struct rows *)object;
    if (i >= 0 && i < self->n)
        return PyBytes_FromStringAndSize(self->data + self->splits[i],
                                         (Py_ssize_t)(self->splits[i + 1] - self->splits[i]));
    PyErr_Format(PyExc_IndexError, "there are %zd rows", self->n);
    return NULL;
}

/* Entries [first, first + n) of rows that are lists of texts, or of lists. */
static PyObject *entries(const struct rows *self, int64_t first, int64_t n)
{
    struct rows *part = ext_new(self->is_text ? ext_types.bytes : ext_types.ragged, sizeof *part);
    if (!part)
        return NULL;
    PyObject base = part->base;
    *part = *self;
    part->base = base;
    part->batch = Py_NewRef(self->batch);
    part->splits = self->entry_splits + first;
    part->n = (Py_ssize_t)n;
    part->entry_splits = NULL;
    part->row_length = -1;
    return (PyObject *)part;
}

static PyObject *ragged_row(PyObject *object, Py_ssize_t i)
{
    const struct rows *self = (struct rows *)object;
    int64_t shape[STK_MAX_RANK];
    if (i < 0 || i >= self->n) {
        PyErr_Format(PyExc_IndexError, "there are %zd rows", self->n);
        return NULL;
    }
    if (self->entry_splits)
        return entries(self, self->splits[i], self->splits[i + 1] - self->splits[i]);
    for (int d = 1; d < self->rank; d++)
        shape[d] = self->shape[d];
    shape[0] = self->splits[i + 1] - self->splits[i];
    return ext_array_new(self->batch, self->data + self->splits[i] * self->value_bytes, self->dtype,
                         self->rank, shape);
}

static PyObject *row(PyObject *self, Py_ssize_t i)
{
    return Py_TYPE(self) == ext_types.bytes ? bytes_row(self, i) : ragged_row(self, i);
}

static PyObject *rows_list(PyObject *self, Py_ssize_t start, Py_ssize_t n, Py_ssize_t step)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *item = row(self, start + i * step);
        if (!item || PyList_SetItem(list, i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *rows_subscript(PyObject *self, PyObject *key)
{
    Py_ssize_t n = rows_length(self), start, stop, step;
    if (PySlice_Check(key)) {
        if (PySlice_Unpack(key, &start, &stop, &step) < 0)
            return NULL;
        Py_ssize_t count = PySlice_AdjustIndices(n, &start, &stop, step);
        return rows_list(self, start, count, step);
    }
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    return row(self, i < 0 ? i + n : i);
}

/* ---- all rows ---- */

static PyObject *bytes_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_list(self, 0, rows_length(self), 1);
}

static PyObject *ragged_tolist(PyObject *self, PyObject *unused)
{
    PyObject *list = rows_list(self, 0, rows_length(self), 1);
    (void)unused;
    for (Py_ssize_t i = 0; list && i < rows_length(self); i++) {
        PyObject *values = PyObject_CallMethod(PyList_GetItem(list, i), "tolist", NULL);
        if (!values || PyList_SetItem(list, i, values) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *rows_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *list = PyObject_CallMethod(self, "tolist", NULL), *against = NULL, *result = NULL;
    bool is_rows = Py_TYPE(other) == Py_TYPE(self);
    if (list)
        against = is_rows ? PyObject_CallMethod(other, "tolist", NULL) : Py_NewRef(other);
    if (against)
        result = PyObject_RichCompare(list, against, op);
    Py_XDECREF(list);
    Py_XDECREF(against);
    return result;
}

static PyObject *bytes_decode(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = { "encoding", "errors", NULL };
    const char *encoding = "utf-8", *errors = "strict";
    if (!PyArg_ParseTupleAndKeywords(args, named, "|ss:decode", names, &encoding, &errors))
        return NULL;
    const struct rows *rows = (struct rows *)self;
    PyObject *list = PyList_New(rows->n);
    for (Py_ssize_t i = 0; list && i < rows->n; i++) {
        PyObject *text =
            PyUnicode_Decode(rows->data + rows->splits[i],
                             (Py_ssize_t)(rows->splits[i + 1] - rows->splits[i]), encoding, errors);
        if (!text || PyList_SetItem(list, i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *rows_values(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    (void)unused;
    if (rows->entry_splits)
        return entries(rows, 0, rows->n_entries);
    return ext_array_new(rows->batch, rows->data, rows->dtype, rows->rank, rows->shape);
}

static PyObject *rows_splits(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    const int64_t shape[] = { rows->n + 1 };
    PyObject *array =
        ext_array_new(rows->batch, (void *)(uintptr_t)rows->splits, STK_I64, 1, shape);
    (void)unused;
    if (array)
        ((struct ext_array *)array)->is_writable = false;
    return array;
}

static PyObject *rows_dtype(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    (void)unused;
    return PyUnicode_InternFromString(rows->is_text ? "bytes" : stk_dtype_name(rows->dtype));
}

static PyObject *rows_nbytes(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    int64_t first = rows->splits[0], end = rows->splits[rows->n];
    (void)unused;
    if (rows->entry_splits) {
        first = rows->entry_splits[first];
        end = rows->entry_splits[end];
    }
    return PyLong_FromLongLong((end - first) * rows->value_bytes);
}

static PyObject *ragged_row_length(PyObject *self, void *unused)
{
    int64_t length = ((struct rows *)self)->row_length;
    (void)unused;
    return length < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(length);
}

static PyObject *rows_repr(PyObject *self)
{
    return ext_call("_show", "rows_repr", "(O)", self);
}

static PyObject *rows_reduce(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyErr_SetString(PyExc_TypeError,
                    "the field belongs to its batch and cannot be pickled; pickle field.tolist()");
    return NULL;
}

#define CONVERTER(name)                                                                            \
    static PyObject *rows_##name(PyObject *self, PyObject *unused)                                 \
    {                                                                                              \
        (void)unused;                                                                              \
        return ext_call("_convert", #name, "(O)", self);                                           \
    }
CONVERTER(numpy)
CONVERTER(torch)
CONVERTER(tensorflow)
CONVERTER(jax)

static PyMethodDef bytes_methods[] = {
    { "tolist", bytes_tolist, METH_NOARGS, "A list of bytes objects." },
    { "decode", (PyCFunction)(void (*)(void))bytes_decode, METH_VARARGS | METH_KEYWORDS,
      "decode(encoding='utf-8', errors='strict')\n--\n\nA list of str." },
    { "numpy", rows_numpy, METH_NOARGS, "A NumPy array of bytes objects." },
    { "torch", rows_torch, METH_NOARGS, "A list of bytes objects: PyTorch has no strings." },
    { "tensorflow", rows_tensorflow, METH_NOARGS, "A TensorFlow tensor of strings." },
    { "jax", rows_jax, METH_NOARGS, "A list of bytes objects: JAX has no strings." },
    { "__reduce__", rows_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyGetSetDef bytes_getters[] = {
    { "data", rows_values, NULL, "All bytes one after the other, an Array of uint8.", NULL },
    { "offsets", rows_splits, NULL, "Row i is data[offsets[i]:offsets[i + 1]]; an Array of int64.",
      NULL },
    { "dtype", rows_dtype, NULL, "'bytes'.", NULL },
    { "nbytes", rows_nbytes, NULL, "Bytes of all rows.", NULL },
    { 0 },
};

static PyMethodDef ragged_methods[] = {
    { "tolist", ragged_tolist, METH_NOARGS, "A list of lists." },
    { "numpy", rows_numpy, METH_NOARGS,
      "A list of NumPy arrays of the same memory; of lists of texts arrays of bytes objects, one "
      "of "
      "two dimensions if they have a row_length." },
    { "torch", rows_torch, METH_NOARGS,
      "A list of PyTorch tensors of the same memory, or of lists of bytes objects." },
    { "tensorflow", rows_tensorflow, METH_NOARGS,
      "A RaggedTensor, or a tensor of strings if rows have a row_length." },
    { "jax", rows_jax, METH_NOARGS, "A list of JAX arrays." },
    { "__reduce__", rows_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyGetSetDef ragged_getters[] = {
    { "values", rows_values, NULL,
      "All rows one after the other: an Array, of lists of texts a Bytes, of lists of lists a "
      "Ragged.",
      NULL },
    { "row_length", ragged_row_length, NULL,
      "Texts in every row, where padded_batch or their spec made them equally many; else None.",
      NULL },
    { "splits", rows_splits, NULL, "Row i is values[splits[i]:splits[i + 1]]; an Array of int64.",
      NULL },
    { "dtype", rows_dtype, NULL, "Name of the dtype of the values.", NULL },
    { "nbytes", rows_nbytes, NULL, "Bytes of all values.", NULL },
    { 0 },
};

#define ROWS_SLOTS(kind, text)                                                                     \
    {                                                                                              \
        { Py_tp_doc, text }, { Py_tp_dealloc, rows_dealloc }, { Py_tp_repr, rows_repr },           \
            { Py_tp_richcompare, rows_compare }, { Py_tp_hash, PyObject_HashNotImplemented },      \
            { Py_tp_methods, kind##_methods }, { Py_tp_getset, kind##_getters },                   \
            { Py_sq_item, row }, { Py_sq_length, rows_length }, { Py_mp_length, rows_length },     \
            { Py_mp_subscript, rows_subscript }, { 0, NULL },                                      \
    }

static PyType_Slot bytes_slots[] =
    ROWS_SLOTS(bytes, "A field of byte strings: a sequence of bytes objects, one per row.");
static PyType_Slot ragged_slots[] = ROWS_SLOTS(
    ragged,
    "A field of lists of different lengths: row i is an Array of the same memory, or a Bytes "
    "or a Ragged for lists of texts and lists of lists.");

enum { FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE };

PyType_Spec ext_bytes_spec = { "stoker.Bytes", sizeof(struct rows), 0, FLAGS, bytes_slots };
PyType_Spec ext_ragged_spec = { "stoker.Ragged", sizeof(struct rows), 0, FLAGS, ragged_slots };

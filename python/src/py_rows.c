/* SPDX-License-Identifier: Apache-2.0 */
/* py_rows.c: Bytes and Ragged: fields of a batch whose rows differ in length. */
#include "ext.h"

#include <string.h>

/* Both are a block of values and the places at which rows begin and end. Rows of a Ragged may be
 * lists of texts, or of lists: then splits count entries, which are rows of a Bytes or a Ragged of
 * their own. */
struct rows {
    PyObject base;
    PyObject *batch; /* or what keeps the memory of rows that were restored */
    char *data;
    const int64_t *splits; /* [n + 1] */
    Py_ssize_t n;
    const int64_t *entry_splits; /* [n_entries + 1], or NULL: a row has values */
    Py_ssize_t n_entries;
    int64_t row_length; /* of rows that are equally long, else -1 */
    int row_rank; /* of rows that are arrays of texts, or of the array that a Bytes is; else 0 */
    int64_t row_shape[STK_MAX_RANK];
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
    self->row_rank = view->row_rank;
    memcpy(self->row_shape, view->row_shape, sizeof self->row_shape);
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

/* A Bytes that is an array has the rows of that. */
static bool is_array(const struct rows *self)
{
    return self->row_rank && !self->entry_splits;
}

static Py_ssize_t rows_length(PyObject *object)
{
    const struct rows *self = (struct rows *)object;
    return is_array(self) ? (Py_ssize_t)self->row_shape[0] : self->n;
}

/* ---- one row ---- */

/* n rows that begin with the first of some splits. */
static struct rows *part_new(const struct rows *self, const int64_t *splits, int64_t n)
{
    struct rows *part = ext_new(self->is_text ? ext_types.bytes : ext_types.ragged, sizeof *part);
    if (!part)
        return NULL;
    PyObject base = part->base;
    *part = *self;
    part->base = base;
    part->batch = Py_NewRef(self->batch);
    part->splits = splits;
    part->n = (Py_ssize_t)n;
    part->entry_splits = NULL;
    part->row_length = -1;
    return part;
}

/* Row i of an array of texts: an array of one dimension less, of which one is a list. */
static PyObject *array_row(const struct rows *self, Py_ssize_t i)
{
    int64_t n = (int64_t)self->n / self->row_shape[0];
    struct rows *part = part_new(self, self->splits + i * n, n);
    if (part) {
        part->row_rank = self->row_rank > 2 ? self->row_rank - 1 : 0;
        memmove(part->row_shape, self->row_shape + 1, sizeof part->row_shape - sizeof(int64_t));
    }
    return (PyObject *)part;
}

static PyObject *bytes_row(PyObject *object, Py_ssize_t i)
{
    const struct rows *self = (struct rows *)object;
    if (i >= 0 && i < rows_length(object))
        return is_array(self)
                   ? array_row(self, i)
                   : PyBytes_FromStringAndSize(self->data + self->splits[i],
                                               (Py_ssize_t)(self->splits[i + 1] - self->splits[i]));
    PyErr_Format(PyExc_IndexError, "there are %zd rows", rows_length(object));
    return NULL;
}

/* Entries [first, first + n) of rows that are lists of texts, or of lists. */
static struct rows *entries(const struct rows *self, int64_t first, int64_t n)
{
    return part_new(self, self->entry_splits + first, n);
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
        return (PyObject *)entries(self, self->splits[i], self->splits[i + 1] - self->splits[i]);
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

static PyObject *bytes_tolist(PyObject *self, PyObject *unused)
{
    return is_array((struct rows *)self) ? ragged_tolist(self, unused)
                                         : rows_list(self, 0, rows_length(self), 1);
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

static PyObject *decode_rows(PyObject *self, const char *encoding, const char *errors)
{
    PyObject *list = rows_list(self, 0, rows_length(self), 1);
    for (Py_ssize_t i = 0; list && i < rows_length(self); i++) {
        PyObject *row = PyList_GetItem(list, i);
        PyObject *texts = PyObject_CallMethod(row, "decode", "ss", encoding, errors);
        if (!texts || PyList_SetItem(list, i, texts) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *bytes_decode(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = { "encoding", "errors", NULL };
    const char *encoding = "utf-8", *errors = "strict";
    if (!PyArg_ParseTupleAndKeywords(args, named, "|ss:decode", names, &encoding, &errors))
        return NULL;
    const struct rows *rows = (struct rows *)self;
    if (is_array(rows))
        return decode_rows(self, encoding, errors);
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
    if (rows->entry_splits) {
        struct rows *all = entries(rows, 0, rows->n_entries);
        if (all)
            all->row_rank = 0;
        return (PyObject *)all;
    }
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
    const struct rows *rows = (struct rows *)self;
    int64_t length = rows->row_rank ? rows->row_shape[0] : rows->row_length;
    (void)unused;
    return length < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(length);
}

static PyObject *ragged_row_shape(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    (void)unused;
    if (rows->row_rank)
        return ext_shape(rows->row_shape, rows->row_rank);
    return rows->row_length < 0 ? Py_NewRef(Py_None) : ext_shape(&rows->row_length, 1);
}

static PyObject *bytes_shape(PyObject *self, void *unused)
{
    const struct rows *rows = (struct rows *)self;
    int64_t n = rows->n;
    (void)unused;
    return rows->row_rank ? ext_shape(rows->row_shape, rows->row_rank) : ext_shape(&n, 1);
}

static PyObject *rows_repr(PyObject *self)
{
    return ext_call("_show", "rows_repr", "(O)", self);
}

/* ---- pickles ---- */

static PyObject *rows_reduce(PyObject *self, PyObject *protocol)
{
    (void)protocol;
    return ext_call("_pickling", "rows", "(O)", self);
}

/* Values that the rows use, and the splits that begin with 0 for them: (values, splits). */
static PyObject *rows_parts(PyObject *self, PyObject *unused)
{
    const struct rows *rows = (struct rows *)self;
    int64_t first = rows->splits[0], end = rows->splits[rows->n], shape[STK_MAX_RANK];
    (void)unused;
    if (rows->entry_splits || !first)
        return Py_BuildValue("(NN)", rows_values(self, NULL), rows_splits(self, NULL));
    for (int d = 1; d < rows->rank; d++)
        shape[d] = rows->shape[d];
    shape[0] = end - first;
    PyObject *values = ext_array_new(rows->batch, rows->data + first * rows->value_bytes,
                                     rows->dtype, rows->rank, shape);
    PyObject *splits = PyList_New(rows->n + 1);
    for (Py_ssize_t i = 0; splits && i <= rows->n; i++)
        PyList_SetItem(splits, i, PyLong_FromLongLong(rows->splits[i] - first));
    return Py_BuildValue("(NN)", values, splits);
}

/* Splits never fall and stay within the values, whoever made them. */
static bool are_splits(const struct ext_array *splits, int64_t n_values)
{
    const int64_t *at = splits->data;
    if (splits->dtype != STK_I64 || splits->rank != 1 || splits->shape[0] < 1 || at[0] < 0)
        return false;
    for (Py_ssize_t i = 1; i < splits->shape[0]; i++)
        if (at[i] < at[i - 1])
            return false;
    return at[splits->shape[0] - 1] <= n_values;
}

/* Rows over an Array, or over rows whose own splits are those of entries. */
static int take_values(struct rows *self, PyObject *values)
{
    if (Py_TYPE(values) == ext_types.array) {
        const struct ext_array *array = (struct ext_array *)values;
        self->data = array->data;
        self->dtype = array->dtype;
        self->rank = array->rank;
        self->value_bytes = array->rank ? array->strides[0] : 0;
        for (int d = 0; d < array->rank; d++)
            self->shape[d] = array->shape[d];
        return array->rank ? 0 : -1;
    }
    const struct rows *entries = (struct rows *)values;
    if ((Py_TYPE(values) != ext_types.bytes && Py_TYPE(values) != ext_types.ragged) ||
        entries->entry_splits)
        return -1;
    PyObject base = self->base;
    *self = *entries;
    self->base = base;
    self->batch = NULL;
    self->entry_splits = entries->splits;
    self->n_entries = entries->n;
    return 0;
}

/* The shape of every row, or of a Bytes, as many texts as it says. */
static int take_shape(struct rows *self, PyObject *shape)
{
    int64_t n = 1;
    Py_ssize_t rank = PyTuple_Size(shape);
    bool is_good = rank <= STK_MAX_RANK;
    for (Py_ssize_t d = 0; d < rank && is_good; d++) {
        self->row_shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        is_good = self->row_shape[d] >= 0 && !__builtin_mul_overflow(n, self->row_shape[d], &n);
    }
    if (!rank || !is_good)
        return is_good ? 0 : -1;
    self->row_rank = rank > 1 ? (int)rank : 0;
    if (!self->entry_splits)
        return n == self->n ? 0 : -1;
    self->row_length = n;
    for (Py_ssize_t i = 0; i < self->n && is_good; i++)
        is_good = self->splits[i + 1] - self->splits[i] == n;
    return is_good ? 0 : -1;
}

/* restore_rows(is_bytes, values, splits, shape) */
PyObject *ext_rows_restore(PyObject *module, PyObject *args)
{
    int is_bytes;
    PyObject *values, *splits, *shape;
    (void)module;
    if (!PyArg_ParseTuple(args, "pOO!O!:restore_rows", &is_bytes, &values, ext_types.array, &splits,
                          &PyTuple_Type, &shape))
        return NULL;
    struct rows *self = ext_new(is_bytes ? ext_types.bytes : ext_types.ragged, sizeof *self);
    if (!self)
        return NULL;
    int rc = take_values(self, values);
    int64_t n_values = self->entry_splits ? self->n_entries : self->shape[0];
    self->splits = ((struct ext_array *)splits)->data;
    self->n = ((struct ext_array *)splits)->shape[0] - 1;
    self->row_length = -1;
    self->row_rank = 0;
    if (rc || !are_splits((struct ext_array *)splits, n_values) || take_shape(self, shape)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "the splits do not fit the data");
        Py_DECREF(self);
        return NULL;
    }
    self->is_text = is_bytes || self->is_text;
    self->batch = PyTuple_Pack(2, values, splits);
    if (!self->batch)
        Py_CLEAR(self);
    return (PyObject *)self;
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
    { "tolist", bytes_tolist, METH_NOARGS, "A list of bytes objects; of arrays lists of lists." },
    { "decode", (PyCFunction)(void (*)(void))bytes_decode, METH_VARARGS | METH_KEYWORDS,
      "decode(encoding='utf-8', errors='strict')\n--\n\nA list of str." },
    { "numpy", rows_numpy, METH_NOARGS, "A NumPy array of bytes objects." },
    { "torch", rows_torch, METH_NOARGS, "A list of bytes objects: PyTorch has no strings." },
    { "tensorflow", rows_tensorflow, METH_NOARGS, "A TensorFlow tensor of strings." },
    { "jax", rows_jax, METH_NOARGS, "A list of bytes objects: JAX has no strings." },
    { "_parts", rows_parts, METH_NOARGS, NULL },
    { "__reduce_ex__", rows_reduce, METH_O, NULL },
    { 0 },
};

static PyGetSetDef bytes_getters[] = {
    { "data", rows_values, NULL, "All bytes one after the other, an Array of uint8.", NULL },
    { "offsets", rows_splits, NULL, "Row i is data[offsets[i]:offsets[i + 1]]; an Array of int64.",
      NULL },
    { "shape", bytes_shape, NULL,
      "How many there are; of an array of texts its dimensions: then a row is a Bytes again, and "
      "data "
      "and offsets are of all texts one after the other.",
      NULL },
    { "dtype", rows_dtype, NULL, "'bytes'.", NULL },
    { "nbytes", rows_nbytes, NULL, "Bytes of all rows.", NULL },
    { 0 },
};

static PyMethodDef ragged_methods[] = {
    { "tolist", ragged_tolist, METH_NOARGS, "A list of lists." },
    { "numpy", rows_numpy, METH_NOARGS,
      "A list of NumPy arrays of the same memory; of lists of texts arrays of bytes objects, one "
      "of all texts if they have a row_shape." },
    { "torch", rows_torch, METH_NOARGS,
      "A list of PyTorch tensors of the same memory, or of lists of bytes objects." },
    { "tensorflow", rows_tensorflow, METH_NOARGS,
      "A RaggedTensor, or a tensor of strings if rows have a row_shape." },
    { "jax", rows_jax, METH_NOARGS, "A list of JAX arrays." },
    { "_parts", rows_parts, METH_NOARGS, NULL },
    { "__reduce_ex__", rows_reduce, METH_O, NULL },
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
    { "row_shape", ragged_row_shape, NULL,
      "The shape of every row of texts, where they are equal by their spec; else None.", NULL },
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

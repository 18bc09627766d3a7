/* SPDX-License-Identifier: Apache-2.0 */
/* py_memory.c: Memory: an array of the caller that a chain names as @name. It is not copied if it is
 * C-contiguous; its owner is kept until the last dataset and iterator have let go. */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

static void memory_dealloc(PyObject *object)
{
    struct ext_memory *self = (struct ext_memory *)object;
    if (self->buffer.obj)
        PyBuffer_Release(&self->buffer);
    if (self->tensor)
        ext_dlpack_release(self->tensor, self->is_versioned);
    free(self->block);
    free(self->splits);
    Py_XDECREF(self->owner);
    ext_free(object);
}

/* ---- from other objects ---- */

static int64_t count_values(const int64_t *shape, int rank)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= shape[d];
    return n;
}

static int own_block(struct ext_memory *self, size_t bytes)
{
    self->block = malloc(bytes ? bytes : 1);
    self->array.data = self->block;
    if (self->block)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int refuse_format(const Py_buffer *view)
{
    PyErr_Format(
        PyExc_TypeError,
        "no array of bools, integers or floats in this machine's byte order: its format is '%s'",
        view->format ? view->format : "B");
    return -1;
}

/* Formats of the buffer protocol that hold one of our dtypes; the rest is refused. */
static int read_buffer(struct ext_memory *self)
{
    const Py_buffer *view = &self->buffer;
    struct stk_array *array = &self->array;
    array->dtype = ext_dtype_of_format(view->format, view->itemsize);
    array->rank = view->ndim;
    if (array->dtype < 0)
        return refuse_format(view);
    if (view->ndim > STK_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%d dimensions are more than %d", view->ndim,
                     (int)STK_MAX_RANK);
        return -1;
    }
    for (int d = 0; d < view->ndim; d++)
        array->shape[d] = view->shape[d];
    array->data = view->buf;
    if (PyBuffer_IsContiguous(view, 'C'))
        return 0;
    if (own_block(self, (size_t)view->len) < 0 ||
        PyBuffer_ToContiguous(self->block, view, view->len, 'C') < 0)
        return -1;
    PyBuffer_Release(&self->buffer);
    return 0;
}

static bool is_contiguous(const struct ext_tensor *tensor)
{
    int64_t stride = (int64_t)stk_dtype_bytes(tensor->dtype);
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->shape[d] != 1 && tensor->strides[d] != stride &&
            count_values(tensor->shape, tensor->rank))
            return false;
        stride *= tensor->shape[d];
    }
    return true;
}

static int read_dlpack(struct ext_memory *self, PyObject *object)
{
    struct ext_tensor tensor;
    struct stk_array *array = &self->array;
    if (ext_dlpack_import(object, &tensor) < 0)
        return -1;
    self->tensor = tensor.managed;
    self->is_versioned = tensor.is_versioned;
    array->dtype = tensor.dtype;
    array->rank = tensor.rank;
    memcpy(array->shape, tensor.shape, sizeof array->shape);
    array->data = tensor.data;
    if (is_contiguous(&tensor))
        return 0;
    size_t bytes = (size_t)count_values(tensor.shape, tensor.rank) * stk_dtype_bytes(tensor.dtype);
    if (own_block(self, bytes) < 0)
        return -1;
    ext_copy_strided(&tensor, self->block);
    ext_dlpack_release(self->tensor, self->is_versioned);
    self->tensor = NULL;
    return 0;
}

/* Reads values as another dtype of the same size: bfloat16 has no format of its own. */
static int reinterpret(struct ext_memory *self, const char *dtype)
{
    int wanted = ext_dtype_of_name(dtype);
    if (wanted >= 0 && stk_dtype_bytes(wanted) == stk_dtype_bytes(self->array.dtype)) {
        self->array.dtype = wanted;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s cannot be read as '%s'", stk_dtype_name(self->array.dtype),
                 dtype);
    return -1;
}

/* Memory(object, dtype): anything with the buffer protocol or __dlpack__. */
static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *object;
    const char *dtype = NULL;
    static char *names[] = { "object", "dtype", NULL };
    if (!PyArg_ParseTupleAndKeywords(args, named, "O|s:Memory", names, &object, &dtype))
        return NULL;
    struct ext_memory *self = ext_new(type, sizeof *self);
    int rc = self ? 0 : -1;
    if (!rc && PyObject_CheckBuffer(object)) {
        rc = PyObject_GetBuffer(object, &self->buffer, PyBUF_FULL_RO);
        if (!rc)
            rc = read_buffer(self);
    } else if (!rc && PyObject_HasAttrString(object, "__dlpack__")) {
        rc = read_dlpack(self, object);
    } else if (!rc) {
        PyErr_Format(PyExc_TypeError, "no array: %R has neither the buffer protocol nor __dlpack__",
                     (PyObject *)Py_TYPE(object));
        rc = -1;
    }
    if (!rc && dtype)
        rc = reinterpret(self, dtype);
    if (!rc)
        self->owner = Py_NewRef(object);
    else
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- from lists ---- */

static int take_shape(struct stk_array *array, PyObject *shape)
{
    Py_ssize_t rank = PyTuple_Size(shape);
    if (rank < 1 || rank > STK_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%zd dimensions are not between 1 and %d", rank,
                     (int)STK_MAX_RANK);
        return -1;
    }
    array->rank = (int)rank;
    for (Py_ssize_t d = 0; d < rank; d++)
        array->shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    return PyErr_Occurred() ? -1 : 0;
}

static int copy_bytes(PyObject *object, void **out, Py_ssize_t *n_bytes)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
        return -1;
    *n_bytes = view.len;
    *out = malloc(view.len ? (size_t)view.len : 1);
    if (*out)
        memcpy(*out, view.buf, (size_t)view.len);
    else
        PyErr_NoMemory();
    PyBuffer_Release(&view);
    return *out ? 0 : -1;
}

/* Offsets must rise from 0 to what there is, whoever made them. */
static int check_splits(const struct ext_memory *self, Py_ssize_t n_bytes, int64_t n_values)
{
    const int64_t *splits = self->splits;
    int64_t n = self->array.shape[0];
    bool is_right = n >= 0 && n_bytes / (Py_ssize_t)sizeof *splits == n + 1 && splits[0] == 0;
    for (int64_t i = 0; is_right && i < n; i++)
        is_right = splits[i] <= splits[i + 1];
    if (is_right && splits[n] == n_values)
        return 0;
    PyErr_SetString(PyExc_ValueError, "the offsets do not fit the data");
    return -1;
}

static int check_bytes(struct ext_memory *self, Py_ssize_t n_bytes, Py_ssize_t split_bytes)
{
    const struct stk_array *array = &self->array;
    int64_t item_bytes = (int64_t)stk_dtype_bytes(array->dtype);
    if (!self->splits) {
        if (count_values(array->shape, array->rank) * item_bytes == n_bytes)
            return 0;
        PyErr_SetString(PyExc_ValueError, "the shape does not fit the data");
        return -1;
    }
    int64_t value_bytes = item_bytes * count_values(array->shape + 1, array->rank - 1);
    return check_splits(self, split_bytes, value_bytes ? n_bytes / value_bytes : 0);
}

/* Memory.copy_of(dtype, shape, data, splits): a copy of plain bytes; the dtype may be 'bytes'. With
 * splits the field is bytes or ragged, and the shape is that of rows and of one value. */
static PyObject *memory_copy_of(PyObject *type, PyObject *args)
{
    const char *dtype;
    PyObject *shape, *data, *splits;
    Py_ssize_t n_bytes = 0, split_bytes = 0;
    if (!PyArg_ParseTuple(args, "sO!OO:copy_of", &dtype, &PyTuple_Type, &shape, &data, &splits))
        return NULL;
    struct ext_memory *self = ext_new((PyTypeObject *)type, sizeof *self);
    if (!self)
        return NULL;
    bool is_bytes = !strcmp(dtype, "bytes");
    self->array.kind = is_bytes ? STK_BYTES : splits != Py_None ? STK_RAGGED : STK_FIXED;
    self->array.dtype = is_bytes ? STK_U8 : ext_dtype_of_name(dtype);
    if (self->array.dtype < 0)
        PyErr_Format(PyExc_TypeError, "'%s' is not a dtype", dtype);
    int rc = self->array.dtype < 0 ? -1 : take_shape(&self->array, shape);
    if (!rc)
        rc = copy_bytes(data, &self->block, &n_bytes);
    if (!rc && splits != Py_None)
        rc = copy_bytes(splits, &self->splits, &split_bytes);
    if (!rc)
        rc = check_bytes(self, n_bytes, split_bytes);
    self->array.data = self->block;
    self->array.splits = self->splits;
    if (rc)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- for the library ---- */

struct hold {
    struct ext_deferred deferred; /* first: a hold is its deferred work */
    PyObject *memory;
};

static void let_go(struct ext_deferred *work)
{
    struct hold *hold = (struct hold *)work;
    Py_DECREF(hold->memory);
    free(hold);
}

static void release(void *context)
{
    ext_defer(context);
}

int ext_memory_bind(PyObject *memory, struct stk_objects *objects, const char *name)
{
    struct hold *hold = malloc(sizeof *hold);
    struct stk_array array = ((struct ext_memory *)memory)->array;
    struct stk_error err = { 0 };
    if (!hold) {
        PyErr_NoMemory();
        return -1;
    }
    *hold = (struct hold){ { .finish = let_go }, memory };
    array.release = release;
    array.context = hold;
    if (!stk_objects_add_array(objects, name, &array, &err)) {
        Py_INCREF(memory);
        return 0;
    }
    free(hold);
    ext_raise(&err, NULL, 0);
    return -1;
}

/* ---- what it is ---- */

static PyObject *memory_dtype(PyObject *self, void *unused)
{
    const struct stk_array *array = &((struct ext_memory *)self)->array;
    (void)unused;
    return PyUnicode_FromString(array->kind == STK_BYTES ? "bytes" : stk_dtype_name(array->dtype));
}

static PyObject *memory_shape(PyObject *self, void *unused)
{
    (void)unused;
    return ext_shape(((struct ext_memory *)self)->array.shape,
                     ((struct ext_memory *)self)->array.rank);
}

static PyObject *memory_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr((void *)(uintptr_t)((struct ext_memory *)self)->array.data);
}

static PyObject *memory_owner(PyObject *self, void *unused)
{
    PyObject *owner = ((struct ext_memory *)self)->owner;
    (void)unused;
    return Py_NewRef(owner ? owner : Py_None);
}

static PyObject *memory_is_copy(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct ext_memory *)self)->block != NULL);
}

/* By value: what copy_of takes. */
static PyObject *memory_reduce(PyObject *object, PyObject *unused)
{
    const struct ext_memory *self = (struct ext_memory *)object;
    const struct stk_array *array = &self->array;
    int64_t n_values = array->splits ? array->splits[array->shape[0]] *
                                           count_values(array->shape + 1, array->rank - 1)
                                     : count_values(array->shape, array->rank);
    Py_ssize_t bytes = (Py_ssize_t)(n_values * (int64_t)stk_dtype_bytes(array->dtype));
    Py_ssize_t split_bytes =
        array->splits ? (Py_ssize_t)sizeof(int64_t) * (Py_ssize_t)(array->shape[0] + 1) : 0;
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "copy_of");
    (void)unused;
    return Py_BuildValue("N(NNNN)", make, memory_dtype(object, NULL), memory_shape(object, NULL),
                         PyBytes_FromStringAndSize(array->data, bytes),
                         array->splits
                             ? PyBytes_FromStringAndSize((const char *)array->splits, split_bytes)
                             : Py_NewRef(Py_None));
}

static PyMethodDef methods[] = {
    { "copy_of", memory_copy_of, METH_VARARGS | METH_CLASS, NULL },
    { "__reduce__", memory_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyGetSetDef getters[] = {
    { "dtype", memory_dtype, NULL, "Name of the dtype.", NULL },
    { "shape", memory_shape, NULL, "Dimensions; the first counts elements.", NULL },
    { "address", memory_address, NULL, "Where the memory begins.", NULL },
    { "owner", memory_owner, NULL, "Whose memory it is, or None.", NULL },
    { "is_copy", memory_is_copy, NULL, "Whether it had to be copied.", NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "Memory of the program that a chain names as @name." },
    { Py_tp_new, memory_new },
    { Py_tp_dealloc, memory_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, getters },
    { 0, NULL },
};

PyType_Spec ext_memory_spec = {
    .name = "stoker._core.Memory",
    .basicsize = sizeof(struct ext_memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

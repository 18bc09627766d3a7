/* SPDX-License-Identifier: Apache-2.0 */
/* py_array.c: Array: one field of a batch, shared with everybody who knows the buffer protocol or
 * DLPack. */
#include "ext.h"

#include <string.h>

static char nothing[64]; /* where an array without values points to */

PyObject *ext_array_new(PyObject *owner, void *data, int dtype, int rank, const int64_t *shape)
{
    struct ext_array *self = ext_new(ext_types.array, sizeof *self);
    if (!self)
        return NULL;
    self->owner = Py_NewRef(owner);
    self->data = data ? data : nothing;
    self->dtype = dtype;
    self->rank = rank;
    self->is_writable = true;
    int64_t stride = (int64_t)stk_dtype_bytes(dtype);
    for (int d = rank - 1; d >= 0; d--) {
        self->shape[d] = (Py_ssize_t)shape[d];
        self->strides[d] = (Py_ssize_t)stride;
        stride *= shape[d];
    }
    self->n_bytes = stride;
    return (PyObject *)self;
}

static void array_dealloc(PyObject *self)
{
    Py_XDECREF(((struct ext_array *)self)->owner);
    ext_free(self);
}

static Py_ssize_t n_values(const struct ext_array *self)
{
    return (Py_ssize_t)(self->n_bytes / (int64_t)stk_dtype_bytes(self->dtype));
}

/* ---- the buffer protocol ---- */

static int array_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    struct ext_array *self = (struct ext_array *)object;
    const char *format = ext_dtype_format(self->dtype);
    view->obj = NULL;
    if (flags & PyBUF_FORMAT && !format) {
        PyErr_SetString(PyExc_BufferError,
                        "bfloat16 has no format in the buffer protocol; use numpy(), torch(), "
                        "tensorflow() or jax()");
        return -1;
    }
    if (flags & PyBUF_WRITABLE && !self->is_writable) {
        PyErr_SetString(PyExc_BufferError, "this memory is read-only");
        return -1;
    }
    *view = (Py_buffer){ .obj = Py_NewRef(object),
                         .buf = self->data,
                         .len = (Py_ssize_t)self->n_bytes,
                         .itemsize = (Py_ssize_t)stk_dtype_bytes(self->dtype),
                         .readonly = !self->is_writable };
    view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL;
    view->ndim = flags & PyBUF_ND ? self->rank : 1;
    view->shape = flags & PyBUF_ND && self->rank ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES && self->rank ? self->strides : NULL;
    return 0;
}

/* A pair of numbers, or None, which changes nothing. */
static int read_pair(PyObject *pair, const char *name, int *first, int *second)
{
    if (pair == Py_None)
        return 0;
    if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2)
        return PyArg_ParseTuple(pair, "ii", first, second) ? 0 : -1;
    PyErr_Format(PyExc_TypeError, "%s is a pair of numbers", name);
    return -1;
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    int major = 0, minor = 0, kind = 1, number = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy))
        return NULL;
    if (read_pair(version, "max_version", &major, &minor) < 0 ||
        read_pair(device, "dl_device", &kind, &number) < 0)
        return NULL;
    if (kind != 1 || number != 0 || stream != Py_None) {
        PyErr_SetString(PyExc_BufferError,
                        "this memory is on the CPU; move it there with your framework");
        return NULL;
    }
    int is_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    return is_copy < 0 ? NULL : ext_dlpack_export((struct ext_array *)self, major >= 1, is_copy);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", 1, 0);
}

/* ---- what it is ---- */

static PyObject *array_shape(PyObject *self, void *unused)
{
    const struct ext_array *array = (struct ext_array *)self;
    int64_t shape[STK_MAX_RANK];
    (void)unused;
    for (int d = 0; d < array->rank; d++)
        shape[d] = array->shape[d];
    return ext_shape(shape, array->rank);
}

static PyObject *array_is_writable(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct ext_array *)self)->is_writable);
}

static PyObject *array_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_InternFromString(stk_dtype_name(((struct ext_array *)self)->dtype));
}

static PyObject *array_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((struct ext_array *)self)->rank);
}

static PyObject *array_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((struct ext_array *)self)->n_bytes);
}

static PyObject *array_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(n_values((struct ext_array *)self));
}

static PyObject *array_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((struct ext_array *)self)->data);
}

static PyObject *array_repr(PyObject *self)
{
    return ext_call("_show", "array_repr", "(O)", self);
}

/* ---- as Python values ---- */

static PyObject *list_from(const struct ext_array *self, int d, const char *at)
{
    if (d == self->rank)
        return ext_number_read(self->dtype, at);
    PyObject *list = PyList_New(self->shape[d]);
    for (Py_ssize_t i = 0; list && i < self->shape[d]; i++) {
        PyObject *item = list_from(self, d + 1, at + i * self->strides[d]);
        if (!item || PyList_SetItem(list, i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    return list_from((struct ext_array *)self, 0, ((struct ext_array *)self)->data);
}

static PyObject *array_tobytes(PyObject *self, PyObject *unused)
{
    const struct ext_array *array = (struct ext_array *)self;
    (void)unused;
    return PyBytes_FromStringAndSize(array->data, (Py_ssize_t)array->n_bytes);
}

static PyObject *array_item(PyObject *self, PyObject *unused)
{
    const struct ext_array *array = (struct ext_array *)self;
    (void)unused;
    if (n_values(array) == 1)
        return ext_number_read(array->dtype, array->data);
    PyErr_Format(PyExc_ValueError, "an array of %zd values is not one number", n_values(array));
    return NULL;
}

/* A number made of the only value by one of Python's own conversions. */
static PyObject *converted(PyObject *self, PyObject *(*convert)(PyObject *))
{
    PyObject *item = array_item(self, NULL);
    PyObject *result = item ? convert(item) : NULL;
    Py_XDECREF(item);
    return result;
}

static PyObject *array_int(PyObject *self)
{
    return converted(self, PyNumber_Long);
}

static PyObject *array_float(PyObject *self)
{
    return converted(self, PyNumber_Float);
}

static PyObject *array_index(PyObject *self)
{
    if (n_values((struct ext_array *)self) == 1)
        return converted(self, PyNumber_Index);
    PyErr_SetString(PyExc_TypeError, "only an array of one whole number can be an index");
    return NULL;
}

static int array_bool(PyObject *self)
{
    PyObject *item = array_item(self, NULL);
    int is_true = item ? PyObject_IsTrue(item) : -1;
    Py_XDECREF(item);
    return is_true;
}

static PyObject *array_compare(PyObject *self, PyObject *other, int op)
{
    return ext_call("_convert", "compare", "(OOi)", self, other, op);
}

/* ---- rows ---- */

static Py_ssize_t array_length(PyObject *self)
{
    const struct ext_array *array = (struct ext_array *)self;
    if (array->rank)
        return array->shape[0];
    PyErr_SetString(PyExc_TypeError, "a single value has no length");
    return -1;
}

static PyObject *array_subscript(PyObject *self, PyObject *key)
{
    return ext_call("_convert", "subscript", "(OO)", self, key);
}

static PyObject *array_row(PyObject *self, Py_ssize_t i)
{
    return ext_call("_convert", "subscript", "(On)", self, i);
}

static PyObject *array_iter(PyObject *self)
{
    return array_length(self) < 0 ? NULL : PySeqIter_New(self);
}

/* The i-th part along the first dimension: a smaller Array, or a number. */
static PyObject *array_part(PyObject *self, PyObject *number)
{
    const struct ext_array *array = (struct ext_array *)self;
    Py_ssize_t i = PyNumber_AsSsize_t(number, PyExc_IndexError);
    Py_ssize_t n = i == -1 && PyErr_Occurred() ? -1 : array_length(self);
    int64_t shape[STK_MAX_RANK];
    if (n < 0)
        return NULL;
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n) {
        PyErr_Format(PyExc_IndexError, "the array has %zd parts", n);
        return NULL;
    }
    char *at = (char *)array->data + i * array->strides[0];
    for (int d = 1; d < array->rank; d++)
        shape[d - 1] = array->shape[d];
    return array->rank == 1 ? ext_number_read(array->dtype, at)
                            : ext_array_new(array->owner, at, array->dtype, array->rank - 1, shape);
}

static PyObject *array_as(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    return ext_call("_convert", "as_array", "(OOO)", self, dtype, copy);
}

static PyObject *array_numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "numpy", "(O)", self);
}

static PyObject *array_torch(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "torch", "(O)", self);
}

static PyObject *array_tensorflow(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "tensorflow", "(O)", self);
}

static PyObject *array_jax(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "jax", "(O)", self);
}

/* ---- pickles ---- */

static PyObject *array_reduce(PyObject *self, PyObject *protocol)
{
    return ext_call("_pickling", "array", "(OO)", self, protocol);
}

/* The same memory as bytes, whatever its dtype. */
static PyObject *array_raw(PyObject *self, PyObject *unused)
{
    const struct ext_array *array = (struct ext_array *)self;
    (void)unused;
    PyObject *raw = ext_array_new(array->owner, array->data, STK_U8, 1, &array->n_bytes);
    if (raw)
        ((struct ext_array *)raw)->is_writable = array->is_writable;
    return raw;
}

/* restore_array(memory, dtype, shape, is_writable): an Array of memory that a Memory keeps. */
PyObject *ext_array_restore(PyObject *module, PyObject *args)
{
    PyObject *memory, *shape;
    const char *name;
    int64_t dims[STK_MAX_RANK];
    int is_writable;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!sO!p:restore_array", ext_types.memory, &memory, &name,
                          &PyTuple_Type, &shape, &is_writable))
        return NULL;
    const struct stk_array *bytes = &((struct ext_memory *)memory)->array;
    int dtype = ext_dtype_of_name(name), rank = (int)PyTuple_Size(shape);
    bool is_right = dtype >= 0 && rank <= STK_MAX_RANK && bytes->rank == 1;
    for (int d = 0; is_right && d < rank; d++) {
        dims[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        is_right = dims[d] >= 0; /* -1 with an exception, too */
    }
    PyObject *array =
        is_right ? ext_array_new(memory, (void *)(uintptr_t)bytes->data, dtype, rank, dims) : NULL;
    if (array && ((struct ext_array *)array)->n_bytes ==
                     bytes->shape[0] * (int64_t)stk_dtype_bytes(bytes->dtype)) {
        ((struct ext_array *)array)->is_writable = is_writable;
        return array;
    }
    Py_XDECREF(array);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "the shape does not fit the data");
    return NULL;
}

static PyMethodDef methods[] = {
    { "tolist", array_tolist, METH_NOARGS, "The values as nested lists." },
    { "tobytes", array_tobytes, METH_NOARGS, "A copy of the memory." },
    { "__bytes__", array_tobytes, METH_NOARGS, NULL },
    { "item", array_item, METH_NOARGS, "The only value, as a Python number." },
    { "numpy", array_numpy, METH_NOARGS, "A NumPy array of the same memory." },
    { "torch", array_torch, METH_NOARGS, "A PyTorch tensor of the same memory." },
    { "tensorflow", array_tensorflow, METH_NOARGS,
      "A TensorFlow tensor, of the same memory where it can be." },
    { "jax", array_jax, METH_NOARGS, "A JAX array, of the same memory where it can be." },
    { "_part", array_part, METH_O, NULL },
    { "__array__", (PyCFunction)(void (*)(void))array_as, METH_VARARGS | METH_KEYWORDS, NULL },
    { "__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
      "A DLPack capsule, versioned if max_version allows it." },
    { "__dlpack_device__", array_dlpack_device, METH_NOARGS, "(1, 0): the CPU." },
    { "_raw", array_raw, METH_NOARGS, NULL },
    { "__reduce_ex__", array_reduce, METH_O, NULL },
    { 0 },
};

static PyGetSetDef getters[] = {
    { "shape", array_shape, NULL, "Dimensions, a tuple.", NULL },
    { "dtype", array_dtype, NULL, "Name of the dtype, such as 'float32'.", NULL },
    { "ndim", array_ndim, NULL, "Number of dimensions.", NULL },
    { "size", array_size, NULL, "Number of values.", NULL },
    { "nbytes", array_nbytes, NULL, "Bytes of all values.", NULL },
    { "_is_writable", array_is_writable, NULL, NULL, NULL },
    { "address", array_address, NULL, "Where the memory begins.", NULL },
    { 0 },
};

/* What an Array has not, NumPy's array of the same memory may have. Names with underscores are asked
 * for by protocols, not by people. */
static PyObject *array_getattr(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
        PyUnicode_ReadChar(name, 0) == '_')
        return found;
    PyErr_Clear();
    return PyErr_Format(PyExc_AttributeError,
                        "an Array has no '%U'; its numpy() is a NumPy array of the same memory",
                        name);
}

static PyType_Slot slots[] = {
    { Py_tp_doc,
      "One field of a batch: an array in memory that the batch keeps.\n\nnumpy.asarray(field), "
      "memoryview(field) and DLPack share the memory. Indexing gives NumPy arrays." },
    { Py_tp_dealloc, array_dealloc },
    { Py_tp_repr, array_repr },
    { Py_tp_getattro, array_getattr },
    { Py_tp_richcompare, array_compare },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { Py_tp_methods, methods },
    { Py_tp_getset, getters },
    { Py_bf_getbuffer, array_getbuffer },
    { Py_mp_length, array_length },
    { Py_mp_subscript, array_subscript },
    { Py_sq_item, array_row },
    { Py_tp_iter, array_iter },
    { Py_nb_int, array_int },
    { Py_nb_float, array_float },
    { Py_nb_index, array_index },
    { Py_nb_bool, array_bool },
    { 0, NULL },
};

PyType_Spec ext_array_spec = {
    .name = "stoker.Array",
    .basicsize = sizeof(struct ext_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* py_batch.c: Batch: what iterating gives. It holds its memory for as long as it or one of its fields
 * is used. */
#include "ext.h"

struct batch {
    PyObject base;
    struct stk_batch *batch;      /* NULL: restored from a pickle, and all it knows is in kept */
    PyObject *kept;               /* tuple: fields, n_rows, origins, position, state; or NULL */
    PyObject *names, *attributes; /* tuples of the chain */
    PyObject **last;              /* where its iterator has it as the last one; NULL: it has not */
    bool is_used;                 /* somebody has looked at it */
};

/* ---- the last batch of an iterator, which Ctrl-C may take from whoever was about to get it ---- */

void ext_batch_follow(PyObject *batch, PyObject **last)
{
    ext_batch_unfollow(last);
    ((struct batch *)batch)->last = last;
    *last = batch;
}

void ext_batch_unfollow(PyObject **last)
{
    if (*last)
        ((struct batch *)*last)->last = NULL;
    *last = NULL;
}

/* An exception is on its way while the interpreter empties its stack. Nobody else has seen the
 * batch. */
static bool is_taken_away(const struct batch *self)
{
    return self->last && !self->is_used && PyErr_Occurred() &&
           PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
}

PyObject *ext_batch_new(struct stk_batch *batch, const struct ext_chain *chain)
{
    struct batch *self = ext_new(ext_types.batch, sizeof *self);
    if (!self) {
        stk_batch_unref(batch);
        return NULL;
    }
    self->batch = batch;
    self->names = Py_NewRef(chain->names);
    self->attributes = Py_NewRef(chain->attributes);
    return (PyObject *)self;
}

struct stk_batch *ext_batch_of(PyObject *owner)
{
    return Py_TYPE(owner) == ext_types.batch ? ((struct batch *)owner)->batch : NULL;
}

static void batch_dealloc(PyObject *object)
{
    struct batch *self = (struct batch *)object;
    PyObject **last = self->last;
    bool is_lost = is_taken_away(self);
    if (last)
        ext_batch_unfollow(last);
    if (self->batch && (!is_lost || !ext_iterator_unread(last, self->batch)))
        stk_batch_unref(self->batch);
    Py_XDECREF(self->kept);
    Py_XDECREF(self->names);
    Py_XDECREF(self->attributes);
    ext_free(object);
    ext_drain();
}

/* ---- one that came from another process ---- */

enum { KEPT_FIELDS, KEPT_N_ROWS, KEPT_ORIGINS, KEPT_POSITION, KEPT_STATE };

static PyObject *kept(PyObject *self, int what) /* borrowed */
{
    return PyTuple_GetItem(((struct batch *)self)->kept, what);
}

/* restore_batch(names, (fields, n_rows, origins, position, state)) */
PyObject *ext_batch_restore(PyObject *module, PyObject *args)
{
    PyObject *names, *parts, *fields, *n_rows, *origins, *position, *state;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:restore_batch", &PyTuple_Type, &names, &PyTuple_Type, &parts))
        return NULL;
    if (!PyArg_ParseTuple(parts, "O!O!O!O!O!:restore_batch", &PyTuple_Type, &fields, &PyLong_Type,
                          &n_rows, &PyList_Type, &origins, &PyTuple_Type, &position, &PyDict_Type,
                          &state))
        return NULL;
    if (PyTuple_Size(names) != PyTuple_Size(fields)) {
        PyErr_SetString(PyExc_ValueError, "a batch has a name for each field");
        return NULL;
    }
    struct batch *self = ext_new(ext_types.batch, sizeof *self);
    if (!self)
        return NULL;
    self->names = Py_NewRef(names);
    self->kept = Py_NewRef(parts);
    self->attributes = ext_batch_attributes(names);
    if (!self->attributes)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* Names of fields as attributes: None where Batch has an attribute of that name. */
PyObject *ext_batch_attributes(PyObject *names)
{
    Py_ssize_t n = PyTuple_Size(names);
    PyObject *attributes = PyTuple_New(n);
    for (Py_ssize_t i = 0; attributes && i < n; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        bool is_taken = PyObject_HasAttr((PyObject *)ext_types.batch, name);
        PyTuple_SetItem(attributes, i, Py_NewRef(is_taken ? Py_None : name));
    }
    return attributes;
}

/* ---- fields ---- */

/* The place of a name in a tuple, or -1. Names are interned, so the first look is mostly enough. */
static Py_ssize_t find(PyObject *names, PyObject *name)
{
    Py_ssize_t n = PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GetItem(names, i) == name)
            return i;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *known = PyTuple_GetItem(names, i);
        if (known != Py_None && !PyUnicode_Compare(known, name))
            return i;
    }
    return -1;
}

static PyObject *field_at(PyObject *self, Py_ssize_t index)
{
    struct stk_view view;
    ((struct batch *)self)->is_used = true;
    if (((struct batch *)self)->kept)
        return PySequence_GetItem(kept(self, KEPT_FIELDS), index);
    if (stk_batch_view_at(((struct batch *)self)->batch, (int)index, &view))
        return ext_raise_state("the batch has no such field");
    return ext_field_new(self, &view);
}

static PyObject *batch_getattro(PyObject *self, PyObject *name)
{
    Py_ssize_t index = find(((struct batch *)self)->attributes, name);
    if (index >= 0)
        return field_at(self, index);
    ((struct batch *)self)->is_used = true;
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_AttributeError, "the batch has no field %R; it has %R", name,
                     ((struct batch *)self)->names);
    }
    return found;
}

static Py_ssize_t batch_length(PyObject *self)
{
    return PyTuple_Size(((struct batch *)self)->names);
}

static PyObject *batch_subscript(PyObject *self, PyObject *key)
{
    PyObject *names = ((struct batch *)self)->names;
    if (PyUnicode_Check(key)) {
        Py_ssize_t index = find(names, key);
        if (index >= 0)
            return field_at(self, index);
        return ext_call("_convert", "fields_within", "(OO)", self, key);
    }
    if (!PyIndex_Check(key)) {
        PyErr_Format(PyExc_TypeError, "a field is asked for by its name or its number, not by %R",
                     key);
        return NULL;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError), n = batch_length(self);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    i += i < 0 ? n : 0;
    if (i >= 0 && i < n)
        return field_at(self, i);
    PyErr_Format(PyExc_IndexError, "the batch has %zd fields", n);
    return NULL;
}

static int batch_contains(PyObject *self, PyObject *name)
{
    return PyUnicode_Check(name) && find(((struct batch *)self)->names, name) >= 0;
}

static PyObject *batch_keys(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PySequence_List(((struct batch *)self)->names);
}

static PyObject *batch_values(PyObject *self, PyObject *unused)
{
    Py_ssize_t n = batch_length(self);
    PyObject *values = PyList_New(n);
    (void)unused;
    for (Py_ssize_t i = 0; values && i < n; i++) {
        PyObject *field = field_at(self, i);
        if (!field || PyList_SetItem(values, i, field) < 0)
            Py_CLEAR(values);
    }
    return values;
}

static PyObject *batch_items(PyObject *self, PyObject *unused)
{
    Py_ssize_t n = batch_length(self);
    PyObject *items = PyList_New(n);
    (void)unused;
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *pair = Py_BuildValue("(ON)", PyTuple_GetItem(((struct batch *)self)->names, i),
                                       field_at(self, i));
        if (!pair || PyList_SetItem(items, i, pair) < 0)
            Py_CLEAR(items);
    }
    return items;
}

static PyObject *batch_iter(PyObject *self)
{
    PyObject *values = batch_values(self, NULL);
    PyObject *iterator = values ? PyObject_GetIter(values) : NULL;
    Py_XDECREF(values);
    return iterator;
}

/* ---- where it comes from ---- */

static PyObject *batch_n_rows(PyObject *self, void *unused)
{
    (void)unused;
    if (((struct batch *)self)->kept)
        return Py_NewRef(kept(self, KEPT_N_ROWS));
    return PyLong_FromLongLong(stk_batch_n_rows(((struct batch *)self)->batch));
}

static PyObject *origin_of(const struct stk_batch *batch, int64_t row)
{
    char *text = stk_batch_origin(batch, row);
    if (!text)
        return PyErr_NoMemory();
    PyObject *origin = ext_text(text);
    stk_text_free(text);
    return origin;
}

static PyObject *batch_state_dict(PyObject *self, PyObject *unused)
{
    struct stk_error err = { 0 };
    char *state = NULL;
    (void)unused;
    if (((struct batch *)self)->kept)
        return PyDict_Copy(kept(self, KEPT_STATE));
    int rc = stk_batch_state(((struct batch *)self)->batch, &state, &err);
    return ext_state_dict(rc, state, &err);
}

static PyObject *batch_origin(PyObject *self, PyObject *number)
{
    const struct stk_batch *batch = ((struct batch *)self)->batch;
    Py_ssize_t row = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (row == -1 && PyErr_Occurred())
        return NULL;
    if (((struct batch *)self)->kept)
        return PySequence_GetItem(kept(self, KEPT_ORIGINS), row);
    int64_t n = stk_batch_n_rows(batch);
    row += row < 0 ? (Py_ssize_t)n : 0;
    if (row >= 0 && row < n)
        return origin_of(batch, row);
    PyErr_Format(PyExc_IndexError, "the batch has %lld rows", (long long)n);
    return NULL;
}

static PyObject *batch_origins(PyObject *self, void *unused)
{
    const struct stk_batch *batch = ((struct batch *)self)->batch;
    (void)unused;
    if (((struct batch *)self)->kept)
        return PySequence_List(kept(self, KEPT_ORIGINS));
    int64_t n = stk_batch_n_rows(batch);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t row = 0; list && row < n; row++) {
        PyObject *origin = origin_of(batch, row);
        if (!origin || PyList_SetItem(list, (Py_ssize_t)row, origin) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyStructSequence_Field position_fields[] = {
    { "epoch", "of the iterator" },
    { "batch", "number of this batch in the epoch" },
    { "rows", "rows judged in the epoch up to the end of this batch, bad ones too" },
    { "errors", "bad rows since the iterator began" },
    { "hash", "of the canonical chain and the seed" },
    { NULL, NULL },
};

PyStructSequence_Desc ext_position_desc = {
    .name = "stoker.Position",
    .doc = "The place in the data at which a batch ends.",
    .fields = position_fields,
    .n_in_sequence = 5,
};

static PyObject *batch_position(PyObject *self, void *unused)
{
    struct stk_position position;
    (void)unused;
    if (((struct batch *)self)->kept)
        return Py_NewRef(kept(self, KEPT_POSITION));
    stk_batch_position(((struct batch *)self)->batch, &position);
    const uint64_t value[] = { position.epoch, position.batch, position.rows, position.errors,
                               position.hash };
    PyObject *tuple = PyStructSequence_New(ext_types.position);
    for (int i = 0; tuple && i < 5; i++)
        PyStructSequence_SetItem(tuple, i, PyLong_FromUnsignedLongLong(value[i]));
    if (tuple && PyErr_Occurred())
        Py_CLEAR(tuple);
    return tuple;
}

/* ---- to others ---- */

static PyObject *batch_numpy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "batch", "(Os)", self, "numpy");
}

static PyObject *batch_torch(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "batch", "(Os)", self, "torch");
}

static PyObject *batch_tensorflow(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "batch", "(Os)", self, "tensorflow");
}

static PyObject *batch_jax(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_convert", "batch", "(Os)", self, "jax");
}

static PyObject *batch_repr(PyObject *self)
{
    return ext_call("_show", "batch_repr", "(O)", self);
}

static PyObject *batch_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return ext_call("_show", "batch_html", "(O)", self);
}

static PyObject *batch_dir(PyObject *self, PyObject *unused)
{
    PyObject *type = PyObject_Dir((PyObject *)Py_TYPE(self));
    PyObject *names = type ? PySequence_InPlaceConcat(type, ((struct batch *)self)->names) : NULL;
    (void)unused;
    Py_XDECREF(type);
    return names;
}

static PyObject *batch_reduce(PyObject *self, PyObject *protocol)
{
    return ext_call("_pickling", "batch", "(OO)", self, protocol);
}

static PyMethodDef methods[] = {
    { "keys", batch_keys, METH_NOARGS, "Names of the fields, in order." },
    { "values", batch_values, METH_NOARGS, "The fields, in order." },
    { "items", batch_items, METH_NOARGS, "Pairs of name and field." },
    { "origin", batch_origin, METH_O,
      "origin(i)\n--\n\nWhere row i comes from, such as 'train/cat/7.jpg'." },
    { "state_dict", batch_state_dict, METH_NOARGS,
      "The place behind this batch, for ds.resume and ds.load_state_dict: a dict of text." },
    { "numpy", batch_numpy, METH_NOARGS, "A dict of NumPy arrays of the same memory." },
    { "torch", batch_torch, METH_NOARGS, "A dict of PyTorch tensors of the same memory." },
    { "tensorflow", batch_tensorflow, METH_NOARGS, "A dict of TensorFlow tensors." },
    { "jax", batch_jax, METH_NOARGS, "A dict of JAX arrays." },
    { "_repr_html_", batch_html, METH_NOARGS, NULL },
    { "__dir__", batch_dir, METH_NOARGS, NULL },
    { "__reduce_ex__", batch_reduce, METH_O, NULL },
    { 0 },
};

static PyGetSetDef getters[] = {
    { "n_rows", batch_n_rows, NULL, "Number of rows; 1 for an element of a chain without batch.",
      NULL },
    { "origins", batch_origins, NULL, "Where each row comes from, a list of texts.", NULL },
    { "position", batch_position, NULL, "The place in the data at which this batch ends.", NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "Rows put together, or one element: fields by name, by attribute or in order.\n\n"
                 "    batch['image'], batch.image, image, label = batch\n\n"
                 "It owns its memory: it stays valid when the iterator and the dataset are gone." },
    { Py_tp_dealloc, batch_dealloc },
    { Py_tp_getattro, batch_getattro },
    { Py_tp_repr, batch_repr },
    { Py_tp_iter, batch_iter },
    { Py_tp_methods, methods },
    { Py_tp_getset, getters },
    { Py_mp_length, batch_length },
    { Py_mp_subscript, batch_subscript },
    { Py_sq_contains, batch_contains },
    { 0, NULL },
};

PyType_Spec ext_batch_spec = {
    .name = "stoker.Batch",
    .basicsize = sizeof(struct batch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

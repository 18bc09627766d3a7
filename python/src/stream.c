/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: Stream: a Python generator that a chain reads as generator(@name).
 *
 *     Chain ──owns──▶ Stream ──owns──▶ the function, a Python iterator per open pass
 *                     │    ▲ borrowed
 *                     ▼    │
 *                     binding ◀──own── datasets and plans of the library, open passes
 *
 * The library holds the binding, never a Python object: everything of Python that lives on belongs
 * to the Stream, where the garbage collector can see it, so a generator that refers to its own
 * dataset or iterator is no leak. An iterator holds its chain, so the Stream is there while anybody
 * can want elements. Callbacks come from workers, or from the consumer while it waits, without the
 * GIL.
 */
#include "ext.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 32, MAX_FAILURES = 16 };

static const char *const failure_mark = "Python exception ";

struct binding {
    atomic_int refs;  /* pairs with itself: acq_rel on the last one */
    PyObject *stream; /* borrowed; NULL when it is gone. Guarded by the GIL */
};

struct stream {
    PyObject base;
    struct binding *binding;
    PyObject *make;     /* called for each pass, gives an iterable */
    PyObject *spec;     /* what the fields were made of, for pickling */
    PyObject *failures; /* dict: number → exception that was raised and not yet delivered */
    PyObject *passes;   /* dict: number → iterator of an open pass */
    int n_fields;
    struct stk_field_info field[MAX_FIELDS];
    PyObject *names; /* tuple of str, which own the names of the fields */
};

struct pass {
    struct ext_deferred deferred; /* first: a pass that is over is its deferred work */
    struct binding *binding;
    PyObject *number; /* the key of its iterator */
    struct ext_cell cell[MAX_FIELDS];
};

/* ---- bindings ---- */

static void binding_unref(void *context)
{
    struct binding *binding = context;
    if (atomic_fetch_sub_explicit(&binding->refs, 1, memory_order_acq_rel) == 1)
        free(binding);
}

/* ---- failures ---- */

static atomic_ullong n_numbers; /* given to failures and passes so far */

/* Drops the oldest ones that nobody asked for. */
static void trim(PyObject *failures)
{
    PyObject *keys =
        failures && PyDict_Size(failures) >= MAX_FAILURES ? PyDict_Keys(failures) : NULL;
    if (keys)
        PyDict_DelItem(failures, PyList_GetItem(keys, 0));
    Py_XDECREF(keys);
}

/* Keeps the current exception for the consumer, who finds it by its number in the message. */
static int keep_failure(struct stream *self, struct stk_error *err)
{
    PyObject *type, *value, *trace;
    unsigned long long number = atomic_fetch_add(&n_numbers, 1) + 1;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace)
        PyException_SetTraceback(value, trace);
    trim(self->failures);
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    PyObject *text = value ? PyObject_Str(value) : NULL,
             *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    if (key && value && self->failures)
        PyDict_SetItem(self->failures, key, value);
    const char *name_text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *value_text = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    *err = (struct stk_error){ .code = STK_DATA };
    snprintf(err->text, sizeof err->text, "%s%llu: %s: %.300s", failure_mark, number,
             name_text ? name_text : "exception", value_text ? value_text : "");
    PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return STK_DATA;
}

PyObject *ext_stream_failure(PyObject *stream, const char *message)
{
    const char *mark = strstr(message, failure_mark);
    PyObject *failures = ((struct stream *)stream)->failures;
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

/* ---- passes ---- */

static int say_gone(struct stk_error *err)
{
    *err = (struct stk_error){ .code = STK_STATE };
    snprintf(err->text, sizeof err->text,
             "the generator is gone, or the interpreter on its way out");
    return STK_STATE;
}

static void finish_pass(struct ext_deferred *work)
{
    struct pass *pass = (struct pass *)work;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* a generator that is closed may run anything */
    for (int i = 0; i < MAX_FIELDS; i++)
        ext_cell_clear(&pass->cell[i]);
    struct stream *stream = (struct stream *)Py_XNewRef(pass->binding->stream);
    if (stream && stream->passes && pass->number &&
        PyDict_DelItem(stream->passes, pass->number) < 0)
        PyErr_Clear(); /* it never began */
    Py_XDECREF((PyObject *)stream);
    Py_XDECREF(pass->number);
    binding_unref(pass->binding);
    free(pass);
    PyErr_Restore(type, value, trace);
}

static void close_pass(void *pass)
{
    ext_defer(pass);
}

static int begin(struct stream *self, struct pass *pass, struct stk_error *err)
{
    PyObject *none = PyTuple_New(0);
    PyObject *iterable = none ? PyObject_Call(self->make, none, NULL) : NULL;
    PyObject *iterator = iterable ? PyObject_GetIter(iterable) : NULL;
    pass->number =
        iterator ? PyLong_FromUnsignedLongLong(atomic_fetch_add(&n_numbers, 1) + 1) : NULL;
    int rc =
        pass->number && self->passes ? PyDict_SetItem(self->passes, pass->number, iterator) : -1;
    Py_XDECREF(none);
    Py_XDECREF(iterable);
    Py_XDECREF(iterator);
    return rc ? keep_failure(self, err) : STK_OK;
}

static int open_pass(void *context, void **out, struct stk_error *err)
{
    struct binding *binding = context;
    if (ext_is_exiting())
        return say_gone(err);
    struct ext_gil gil = ext_gil_take();
    struct stream *self = (struct stream *)Py_XNewRef(binding->stream);
    struct pass *pass = self ? calloc(1, sizeof *pass) : NULL;
    int rc = say_gone(err);
    if (pass) {
        pass->deferred.finish = finish_pass;
        pass->binding = binding;
        atomic_fetch_add_explicit(&binding->refs, 1, memory_order_relaxed);
        rc = begin(self, pass, err);
        if (rc)
            finish_pass(&pass->deferred);
        else
            *out = pass;
    }
    Py_XDECREF((PyObject *)self);
    ext_gil_give(gil);
    return rc;
}

/* ---- elements ---- */

/* Whether the only field of an element lies in a tuple: a field may be a tuple of numbers
 * itself. */
static bool is_wrapped(const struct stream *self, PyObject *element)
{
    PyObject *item =
        PyTuple_Check(element) && PyTuple_Size(element) == 1 ? PyTuple_GetItem(element, 0) : NULL;
    return item && (!self->field[0].rank || PyObject_CheckBuffer(item) ||
                    PyObject_HasAttrString(item, "__dlpack__"));
}

/* The value of field i of an element. Returns new. */
static PyObject *pick(const struct stream *self, PyObject *element, int i)
{
    const char *name = self->field[i].name;
    if (PyDict_Check(element)) {
        PyObject *value = PyDict_GetItemWithError(element, PyTuple_GetItem(self->names, i));
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

static int check_keys(const struct stream *self, PyObject *element)
{
    if (!PyDict_Check(element) || PyDict_Size(element) == self->n_fields)
        return 0;
    PyObject *keys = PyDict_Keys(element);
    if (keys)
        PyErr_Format(PyExc_ValueError, "the element has the fields %R, but the spec says %R", keys,
                     self->names);
    Py_XDECREF(keys);
    return -1;
}

static int next_element(struct stream *self, struct pass *pass, struct stk_cell *cell,
                        struct stk_error *err)
{
    PyObject *iterator =
        self->passes ? Py_XNewRef(PyDict_GetItemWithError(self->passes, pass->number)) : NULL;
    PyObject *element = iterator ? PyIter_Next(iterator) : NULL;
    if (!iterator)
        return say_gone(err);
    Py_DECREF(iterator);
    if (!element)
        return PyErr_Occurred() ? keep_failure(self, err) : STK_END;
    int rc = check_keys(self, element);
    for (int i = 0; i < self->n_fields && !rc; i++) {
        PyObject *value = pick(self, element, i);
        rc = value ? ext_cell_set(&pass->cell[i], &self->field[i], value, &cell[i]) : -1;
        Py_XDECREF(value);
    }
    Py_DECREF(element);
    return rc ? keep_failure(self, err) : STK_OK;
}

static int pass_next(void *context, struct stk_cell *cell, struct stk_error *err)
{
    if (ext_is_exiting())
        return say_gone(err);
    struct ext_gil gil = ext_gil_take();
    struct pass *pass = context;
    struct stream *self = (struct stream *)Py_XNewRef(pass->binding->stream);
    int rc = self ? next_element(self, pass, cell, err) : say_gone(err);
    Py_XDECREF((PyObject *)self);
    ext_gil_give(gil);
    return rc;
}

int ext_stream_bind(PyObject *stream, struct stk_objects *objects, const char *name)
{
    struct stream *self = (struct stream *)stream;
    struct stk_error err = { 0 };
    struct stk_stream given = {
        .n_fields = self->n_fields,
        .field = self->field,
        .open = open_pass,
        .next = pass_next,
        .close = close_pass,
        .release = binding_unref,
        .context = self->binding,
    };
    atomic_fetch_add_explicit(&self->binding->refs, 1, memory_order_relaxed);
    if (!stk_objects_add_stream(objects, name, &given, &err))
        return 0;
    binding_unref(self->binding);
    ext_raise(&err, NULL, 0);
    return -1;
}

/* ---- the type ---- */

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
        return is_bytes ? 0 : read_shape(field, shape);
    PyErr_Format(PyExc_TypeError, "field '%s': '%s' is not a dtype", field->name, dtype);
    return -1;
}

static int read_fields(struct stream *self, PyObject *rows)
{
    Py_ssize_t n = PyTuple_Size(rows);
    if (n < 1 || n > MAX_FIELDS) {
        PyErr_Format(PyExc_ValueError, "a spec has 1 to %d fields, not %zd", (int)MAX_FIELDS, n);
        return -1;
    }
    self->n_fields = (int)n;
    self->names = PyTuple_New(n);
    int rc = self->names ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && !rc; i++)
        rc = read_field(&self->field[i], PyTuple_GetItem(rows, i), self->names, i);
    return rc;
}

/* Stream(make, rows): rows is a tuple of (name, kind, dtype, shape). */
static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = { "make", "rows", NULL };
    PyObject *make, *rows;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO!:Stream", names, &make, &PyTuple_Type, &rows))
        return NULL;
    if (!PyCallable_Check(make)) {
        PyErr_Format(PyExc_TypeError, "a function that gives an iterable is wanted, not %R", make);
        return NULL;
    }
    struct stream *self = ext_new(type, sizeof *self);
    if (!self)
        return NULL;
    self->make = Py_NewRef(make);
    self->spec = Py_NewRef(rows);
    self->failures = PyDict_New();
    self->passes = PyDict_New();
    self->binding = calloc(1, sizeof *self->binding);
    if (self->binding) {
        atomic_init(&self->binding->refs, 1);
        self->binding->stream = (PyObject *)self;
    }
    PyObject_GC_Track(self);
    if (!self->binding)
        PyErr_NoMemory();
    if (!self->binding || !self->failures || !self->passes || read_fields(self, rows) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int stream_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct stream *self = (struct stream *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->make);
    Py_VISIT(self->spec);
    Py_VISIT(self->failures);
    Py_VISIT(self->passes);
    return 0;
}

static int stream_clear(PyObject *object)
{
    struct stream *self = (struct stream *)object;
    Py_CLEAR(self->failures);
    Py_CLEAR(self->passes);
    return 0;
}

static void stream_dealloc(PyObject *object)
{
    struct stream *self = (struct stream *)object;
    PyObject_GC_UnTrack(object);
    if (self->binding) {
        self->binding->stream = NULL;
        binding_unref(self->binding);
    }
    Py_CLEAR(self->make);
    Py_CLEAR(self->spec);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->passes);
    Py_CLEAR(self->names);
    ext_free(object);
}

static PyObject *stream_reduce(PyObject *object, PyObject *unused)
{
    const struct stream *self = (struct stream *)object;
    (void)unused;
    return Py_BuildValue("O(OO)", (PyObject *)Py_TYPE(object), self->make, self->spec);
}

static PyMethodDef methods[] = {
    { "__reduce__", stream_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A generator of the program that a chain names as @name." },
    { Py_tp_new, stream_new },
    { Py_tp_dealloc, stream_dealloc },
    { Py_tp_traverse, stream_traverse },
    { Py_tp_clear, stream_clear },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec ext_stream_spec = {
    .name = "stoker._core.Stream",
    .basicsize = sizeof(struct stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

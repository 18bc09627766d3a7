/* SPDX-License-Identifier: Apache-2.0 */
/* py_stream.c: Stream: a Python generator that a chain reads as generator(@name).
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    PyObject base;
    struct ext_binding *binding;
    PyObject *make;     /* called for each pass, gives an iterable */
    PyObject *rows;     /* what the spec was made of, for pickling */
    PyObject *failures; /* dict: number → exception that was raised and not yet delivered */
    PyObject *passes;   /* dict: number → iterator of an open pass */
    struct ext_spec spec;
};

struct pass {
    struct ext_deferred deferred; /* first: a pass that is over is its deferred work */
    struct ext_binding *binding;
    PyObject *number; /* the key of its iterator */
    struct ext_cell cell[EXT_MAX_FIELDS];
};

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
    for (int i = 0; i < EXT_MAX_FIELDS; i++)
        ext_cell_clear(&pass->cell[i]);
    struct stream *stream = (struct stream *)Py_XNewRef(pass->binding->object);
    if (stream && stream->passes && pass->number &&
        PyDict_DelItem(stream->passes, pass->number) < 0)
        PyErr_Clear(); /* it never began */
    Py_XDECREF((PyObject *)stream);
    Py_XDECREF(pass->number);
    ext_binding_unref(pass->binding);
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
    pass->number = iterator ? PyLong_FromUnsignedLongLong(ext_number_new()) : NULL;
    int rc =
        pass->number && self->passes ? PyDict_SetItem(self->passes, pass->number, iterator) : -1;
    Py_XDECREF(none);
    Py_XDECREF(iterable);
    Py_XDECREF(iterator);
    return rc ? ext_failure_keep(self->failures, err) : STK_OK;
}

static int open_pass(void *context, void **out, struct stk_error *err)
{
    struct ext_binding *binding = context;
    if (ext_is_exiting())
        return say_gone(err);
    struct ext_gil gil = ext_gil_take();
    struct stream *self = (struct stream *)Py_XNewRef(binding->object);
    struct pass *pass = self ? calloc(1, sizeof *pass) : NULL;
    int rc = say_gone(err);
    if (pass) {
        pass->deferred.finish = finish_pass;
        pass->binding = binding;
        ext_binding_ref(binding);
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
        return PyErr_Occurred() ? ext_failure_keep(self->failures, err) : STK_END;
    int rc = ext_spec_take(&self->spec, element, pass->cell, cell);
    Py_DECREF(element);
    return rc ? ext_failure_keep(self->failures, err) : STK_OK;
}

static int pass_next(void *context, struct stk_cell *cell, struct stk_error *err)
{
    if (ext_is_exiting())
        return say_gone(err);
    struct ext_gil gil = ext_gil_take();
    struct pass *pass = context;
    struct stream *self = (struct stream *)Py_XNewRef(pass->binding->object);
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
        .n_fields = self->spec.n_fields,
        .field = self->spec.field,
        .open = open_pass,
        .next = pass_next,
        .close = close_pass,
        .release = ext_binding_unref,
        .context = self->binding,
    };
    ext_binding_ref(self->binding);
    if (!stk_objects_add_stream(objects, name, &given, &err))
        return 0;
    ext_binding_unref(self->binding);
    ext_raise(&err, NULL, 0);
    return -1;
}

PyObject *ext_stream_failures(PyObject *stream)
{
    return ((struct stream *)stream)->failures;
}

/* ---- the type ---- */

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
    self->rows = Py_NewRef(rows);
    self->failures = PyDict_New();
    self->passes = PyDict_New();
    self->binding = ext_binding_new((PyObject *)self);
    PyObject_GC_Track(self);
    if (!self->binding || !self->failures || !self->passes || ext_spec_read(&self->spec, rows) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int stream_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct stream *self = (struct stream *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->make);
    Py_VISIT(self->rows);
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
    ext_binding_drop(self->binding);
    Py_CLEAR(self->make);
    Py_CLEAR(self->rows);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->passes);
    ext_spec_clear(&self->spec);
    ext_free(object);
}

static PyObject *stream_reduce(PyObject *object, PyObject *unused)
{
    const struct stream *self = (struct stream *)object;
    (void)unused;
    return Py_BuildValue("O(OO)", (PyObject *)Py_TYPE(object), self->make, self->rows);
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

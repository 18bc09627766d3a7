/* SPDX-License-Identifier: Apache-2.0 */
/* py_chain.c: Chain: a dataset of the library, with the Python objects that it names. */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

/* Looking for files, or through values, may take long. */
struct build {
    struct ext_job job;       /* first: a build is its job */
    struct stk_dataset *base; /* NULL: text is a whole chain */
    struct stk_objects *objects;
    struct stk_dataset *out;
    struct stk_error err;
    int rc;
    char text[];
};

static void build_run(struct ext_job *job)
{
    struct build *build = (struct build *)job;
    build->rc =
        build->base
            ? stk_dataset_then(build->base, build->text, build->objects, &build->out, &build->err)
            : stk_dataset_new(build->text, build->objects, &build->out, &build->err);
}

static void build_drop(struct ext_job *job)
{
    struct build *build = (struct build *)job;
    if (build->out)
        stk_dataset_unref(build->out);
    if (build->base)
        stk_dataset_unref(build->base);
    stk_objects_free(build->objects);
    free(build);
}

static int bind(PyObject *name, PyObject *object, struct stk_objects *objects)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text)
        return -1;
    if (Py_TYPE(object) == ext_types.memory)
        return ext_memory_bind(object, objects, text);
    if (Py_TYPE(object) == ext_types.stream)
        return ext_stream_bind(object, objects, text);
    if (Py_TYPE(object) == ext_types.function)
        return ext_function_bind(object, objects, text);
    PyErr_Format(PyExc_TypeError, "@%s can be an array, a stream or a function, not %R", text,
                 (PyObject *)Py_TYPE(object));
    return -1;
}

/* The table of a dict of names. Returns new. */
static struct stk_objects *bind_all(PyObject *dict)
{
    struct stk_objects *objects = stk_objects_new();
    PyObject *name, *object;
    Py_ssize_t at = 0;
    int rc = 0;
    if (!objects) {
        PyErr_NoMemory();
        return NULL;
    }
    while (!rc && dict && PyDict_Next(dict, &at, &name, &object))
        rc = bind(name, object, objects);
    if (!rc)
        return objects;
    stk_objects_free(objects);
    ext_drain();
    return NULL;
}

static struct build *build_new(PyObject *text, PyObject *objects, struct stk_dataset *base)
{
    char *bytes;
    if (PyBytes_AsStringAndSize(text, &bytes, NULL) < 0) /* refuses NUL bytes */
        return NULL;
    size_t len = strlen(bytes);
    struct build *build = calloc(1, sizeof *build + len + 1);
    if (!build) {
        PyErr_NoMemory();
        return NULL;
    }
    build->job = (struct ext_job){ .run = build_run, .drop = build_drop };
    memcpy(build->text, bytes, len);
    build->objects = bind_all(objects);
    if (!build->objects) {
        free(build);
        return NULL;
    }
    build->base = base ? stk_dataset_ref(base) : NULL;
    return build;
}

/* ---- the object ---- */

/* Names of fields as Python texts. */
static int name_fields(struct ext_chain *self)
{
    int n = stk_dataset_n_fields(self->dataset);
    struct stk_field_info field;
    self->names = PyTuple_New(n);
    for (int i = 0; self->names && i < n; i++) {
        stk_dataset_field(self->dataset, i, &field);
        PyObject *name = ext_text(field.name);
        if (!name)
            return -1;
        PyUnicode_InternInPlace(&name);
        PyTuple_SetItem(self->names, i, name);
    }
    self->attributes = self->names ? ext_batch_attributes(self->names) : NULL;
    return self->attributes ? 0 : -1;
}

static bool has_callers(PyObject *objects)
{
    PyObject *name, *object;
    Py_ssize_t at = 0;
    while (objects && PyDict_Next(objects, &at, &name, &object))
        if (Py_TYPE(object) == ext_types.stream || Py_TYPE(object) == ext_types.function)
            return true;
    return false;
}

/* Takes the dataset. */
static PyObject *chain_new(struct stk_dataset *dataset, PyObject *objects, bool is_slow)
{
    struct ext_chain *self = ext_new(ext_types.chain, sizeof *self);
    if (!self) {
        stk_dataset_unref(dataset);
        return NULL;
    }
    self->dataset = dataset;
    self->objects = Py_XNewRef(objects);
    self->has_callers = has_callers(objects);
    self->is_slow = is_slow;
    int rc = name_fields(self);
    PyObject_GC_Track(self);
    if (rc)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* The text behind which calls were written, as the message should show it. */
static PyObject *raise_build(const struct build *build)
{
    char *before = build->base ? stk_dataset_text(build->base, false) : NULL;
    size_t shift = before ? strlen(before) + 1 : 0, bytes = shift + strlen(build->text) + 1;
    char *whole = before ? malloc(bytes) : NULL;
    if (whole)
        snprintf(whole, bytes, "%s.%s", before, build->text);
    ext_raise(&build->err, whole ? whole : build->text, whole ? shift : 0);
    stk_text_free(before);
    free(whole);
    return NULL;
}

/* Builds what is asked for. `all` are the objects of the result. Takes build. */
static PyObject *carry_out(struct build *build, PyObject *all, const struct ext_chain *base,
                           bool is_slow)
{
    if (!build || ext_job_run(&build->job, !is_slow) < 0)
        return NULL;
    PyObject *chain = NULL;
    struct stk_dataset *dataset = build->rc ? NULL : build->out;
    build->out = NULL;
    if (dataset)
        chain = chain_new(dataset, all, is_slow || (base && base->is_slow));
    else
        raise_build(build);
    build_drop(&build->job);
    ext_drain();
    return chain;
}

/* Chain(text, objects, is_slow): text is bytes, objects a dict or None; `is_slow` if building may
 * have to look at storage or through values. */
static PyObject *chain_make(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = { "text", "objects", "is_slow", NULL };
    PyObject *text, *objects = Py_None;
    int is_slow = true;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, named, "S|Op:Chain", names, &text, &objects, &is_slow))
        return NULL;
    objects = objects == Py_None ? NULL : objects;
    return carry_out(build_new(text, objects, NULL), objects, NULL, is_slow);
}

/* chain.then(calls, more, all, is_slow): `more` are the objects that the calls name, `all` those of
 * the result; None if there are no more. */
static PyObject *chain_then(PyObject *self, PyObject *args)
{
    PyObject *calls, *more, *all;
    int is_slow;
    struct ext_chain *chain = (struct ext_chain *)self;
    if (!PyArg_ParseTuple(args, "SOOp:then", &calls, &more, &all, &is_slow))
        return NULL;
    return carry_out(build_new(calls, more == Py_None ? NULL : more, chain->dataset),
                     all == Py_None ? chain->objects : all, chain, is_slow);
}

static int chain_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct ext_chain *)self)->objects);
    return 0;
}

static int chain_clear(PyObject *self)
{
    Py_CLEAR(((struct ext_chain *)self)->objects);
    return 0;
}

static void chain_dealloc(PyObject *object)
{
    struct ext_chain *self = (struct ext_chain *)object;
    PyObject_GC_UnTrack(object);
    if (self->dataset)
        stk_dataset_unref(self->dataset);
    Py_CLEAR(self->objects);
    Py_CLEAR(self->names);
    Py_CLEAR(self->attributes);
    ext_free(object);
    ext_drain();
}

/* ---- questions ---- */

static PyObject *take_text(char *text)
{
    if (!text)
        return PyErr_NoMemory();
    PyObject *result = ext_text(text);
    stk_text_free(text);
    return result;
}

static PyObject *chain_text(PyObject *self, PyObject *is_canonical)
{
    int canonical = PyObject_IsTrue(is_canonical);
    if (canonical < 0)
        return NULL;
    return take_text(stk_dataset_text(((struct ext_chain *)self)->dataset, canonical));
}

static PyObject *chain_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(stk_dataset_count(((struct ext_chain *)self)->dataset));
}

static PyObject *chain_fields(PyObject *self, PyObject *unused)
{
    static const char *const kinds[] = { "fixed", "shaped", "bytes", "ragged" };
    const struct stk_dataset *dataset = ((struct ext_chain *)self)->dataset;
    int n = stk_dataset_n_fields(dataset);
    PyObject *list = PyList_New(n);
    (void)unused;
    for (int i = 0; list && i < n; i++) {
        struct stk_field_info field;
        stk_dataset_field(dataset, i, &field);
        bool is_bytes = field.kind == STK_BYTES;
        PyObject *row = Py_BuildValue("(NssN)", ext_text(field.name), kinds[field.kind],
                                      is_bytes ? "bytes" : stk_dtype_name(field.dtype),
                                      ext_shape(field.shape, field.rank));
        if (!row || PyList_SetItem(list, i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *chain_class_name(PyObject *self, PyObject *args)
{
    const char *field;
    long long value;
    if (!PyArg_ParseTuple(args, "sL:class_name", &field, &value))
        return NULL;
    const char *name = stk_dataset_class_name(((struct ext_chain *)self)->dataset, field, value);
    return name ? ext_text(name) : Py_NewRef(Py_None);
}

/* ---- runs ---- */

struct stk_options *ext_options_read(PyObject *dict)
{
    struct stk_options *options = stk_options_new();
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (!options) {
        PyErr_NoMemory();
        return NULL;
    }
    while (PyDict_Next(dict, &at, &name, &value)) {
        struct stk_error err = { 0 };
        const char *name_text = PyUnicode_AsUTF8AndSize(name, NULL);
        const char *text = name_text ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
        if (text && !stk_options_set(options, name_text, text, &err))
            continue;
        if (text)
            ext_raise(&err, NULL, 0);
        stk_options_free(options);
        return NULL;
    }
    return options;
}

static PyObject *chain_plan(PyObject *self, PyObject *args)
{
    PyObject *given;
    int is_json, rc;
    char *text = NULL;
    struct stk_error err = { 0 };
    if (!PyArg_ParseTuple(args, "O!p:plan", &PyDict_Type, &given, &is_json))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    const struct stk_dataset *dataset = ((struct ext_chain *)self)->dataset;
    Py_BEGIN_ALLOW_THREADS rc = stk_dataset_plan(dataset, options, is_json, &text, &err);
    Py_END_ALLOW_THREADS stk_options_free(options);
    return rc ? ext_raise(&err, NULL, 0) : take_text(text);
}

/* One element by its position; it may have to be read. */
struct look {
    struct ext_job job; /* first: a look is its job */
    struct stk_dataset *dataset;
    struct stk_options *options;
    int64_t index;
    struct stk_batch *out;
    struct stk_error err;
    int rc;
};

static void look_run(struct ext_job *job)
{
    struct look *look = (struct look *)job;
    look->rc = stk_dataset_at(look->dataset, look->options, look->index, &look->out, &look->err);
}

static void look_drop(struct ext_job *job)
{
    struct look *look = (struct look *)job;
    stk_batch_unref(look->out);
    stk_dataset_unref(look->dataset);
    stk_options_free(look->options);
    free(look);
}

static PyObject *chain_at(PyObject *self, PyObject *args)
{
    PyObject *given;
    long long index;
    const struct ext_chain *chain = (struct ext_chain *)self;
    if (!PyArg_ParseTuple(args, "O!L:at", &PyDict_Type, &given, &index))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    struct look *look = options ? calloc(1, sizeof *look) : NULL;
    if (!look) {
        stk_options_free(options);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    *look = (struct look){ .job = { .run = look_run, .drop = look_drop },
                           .options = options,
                           .index = index,
                           .dataset = stk_dataset_ref(chain->dataset) };
    if (ext_job_run(&look->job, !chain->is_slow) < 0)
        return NULL;
    PyObject *batch = NULL;
    struct stk_batch *out = look->rc ? NULL : look->out;
    look->out = NULL;
    if (out)
        batch = ext_batch_new(out, chain);
    else if (!chain->has_callers || !ext_raise_failure(chain, &look->err))
        ext_raise(&look->err, NULL, 0);
    look_drop(&look->job);
    ext_drain();
    return batch;
}

/* iterate(options, state=None, run=None) */
static PyObject *chain_iterate(PyObject *self, PyObject *args)
{
    PyObject *given, *run = NULL;
    const char *state = NULL;
    if (!PyArg_ParseTuple(args, "O!|zO", &PyDict_Type, &given, &state, &run))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    PyObject *iterator = ext_iterator_new((struct ext_chain *)self, options, state, run);
    stk_options_free(options);
    return iterator;
}

static PyObject *chain_objects(PyObject *self, void *unused)
{
    PyObject *objects = ((struct ext_chain *)self)->objects;
    (void)unused;
    return Py_NewRef(objects ? objects : Py_None);
}

static PyMethodDef methods[] = {
    { "then", chain_then, METH_VARARGS, NULL },
    { "text", chain_text, METH_O, NULL },
    { "fields", chain_fields, METH_NOARGS, NULL },
    { "class_name", chain_class_name, METH_VARARGS, NULL },
    { "plan", chain_plan, METH_VARARGS, NULL },
    { "at", chain_at, METH_VARARGS, NULL },
    { "iterate", chain_iterate, METH_VARARGS, NULL },
    { "pack", ext_chain_pack, METH_VARARGS, NULL },
    { "statistics", ext_chain_statistics, METH_VARARGS, NULL },
    { "profile", ext_chain_profile, METH_VARARGS, NULL },
    { 0 },
};

static PyGetSetDef getters[] = {
    { "count", chain_count, NULL, NULL, NULL },
    { "objects", chain_objects, NULL, NULL, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A dataset of the library." },
    { Py_tp_new, chain_make },
    { Py_tp_dealloc, chain_dealloc },
    { Py_tp_traverse, chain_traverse },
    { Py_tp_clear, chain_clear },
    { Py_tp_methods, methods },
    { Py_tp_getset, getters },
    { 0, NULL },
};

PyType_Spec ext_chain_spec = {
    .name = "stoker._core.Chain",
    .basicsize = sizeof(struct ext_chain),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

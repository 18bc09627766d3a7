/* SPDX-License-Identifier: Apache-2.0 */
/* py_model.c: the type Model: a chain of layers. */
#include "ext.h"

struct model {
    PyObject base;
    struct stk_model *model;
};

const struct stk_model *ext_model_of(PyObject *model)
{
    return ((struct model *)model)->model;
}

/* Model(text) */
static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = { "text", NULL };
    struct stk_error err = { 0 };
    struct stk_model *model;
    const char *text;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, named, "s:Model", names, &text))
        return NULL;
    if (stk_model_new(text, &model, &err))
        return ext_raise(&err, text, 0);
    struct model *self = ext_new(ext_types.model, sizeof *self);
    if (self)
        self->model = model;
    else
        stk_model_free(model);
    return (PyObject *)self;
}

static void model_dealloc(PyObject *self)
{
    stk_model_free(((struct model *)self)->model);
    ext_free(self);
}

/* model.json(batch), model.table(batch) */
static PyObject *written(PyObject *self, PyObject *batch,
                         char *(*write)(const struct stk_model *, int64_t))
{
    long long n = PyLong_AsLongLong(batch);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    if (n < 1) {
        PyErr_SetString(PyExc_ValueError, "a batch has at least one element");
        return NULL;
    }
    char *text = write(((struct model *)self)->model, n);
    PyObject *result = text ? ext_text(text) : PyErr_NoMemory();
    stk_text_free(text);
    return result;
}

static PyObject *model_json(PyObject *self, PyObject *batch)
{
    return written(self, batch, stk_model_json);
}

static PyObject *model_table(PyObject *self, PyObject *batch)
{
    return written(self, batch, stk_model_describe);
}

static PyMethodDef methods[] = {
    { "json", model_json, METH_O, NULL },
    { "table", model_table, METH_O, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A chain of layers." },
    { Py_tp_new, model_new },
    { Py_tp_dealloc, model_dealloc },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec ext_model_spec = {
    .name = "stoker._core.Model",
    .basicsize = sizeof(struct model),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

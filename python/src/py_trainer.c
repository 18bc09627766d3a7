/* SPDX-License-Identifier: Apache-2.0 */
/* py_trainer.c: the type Trainer: the training step of a model. Arrays that it shows are its own memory. */
#include "ext.h"

#include <math.h>

struct trainer {
    PyObject base;
    PyObject *owner; /* of the model, or of the trainer too (a Fit) */
    bool is_borrowed;
    struct stk_trainer *trainer;
    bool is_busy; /* guarded by the GIL: a call is on its way without it */
};

static struct trainer *cast(PyObject *self)
{
    return (struct trainer *)self;
}

PyObject *ext_trainer_of(PyObject *owner, struct stk_trainer *trainer)
{
    struct trainer *self = ext_new(ext_types.trainer, sizeof *self);
    if (!self)
        return NULL;
    self->owner = Py_NewRef(owner);
    self->is_borrowed = true;
    self->trainer = trainer;
    return (PyObject *)self;
}

static void trainer_dealloc(PyObject *object)
{
    struct trainer *self = cast(object);
    if (!self->is_borrowed)
        stk_trainer_free(self->trainer);
    Py_XDECREF(self->owner);
    ext_free(object);
}

/* ---- making one ---- */

/* Trainer(model, optimizer, loss, loss_scale, precision, max_batch, threads, seed, flags): texts may be
 * None; flags are deterministic, only_forward, skips_nonfinite. */
static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    struct stk_trainer_options options = { 0 };
    struct stk_error err = { 0 };
    PyObject *model;
    unsigned long long seed;
    long long max_batch;
    int is_deterministic, is_forward, skips, rc;
    (void)named;
    if (!PyArg_ParseTuple(args, "O!zzzzLiKppp:Trainer", ext_types.model, &model, &options.optimizer,
                          &options.loss, &options.loss_scale, &options.precision, &max_batch,
                          &options.threads, &seed, &is_deterministic, &is_forward, &skips))
        return NULL;
    options.max_batch = max_batch;
    options.seed = seed;
    options.deterministic = is_deterministic;
    options.only_forward = is_forward;
    options.on_nonfinite = skips ? STK_NONFINITE_SKIP : STK_NONFINITE_FAIL;
    struct trainer *self = ext_new(type, sizeof *self);
    if (!self)
        return NULL;
    self->owner = Py_NewRef(model);
    const struct stk_model *read = ext_model_of(model);
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_new(read, &options, &self->trainer, &err);
    Py_END_ALLOW_THREADS if (!rc) return (PyObject *)self;
    Py_DECREF(self);
    return ext_raise(&err, NULL, 0);
}

static int enter(struct trainer *self)
{
    if (self->is_busy) {
        ext_raise_state("another thread is in a call of this trainer");
        return -1;
    }
    self->is_busy = true;
    return 0;
}

/* ---- steps ---- */

static struct stk_view view_of(PyObject *memory)
{
    const struct stk_array *array = &((struct ext_memory *)memory)->array;
    return stk_view_rows(array->data, array->dtype, array->rank, array->shape);
}

/* (loss, rows, top1, top5, step, learning rate, loss scale, gradient norm, skipped) */
static PyObject *step_tuple(const struct stk_step *s)
{
    return Py_BuildValue("dLLLLdddO", s->loss, (long long)s->rows, (long long)s->top1,
                         (long long)s->top5, (long long)s->step, s->learning_rate,
                         (double)s->loss_scale, s->gradient_norm,
                         s->is_skipped ? Py_True : Py_False);
}

typedef int (*step_fn)(struct stk_trainer *, const struct stk_view *, const struct stk_view *,
                       struct stk_step *, struct stk_error *);

static PyObject *run_step(PyObject *object, PyObject *args, step_fn step)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    struct stk_step result = { 0 };
    PyObject *images, *labels;
    int rc;
    if (!PyArg_ParseTuple(args, "O!O!", ext_types.memory, &images, ext_types.memory, &labels) ||
        enter(self) < 0)
        return NULL;
    struct stk_view x = view_of(images), y = view_of(labels);
    Py_BEGIN_ALLOW_THREADS rc = step(self->trainer, &x, &y, &result, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : step_tuple(&result);
}

static PyObject *trainer_step(PyObject *self, PyObject *args)
{
    return run_step(self, args, stk_trainer_step);
}

static PyObject *trainer_gradients(PyObject *self, PyObject *args)
{
    return run_step(self, args, stk_trainer_gradients);
}

static PyObject *trainer_eval(PyObject *self, PyObject *args)
{
    return run_step(self, args, stk_trainer_eval);
}

static PyObject *trainer_update(PyObject *object, PyObject *unused)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    struct stk_step result = { 0 };
    int rc;
    (void)unused;
    if (enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_update(self->trainer, &result, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : step_tuple(&result);
}

/* predict(images, out): out is a writable buffer of float32, [rows, outputs]. */
static PyObject *trainer_predict(PyObject *object, PyObject *args)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    PyObject *images, *out;
    Py_buffer room;
    int64_t input[3], outputs;
    int rc;
    if (!PyArg_ParseTuple(args, "O!O", ext_types.memory, &images, &out) ||
        PyObject_GetBuffer(out, &room, PyBUF_WRITABLE) < 0)
        return NULL;
    struct stk_view x = view_of(images);
    stk_trainer_shapes(self->trainer, input, &outputs);
    if (x.rank < 1 || room.len < (Py_ssize_t)(x.shape[0] * outputs * 4)) {
        PyBuffer_Release(&room);
        PyErr_SetString(PyExc_ValueError, "there is no room for the outputs");
        return NULL;
    }
    if (enter(self) < 0) {
        PyBuffer_Release(&room);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_predict(self->trainer, &x, room.buf, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    PyBuffer_Release(&room);
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

/* ---- arrays ---- */

static PyObject *array_of(PyObject *self, const struct stk_view *view)
{
    return ext_array_new(self, view->data, view->dtype, view->rank, view->shape);
}

/* [(name, array, trainable), …] */
static PyObject *trainer_weights(PyObject *self, PyObject *unused)
{
    struct stk_trainer *t = cast(self)->trainer;
    int n = stk_trainer_n_weights(t);
    PyObject *list = PyList_New(n);
    struct stk_view view;
    (void)unused;
    for (int i = 0; list && i < n; i++) {
        stk_trainer_weight(t, i, &view);
        PyObject *row = Py_BuildValue("sNO", view.name, array_of(self, &view),
                                      stk_trainer_is_trainable(t, i) ? Py_True : Py_False);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, row);
    }
    return list;
}

/* The gradient of a weight by its number. */
static PyObject *trainer_gradient(PyObject *self, PyObject *number)
{
    struct stk_view view;
    long i = PyLong_AsLong(number);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    int rc = stk_trainer_gradient(cast(self)->trainer, (int)i, &view);
    if (rc == STK_STATE)
        return ext_raise_state(
            "there is no gradient: no batch was seen, or step used it up at once, which it "
            "does not do again now that it was asked for; backward() keeps all");
    if (rc) {
        PyErr_SetString(PyExc_IndexError, "no such weight");
        return NULL;
    }
    return array_of(self, &view);
}

/* [(name, array), …] of everything that a checkpoint keeps. */
static PyObject *trainer_state(PyObject *self, PyObject *unused)
{
    struct stk_trainer *t = cast(self)->trainer;
    int n = stk_trainer_n_state(t);
    PyObject *list = PyList_New(n);
    struct stk_view view;
    (void)unused;
    for (int i = 0; list && i < n; i++) {
        stk_trainer_state(t, i, &view);
        PyObject *row = Py_BuildValue("sN", view.name, array_of(self, &view));
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, row);
    }
    return list;
}

static PyObject *trainer_counts(PyObject *self, PyObject *unused)
{
    struct stk_trainer_counts c;
    (void)unused;
    stk_trainer_get_counts(cast(self)->trainer, &c);
    return Py_BuildValue("LLdLK", (long long)c.step, (long long)c.batches, (double)c.loss_scale,
                         (long long)c.good_steps, (unsigned long long)c.seed);
}

/* set_counts(step, batches, loss_scale, good_steps, seed), after arrays were written, too. */
static PyObject *trainer_set_counts(PyObject *self, PyObject *args)
{
    struct stk_error err = { 0 };
    long long step, batches, good_steps;
    unsigned long long seed;
    double scale;
    if (!PyArg_ParseTuple(args, "LLdLK", &step, &batches, &scale, &good_steps, &seed))
        return NULL;
    const struct stk_trainer_counts c = { step, batches, (float)scale, good_steps, seed };
    stk_trainer_changed(cast(self)->trainer);
    return stk_trainer_set_counts(cast(self)->trainer, &c, &err) ? ext_raise(&err, NULL, 0)
                                                                 : Py_NewRef(Py_None);
}

static PyObject *trainer_changed(PyObject *self, PyObject *unused)
{
    (void)unused;
    stk_trainer_changed(cast(self)->trainer);
    return Py_NewRef(Py_None);
}

/* ---- files ---- */

static PyObject *trainer_save(PyObject *object, PyObject *args)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    const char *path;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &path) || enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_save(self->trainer, path, NULL, 0, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *trainer_load(PyObject *object, PyObject *args)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    const char *path;
    int rc;
    if (!PyArg_ParseTuple(args, "y", &path) || enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_load(self->trainer, path, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

enum { MOST_NOTES = 4096 };

/* load_weights(path, ((name, value), …)) */
static PyObject *trainer_load_weights(PyObject *object, PyObject *args)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    const char *path;
    PyObject *pairs;
    int rc;
    if (!PyArg_ParseTuple(args, "yO!", &path, &PyTuple_Type, &pairs))
        return NULL;
    Py_ssize_t n = PyTuple_Size(pairs);
    struct stk_note *map = PyMem_Malloc(sizeof *map * (size_t)(n + 1));
    if (!map)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "ss", &map[i].name, &map[i].value)) {
            PyMem_Free(map);
            return NULL;
        }
    if (enter(self) < 0) {
        PyMem_Free(map);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_load_weights(self->trainer, path, map, (int)n, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    PyMem_Free(map);
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *trainer_export(PyObject *object, PyObject *args)
{
    struct trainer *self = cast(object);
    struct stk_error err = { 0 };
    const char *path;
    int is_nchw, has_softmax, rc;
    if (!PyArg_ParseTuple(args, "ypp", &path, &is_nchw, &has_softmax) || enter(self) < 0)
        return NULL;
    const struct stk_export_options how = { is_nchw, has_softmax };
    Py_BEGIN_ALLOW_THREADS rc = stk_trainer_export(self->trainer, path, &how, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

/* ---- the rest ---- */

/* affine(scale, offset): of uint8 images, a number for each channel. */
static PyObject *trainer_affine(PyObject *self, PyObject *args)
{
    struct stk_error err = { 0 };
    PyObject *scale, *offset;
    float values[2][64];
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &scale, &PyTuple_Type, &offset))
        return NULL;
    Py_ssize_t n = PyTuple_Size(scale);
    if (n != PyTuple_Size(offset) || n > 64) {
        PyErr_SetString(PyExc_ValueError, "a scale and an offset for each channel, at most 64");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        values[0][i] = (float)PyFloat_AsDouble(PyTuple_GetItem(scale, i));
        values[1][i] = (float)PyFloat_AsDouble(PyTuple_GetItem(offset, i));
    }
    if (PyErr_Occurred())
        return NULL;
    return stk_trainer_affine(cast(self)->trainer, values[0], values[1], (int)n, &err)
               ? ext_raise(&err, NULL, 0)
               : Py_NewRef(Py_None);
}

static PyObject *trainer_plan(PyObject *self, PyObject *unused)
{
    char *text = stk_trainer_plan(cast(self)->trainer);
    (void)unused;
    PyObject *result = text ? ext_text(text) : PyErr_NoMemory();
    stk_text_free(text);
    return result;
}

static PyObject *trainer_memory(PyObject *self, PyObject *unused)
{
    struct stk_trainer_bytes b;
    (void)unused;
    stk_trainer_memory(cast(self)->trainer, &b);
    return Py_BuildValue("{sLsLsLsLsLsLsL}", "weights", (long long)b.weights, "gradients",
                         (long long)b.gradients, "optimizer", (long long)b.optimizer, "packed",
                         (long long)b.packed, "activations", (long long)b.activations, "scratch",
                         (long long)b.scratch, "total", (long long)b.total);
}

/* (height, width, channels, outputs) */
static PyObject *trainer_shapes(PyObject *self, PyObject *unused)
{
    int64_t input[3], outputs;
    (void)unused;
    stk_trainer_shapes(cast(self)->trainer, input, &outputs);
    return Py_BuildValue("LLLL", (long long)input[0], (long long)input[1], (long long)input[2],
                         (long long)outputs);
}

static PyObject *trainer_options(PyObject *self, PyObject *unused)
{
    struct stk_trainer_options o;
    (void)unused;
    stk_trainer_options_in_force(cast(self)->trainer, &o);
    return Py_BuildValue(
        "{szszszszsLsisKsO}", "optimizer", o.optimizer, "loss", o.loss, "loss_scale", o.loss_scale,
        "precision", o.precision, "max_batch", (long long)o.max_batch, "threads", o.threads, "seed",
        (unsigned long long)o.seed, "deterministic", o.deterministic ? Py_True : Py_False);
}

static PyMethodDef methods[] = {
    { "step", trainer_step, METH_VARARGS, NULL },
    { "gradients", trainer_gradients, METH_VARARGS, NULL },
    { "update", trainer_update, METH_NOARGS, NULL },
    { "eval", trainer_eval, METH_VARARGS, NULL },
    { "predict", trainer_predict, METH_VARARGS, NULL },
    { "weights", trainer_weights, METH_NOARGS, NULL },
    { "gradient", trainer_gradient, METH_O, NULL },
    { "state", trainer_state, METH_NOARGS, NULL },
    { "counts", trainer_counts, METH_NOARGS, NULL },
    { "set_counts", trainer_set_counts, METH_VARARGS, NULL },
    { "changed", trainer_changed, METH_NOARGS, NULL },
    { "save", trainer_save, METH_VARARGS, NULL },
    { "load", trainer_load, METH_VARARGS, NULL },
    { "load_weights", trainer_load_weights, METH_VARARGS, NULL },
    { "export", trainer_export, METH_VARARGS, NULL },
    { "affine", trainer_affine, METH_VARARGS, NULL },
    { "plan", trainer_plan, METH_NOARGS, NULL },
    { "memory", trainer_memory, METH_NOARGS, NULL },
    { "shapes", trainer_shapes, METH_NOARGS, NULL },
    { "options", trainer_options, METH_NOARGS, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "The training step of a model." },
    { Py_tp_new, trainer_new },
    { Py_tp_dealloc, trainer_dealloc },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec ext_trainer_spec = {
    .name = "stoker._core.Trainer",
    .basicsize = sizeof(struct trainer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* py_fit.c: the type Fit: a recipe that is carried out, piece by piece. */
#include "ext.h"

struct fit {
    PyObject base;
    struct stk_fit *fit;
    PyObject *train, *valid; /* Chains, which keep what the datasets name; or NULL */
    PyObject *text;          /* of the recipe */
    bool is_busy;            /* guarded by the GIL */
};

static struct fit *cast(PyObject *self)
{
    return (struct fit *)self;
}

static struct stk_dataset *dataset_of(PyObject *chain)
{
    return chain ? ((struct ext_chain *)chain)->dataset : NULL;
}

/* A Chain, or None. Returns new; *is_bad is set with an exception. */
static PyObject *take_chain(PyObject *object, bool *is_bad)
{
    if (object == Py_None)
        return NULL;
    if (Py_TYPE(object) == ext_types.chain)
        return Py_NewRef(object);
    PyErr_SetString(PyExc_TypeError, "train and valid are chains");
    *is_bad = true;
    return NULL;
}

/* Fit(recipe, train, valid, resume) */
static PyObject *fit_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    struct stk_error err = { 0 };
    PyObject *text, *train, *valid;
    int resume, resume_older, restart, rc;
    bool is_bad = false;
    (void)named;
    if (!PyArg_ParseTuple(args, "UOOppp:Fit", &text, &train, &valid, &resume, &resume_older,
                          &restart))
        return NULL;
    const char *recipe = PyUnicode_AsUTF8AndSize(text, NULL);
    struct fit *self = recipe ? ext_new(type, sizeof *self) : NULL;
    if (!self)
        return NULL;
    self->text = Py_NewRef(text);
    self->train = take_chain(train, &is_bad);
    self->valid = take_chain(valid, &is_bad);
    if (is_bad) {
        Py_DECREF(self);
        return NULL;
    }
    const struct stk_fit_options how = { .train = dataset_of(self->train),
                                         .valid = dataset_of(self->valid),
                                         .resume = resume || resume_older,
                                         .resume_older = resume_older,
                                         .restart = restart };
    Py_BEGIN_ALLOW_THREADS rc = stk_fit_new(recipe, &how, &self->fit, &err);
    Py_END_ALLOW_THREADS if (!rc) return (PyObject *)self;
    ext_raise(&err, recipe, 0);
    Py_DECREF(self);
    return NULL;
}

static void fit_dealloc(PyObject *object)
{
    struct fit *self = cast(object);
    struct stk_fit *fit = self->fit;
    /* workers may be in a function of Python, and must be able to leave it */
    Py_BEGIN_ALLOW_THREADS stk_fit_free(fit);
    Py_END_ALLOW_THREADS Py_XDECREF(self->train);
    Py_XDECREF(self->valid);
    Py_XDECREF(self->text);
    ext_free(object);
}

static int enter(struct fit *self)
{
    if (self->is_busy) {
        ext_raise_state("another thread is in a call of this training");
        return -1;
    }
    self->is_busy = true;
    return 0;
}

static PyObject *raise_failure(const struct fit *self, const struct stk_error *err)
{
    if (self->train && ext_raise_failure((const struct ext_chain *)self->train, err))
        return NULL;
    if (self->valid && ext_raise_failure((const struct ext_chain *)self->valid, err))
        return NULL;
    return ext_raise(err, PyUnicode_AsUTF8AndSize(self->text, NULL), 0);
}

static PyObject *means_dict(const struct stk_fit_means *m)
{
    return Py_BuildValue("{sLsdsdsd}", "rows", (long long)m->rows, "loss", m->loss, "accuracy",
                         m->accuracy, "top5", m->top5);
}

static PyObject *event_dict(const struct stk_fit_event *e)
{
    static const char *const kinds[] = { "waiting", "step", "valid", "epoch" };
    return Py_BuildValue(
        "{sssLsLsLsLsLsNsNsdsdsdsLsLsLszsdsdsdsLsOsOszsz}", "kind", kinds[e->kind], "epoch",
        (long long)e->epoch, "epochs", (long long)e->epochs, "step", (long long)e->step, "steps",
        (long long)e->steps, "total_steps", (long long)e->total_steps, "train",
        means_dict(&e->train), "valid", means_dict(&e->valid), "loss", e->last.loss,
        "learning_rate", e->last.learning_rate, "loss_scale", (double)e->last.loss_scale, "skipped",
        (long long)e->n_skipped, "bad", (long long)e->n_bad, "epoch_bad", (long long)e->epoch_bad,
        "first_bad", e->first_bad, "seconds", e->seconds, "step_seconds", e->step_seconds,
        "waited_seconds", e->waited_seconds, "rows", (long long)e->seen_rows, "is_best",
        e->is_best ? Py_True : Py_False, "is_last", e->is_last ? Py_True : Py_False, "checkpoint",
        e->checkpoint, "message", e->message);
}

/* The next event as a dict; None when training is over. */
static PyObject *fit_next(PyObject *object, PyObject *unused)
{
    struct fit *self = cast(object);
    struct stk_error err = { 0 };
    struct stk_fit_event event;
    int rc;
    (void)unused;
    if (enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_fit_next(self->fit, &event, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    ext_drain();
    if (rc == STK_END && !event.message)
        return Py_NewRef(Py_None);
    if (rc == STK_END)
        return event_dict(&event); /* the next one is None */
    if (rc)
        return raise_failure(self, &err);
    return PyErr_CheckSignals() < 0 ? NULL : event_dict(&event);
}

static PyObject *fit_save(PyObject *object, PyObject *unused)
{
    struct fit *self = cast(object);
    struct stk_error err = { 0 };
    int rc;
    (void)unused;
    if (enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_fit_save(self->fit, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *fit_eval(PyObject *object, PyObject *args)
{
    struct fit *self = cast(object);
    struct stk_error err = { 0 };
    struct stk_fit_means means;
    const char *path;
    int rc;
    if (!PyArg_ParseTuple(args, "z", &path) || enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_fit_eval(self->fit, path, &means, &err);
    Py_END_ALLOW_THREADS self->is_busy = false;
    return rc ? raise_failure(self, &err) : means_dict(&means);
}

/* None before the first step. */
static PyObject *fit_trainer(PyObject *self, PyObject *unused)
{
    struct stk_trainer *trainer = stk_fit_trainer(cast(self)->fit);
    (void)unused;
    return trainer ? ext_trainer_of(self, trainer) : Py_NewRef(Py_None);
}

/* The text of the model, with every parameter. */
static PyObject *fit_model(PyObject *self, PyObject *unused)
{
    char *text = stk_fit_model(cast(self)->fit);
    (void)unused;
    PyObject *result = text ? ext_text(text) : PyErr_NoMemory();
    stk_text_free(text);
    return result;
}

static PyObject *fit_verdict(PyObject *object, PyObject *unused)
{
    struct fit *self = cast(object);
    char *text;
    (void)unused;
    if (enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS text = stk_fit_verdict(self->fit);
    Py_END_ALLOW_THREADS self->is_busy = false;
    PyObject *result = text ? ext_text(text) : Py_NewRef(Py_None);
    stk_text_free(text);
    return result;
}

static PyMethodDef methods[] = {
    { "next", fit_next, METH_NOARGS, NULL },
    { "save", fit_save, METH_NOARGS, NULL },
    { "eval", fit_eval, METH_VARARGS, NULL },
    { "trainer", fit_trainer, METH_NOARGS, NULL },
    { "verdict", fit_verdict, METH_NOARGS, NULL },
    { "model", fit_model, METH_NOARGS, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A training that is carried out." },
    { Py_tp_new, fit_new },
    { Py_tp_dealloc, fit_dealloc },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec ext_fit_spec = {
    .name = "stoker._core.Fit",
    .basicsize = sizeof(struct fit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

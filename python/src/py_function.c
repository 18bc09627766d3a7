/* SPDX-License-Identifier: Apache-2.0 */
/* py_function.c: Function: a Python callable that a chain calls as map_function(@name) or
 * filter_function(@name).
 *
 * Who owns what is as in py_stream.c: the library has the binding, the Chain the Function. A visit is
 * what one run of rows needs: the GIL, which is taken once for all of them, and an array per field
 * into which row after row is copied. An array that somebody has kept (its references tell) is
 * left to him and another one is made, so what a function gets is its own for ever.
 */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct function {
    PyObject base;
    struct ext_binding *binding;
    PyObject *call;      /* the callable */
    PyObject *rows;      /* what the spec was made of, or None: it is a condition */
    PyObject *make;      /* (dtype, shape) → (array, its memory) */
    PyObject *failures;  /* dict: number → exception that was raised and not yet delivered */
    struct visit *spare; /* one that nobody is in, or NULL */
    int n_waiting;       /* calls at a time that wait for others to do the work; 0: none does */
    int draws;           /* enum draws */
    struct ext_spec spec;
};

/* What is known of a function's random numbers. _draws.py has the same numbers. */
enum draws {
    SEEDED = 1, /* it is called with a second argument, the element's own bytes */
    RANDOM = 2, /* it counts as a random op */
    SHARED = 4, /* it draws from generators of this process: see py_lease.c */
};

/* One field of what comes in. */
struct slot {
    struct stk_field_info info;
    PyObject *name, *array; /* array: NULL until it is needed */
    char *data;             /* of the array */
    int64_t shape[STK_MAX_RANK];
};

struct visit {
    struct ext_gil gil;
    struct function *function; /* held from enter to leave */
    int n_in;
    struct slot in[EXT_MAX_FIELDS];
    struct ext_cell out[EXT_MAX_FIELDS];
    PyObject *nothing; /* () */
    bool is_nested;    /* a name has parts: a/b */
    PyObject *aside;   /* states of the generators while the lease is held, else NULL */
    PyObject *seed;    /* bytes for the next call, or NULL */
};

static int say_gone(struct stk_error *err)
{
    *err = (struct stk_error){ .code = STK_STATE };
    snprintf(err->text, sizeof err->text,
             "the function is gone, or the interpreter on its way out");
    return STK_STATE;
}

/* ---- visits ---- */

static void visit_free(struct visit *visit)
{
    for (int f = 0; visit && f < visit->n_in; f++) {
        Py_XDECREF(visit->in[f].name);
        Py_XDECREF(visit->in[f].array);
    }
    for (int i = 0; visit && i < EXT_MAX_FIELDS; i++)
        ext_cell_clear(&visit->out[i]);
    Py_XDECREF(visit ? visit->nothing : NULL);
    free(visit);
}

static struct visit *visit_new(int n, const struct stk_field_info *field)
{
    struct visit *visit = calloc(1, sizeof *visit);
    bool is_whole = visit && (visit->nothing = PyTuple_New(0));
    for (int f = 0; is_whole && f < n; f++) {
        struct slot *slot = &visit->in[f];
        slot->info = field[f];
        slot->name = ext_text(field[f].name);
        visit->is_nested |= strchr(field[f].name, '/') != NULL;
        visit->n_in++;
        is_whole = slot->name != NULL;
        if (is_whole)
            PyUnicode_InternInPlace(&slot->name);
    }
    if (is_whole)
        return visit;
    visit_free(visit);
    return NULL;
}

/* Whether what was made for some fields serves for these. */
static bool fits(const struct visit *visit, int n, const struct stk_field_info *field)
{
    bool is_same = visit->n_in == n;
    for (int f = 0; is_same && f < n; f++) {
        const struct stk_field_info *known = &visit->in[f].info;
        is_same = known->kind == field[f].kind && known->dtype == field[f].dtype &&
                  known->rank == field[f].rank &&
                  !memcmp(known->shape, field[f].shape, sizeof known->shape) &&
                  !PyUnicode_CompareWithASCIIString(visit->in[f].name, field[f].name);
    }
    return is_same;
}

static struct visit *visit_take(struct function *self, int n, const struct stk_field_info *field)
{
    struct visit *visit = self->spare;
    self->spare = NULL;
    if (visit && fits(visit, n, field))
        return visit;
    visit_free(visit);
    return visit_new(n, field);
}

/* Puts the generators' states aside, where the function draws from them. */
static int put_aside(const struct function *self, struct visit *visit)
{
    if (self->draws & SHARED)
        visit->aside = ext_call("_draws", "states", "()");
    return self->draws & SHARED && !visit->aside ? -1 : 0;
}

static int enter(void *context, int n, const struct stk_field_info *field, void **run,
                 struct stk_error *err)
{
    struct ext_binding *binding = context;
    if (ext_is_exiting())
        return say_gone(err);
    struct ext_gil gil = ext_gil_take();
    struct function *self = (struct function *)Py_XNewRef(binding->object);
    struct visit *visit = self ? visit_take(self, n, field) : NULL;
    if (visit && !put_aside(self, visit)) {
        visit->gil = gil;
        visit->function = self;
        *run = visit;
        return STK_OK;
    }
    bool is_raised = visit && PyErr_Occurred(); /* Ctrl-C: states were asked for in Python */
    visit_free(visit);
    say_gone(err);
    if (is_raised)
        ext_failure_keep(self->failures, err);
    else if (self)
        *err = (struct stk_error){ .code = STK_MEMORY };
    PyErr_Clear();
    Py_XDECREF((PyObject *)self);
    ext_gil_give(gil);
    return err->code;
}

/* As enter, with the lease before the GIL. */
static int enter_shared(void *context, int n, const struct stk_field_info *field, void **run,
                        struct stk_error *err)
{
    ext_lease_take();
    int rc = enter(context, n, field, run, err);
    if (rc)
        ext_lease_give();
    return rc;
}

static void put_back(struct visit *visit)
{
    if (!visit->aside)
        return;
    PyObject *done = ext_call("_draws", "restore", "(O)", visit->aside);
    if (!done && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) { /* later, then */
        PyErr_Clear();
        done = ext_call("_draws", "restore", "(O)", visit->aside);
        PyErr_SetInterrupt();
    }
    PyErr_Clear(); /* nobody could do anything about it */
    Py_XDECREF(done);
    Py_CLEAR(visit->aside);
}

static void leave(void *run)
{
    struct visit *visit = run;
    struct function *self = visit->function;
    struct ext_gil gil = visit->gil;
    put_back(visit);
    Py_CLEAR(visit->seed);
    for (int i = 0; i < self->spec.n_fields; i++)
        ext_cell_release(&visit->out[i]);
    visit->function = NULL;
    if (self->spare)
        visit_free(visit);
    else
        self->spare = visit;
    Py_DECREF((PyObject *)self);
    ext_gil_give(gil);
}

static void leave_shared(void *run)
{
    leave(run);
    ext_lease_give();
}

/* ---- what goes in ---- */

static void seed(void *run, const uint32_t word[8])
{
    struct visit *visit = run;
    Py_XDECREF(visit->seed);
    visit->seed = PyBytes_FromStringAndSize((const char *)word, 8 * sizeof *word);
    PyErr_Clear(); /* out of memory: the call says so */
}

/* A new array for a slot. */
static int make_array(const struct function *self, struct slot *slot, const int64_t *shape)
{
    Py_buffer view;
    PyObject *array, *memory;
    PyObject *args =
        Py_BuildValue("(sN)", stk_dtype_name(slot->info.dtype), ext_shape(shape, slot->info.rank));
    PyObject *made = args ? PyObject_Call(self->make, args, NULL) : NULL;
    int rc = made && PyArg_ParseTuple(made, "OO", &array, &memory) &&
                     !PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE)
                 ? 0
                 : -1;
    if (!rc) {
        Py_XDECREF(slot->array);
        slot->array = Py_NewRef(array);
        slot->data = view.buf;
        memcpy(slot->shape, shape, sizeof slot->shape);
        PyBuffer_Release(&view);
    }
    Py_XDECREF(args);
    Py_XDECREF(made);
    return rc;
}

/* The values of a row as an array, or a number. Returns new. */
static PyObject *show_values(struct visit *visit, struct slot *slot, const struct stk_cell *cell)
{
    size_t bytes = (size_t)slot->info.rank * sizeof *slot->shape;
    bool is_ours =
        slot->array && Py_REFCNT(slot->array) == 1 && !memcmp(slot->shape, cell->shape, bytes);
    if (!is_ours && make_array(visit->function, slot, cell->shape) < 0)
        return NULL;
    if (cell->bytes)
        memcpy(slot->data, cell->data, cell->bytes);
    return slot->info.rank ? Py_NewRef(slot->array) : PyObject_GetItem(slot->array, visit->nothing);
}

/* A list of texts from the *next one on, or of lists for each dimension but the last. Returns
 * new. */
static PyObject *show_texts(const struct stk_cell *cell, const int64_t *shape, int rank,
                            int64_t *next)
{
    PyObject *list = PyList_New((Py_ssize_t)shape[0]);
    for (int64_t i = 0; list && i < shape[0]; i++) {
        PyObject *item;
        if (rank > 1) {
            item = show_texts(cell, shape + 1, rank - 1, next);
        } else {
            int64_t from = cell->splits[*next], bytes = cell->splits[++*next] - from;
            item = PyBytes_FromStringAndSize((const char *)cell->data + from, (Py_ssize_t)bytes);
        }
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* The element as a dict. Returns new. */
static PyObject *show(struct visit *visit, const struct stk_cell *cell)
{
    PyObject *dict = visit->is_nested ? ext_call("_functions", "Element", "()") : PyDict_New();
    for (int f = 0; dict && f < visit->n_in; f++) {
        struct slot *slot = &visit->in[f];
        PyObject *value;
        int64_t next = 0;
        if (slot->info.kind != STK_BYTES)
            value = show_values(visit, slot, &cell[f]);
        else if (slot->info.rank)
            value = show_texts(&cell[f], cell[f].shape, slot->info.rank, &next);
        else
            value = PyBytes_FromStringAndSize(cell[f].data, (Py_ssize_t)cell[f].bytes);
        if (!value || PyDict_SetItem(dict, slot->name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* ---- what comes out ---- */

/* STK_OK: keep, STK_END: drop, -1: an exception. Nothing, texts and lists are no answer: who forgot
 * to return one would lose all elements. */
static int read_answer(PyObject *answer)
{
    bool is_answer =
        PyBool_Check(answer) || PyLong_Check(answer) || PyObject_HasAttrString(answer, "dtype");
    if (!is_answer) {
        PyErr_Format(PyExc_TypeError, "the condition returned %R, not True or False", answer);
        return -1;
    }
    int is_true = PyObject_IsTrue(answer);
    return is_true < 0 ? -1 : is_true ? STK_OK : STK_END;
}

static int call(void *run, const struct stk_cell *in, struct stk_cell *out, struct stk_error *err)
{
    struct visit *visit = run;
    struct function *self = visit->function;
    if (ext_is_exiting())
        return say_gone(err);
    for (int i = 0; i < self->spec.n_fields; i++)
        ext_cell_release(&visit->out[i]);
    PyObject *element = show(visit, in), *result = NULL;
    if (self->draws & SEEDED && !visit->seed)
        PyErr_NoMemory();
    else if (element) /* the seed is NULL, which ends the arguments, or the second one */
        result = PyObject_CallFunctionObjArgs(self->call, element, visit->seed, NULL);
    Py_XDECREF(element);
    int rc = -1;
    if (result)
        rc = self->rows == Py_None ? read_answer(result)
                                   : ext_spec_take(&self->spec, result, visit->out, out);
    Py_XDECREF(result);
    return rc < 0 ? ext_failure_keep(self->failures, err) : rc;
}

int ext_function_bind(PyObject *function, struct stk_objects *objects, const char *name)
{
    struct function *self = (struct function *)function;
    bool is_shared = self->draws & SHARED;
    struct stk_error err = { 0 };
    struct stk_function given = {
        .n_fields = self->spec.n_fields,
        .field = self->spec.field,
        .enter = is_shared ? enter_shared : enter,
        .call = call,
        .leave = is_shared ? leave_shared : leave,
        .release = ext_binding_unref,
        .context = self->binding,
        .is_heavy = self->n_waiting > 0,
        .n_waiting = self->n_waiting,
        .seed = self->draws & SEEDED ? seed : NULL,
        .is_random = self->draws & RANDOM,
        .said = self->spec.n_fields ? "map" : "filter",
    };
    ext_binding_ref(self->binding);
    if (!stk_objects_add_function(objects, name, &given, &err))
        return 0;
    ext_binding_unref(self->binding);
    ext_raise(&err, NULL, 0);
    return -1;
}

PyObject *ext_function_failures(PyObject *function)
{
    return ((struct function *)function)->failures;
}

/* ---- the type ---- */

/* Function(call, rows, make, n_waiting, draws): rows is a tuple of (name, kind, dtype, shape), or None
 * for a condition. */
static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = { "call", "rows", "make", "n_waiting", "draws", NULL };
    PyObject *callable, *rows, *make;
    int n_waiting, draws;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOii:Function", names, &callable, &rows, &make,
                                     &n_waiting, &draws))
        return NULL;
    if (!PyCallable_Check(callable) || (rows != Py_None && !PyTuple_Check(rows))) {
        PyErr_SetString(PyExc_TypeError, "a callable and a tuple, or None, are wanted");
        return NULL;
    }
    struct function *self = ext_new(type, sizeof *self);
    if (!self)
        return NULL;
    self->call = Py_NewRef(callable);
    self->rows = Py_NewRef(rows);
    self->make = Py_NewRef(make);
    self->n_waiting = n_waiting;
    self->draws = draws;
    self->failures = PyDict_New();
    self->binding = ext_binding_new((PyObject *)self);
    PyObject_GC_Track(self);
    if (!self->failures || !self->binding ||
        (rows != Py_None && ext_spec_read(&self->spec, rows) < 0))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int function_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct function *self = (struct function *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->call);
    Py_VISIT(self->rows);
    Py_VISIT(self->make);
    Py_VISIT(self->failures);
    return 0;
}

static int function_clear(PyObject *object)
{
    Py_CLEAR(((struct function *)object)->failures);
    return 0;
}

static void function_dealloc(PyObject *object)
{
    struct function *self = (struct function *)object;
    PyObject_GC_UnTrack(object);
    ext_binding_drop(self->binding);
    visit_free(self->spare);
    Py_CLEAR(self->call);
    Py_CLEAR(self->rows);
    Py_CLEAR(self->make);
    Py_CLEAR(self->failures);
    ext_spec_clear(&self->spec);
    ext_free(object);
}

static PyObject *function_reduce(PyObject *object, PyObject *unused)
{
    const struct function *self = (struct function *)object;
    (void)unused;
    return Py_BuildValue("O(OOOii)", (PyObject *)Py_TYPE(object), self->call, self->rows,
                         self->make, self->n_waiting, self->draws);
}

static PyMethodDef methods[] = {
    { "__reduce__", function_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "A callable that a chain calls." },
    { Py_tp_new, function_new },
    { Py_tp_dealloc, function_dealloc },
    { Py_tp_traverse, function_traverse },
    { Py_tp_clear, function_clear },
    { Py_tp_methods, methods },
    { 0, NULL },
};

PyType_Spec ext_function_spec = {
    .name = "stoker._core.Function",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

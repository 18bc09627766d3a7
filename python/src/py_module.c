/* SPDX-License-Identifier: Apache-2.0 */
/* py_module.c: the module stoker._core: its types, a few functions, and what happens at exit and
 * fork. */
#include "ext.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct ext_types ext_types;

enum { EXIT_PATIENCE_MS = 1000 };

static atomic_bool is_closing; /* iterators are being closed */
static atomic_bool is_exiting; /* and now they are */
static atomic_int generation;

bool ext_is_exiting(void)
{
    return atomic_load_explicit(&is_exiting, memory_order_relaxed);
}

int ext_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void ext_stay_if_exiting(void)
{
    while (atomic_load_explicit(&is_closing, memory_order_relaxed) && !ext_is_main_thread()) {
        Py_BEGIN_ALLOW_THREADS sleep(1);
        Py_END_ALLOW_THREADS
    }
}

static void after_fork(void)
{
    atomic_fetch_add(&generation, 1);
    ext_jobs_forget();
}

/* ---- functions ---- */

static PyObject *take_json(char *text)
{
    if (!text)
        return PyErr_NoMemory();
    PyObject *result = ext_text(text);
    stk_text_free(text);
    return result;
}

static PyObject *core_version(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return ext_text(stk_version());
}

static PyObject *core_devices_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return take_json(stk_devices_json());
}

static PyObject *core_ops_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return take_json(stk_ops_json());
}

static PyObject *core_recipe_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return take_json(stk_recipe_json());
}

/* A text of a file of weights. */
static PyObject *core_checkpoint_text(PyObject *module, PyObject *args)
{
    struct stk_error err = { 0 };
    const char *path, *name;
    char *text;
    (void)module;
    if (!PyArg_ParseTuple(args, "ys", &path, &name))
        return NULL;
    return stk_checkpoint_text(path, name, &text, &err) ? ext_raise(&err, NULL, 0)
                                                        : take_json(text);
}

static PyObject *core_load_plugin(PyObject *module, PyObject *path)
{
    struct stk_error err = { 0 };
    char *bytes;
    (void)module;
    if (PyBytes_AsStringAndSize(path, &bytes, NULL) < 0)
        return NULL;
    return stk_plugin_load(bytes, &err) ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *core_cpu_limit(PyObject *module, PyObject *level)
{
    struct stk_error err = { 0 };
    const char *text = PyUnicode_AsUTF8AndSize(level, NULL);
    (void)module;
    if (!text)
        return NULL;
    return stk_cpu_limit(text, &err) ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *core_memory_limit(PyObject *module, PyObject *number)
{
    struct stk_error err = { 0 };
    long long bytes = PyLong_AsLongLong(number);
    (void)module;
    if (bytes == -1 && PyErr_Occurred())
        return NULL;
    return stk_memory_limit(bytes, &err) ? ext_raise(&err, NULL, 0) : Py_NewRef(Py_None);
}

static PyObject *core_memory_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return take_json(stk_memory_json());
}

/* Called by atexit, while threads can still take the GIL. */
static PyObject *core_exit(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    atomic_store(&is_closing, true);
    ext_iterators_close(EXIT_PATIENCE_MS);
    atomic_store(&is_exiting, true);
    return Py_NewRef(Py_None);
}

/* (epoch, batches, end): the epoch a state is in, its batches that were delivered, and the epoch before
 * which its run ends; None: never. */
static PyObject *core_state_place(PyObject *module, PyObject *text)
{
    struct stk_state_info info;
    struct stk_error err = { 0 };
    (void)module;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a state is text");
        return NULL;
    }
    const char *state = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!state)
        return NULL;
    if (stk_state_read(state, &info, &err))
        return ext_raise(&err, NULL, 0);
    if (info.end_epoch == INT64_MAX)
        return Py_BuildValue("KKO", (unsigned long long)info.epoch,
                             (unsigned long long)info.batches, Py_None);
    return Py_BuildValue("KKK", (unsigned long long)info.epoch, (unsigned long long)info.batches,
                         (unsigned long long)info.end_epoch);
}

/* Raises what is wrong with options before they are used. */
static PyObject *core_check_options(PyObject *module, PyObject *given)
{
    (void)module;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    stk_options_free(options);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    { "version", core_version, METH_NOARGS, NULL },
    { "devices_json", core_devices_json, METH_NOARGS, NULL },
    { "ops_json", core_ops_json, METH_NOARGS, NULL },
    { "recipe_json", core_recipe_json, METH_NOARGS, NULL },
    { "checkpoint_text", core_checkpoint_text, METH_VARARGS, NULL },
    { "cpu_limit", core_cpu_limit, METH_O, NULL },
    { "memory_limit", core_memory_limit, METH_O, NULL },
    { "memory_json", core_memory_json, METH_NOARGS, NULL },
    { "load_plugin", core_load_plugin, METH_O, NULL },
    { "inspect", ext_inspect, METH_VARARGS, NULL },
    { "state_place", core_state_place, METH_O, NULL },
    { "check_options", core_check_options, METH_O, NULL },
    { "restore_array", ext_array_restore, METH_VARARGS, NULL },
    { "restore_rows", ext_rows_restore, METH_VARARGS, NULL },
    { "restore_batch", ext_batch_restore, METH_VARARGS, NULL },
    { "_exit", core_exit, METH_NOARGS, NULL },
    { 0 },
};

/* ---- the module ---- */

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **out)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    *out = (PyTypeObject *)type;
    return type ? PyModule_AddObjectRef(module, name, type) : -1;
}

static int add_tuple(PyObject *module, const char *name, PyStructSequence_Desc *desc,
                     PyTypeObject **out)
{
    *out = PyStructSequence_NewType(desc);
    return *out ? PyModule_AddObjectRef(module, name, (PyObject *)*out) : -1;
}

static int add_types(PyObject *module)
{
    struct ext_types *t = &ext_types;
    return add_type(module, "Batch", &ext_batch_spec, &t->batch) ||
           add_type(module, "Array", &ext_array_spec, &t->array) ||
           add_type(module, "Bytes", &ext_bytes_spec, &t->bytes) ||
           add_type(module, "Ragged", &ext_ragged_spec, &t->ragged) ||
           add_type(module, "Chain", &ext_chain_spec, &t->chain) ||
           add_type(module, "Iterator", &ext_iterator_spec, &t->iterator) ||
           add_type(module, "Memory", &ext_memory_spec, &t->memory) ||
           add_type(module, "Stream", &ext_stream_spec, &t->stream) ||
           add_type(module, "Function", &ext_function_spec, &t->function) ||
           add_type(module, "Model", &ext_model_spec, &t->model) ||
           add_type(module, "Trainer", &ext_trainer_spec, &t->trainer) ||
           add_type(module, "Fit", &ext_fit_spec, &t->fit) ||
           add_tuple(module, "Position", &ext_position_desc, &t->position) ||
           add_tuple(module, "Stats", &ext_stats_desc, &t->stats) ||
           add_tuple(module, "Packed", &ext_packed_desc, &t->packed);
}

static int register_exit(PyObject *module)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = atexit ? PyObject_GetAttrString(module, "_exit") : NULL;
    PyObject *done = function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;
    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stoker._core",
    .m_doc = "The part of stoker that is written in C.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && (ext_gil_begin() || add_types(module) || register_exit(module)))
        Py_CLEAR(module);
    if (module)
        pthread_atfork(NULL, NULL, after_fork);
    return module;
}

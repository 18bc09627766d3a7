/* SPDX-License-Identifier: Apache-2.0 */
/* py_findings.c: what is in files and in datasets: inspect, and Chain.statistics. */
#include "ext.h"

/* ---- inspect ---- */

/* inspect(path as bytes, json) */
PyObject *ext_inspect(PyObject *module, PyObject *args)
{
    struct stk_error err = { 0 };
    const char *path;
    char *text = NULL;
    int json, rc;
    (void)module;
    if (!PyArg_ParseTuple(args, "yp:inspect", &path, &json))
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_inspect(path, json, &text, &err);
    Py_END_ALLOW_THREADS if (rc) return ext_raise(&err, NULL, 0);
    PyObject *result = ext_text(text);
    stk_text_free(text);
    return result;
}

/* ---- statistics ---- */

/* True to stop: a signal has raised an exception. */
static bool look_for_signals(void *context, uint64_t elements, uint64_t batches)
{
    PyThreadState **thread = context;
    (void)elements, (void)batches;
    PyEval_RestoreThread(*thread);
    ext_stay_if_exiting();
    ext_drain();
    bool is_over = PyErr_CheckSignals() < 0;
    *thread = PyEval_SaveThread();
    return is_over;
}

/* chain.statistics(options, batches): a tuple of JSON and text; 0 batches are all. */
PyObject *ext_chain_statistics(PyObject *self, PyObject *args)
{
    struct ext_chain *chain = (struct ext_chain *)self;
    struct stk_error err = { 0 };
    struct stk_statistics found;
    PyThreadState *thread;
    PyObject *given;
    long long batches;
    if (!PyArg_ParseTuple(args, "O!L:statistics", &PyDict_Type, &given, &batches))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    const struct stk_statistics_options wanted = { .batches = batches,
                                                   .progress = look_for_signals,
                                                   .context = &thread };
    thread = PyEval_SaveThread();
    int rc = stk_dataset_statistics(chain->dataset, options, &wanted, &found, &err);
    PyEval_RestoreThread(thread);
    stk_options_free(options);
    ext_drain();
    if (!rc) {
        PyObject *result = Py_BuildValue("(NN)", ext_text(found.json), ext_text(found.text));
        stk_text_free(found.json);
        stk_text_free(found.text);
        return result;
    }
    if (rc == STK_CANCELLED && PyErr_Occurred())
        return NULL;
    if (chain->has_callers && ext_raise_failure(chain, &err))
        return NULL;
    return ext_raise(&err, NULL, 0);
}

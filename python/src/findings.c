/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c: what is in files and in datasets: inspect, and Chain.statistics. */
#include "ext.h"

#include <time.h>

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

struct pass {
    struct stk_iterator *it;
    struct stk_statistics *statistics;
    long long left; /* batches that are still wanted; negative: all */
    struct stk_error err;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Adds batches until it is time to look for signals. STK_AGAIN: there may be more. */
static int add_some(struct pass *pass)
{
    int64_t end = now_ms() + EXT_PATIENCE_MS;
    int rc = STK_OK;
    while (!rc && now_ms() < end) {
        struct stk_batch *batch = NULL;
        if (!pass->left)
            return STK_END;
        rc = stk_iterator_poll(pass->it, EXT_PATIENCE_MS, &batch, &pass->err);
        if (rc)
            break;
        rc = stk_statistics_add(pass->statistics, batch, &pass->err);
        stk_batch_unref(batch);
        pass->left -= pass->left > 0;
    }
    return rc ? rc : STK_AGAIN;
}

/* STK_END; another code; or -1 with an exception. */
static int add_all(struct pass *pass)
{
    int rc = STK_AGAIN;
    while (rc == STK_AGAIN) {
        Py_BEGIN_ALLOW_THREADS rc = add_some(pass);
        Py_END_ALLOW_THREADS ext_stay_if_exiting();
        ext_drain();
        if (PyErr_CheckSignals() < 0)
            return -1;
    }
    return rc;
}

/* A tuple of JSON and text. */
static PyObject *print(struct pass *pass)
{
    char *json = NULL, *text = NULL;
    PyObject *result = NULL;
    if (!stk_statistics_print(pass->statistics, true, &json, &pass->err) &&
        !stk_statistics_print(pass->statistics, false, &text, &pass->err))
        result = Py_BuildValue("(NN)", ext_text(json), ext_text(text));
    else
        ext_raise(&pass->err, NULL, 0);
    stk_text_free(json);
    stk_text_free(text);
    return result;
}

static PyObject *run(struct ext_chain *chain, struct pass *pass)
{
    int rc = add_all(pass);
    if (rc < 0)
        return NULL;
    if (rc == STK_END)
        return print(pass);
    if (chain->has_streams && ext_raise_failure(chain, &pass->err))
        return NULL;
    return ext_raise(&pass->err, NULL, 0);
}

/* chain.statistics(options, batches): -1 batches are all. */
PyObject *ext_chain_statistics(PyObject *self, PyObject *args)
{
    struct ext_chain *chain = (struct ext_chain *)self;
    struct pass pass = { 0 };
    PyObject *given, *result = NULL;
    int rc;
    if (!PyArg_ParseTuple(args, "O!L:statistics", &PyDict_Type, &given, &pass.left))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = stk_statistics_new(chain->dataset, &pass.statistics, &pass.err);
    if (!rc)
        rc = stk_iterator_new(chain->dataset, options, &pass.it, &pass.err);
    Py_END_ALLOW_THREADS result = rc ? ext_raise(&pass.err, NULL, 0) : run(chain, &pass);
    Py_BEGIN_ALLOW_THREADS stk_iterator_free(pass.it);
    stk_statistics_free(pass.statistics);
    Py_END_ALLOW_THREADS stk_options_free(options);
    ext_drain();
    return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* py_profile.c: Chain.profile and Iterator.profile. */
#include "ext.h"

/* True to stop: a signal has raised an exception. */
static bool look_for_signals(void *context, const char *doing)
{
    PyThreadState **thread = context;
    (void)doing;
    PyEval_RestoreThread(*thread);
    ext_stay_if_exiting();
    ext_drain();
    bool is_over = PyErr_CheckSignals() < 0;
    *thread = PyEval_SaveThread();
    return is_over;
}

/* (JSON, text, page) of a profile, which is freed. */
static PyObject *result_of(struct stk_profile *profile)
{
    char *json = stk_profile_json(profile), *text = stk_profile_text(profile);
    char *page = stk_profile_report(profile);
    stk_profile_free(profile);
    PyObject *result = json && text && page
                           ? Py_BuildValue("(NNN)", ext_text(json), ext_text(text), ext_text(page))
                           : PyErr_NoMemory();
    stk_text_free(json);
    stk_text_free(text);
    stk_text_free(page);
    return result;
}

/* The dataset of a Chain, or NULL for None; -1 with an exception where it is neither. */
static int read_elsewhere(PyObject *given, struct stk_dataset **out)
{
    if (given != Py_None && Py_TYPE(given) != ext_types.chain) {
        PyErr_SetString(PyExc_TypeError, "a Chain or None is wanted");
        return -1;
    }
    *out = given == Py_None ? NULL : ((struct ext_chain *)given)->dataset;
    return 0;
}

/* chain.profile(options, seconds, consumer_ms, loop_us, has_trials, elsewhere): (JSON, text, page). `elsewhere` is
 * the Chain with its functions in helper processes, or None. */
PyObject *ext_chain_profile(PyObject *self, PyObject *args)
{
    struct ext_chain *chain = (struct ext_chain *)self;
    struct stk_error err = { 0 };
    struct stk_profile *profile = NULL;
    PyThreadState *thread;
    PyObject *given, *elsewhere;
    int has_trials;
    struct stk_profile_options how = { .records = true,
                                       .progress = look_for_signals,
                                       .context = &thread };
    if (!PyArg_ParseTuple(args, "O!dddpO:profile", &PyDict_Type, &given, &how.seconds,
                          &how.consumer_ms, &how.loop_us, &has_trials, &elsewhere) ||
        read_elsewhere(elsewhere, &how.elsewhere) < 0)
        return NULL;
    how.no_trials = !has_trials;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    thread = PyEval_SaveThread();
    int rc = stk_dataset_profile(chain->dataset, options, &how, &profile, &err);
    PyEval_RestoreThread(thread);
    stk_options_free(options);
    ext_drain();
    if (!rc)
        return result_of(profile);
    if (rc == STK_CANCELLED && PyErr_Occurred())
        return NULL;
    if (chain->has_callers && ext_raise_failure(chain, &err))
        return NULL;
    return ext_raise(&err, NULL, 0);
}

PyObject *ext_profile_run(struct stk_iterator *it, PyObject *args)
{
    struct stk_error err = { 0 };
    struct stk_profile *profile = NULL;
    PyThreadState *thread;
    PyObject *elsewhere;
    int has_trials;
    struct stk_profile_options how = { .progress = look_for_signals, .context = &thread };
    if (!PyArg_ParseTuple(args, "pO:profile", &has_trials, &elsewhere) ||
        read_elsewhere(elsewhere, &how.elsewhere) < 0)
        return NULL;
    how.no_trials = !has_trials;
    thread = PyEval_SaveThread();
    int rc = stk_iterator_profile(it, &how, &profile, &err);
    PyEval_RestoreThread(thread);
    ext_drain();
    if (!rc)
        return result_of(profile);
    return rc == STK_CANCELLED && PyErr_Occurred() ? NULL : ext_raise(&err, NULL, 0);
}

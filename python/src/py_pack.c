/* SPDX-License-Identifier: Apache-2.0 */
/* py_pack.c: Chain.pack: stores the elements of a chain in record files. */
#include "ext.h"

/* One call. The library calls `tell` on the thread that made it. */
struct call {
    PyThreadState *thread; /* while the GIL is released */
    PyObject *tell;        /* what to call with the progress, or None */
};

static PyObject *describe(const struct stk_pack_progress *p)
{
    return Py_BuildValue("(KLKKLL)", (unsigned long long)p->elements, (long long)p->total,
                         (unsigned long long)p->bytes, (unsigned long long)p->errors,
                         (long long)p->shards_done, (long long)p->shards);
}

/* True to stop: an exception is set then, by a signal or by what was called. */
static bool tell(void *context, const struct stk_pack_progress *p)
{
    struct call *call = context;
    PyEval_RestoreThread(call->thread);
    ext_stay_if_exiting();
    ext_drain();
    bool is_over = PyErr_CheckSignals() < 0;
    PyObject *args = is_over || call->tell == Py_None ? NULL : describe(p);
    PyObject *result = args ? PyObject_CallObject(call->tell, args) : NULL;
    is_over = is_over || (call->tell != Py_None && !result);
    Py_XDECREF(args);
    Py_XDECREF(result);
    call->thread = PyEval_SaveThread();
    return is_over;
}

static PyStructSequence_Field packed_fields[] = {
    { "manifest", "path of the manifest" },
    { "elements", "in all files" },
    { "bytes", "of all files" },
    { "errors", "bad elements met by this call" },
    { "written", "files made by this call" },
    { "kept", "files found complete" },
    { 0 },
};

PyStructSequence_Desc ext_packed_desc = {
    .name = "stoker.Packed",
    .doc = "What pack stored.",
    .fields = packed_fields,
    .n_in_sequence = 6,
};

static PyObject *take_result(struct stk_pack_result *result)
{
    const uint64_t value[] = { result->elements, result->bytes, result->errors,
                               (uint64_t)result->written, (uint64_t)result->kept };
    PyObject *tuple = PyStructSequence_New(ext_types.packed);
    PyObject *manifest = ext_text(result->manifest);
    stk_text_free(result->manifest);
    if (!tuple || !manifest) {
        Py_XDECREF(tuple);
        Py_XDECREF(manifest);
        return NULL;
    }
    PyStructSequence_SetItem(tuple, 0, manifest);
    for (int i = 0; i < 5; i++)
        PyStructSequence_SetItem(tuple, i + 1, PyLong_FromUnsignedLongLong(value[i]));
    return tuple;
}

/* chain.pack(options, out, shards, format, compression, variants, keep_original, force, tell) */
PyObject *ext_chain_pack(PyObject *self, PyObject *args)
{
    struct ext_chain *chain = (struct ext_chain *)self;
    struct stk_pack_options wanted = { .progress = tell };
    struct stk_pack_result result;
    struct stk_error err = { 0 };
    struct call call = { 0 };
    PyObject *given;
    long long shards, variants;
    int keeps, force;
    if (!PyArg_ParseTuple(args, "O!yLzsLppO:pack", &PyDict_Type, &given, &wanted.out, &shards,
                          &wanted.format, &wanted.compression, &variants, &keeps, &force,
                          &call.tell))
        return NULL;
    struct stk_options *options = ext_options_read(given);
    if (!options)
        return NULL;
    wanted.shards = shards;
    wanted.variants = variants;
    wanted.keep_original = keeps;
    wanted.force = force;
    wanted.context = &call;
    call.thread = PyEval_SaveThread();
    int rc = stk_pack(chain->dataset, options, &wanted, &result, &err);
    PyEval_RestoreThread(call.thread);
    stk_options_free(options);
    ext_drain();
    if (!rc)
        return take_result(&result);
    if (rc == STK_CANCELLED && PyErr_Occurred())
        return NULL;
    if (chain->has_callers && ext_raise_failure(chain, &err))
        return NULL;
    return ext_raise(&err, NULL, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ext.h: what the files of the Python extension share. CPython's limited API and stoker.h, nothing
 * else.
 *
 * Who may wait for whom. A worker of the library takes the GIL only inside the callbacks of a
 * stream (py_stream.c), never while it holds a lock of the library. So a thread with the GIL may call
 * functions of the library that are quick; what may wait or compute is called without the GIL.
 * Owners of memory that the library lets go are put on a list (py_deferred.c) and released later by a
 * thread that has the GIL anyway.
 */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stoker/stoker.h>

enum { EXT_PATIENCE_MS = 50 }; /* between two looks for signals */

/* ---- types ---- */

struct ext_types {
    PyTypeObject *chain, *iterator, *batch, *array, *bytes, *ragged, *memory, *stream, *function,
        *model, *trainer, *fit, *position, *stats, *packed;
};
extern struct ext_types ext_types; /* filled once, when the module is made */

extern PyType_Spec ext_chain_spec, ext_iterator_spec, ext_batch_spec, ext_array_spec,
    ext_bytes_spec, ext_ragged_spec, ext_memory_spec, ext_stream_spec, ext_function_spec,
    ext_model_spec, ext_trainer_spec, ext_fit_spec;
extern PyStructSequence_Desc ext_position_desc, ext_stats_desc, ext_packed_desc;

/* A dataset of the library and the Python objects it names. */
struct ext_chain {
    PyObject base;
    struct stk_dataset *dataset;
    PyObject *objects;    /* dict: name → Memory, Stream or Function; NULL: none */
    PyObject *names;      /* tuple of field names */
    PyObject *attributes; /* the same, but None where Batch has an attribute of that name */
    bool has_callers;     /* streams or functions */
    bool is_slow;         /* making or reading elements may wait for storage */
};

/* One array in memory that an owner keeps, C-contiguous. */
struct ext_array {
    PyObject base;
    PyObject *owner; /* a Batch, or what keeps the memory of one that was restored */
    void *data;
    int dtype, rank;
    bool is_writable;
    int64_t n_bytes;
    Py_ssize_t shape[STK_MAX_RANK], strides[STK_MAX_RANK];
};

/* Memory of the caller that a chain names. */
struct ext_memory {
    PyObject base;
    struct stk_array array;
    PyObject *owner;      /* whose memory it is, or NULL */
    Py_buffer buffer;     /* held if buffer.obj */
    void *tensor;         /* held DLPack tensor, or NULL */
    bool is_versioned;    /* the tensor's struct */
    void *block, *splits; /* our own copies, or NULL */
};

/* ---- py_calls.c: small things around calls of Python ---- */

/* stoker.MODULE.NAME(…) with arguments as for Py_BuildValue. Returns new. */
PyObject *ext_call(const char *module, const char *name, const char *format, ...);

/* UTF-8, with something else for what is none. Returns new. */
PyObject *ext_text(const char *text);

/* A tuple of dimensions; negative ones are None. Returns new. */
PyObject *ext_shape(const int64_t *shape, int rank);

/* Allocates an object of one of our types; its fields are zero. */
void *ext_new(PyTypeObject *type, size_t bytes);
void ext_free(PyObject *self);

/* ---- py_errors.c ---- */

/* Raises the package's exception. `text` is the chain (NULL: none), in which the place is `shift`
 * bytes further on. Returns NULL. */
PyObject *ext_raise(const struct stk_error *err, const char *text, size_t shift);

PyObject *ext_raise_state(const char *message);

/* The exception as an object that is not raised. Returns new. */
PyObject *ext_exception(const struct stk_error *err, const char *text, size_t shift);

/* ---- py_deferred.c: what must be done by a thread with the GIL ---- */

struct ext_deferred {
    struct ext_deferred *next;
    void (*finish)(struct ext_deferred *self); /* called with the GIL; frees self */
};
void ext_defer(struct ext_deferred *work); /* any thread, with or without the GIL */
void ext_drain(void);                      /* with the GIL */

/* ---- py_job.c: work on a thread of its own, so that Ctrl-C can leave it ---- */

struct ext_job {
    void (*run)(struct ext_job *self);  /* without the GIL */
    void (*drop)(struct ext_job *self); /* frees, by whoever is last; without the GIL */
    void *lock;                         /* of py_job.c */
};

/* Without a thread if `is_quick`. Runs and waits. 0: done, and the caller drops the job; -1: a signal raised an exception, and the
 * job drops itself when it ends. The caller has the GIL. */
int ext_job_run(struct ext_job *job, bool is_quick);

/* Starts it and waits for it so long, whatever signals come; then it is left alone. It drops
 * itself. */
void ext_job_leave(struct ext_job *job, int milliseconds);

bool ext_is_main_thread(void);
int ext_jobs_running(void);
void ext_jobs_forget(void); /* in a forked child, which has none of the threads */

/* ---- py_gil.c: the GIL for callbacks, on whatever thread they come ---- */

struct ext_gil {
    PyThreadState *own;     /* of a worker, or NULL */
    PyGILState_STATE state; /* of a thread of Python */
};
int ext_gil_begin(void); /* once, with the GIL */
struct ext_gil ext_gil_take(void);
void ext_gil_give(struct ext_gil gil);

/* ---- py_module.c ---- */

bool ext_is_exiting(void); /* the interpreter is on its way out: leave Python alone */
int ext_generation(void);  /* another number in a forked child */

/* While iterators are closed at exit, other threads can only be daemons: they stay here and say
 * nothing, as Python's own end for them is. Returns for everybody else. */
void ext_stay_if_exiting(void);

/* ---- py_chain.c ---- */

/* A dict of texts as options. Returns new. */
struct stk_options *ext_options_read(PyObject *dict);

/* ---- py_pack.c ---- */

PyObject *ext_chain_pack(PyObject *self, PyObject *args); /* a method of Chain */

/* ---- py_findings.c ---- */

PyObject *ext_inspect(PyObject *module, PyObject *args);
PyObject *ext_chain_statistics(PyObject *self, PyObject *args); /* a method of Chain */

/* ---- py_profile.c ---- */

PyObject *ext_chain_profile(PyObject *self, PyObject *args); /* a method of Chain */

/* (JSON, text, page) of a run; args: whether advice is tried out. */
PyObject *ext_profile_run(struct stk_iterator *it, PyObject *args);

/* ---- py_iterator.c ---- */

/* Raises what a generator or a function raised, as it was; false if the message tells of none. */
bool ext_raise_failure(const struct ext_chain *chain, const struct stk_error *err);

/* state NULL: from the beginning. */
PyObject *ext_iterator_new(struct ext_chain *chain, const struct stk_options *options,
                           const char *state, PyObject *run);

/* Takes back the batch that came last and that nobody has looked at; false: it is still the
 * caller's. `last` is the iterator's own (see ext_batch_follow). */
bool ext_iterator_unread(PyObject **last, struct stk_batch *batch);

/* {'state': text}: takes what stk_batch_state and its kin return. */
PyObject *ext_state_dict(int rc, char *state, const struct stk_error *err);

/* Closes all that are open and waits so long for them to be gone. */
void ext_iterators_close(int milliseconds);

/* ---- py_model.c, py_trainer.c ---- */

const struct stk_model *ext_model_of(PyObject *model); /* borrowed */

/* A Trainer that belongs to another object. Returns new. */
PyObject *ext_trainer_of(PyObject *owner, struct stk_trainer *trainer);

/* ---- py_dtype.c ---- */

int ext_dtype_of_name(const char *name); /* or -1 */
const char *ext_dtype_format(int dtype); /* of the buffer protocol, or NULL */
int ext_dtype_of_format(const char *format, Py_ssize_t item_bytes); /* or -1 */
PyObject *ext_number_read(int dtype, const void *at);
int ext_number_write(int dtype, PyObject *number, void *at); /* 0, or -1 with an exception */

/* ---- py_array.c, py_rows.c, py_batch.c ---- */

PyObject *ext_array_new(PyObject *owner, void *data, int dtype, int rank, const int64_t *shape);
PyObject *ext_field_new(PyObject *batch,
                        const struct stk_view *view); /* what a field is to users */
PyObject *ext_batch_new(struct stk_batch *batch, const struct ext_chain *chain); /* takes batch */
struct stk_batch *ext_batch_of(PyObject *owner); /* borrowed; NULL: no memory of the library's */
PyObject *ext_batch_attributes(PyObject *names); /* returns new */

/* What pickles are made of again: functions of the module (stoker/_pickling.py). */
PyObject *ext_batch_restore(PyObject *module, PyObject *args);
PyObject *ext_array_restore(PyObject *module, PyObject *args);
PyObject *ext_rows_restore(PyObject *module, PyObject *args);

/* *last is the batch, borrowed, until it goes, another one follows or nobody follows any more. */
void ext_batch_follow(PyObject *batch, PyObject **last);
void ext_batch_unfollow(PyObject **last);

/* ---- py_dlpack.c ---- */

PyObject *ext_dlpack_export(struct ext_array *array, bool is_versioned, bool is_copy);

/* What a DLPack capsule holds. Takes the tensor over from the capsule; 0, or -1 with an
 * exception. */
struct ext_tensor {
    void *managed;
    bool is_versioned;
    void *data;
    int dtype, rank;
    int64_t shape[STK_MAX_RANK], strides[STK_MAX_RANK]; /* strides in bytes */
};
int ext_dlpack_import(PyObject *object, struct ext_tensor *out);
void ext_dlpack_release(void *managed, bool is_versioned);

/* Copies elements at strides (in bytes) one behind the other. */
void ext_copy_strided(const struct ext_tensor *from, void *to);

/* ---- py_caller.c: what streams and functions share ---- */

/* How the library refers to an object of ours: it never holds Python's references. */
struct ext_binding {
    atomic_int refs;  /* pairs with itself: acq_rel on the last one */
    PyObject *object; /* borrowed; NULL when it is gone. Guarded by the GIL */
};
struct ext_binding *ext_binding_new(PyObject *object); /* returns new, or NULL and an exception */
void ext_binding_ref(struct ext_binding *binding);
void ext_binding_unref(void *binding);
void ext_binding_drop(struct ext_binding *binding); /* by the object as it goes; may be NULL */

unsigned long long ext_number_new(void); /* another one at each call */

/* Keeps the current exception in the dict for the consumer, who finds it by its number in the
 * message. Returns the code for the library: STK_STATE for what is not an Exception, such as
 * KeyboardInterrupt. */
int ext_failure_keep(PyObject *failures, struct stk_error *err);

/* The exception that a message tells of, taken out of the dict. Returns new, or NULL without an
 * exception. */
PyObject *ext_failure_take(PyObject *failures, const char *message);
void ext_failure_note(PyObject *failure, const char *message); /* adds where it happened */

/* ---- py_lease.c: the right to seed the generators of the process; called without the GIL ---- */

void ext_lease_take(void);
void ext_lease_give(void);

/* Around a wait of a thread that may have it: others may have it meanwhile, and leave the generators as they
 * were. */
int ext_lease_lend(void);
void ext_lease_take_back(int n);

void ext_lease_after_fork(void); /* in the child */

/* ---- py_memory.c, py_stream.c, py_function.c, py_element.c, py_spec.c ---- */

enum { EXT_MAX_FIELDS = 32 };

int ext_memory_bind(PyObject *memory, struct stk_objects *objects, const char *name);
int ext_stream_bind(PyObject *stream, struct stk_objects *objects, const char *name);
int ext_function_bind(PyObject *function, struct stk_objects *objects, const char *name);
PyObject *ext_stream_failures(PyObject *stream); /* borrowed; may be NULL */
PyObject *ext_function_failures(PyObject *function);

/* One field of an element as memory, kept until the next value. */
struct ext_cell {
    Py_buffer buffer;
    struct ext_tensor tensor;
    PyObject *value;
    char *scratch;
    size_t scratch_bytes;
};
int ext_cell_set(struct ext_cell *cell, const struct stk_field_info *field, PyObject *value,
                 struct stk_cell *out);
void ext_cell_release(struct ext_cell *cell); /* lets the value go, keeps the scratch */
void ext_cell_clear(struct ext_cell *cell);

/* The fields of elements that Python makes. */
struct ext_spec {
    int n_fields;
    struct stk_field_info field[EXT_MAX_FIELDS];
    PyObject *names; /* tuple of str, which own the names of the fields */
    bool is_nested;  /* a name has parts: a/b */
};
int ext_spec_read(struct ext_spec *spec, PyObject *rows); /* (name, kind, dtype, shape), … */
void ext_spec_clear(struct ext_spec *spec);

/* The fields of an element (a dict, a tuple, or the only value) as cells; 0, or -1 with an
 * exception. */
int ext_spec_take(const struct ext_spec *spec, PyObject *element, struct ext_cell *kept,
                  struct stk_cell *out);

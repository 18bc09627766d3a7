/* SPDX-License-Identifier: Apache-2.0 */
/* py_iterator.c: Iterator: one run over a dataset.
 *
 * `lock` is held by the thread that waits in next, without the GIL; close waits for it. Everything
 * else is guarded by the GIL. Every open iterator is in a list, so that the interpreter can close
 * them when it exits. One that is not at its end is freed by a thread of its own, for which nobody
 * waits long: its threads may be inside a read that hangs, or inside a generator that waits for the
 * very thread that lets the iterator go.
 */
#include "ext.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <time.h>

enum { PARTING_MS = 200 }; /* for threads that are told to end */

struct iterator {
    PyObject base;
    struct stk_iterator *it; /* NULL: closed */
    struct ext_chain *chain;
    PyThread_type_lock lock;
    unsigned long user; /* the thread that holds lock, or 0 */
    int generation;     /* of the process that made it */
    bool is_over;       /* nothing more will come */
    PyObject *last;     /* the batch that next returned, borrowed; or NULL */
    PyObject *run; /* a Run of _dataset.py, which gets the place where this one ends; or NULL */
    PyObject *weak_refs;             /* or NULL */
    uint64_t epoch;                  /* of the last batch, from 1 on; 0: there was none */
    uint64_t n_told;                 /* bad elements that were told of */
    bool has_asked;                  /* somebody looks at errors or counts */
    struct iterator *next, **before; /* in the list of open ones */
};

static struct iterator *open_iterators;

static void list_add(struct iterator *self)
{
    self->next = open_iterators;
    self->before = &open_iterators;
    if (self->next)
        self->next->before = &self->next;
    open_iterators = self;
}

static void list_remove(struct iterator *self)
{
    if (!self->before)
        return;
    *self->before = self->next;
    if (self->next)
        self->next->before = self->before;
    self->next = NULL;
    self->before = NULL;
}

/* ---- freeing ---- */

struct farewell {
    struct ext_job job; /* first: a farewell is its job */
    struct stk_iterator *it;
};

static void farewell_run(struct ext_job *job)
{
    stk_iterator_free(((struct farewell *)job)->it);
}

static void farewell_drop(struct ext_job *job)
{
    free(job);
}

static struct ext_job *farewell_new(struct stk_iterator *it)
{
    struct farewell *farewell = malloc(sizeof *farewell);
    if (!farewell)
        return NULL;
    *farewell = (struct farewell){ { .run = farewell_run, .drop = farewell_drop }, it };
    return &farewell->job;
}

static bool is_foreign(const struct iterator *self)
{
    return self->generation != ext_generation();
}

/* Tells the Dataset how far this run came; what fails is of no use to anybody. */
static void leave_place(const struct iterator *self)
{
    PyObject *type, *value, *trace;
    char *text = NULL;
    if (!self->it || !self->run || is_foreign(self) || stk_iterator_state(self->it, &text, NULL))
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done =
        PyObject_CallMethod(self->run, "end", "sO", text, self->is_over ? Py_True : Py_False);
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
    stk_text_free(text);
}

/* Takes the run out of its object, so that nobody else finds it. */
static struct stk_iterator *detach(struct iterator *self)
{
    leave_place(self);
    struct stk_iterator *it = self->it;
    self->it = NULL;
    ext_batch_unfollow(&self->last);
    list_remove(self);
    return it;
}

static void free_here(struct stk_iterator *it)
{
    Py_BEGIN_ALLOW_THREADS stk_iterator_free(it);
    Py_END_ALLOW_THREADS
}

static void free_behind(struct stk_iterator *it, int milliseconds)
{
    struct ext_job *job = farewell_new(it);
    stk_iterator_cancel(it);
    if (job)
        ext_job_leave(job, milliseconds);
    else
        free_here(it);
}

/* ---- one user at a time ---- */

/* Refuses users who could only wait for ever. */
static int check_user(const struct iterator *self)
{
    if (is_foreign(self))
        ext_raise_state("this iterator was started before a fork; make a new one in the child");
    else if (self->user == PyThread_get_thread_ident())
        ext_raise_state(
            "this iterator is waiting for what its own generator does; it cannot be used there");
    else
        return 0;
    return -1;
}

static int enter(struct iterator *self)
{
    if (check_user(self) < 0)
        return -1;
    PyLockStatus got = PyThread_acquire_lock_timed(self->lock, 0, 0);
    while (got != PY_LOCK_ACQUIRED) {
        Py_BEGIN_ALLOW_THREADS got =
            PyThread_acquire_lock_timed(self->lock, EXT_PATIENCE_MS * 1000, 0);
        Py_END_ALLOW_THREADS if (got != PY_LOCK_ACQUIRED && PyErr_CheckSignals()) return -1;
    }
    self->user = PyThread_get_thread_ident();
    return 0;
}

static void leave(struct iterator *self)
{
    self->user = 0;
    PyThread_release_lock(self->lock);
}

/* ---- next ---- */

bool ext_raise_failure(const struct ext_chain *chain, const struct stk_error *err)
{
    PyObject *name, *object, *failure = NULL;
    Py_ssize_t at = 0;
    PyObject *objects = chain->objects;
    while (!failure && objects && PyDict_Next(objects, &at, &name, &object)) {
        if (Py_TYPE(object) == ext_types.stream)
            failure = ext_failure_take(ext_stream_failures(object), err->text);
        else if (Py_TYPE(object) == ext_types.function)
            failure = ext_failure_take(ext_function_failures(object), err->text);
        if (failure && Py_TYPE(object) == ext_types.function)
            ext_failure_note(failure, err->text);
    }
    if (failure)
        PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
    Py_XDECREF(failure);
    return failure != NULL;
}

static PyObject *conclude(const struct iterator *self, int rc, const struct stk_error *err)
{
    if (rc == STK_END)
        return NULL; /* StopIteration */
    if (rc == STK_CANCELLED)
        return ext_raise_state("this iterator was closed");
    if (self->chain->has_callers && ext_raise_failure(self->chain, err))
        return NULL;
    return ext_raise(err, NULL, 0);
}

bool ext_iterator_unread(PyObject **last, struct stk_batch *batch)
{
    struct iterator *self =
        (struct iterator *)(void *)((char *)last - offsetof(struct iterator, last));
    return self->it && !is_foreign(self) && !stk_iterator_unread(self->it, batch, NULL);
}

/* ---- bad elements ---- */

static uint64_t count_kept(struct stk_iterator *it)
{
    struct stk_error err;
    uint64_t n = 0;
    while (!stk_iterator_error(it, n, &err))
        n++;
    return n;
}

static uint64_t count_errors(struct stk_iterator *it)
{
    struct stk_stats stats;
    stk_iterator_stats(it, &stats);
    return stats.errors;
}

/* Those of the run that a resumed one goes on with, whose messages are not kept. Its threads may
 * judge elements meanwhile. */
static uint64_t count_earlier(struct stk_iterator *it)
{
    uint64_t n, n_kept;
    do {
        n = count_errors(it);
        n_kept = count_kept(it);
    } while (count_errors(it) != n);
    return n - n_kept;
}

static void first_untold(struct iterator *self, uint64_t n_new, struct stk_error *out)
{
    uint64_t n_kept = count_kept(self->it);
    if (stk_iterator_error(self->it, n_kept > n_new ? n_kept - n_new : 0, out))
        out->text[0] = 0;
}

/* Warns of elements that were skipped or replaced since the last time, where an epoch ends; -1 if
 * the program makes an exception of that. A run that is ahead has judged some of the next epoch. */
static int tell_of_errors(struct iterator *self)
{
    struct stk_error first = { 0 };
    if (!self->it || self->has_asked)
        return 0;
    uint64_t n_errors = count_errors(self->it), n = n_errors - self->n_told;
    if (!n)
        return 0;
    first_untold(self, n, &first);
    self->n_told = n_errors;
    PyObject *done =
        ext_call("_errors", "warn_of_errors", "(KN)", (unsigned long long)n, ext_text(first.text));
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static bool begins_epoch(struct iterator *self, const struct stk_batch *batch)
{
    struct stk_position position;
    stk_batch_position(batch, &position);
    bool is_new = self->epoch && self->epoch != position.epoch + 1;
    self->epoch = position.epoch + 1;
    return is_new;
}

/* A batch for the caller, unless a signal has come meanwhile: then it is there for the next
 * call. What comes later, while the interpreter takes the object, is seen when that dies. */
static PyObject *hand_out(struct iterator *self, struct stk_batch *batch)
{
    PyObject *object = ext_batch_new(batch, self->chain);
    if (!object)
        return NULL;
    ext_batch_follow(object, &self->last);
    if (!PyErr_CheckSignals() && (!begins_epoch(self, batch) || !tell_of_errors(self)))
        return object;
    ext_batch_unfollow(&self->last);
    if (ext_iterator_unread(&self->last, batch))
        stk_batch_ref(batch); /* the object lets go of its own */
    Py_DECREF(object);
    return NULL;
}

/* The next batch; NULL without an exception at the end, or when so many milliseconds have passed
 * (negative: never). */
static PyObject *wait_for_next(struct iterator *self, long milliseconds)
{
    struct stk_batch *batch = NULL;
    struct stk_error err = { 0 };
    int rc = STK_AGAIN;
    ext_drain();
    if (PyErr_CheckSignals() || enter(self) < 0)
        return NULL;
    struct stk_iterator *it = self->it;
    if (!it) {
        leave(self);
        ext_stay_if_exiting();
        return ext_raise_state("this iterator was closed");
    }
    ext_batch_unfollow(&self->last);
    while (rc == STK_AGAIN) {
        Py_BEGIN_ALLOW_THREADS int n_lent = ext_lease_lend();
        rc = stk_iterator_poll(it, EXT_PATIENCE_MS, &batch, &err);
        ext_lease_take_back(n_lent);
        Py_END_ALLOW_THREADS bool is_late =
            milliseconds >= 0 && (milliseconds -= EXT_PATIENCE_MS) < 0;
        if (rc == STK_AGAIN && (PyErr_CheckSignals() || is_late))
            break;
    }
    leave(self);
    if (rc == STK_CANCELLED)
        ext_stay_if_exiting();
    if (rc == STK_OK)
        return hand_out(self, batch);
    self->is_over |= rc == STK_END;
    if (rc == STK_AGAIN || (rc == STK_END && tell_of_errors(self) < 0))
        return NULL;
    return conclude(self, rc, &err);
}

static PyObject *iterator_next(PyObject *self)
{
    return wait_for_next((struct iterator *)self, -1);
}

static PyObject *iterator_next_within(PyObject *self, PyObject *milliseconds)
{
    long patience = PyLong_AsLong(milliseconds);
    if (patience == -1 && PyErr_Occurred())
        return NULL;
    PyObject *batch = wait_for_next((struct iterator *)self, patience);
    return batch || PyErr_Occurred() ? batch : Py_NewRef(Py_None);
}

/* ---- state ---- */

PyObject *ext_state_dict(int rc, char *state, const struct stk_error *err)
{
    if (rc)
        return ext_raise(err, NULL, 0);
    PyObject *dict = Py_BuildValue("{s:s}", "state", state);
    stk_text_free(state);
    return dict;
}

static PyObject *iterator_state_dict(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_error err = { 0 };
    char *state = NULL;
    (void)unused;
    if (!self->it)
        return ext_raise_state("this iterator was closed");
    int rc = stk_iterator_state(self->it, &state, &err);
    return ext_state_dict(rc, state, &err);
}

/* Batches that are still to come. A state and the length of an epoch tell; a Run knows that. */
static Py_ssize_t iterator_length(PyObject *object)
{
    struct iterator *self = (struct iterator *)object;
    if (self->is_over)
        return 0;
    PyObject *state = iterator_state_dict(object, NULL);
    PyObject *left = state && self->run ? PyObject_CallMethod(self->run, "left", "O", state) : NULL;
    Py_ssize_t n = left ? PyLong_AsSsize_t(left) : -1;
    if (state && !self->run)
        PyErr_SetString(PyExc_TypeError, "this iterator has no length");
    Py_XDECREF(state);
    Py_XDECREF(left);
    return n;
}

/* Having a length must not make an iterator false at its end. */
static int iterator_bool(PyObject *object)
{
    (void)object;
    return 1;
}

/* ---- close ---- */

/* Waits for the workers; Ctrl-C leaves them to end by themselves. */
static int close_now(struct iterator *self)
{
    if (!self->it)
        return 0;
    if (check_user(self) < 0)
        return -1;
    stk_iterator_cancel(self->it);
    if (enter(self) < 0)
        return -1;
    struct stk_iterator *it = detach(self);
    leave(self);
    struct ext_job *job = it ? farewell_new(it) : NULL;
    int rc = 0;
    if (job && !(rc = ext_job_run(job, self->is_over)))
        farewell_drop(job);
    else if (it && !job)
        free_here(it);
    ext_drain();
    return rc;
}

static PyObject *iterator_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    return close_now((struct iterator *)self) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *iterator_exit(PyObject *self, PyObject *unused)
{
    return iterator_close(self, unused);
}

static PyObject *iterator_self(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static int count_open(void)
{
    int n = 0;
    for (struct iterator *i = open_iterators; i; i = i->next)
        n++;
    return n;
}

/* One that nobody waits in, with its lock held; NULL: none. Those who wait are told to come back. */
static struct iterator *find_idle(void)
{
    for (struct iterator *i = open_iterators, *next; i; i = next) {
        next = i->next;
        if (is_foreign(i))
            list_remove(i);
        else if (PyThread_acquire_lock_timed(i->lock, 0, 0) == PY_LOCK_ACQUIRED)
            return i;
        else
            stk_iterator_cancel(i->it);
    }
    return NULL;
}

/* The list is looked through anew each time: freeing lets other threads run. */
static void dismiss_all(void)
{
    for (struct iterator *i; (i = find_idle());) {
        struct stk_iterator *it = detach(i);
        PyThread_release_lock(i->lock);
        free_behind(it, 0);
    }
}

void ext_iterators_close(int milliseconds)
{
    const struct timespec moment = { .tv_nsec = 2000000 };
    dismiss_all();
    for (int i = 0; i < milliseconds / 2 && (count_open() || ext_jobs_running()); i++) {
        Py_BEGIN_ALLOW_THREADS nanosleep(&moment, NULL);
        Py_END_ALLOW_THREADS dismiss_all();
        ext_drain();
    }
}

/* ---- making ---- */

PyObject *ext_iterator_new(struct ext_chain *chain, const struct stk_options *options,
                           const char *state, PyObject *run)
{
    struct stk_error err = { 0 };
    int rc;
    ext_stay_if_exiting();
    if (ext_is_exiting())
        return ext_raise_state("the interpreter is on its way out");
    struct iterator *self = ext_new(ext_types.iterator, sizeof *self);
    if (!self)
        return NULL;
    self->generation = ext_generation();
    self->chain = (struct ext_chain *)Py_NewRef((PyObject *)chain);
    self->run = Py_XNewRef(run);
    self->lock = PyThread_allocate_lock();
    PyObject_GC_Track(self);
    if (!self->lock) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS rc =
        state ? stk_iterator_resume(chain->dataset, options, state, &self->it, &err)
              : stk_iterator_new(chain->dataset, options, &self->it, &err);
    Py_END_ALLOW_THREADS if (rc)
    {
        self->it = NULL;
        Py_DECREF(self);
        return ext_raise(&err, NULL, 0);
    }
    self->n_told = state ? count_earlier(self->it) : 0;
    list_add(self);
    return (PyObject *)self;
}

static int iterator_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct iterator *)self)->chain);
    Py_VISIT(((struct iterator *)self)->run);
    return 0;
}

static void iterator_dealloc(PyObject *object)
{
    struct iterator *self = (struct iterator *)object;
    PyObject_GC_UnTrack(object);
    if (self->weak_refs)
        PyObject_ClearWeakRefs(object);
    struct stk_iterator *it = detach(self);
    if (it && !self->is_over && !is_foreign(self))
        free_behind(it, PARTING_MS);
    else if (it)
        free_here(it);
    if (self->lock)
        PyThread_free_lock(self->lock);
    Py_CLEAR(self->chain);
    Py_CLEAR(self->run);
    ext_free(object);
    ext_drain();
}

/* ---- questions ---- */

static PyStructSequence_Field stats_fields[] = {
    { "elements", "elements delivered so far" },
    { "batches", "batches delivered so far" },
    { "epochs", "epochs that ended" },
    { "errors", "rows judged bad so far" },
    { "bytes_read", "bytes read from storage" },
    { "tickets", "pieces of work done" },
    { "direct_tickets", "of these, written where they were delivered" },
    { "budget_bytes", "the budget" },
    { "used_bytes", "memory in use" },
    { "peak_bytes", "the most that was in use" },
    { "workers", "threads that compute" },
    { "cache_hits", "elements that caches had" },
    { "cache_misses", "elements that caches had not" },
    { "cache_rows", "elements that caches keep" },
    { "cache_bytes", "bytes that caches keep in memory" },
    { "cache_disk_bytes", "bytes that caches keep on disk" },
    { "cache_limit_bytes", "bytes of the budget that caches may take" },
    { "cache_trouble", "why no more is written to disk, or ''" },
    { "cache_full", "True if there was no room for what last came to a cache" },
    { "warnings", "rows made although something is wrong with their data" },
    { NULL, NULL },
};

PyStructSequence_Desc ext_stats_desc = {
    .name = "stoker.Stats",
    .doc = "What an iterator has done so far.",
    .fields = stats_fields,
    .n_in_sequence = 20,
};

static PyObject *iterator_stats(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_stats s = { 0 };
    (void)unused;
    if (!self->it)
        return ext_raise_state("this iterator was closed");
    self->has_asked = true;
    stk_iterator_stats(self->it, &s);
    const uint64_t value[] = { s.elements,         s.batches,           s.epochs,
                               s.errors,           s.bytes_read,        s.tickets,
                               s.direct_tickets,   s.budget_bytes,      s.used_bytes,
                               s.peak_bytes,       (uint64_t)s.workers, s.cache_hits,
                               s.cache_misses,     s.cache_rows,        s.cache_bytes,
                               s.cache_disk_bytes, s.cache_limit_bytes };
    const int n = (int)(sizeof value / sizeof *value);
    PyObject *tuple = PyStructSequence_New(ext_types.stats);
    for (int i = 0; tuple && i < n; i++)
        PyStructSequence_SetItem(tuple, i, PyLong_FromUnsignedLongLong(value[i]));
    if (tuple)
        PyStructSequence_SetItem(tuple, n, PyUnicode_FromString(s.cache_trouble));
    if (tuple)
        PyStructSequence_SetItem(tuple, n + 1, PyBool_FromLong(s.is_cache_full));
    if (tuple)
        PyStructSequence_SetItem(tuple, n + 2, PyLong_FromUnsignedLongLong(s.warnings));
    if (tuple && PyErr_Occurred())
        Py_CLEAR(tuple);
    return tuple;
}

/* metrics(format='json'): a dict; text for any other format. */
static PyObject *iterator_metrics(PyObject *object, PyObject *args)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_error err = { 0 };
    const char *format = "json";
    char *text = NULL;
    int rc;
    if (!PyArg_ParseTuple(args, "|s:metrics", &format))
        return NULL;
    if (!self->it)
        return ext_raise_state("this iterator was closed");
    rc = stk_iterator_metrics(self->it, format, &text, &err);
    if (rc)
        return ext_raise(&err, NULL, 0);
    PyObject *result = strcmp(format, "json")
                           ? ext_text(text)
                           : ext_call("_findings", "from_json", "(N)", ext_text(text));
    stk_text_free(text);
    return result;
}

/* trace_start(intervals=100000) */
static PyObject *iterator_trace_start(PyObject *object, PyObject *args)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_error err = { 0 };
    long long intervals = 100000;
    if (!PyArg_ParseTuple(args, "|L:trace_start", &intervals))
        return NULL;
    if (!self->it)
        return ext_raise_state("this iterator was closed");
    if (stk_iterator_trace_start(self->it, intervals, &err))
        return ext_raise(&err, NULL, 0);
    return Py_NewRef(Py_None);
}

static PyObject *iterator_trace(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_error err = { 0 };
    char *text = NULL;
    (void)unused;
    if (!self->it)
        return ext_raise_state("this iterator was closed");
    if (stk_iterator_trace(self->it, &text, &err))
        return ext_raise(&err, NULL, 0);
    PyObject *result = ext_call("_findings", "from_json", "(N)", ext_text(text));
    stk_text_free(text);
    return result;
}

static PyObject *iterator_errors(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_error err;
    PyObject *list = self->it ? PyList_New(0) : ext_raise_state("this iterator was closed");
    (void)unused;
    self->has_asked = true;
    for (uint64_t i = 0; list && !stk_iterator_error(self->it, i, &err); i++) {
        PyObject *error = ext_exception(&err, NULL, 0);
        if (!error || PyList_Append(list, error) < 0)
            Py_CLEAR(list);
        Py_XDECREF(error);
    }
    return list;
}

static PyObject *iterator_tuning(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_decision d;
    PyObject *list = self->it ? PyList_New(0) : ext_raise_state("this iterator was closed");
    (void)unused;
    for (uint64_t i = 0; list && !stk_iterator_decision(self->it, i, &d); i++) {
        PyObject *entry =
            Py_BuildValue("{s:d,s:s,s:L,s:L,s:s}", "seconds", (double)d.at_ns / 1e9, "knob", d.knob,
                          "from", (long long)d.from, "to", (long long)d.to, "reason", d.reason);
        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *iterator_profile(PyObject *object, PyObject *args)
{
    struct iterator *self = (struct iterator *)object;
    if (enter(self) < 0)
        return NULL;
    PyObject *result =
        self->it ? ext_profile_run(self->it, args) : ext_raise_state("this iterator was closed");
    leave(self);
    return result;
}

static PyObject *iterator_memory(PyObject *object, PyObject *unused)
{
    struct iterator *self = (struct iterator *)object;
    struct stk_memory_use use;
    PyObject *owners = self->it ? PyDict_New() : ext_raise_state("this iterator was closed");
    (void)unused;
    for (int i = 0; owners && !stk_iterator_memory(self->it, i, &use); i++) {
        PyObject *entry =
            Py_BuildValue("{s:K,s:K}", "held_bytes", (unsigned long long)use.held_bytes,
                          "peak_bytes", (unsigned long long)use.peak_bytes);
        if (!entry || PyDict_SetItemString(owners, use.owner, entry) < 0)
            Py_CLEAR(owners);
        Py_XDECREF(entry);
    }
    return owners;
}

static PyObject *iterator_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(!((struct iterator *)self)->it);
}

static PyMethodDef methods[] = {
    { "close", iterator_close, METH_NOARGS,
      "Ends the run and waits for its threads. Batches stay valid." },
    { "stats", iterator_stats, METH_NOARGS,
      "What was done so far: elements, batches, bytes, memory." },
    { "metrics", iterator_metrics, METH_VARARGS,
      "metrics(format='json')\n--\n\nAll that was counted and timed so far, as a dict that "
      "docs/metrics.md explains; 'prometheus': as text." },
    { "trace_start", iterator_trace_start, METH_VARARGS,
      "trace_start(intervals=100000)\n--\n\nFrom now on records what each thread does, keeping its "
      "last so many intervals." },
    { "trace", iterator_trace, METH_NOARGS,
      "What was recorded, in Chrome's trace event format: written with json.dump, ui.perfetto.dev "
      "opens it." },
    { "state_dict", iterator_state_dict, METH_NOARGS,
      "The place behind the last batch, for ds.resume and ds.load_state_dict: a dict of text." },
    { "errors", iterator_errors, METH_NOARGS,
      "The errors that were skipped or replaced, oldest first; the last 64 are kept." },
    { "memory", iterator_memory, METH_NOARGS,
      "Who has how much of its memory: a dict by owner, of held_bytes and peak_bytes." },
    { "tuning", iterator_tuning, METH_NOARGS,
      "What the run changed about itself, oldest first: dicts of seconds, knob, from, to and "
      "reason; the last 256 are kept." },
    { "_profile", iterator_profile, METH_VARARGS, NULL },
    { "_next_within", iterator_next_within, METH_O, NULL },
    { "__enter__", iterator_self, METH_NOARGS, NULL },
    { "__exit__", iterator_exit, METH_VARARGS, NULL },
    { 0 },
};

static PyObject *iterator_is_over(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct iterator *)self)->is_over);
}

static PyGetSetDef getters[] = {
    { "closed", iterator_closed, NULL, "Whether it was closed.", NULL },
    { "_is_over", iterator_is_over, NULL, NULL, NULL },
    { 0 },
};

static PyMemberDef members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(struct iterator, weak_refs), READONLY, NULL },
    { 0 },
};

static PyType_Slot slots[] = {
    { Py_tp_doc, "One run over a dataset: for batch in ds.iterate(workers=2): …\n\n"
                 "It may be used by several threads, one at a time; close() may come from any." },
    { Py_tp_dealloc, iterator_dealloc },
    { Py_tp_traverse, iterator_traverse },
    { Py_tp_iter, PyObject_SelfIter },
    { Py_tp_iternext, iterator_next },
    { Py_tp_methods, methods },
    { Py_tp_getset, getters },
    { Py_tp_members, members },
    { Py_sq_length, iterator_length },
    { Py_nb_bool, iterator_bool },
    { 0, NULL },
};

PyType_Spec ext_iterator_spec = {
    .name = "stoker.Iterator",
    .basicsize = sizeof(struct iterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

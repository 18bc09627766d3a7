/* SPDX-License-Identifier: Apache-2.0 */
/* trace_json.c: what was recorded of a run, as Chrome's trace events, which Perfetto opens.
 *
 * A thread is a track of slices, inside which those of ops lie. Reads overlap, so each is an event of
 * its own that begins and ends. Samples are counters. Times are microseconds.
 */
#include "api/api.h"
#include "base/error.h"
#include "base/json_out.h"
#include "exec/exec.h"
#include "graph/graph.h"
#include "report/metrics_text.h"

#include <string.h>

static void begin_event(struct stk__text *out, const char *phase, int thread)
{
    stk__json_line(out, 0);
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "ph", phase);
    stk__json_whole(out, "pid", 1);
    stk__json_whole(out, "tid", thread + 1);
}

/* With the members of the arguments. */
static void end_event(struct stk__text *out)
{
    stk__json_close(out, '}');
    stk__json_close(out, '}');
}

static void add_time(struct stk__text *out, const char *name, uint64_t ns)
{
    stk__json_name(out, name);
    stk__text_add(out, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* The op that is at work, or that a stage is named by; NULL: none. */
static const struct stk__node *node_of(const struct stk__plan *plan,
                                       const struct stk__interval *interval)
{
    if (interval->stage < 0)
        return NULL;
    bool is_op = interval->activity == STK__DOES_OP;
    return stk__plan_node(plan, interval->stage, is_op ? interval->op : -1);
}

/* "decode", or what a thread does where that is no op's: "wait", "batch". */
static const char *name_of(const struct stk__node *node, enum stk__activity activity)
{
    if (activity == STK__DOES_MOVE)
        return "batch";
    return node ? node->op->decl.name : stk__activity_name(activity);
}

static void add_slice(const struct stk__plan *plan, int thread,
                      const struct stk__interval *interval, struct stk__text *out)
{
    const char *activity = stk__activity_name(interval->activity);
    const struct stk__node *node = node_of(plan, interval);
    begin_event(out, "X", thread);
    stk__json_string(out, "name", name_of(node, interval->activity));
    stk__json_string(out, "cat", activity);
    add_time(out, "ts", interval->begin_ns);
    add_time(out, "dur", interval->end_ns - interval->begin_ns);
    stk__json_open(out, "args", '{');
    stk__json_string(out, "does", activity);
    if (interval->stage >= 0) {
        stk__json_whole(out, "stage", interval->stage);
        stk__json_whole(out, "node", node->id);
    }
    if (interval->activity != STK__DOES_OP && interval->activity != STK__DOES_WAIT) {
        stk__json_count(out, "number", interval->number);
        stk__json_whole(out, "rows", interval->rows);
    }
    end_event(out);
}

static void add_read(int thread, uint64_t id, const struct stk__interval *interval,
                     struct stk__text *out)
{
    const uint64_t times[] = { interval->begin_ns, interval->end_ns };
    for (int i = 0; i < 2; i++) {
        begin_event(out, i ? "e" : "b", thread);
        stk__json_string(out, "cat", "read");
        stk__json_string(out, "name", "read");
        stk__json_count(out, "id", id);
        add_time(out, "ts", times[i]);
        stk__json_open(out, "args", '{');
        stk__json_count(out, "bytes", interval->number);
        end_event(out);
    }
}

static void add_thread(const struct stk__plan *plan, const struct stk__trace *trace, int i,
                       struct stk__text *out)
{
    const struct stk__trace_thread *thread = &trace->thread[i];
    begin_event(out, "M", i);
    stk__json_string(out, "name", "thread_name");
    stk__json_open(out, "args", '{');
    stk__json_string(out, "name", thread->name);
    end_event(out);
    begin_event(out, "M", i);
    stk__json_string(out, "name", "thread_sort_index");
    stk__json_open(out, "args", '{');
    stk__json_whole(out, "sort_index", i);
    end_event(out);
    for (uint64_t k = 0; k < thread->n; k++) {
        if (thread->interval[k].activity == STK__DOES_READ)
            add_read(i, thread->n_dropped + k, &thread->interval[k], out);
        else
            add_slice(plan, i, &thread->interval[k], out);
    }
}

static void add_counter(struct stk__text *out, const char *name, uint64_t at_ns, const char *what,
                        uint64_t value)
{
    begin_event(out, "C", 0);
    stk__json_string(out, "name", name);
    add_time(out, "ts", at_ns);
    stk__json_open(out, "args", '{');
    stk__json_count(out, what, value);
    end_event(out);
}

static void add_sample(const struct stk__trace_point *sample, struct stk__text *out)
{
    add_counter(out, "busy workers", sample->at_ns, "workers", (uint64_t)sample->n_busy);
    add_counter(out, "window", sample->at_ns, "batches", (uint64_t)sample->window);
    add_counter(out, "batches in flight", sample->at_ns, "batches", (uint64_t)sample->n_open);
    add_counter(out, "batches ready", sample->at_ns, "batches", (uint64_t)sample->n_ready);
    add_counter(out, "reads in flight", sample->at_ns, "reads", (uint64_t)sample->n_reads);
    add_counter(out, "memory", sample->at_ns, "bytes", sample->used_bytes);
}

static void add_head(struct stk__text *out)
{
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "displayTimeUnit", "ms");
    stk__json_line(out, 0);
    stk__json_open(out, "traceEvents", '[');
    begin_event(out, "M", 0);
    stk__json_string(out, "name", "process_name");
    stk__json_open(out, "args", '{');
    stk__json_string(out, "name", "stoker");
    end_event(out);
}

static void write_trace(const struct stk__plan *plan, const struct stk__trace *trace,
                        struct stk__text *out)
{
    uint64_t n_dropped = 0;
    add_head(out);
    for (int i = 0; i < trace->n_threads; i++) {
        add_thread(plan, trace, i, out);
        n_dropped += trace->thread[i].n_dropped;
    }
    for (uint64_t i = 0; i < trace->n_samples; i++)
        add_sample(&trace->sample[i], out);
    stk__json_close(out, ']');
    stk__json_line(out, 0);
    stk__json_open(out, "otherData", '{');
    stk__json_count(out, "dropped", n_dropped);
    stk__json_close(out, '}');
    stk__json_close(out, '}');
    stk__text_add(out, "\n");
}

int stk_iterator_trace(struct stk_iterator *it, char **out, struct stk_error *err)
{
    struct stk__exec *x = stk__iterator_exec(it);
    struct stk__trace *trace = NULL;
    struct stk__text text = { 0 };
    *out = NULL;
    int rc = stk__iterator_check(it, err);
    rc = rc ? rc : stk__trace_copy(x, &trace, err);
    if (!rc && !trace)
        rc = stk_fail(err, STK_STATE, "nothing was recorded: the trace was not started");
    if (rc)
        return rc;
    write_trace(stk__exec_plan(x), trace, &text);
    stk__trace_free(trace);
    return (*out = stk__text_take(&text)) ? STK_OK : stk__out_of_memory(err);
}

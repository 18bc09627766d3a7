#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks one rule of the executor at a time and expects its test to notice: test_exec, or another.

    tests/project/mutate.py BUILD [-n CHAINS] [-k WORD]

BUILD is a build directory (CMake's Makefiles) in which these tests are up to date. The changed file is
compiled alone and linked before the library, so that its symbols win. Exit code 0 if every mutant
that matters was noticed; those that cost speed or memory only are listed as such.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_SEED = 1
PATIENCE_S = 8
LIMIT_S = 300


@dataclass(frozen=True)
class Mutant:
    """In `file`, `old` (which occurs once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    costs_speed_only: bool = False
    test: str = "test_exec"


SEGMENT, BATCHER, STEPS = "exec/stage/segment.c", "exec/batch/batcher.c", "exec/stage/stage_steps.c"
STREAMING, ZIPPING = "exec/stage/streaming.c", "exec/stage/zipping.c"
LOTS, PASSES, GATES = "exec/memory/lots.c", "exec/stage/passes.c", "exec/batch/gates.c"
EXEC, EVAL, FETCH = "exec/exec.c", "graph/eval.c", "exec/stage/fetch.c"
CONSUMER, LIFETIME = "exec/batch/consumer.c", "exec/lifetime.c"



def woven(name, old, new, **more):
    """A rule of chains that are opened as elements come."""
    return Mutant(name, "exec/stage/weaving.c", old, new, test="test_weaving", **more)


MUTANTS = [
    # where a ticket lands
    Mutant("claimed slots given twice", SEGMENT, "land >= x->landing.claimed && ", ""),
    Mutant("no holes in land", SEGMENT, "land = x->landing.opened - x->landing.open_holes", "land = x->landing.opened"),
    Mutant(
        "an end does not open its last batch",
        SEGMENT,
        "if (is_mine && ends && !stk__open_batches",
        "if (is_mine && ends && false && !stk__open_batches",
    ),
    Mutant(
        "holes of any pass move what is opened",
        BATCHER,
        "t->pass == x->landing.open_pass ? (uint64_t)n : 0",
        "(uint64_t)n",
    ),
    Mutant(
        "holes of any pass cut what is taken",
        BATCHER,
        "t->pass == x->landing.take_pass ? (uint64_t)n : 0",
        "(uint64_t)n",
        costs_speed_only=True,
    ),
    Mutant(
        "tickets cut batches",
        SEGMENT,
        "limit = room < limit ? room : limit;",
        "(void)room;",
        costs_speed_only=True,
    ),
    Mutant(
        "a pass's places go on from the last one's",
        SEGMENT,
        "= x->landing.open_holes = x->landing.claimed = 0",
        "= 0",
    ),
    Mutant("straddling tickets are direct", SEGMENT, " && land % batch + (uint64_t)n <= batch", ""),
    # batches
    Mutant(
        "batches emptied by holes are kept",
        BATCHER,
        "for (; x->plan->is_direct && x->batcher.current_no < end->next_batch_no; x->batcher.current_no++)",
        "for (; false; x->batcher.current_no++)",
    ),
    Mutant(
        "a dropped pass keeps its batches",
        BATCHER,
        "if (t->end == STK__END_PASS && t->level <= x->plan->depth)",
        "if (false)",
    ),
    Mutant(
        "the batcher opens nothing",
        BATCHER,
        "if (!stk__open_batches(x, x->batcher.current_no + 1))",
        "if (x->plan->is_direct ? x->batcher.opened_no <= x->batcher.current_no : !stk__open_batches(x, "
        "x->batcher.current_no + 1))",
    ),
    Mutant("more batches than the window", BATCHER, "x->batcher.n_open >= x->batcher.window.now", "false"),
    Mutant("bad rows in place count as good", BATCHER, " || t->n_bad || t->n_used", "|| t->n_used"),
    Mutant(
        "replaced rows leave holes",
        BATCHER,
        "w->fill++, x->batcher.spare_row, 0, 1);",
        "w->fill++, x->batcher.spare_row, 0, 1), w->holes++;",
    ),
    Mutant("one try for a replacement", BATCHER, "MAX_TRIES = 16", "MAX_TRIES = 1"),
    Mutant(
        "rows behind a closed gate are judged",
        BATCHER,
        "if (x->batcher.closed_level >= 0) { discard_rows",
        "if (false) { discard_rows",
    ),
    Mutant(
        "discarded rows keep their places",
        BATCHER,
        "discard_rows(x, t->n - t->n_used);",
        "(void)discard_rows;",
    ),
    Mutant(
        "a remainder is delivered behind a closed gate",
        BATCHER,
        "!x->plan->drops_remainder && x->batcher.closed_level < 0",
        "!x->plan->drops_remainder",
    ),
    Mutant(
        "errors are not in the position",
        BATCHER,
        "x->batcher.position.errors = x->batcher.judge.n_errors;",
        "",
    ),
    Mutant(
        "an epoch's rows count on",
        BATCHER,
        "x->batcher.position.batch = x->batcher.position.rows = 0;",
        "x->batcher.position.batch = 0;",
    ),
    Mutant("an epoch is not judged", BATCHER, "stk__judge_pass(&x->batcher.judge, &err);", ""),
    # gates
    Mutant(
        "a gate that is done tells nobody",
        GATES,
        "stk__close_pass(x, stk__last_stage(x), depth, stk__last_stage(x)->reader.n_ended[depth] + 1);",
        "",
    ),
    Mutant(
        "gates do not begin again",
        GATES,
        " x->batcher.gate[i].begins_pass = true;",
        "",
    ),
    Mutant(
        "gates begin again in every pass",
        GATES,
        "if (x->plan->gate[i].depth < level) continue;",
        "",
    ),
    Mutant("a closed gate stays closed", GATES, " x->batcher.closed_level = -1; }", "(void)0; }"),
    Mutant(
        "take(0) of batches is open",
        GATES,
        "gate->begins_pass && op->is_closed &&",
        "false && op->is_closed &&",
    ),
    Mutant(
        "batches count below the gate that stops them",
        GATES,
        "level = stopped + 1;",
        "level = 0;",
    ),
    # passes and marks
    Mutant(
        "marks inside a pass end it",
        LOTS,
        "} else if (is_end && t->level > depth) {",
        "} else if (false) {",
    ),
    Mutant(
        "an empty endless repeat goes on",
        LOTS,
        "if (s->reader.n_read == s->reader.n_read_at[t->level])",
        "if (false)",
    ),
    Mutant("passes behind an empty one are read", LOTS, "s->reader.over_level = level - 1;", ""),
    Mutant(
        "empty since any mark is empty",
        LOTS,
        " for (int l = level; l < STK__MAX_LEVELS; l++) { s->reader.n_read_at",
        "for (int l = 0; l < STK__MAX_LEVELS; l++) { s->reader.n_read_at",
    ),
    Mutant("an empty endless repeat of batches goes on", BATCHER, " if (is_empty) ", "if (false)"),
    Mutant(
        "a stage tells no source that it needs no more",
        STEPS,
        "stk__close_inputs(x, s, s->plan->depth); /* nobody",
        "(void)x; /* nobody",
    ),
    Mutant(
        "a zip that ended lets its inputs go on",
        ZIPPING,
        " s->joint.has_ended = true; stk__close_inputs(x, s, s->plan->depth);",
        "s->joint.has_ended = true;",
    ),
    Mutant(
        "a pass is closed for inputs that ended it",
        PASSES,
        "!s->plan->kind->is_join || s->joint.seen_level[i] > depth",
        "true",
    ),
    Mutant(
        "a pass that was published is closed again",
        PASSES,
        "else if (s->pass_no[depth] < pass)",
        "else",
    ),
    Mutant(
        "inputs are closed by the reader's number",
        PASSES,
        "input->reader.n_ended[depth] + 1);",
        "s->pass_no[depth] + 1);",
    ),
    Mutant(
        "drained inputs may be in different passes",
        STEPS,
        "while (s->joint.seen_level[i] > s->joint.end_level &&",
        "while (s->joint.seen_level[i] == INT_MAX &&",
    ),
    Mutant("the path of a serial stage stays", STEPS, " s->counter[level]++; ", ""),
    Mutant("the path of inner passes goes on", STEPS, " s->counter[l] = 0; }", "(void)l; }"),
    Mutant(
        "the path of a source stays",
        PASSES,
        " s->begins_pass = true; set_path(s); return level;",
        "s->begins_pass = true; return level;",
    ),
    Mutant(
        "serial ops do not begin again",
        STEPS,
        " s->begins_pass = true; s->has_told = s->is_stuck = s->is_short = false;",
        "s->has_told = s->is_stuck = s->is_short = false;",
    ),
    Mutant(
        "a stream is not rewound",
        STREAMING,
        " if (s->begins_pass) { int rc",
        "if (s->begins_pass && !s->position && s->pass_no[0] == 0) { int rc",
    ),
    # breaks
    Mutant(
        "a break behind take's end is passed on",
        STEPS,
        "if (!is_closed(s)) { /* errors",
        "if (true) { /* errors",
    ),
    Mutant(
        "a break behind a zip's end is passed on",
        STEPS,
        "else if (t->end) stk__stage_retire(x, stk__input_of(x, s, i)); /* errors",
        "else if (t->end) stk__hand_on_break(x, s, i, t); /* errors",
    ),
    Mutant(
        "a stream goes on behind its break",
        STEPS,
        "s->is_stuck = w->is_broken;",
        "",
        costs_speed_only=True,
    ),
    Mutant(
        "a break behind a closed gate ends the run",
        BATCHER,
        " if (x->batcher.closed_level < 0) stk__end_run",
        "stk__end_run",
    ),
    Mutant(
        "an incomplete batch is handed on at a break",
        STEPS,
        "t->end == STK__END_BROKEN && op->is_whole",
        "false",
    ),
    Mutant(
        "a judge does not wait for its verdict",
        STEPS,
        "(s->has_told && !stk__is_closed(s)) ||",
        "",
    ),
    # memory and waking
    Mutant("no unit of one's own", "exec/memory/accounts.c", "a->held_bytes == 0 || ", ""),
    Mutant(
        "fetched bytes are never given back",
        SEGMENT,
        " stk__account_credit(x, &s->memory.io_account, t->fetch_charge); ",
        "",
    ),
    Mutant(
        "chunks are never given back",
        LOTS,
        " stk__account_credit(x, &s->memory.out_account, lot->charged); ",
        "",
    ),
    Mutant(
        "delivered batches are never given back",
        CONSUMER,
        " stk__account_credit(x, &x->memory.batch_account, x->plan->batch_bytes); x->batcher.n_open--;",
        "x->batcher.n_open--;",
    ),
    Mutant(
        "lots are not settled",
        SEGMENT,
        " if (t->out) stk__lot_settle(x, t->out); ",
        "",
        costs_speed_only=True,
    ),
    Mutant(
        "requests stay open", FETCH, " stk__lane_count(x->lane, -t->n_requests); ", ""
    ),
    Mutant(
        "no second look",
        EXEC,
        "} while (!has_found && x->crew.has_changed && !stk__is_over(x));",
        "} while (false);",
    ),
    Mutant(
        "nobody is woken when a ticket is fetched",
        FETCH,
        " stk__wake_worker(x); pthread_mutex_unlock",
        "pthread_mutex_unlock",
    ),
    Mutant(
        "a delivery wakes nobody",
        BATCHER,
        " if (x->crew.is_consumer_waiting) pthread_cond_signal(&x->crew.delivered); ",
        "",
        costs_speed_only=True,
    ),
    Mutant(
        "cancelling wakes nobody",
        CONSUMER,
        " pthread_cond_broadcast(&x->crew.work); pthread_cond_broadcast(&x->crew.delivered); "
        "pthread_mutex_unlock",
        "pthread_mutex_unlock",
    ),
    Mutant(
        "who takes work wakes nobody",
        EXEC,
        " if (is_shared) stk__wake_worker(x);",
        "",
        costs_speed_only=True,
    ),
    Mutant(
        "two workers in one serial stage",
        STEPS,
        "if (s->is_busy || !stk__has_room",
        "if (!stk__has_room",
    ),
    # rows
    Mutant(
        "keys are not joined in zip",
        EVAL,
        "frame->key[i] = stk__key_join(frame->key[i], in.key[i]);",
        "(void)stk__key_join;",
    ),
    Mutant(
        "keys are not joined in a zip of streams",
        "base/rows/chunk.c",
        "field ? stk__key_join(dst->key[at + i], src->key[from + i])",
        "field ? dst->key[at + i]",
    ),
    Mutant("faults of a concatenation keep their rows", EVAL, " f->row = row[f->row]; ", ""),
    Mutant(
        "reads of a concatenation are mixed up",
        EVAL,
        "&fetched[e->fetched_row ? e->fetched_row[i] : i]",
        "&fetched[i]",
    ),
    Mutant("the later of two faults", "base/rows/chunk.c", " found = f;", "return f;"),
    Mutant(
        "a bad part of a zip does not count",
        EVAL,
        "in.mask[i] > frame->mask[i] ? in.mask[i] : frame->mask[i]",
        "frame->mask[i]",
    ),
    Mutant(
        "dropped rows stay",
        SEGMENT,
        "settle_staged(x, &worker->scratch, t, !rc && e.n_dead > 0);",
        "settle_staged(x, &worker->scratch, t, false);",
    ),
    Mutant(
        "addresses are not carried on",
        SEGMENT,
        "memcpy(out, t->in->chunk->address + t->in_from, sizeof *out * (size_t)t->n_in);",
        "memset(out, 0, sizeof *out * (size_t)t->n_in);",
    ),
    Mutant(
        "a fraction of few rows counts",
        "exec/batch/judge.c",
        "(at_end || judge->n_rows >= enough)",
        "true",
    ),
    Mutant("good rows are not counted", BATCHER, " x->batcher.judge.n_rows += (uint64_t)run; ", ""),
    Mutant(
        "reads that depend on reads are one",
        "exec/plan/plan_stages.c",
        "(has_read(node, base) && stk__subtree_reads(base))",
        "false",
    ),
    # where a run goes on
    Mutant(
        "a place within a ticket is forgotten",
        BATCHER,
        " x->batcher.restart.n_out += (uint64_t)n_used;",
        "(void)n_used;",
    ),
    Mutant(
        "a place behind a ticket is forgotten",
        BATCHER,
        " x->batcher.restart.n_in += (uint64_t)t->n_in;",
        "(void)0;",
    ),
    Mutant(
        "a resumed segment makes its rows again",
        LIFETIME,
        " last->n_skipped = at.n_in;",
        "(void)0;",
    ),
    Mutant("rows that were used are used again", LIFETIME, " x->batcher.n_dropped = at.n_out;", ""),
    Mutant(
        "a resumed source begins in the first pass",
        LIFETIME,
        " x->stage[i].counter[l] = at.counter[l];",
        "(void)0;",
    ),
    Mutant(
        "a resumed gate has seen nothing",
        GATES,
        " for (; gate->n_seen < from->n_gated[i] && !is_closed; gate->n_seen++) {",
        "while (false) {",
    ),
    Mutant("a resumed judge has seen no rows", LIFETIME, " x->batcher.judge.n_rows = from->n_rows;", ""),
    Mutant("a resumed judge has seen no faults", LIFETIME, " x->batcher.judge.n_bad = from->n_bad;", ""),
    Mutant(
        "rows since a mark are counted on",
        PASSES,
        "if (level <= x->plan->restart_level) s->n_since = 0;",
        "",
    ),
    Mutant(
        "runs begin again at marks where rows are held",
        "exec/plan/plan.c",
        "if (has_state && s->depth < plan->restart_level)",
        "if (false)",
    ),
    # the next pass fills while this one drains
    Mutant(
        "a turn drops what drains",
        STEPS,
        "if (!w->is_flushed && n) w->used",
        "if (n) w->used",
    ),
    Mutant(
        "a pass drains at once",
        STEPS,
        "(s->is_turning && !holds_back(x, s))",
        "s->is_turning",
        costs_speed_only=True,
    ),
    # chains that are opened as elements come
    woven("a chain that has ended keeps its turn", "else give_turn(v);", "else {}"),
    woven("a block does not end", "if (v->n_in_block == v->block_length)", "if (false)"),
    woven("a block is counted on", "v->n_in_block = 0; v->turn = v->turn + 1", "v->turn = v->turn + 1"),
    woven("a chain's end is part of the block", "atomic_store(&place->is_hungry, false); v->n_in_block = 0;",
          "atomic_store(&place->is_hungry, false);"),
    woven("who is next changes as places close up", "turn += i < v->turn && v->order[i]->is_open;", ""),
    woven("a place is passed over when the last one goes", "v->turn = turn < n ? turn : 0;",
          "v->turn = turn < n ? turn : n ? n - 1 : 0;"),
    woven("places keep their turns from pass to pass", "v->turn = 0; v->n_in_block = 0; for", "for"),
    woven("elements are numbered on", "v->next_element = v->n_empty = 0;", "v->n_empty = 0;"),
    woven("every chain draws the same", "stk__hash_mix(stk__pass_path(v->stage), v->next_element)",
          "stk__pass_path(v->stage)"),
    woven("what is left of a closed pass comes in the next", "if (v->place[i].is_open) drop_cursor(&v->place[i]);",
          ""),
    woven("a closed pass leaves chains open", "v->place[i].is_open = false;", ""),
    woven("a chain that broke is not told", "place->is_bad = true; place->fault = (struct stk__fault){ .code = err->code",
          "place->is_bad = place->has_told = true; place->fault = (struct stk__fault){ .code = err->code"),
    woven("a chain that broke is told for ever", "place->has_told = true;", ""),
    woven("a place that broke stays so", "place->is_bad = place->has_told = false;", "place->has_told = false;"),
    woven("rows are taken again", "place->n_taken += (int)n;", ""),
    woven("tickets are taken for the first time", "place->n_taken = place->head ? place->n_taken : 0;",
          "place->n_taken = 0;"),
    woven("elements are not used up", "w->used++; return true;", "return true;"),
    woven("nobody reads ahead", "if (!atomic_load(&place->is_hungry) || atomic_exchange", "if (true || atomic_exchange",
          costs_speed_only=True),
    Mutant(
        "prefetch hides the shard's size",
        "graph/graph_build.c",
        "node->op->flags & (STK__OP_PREFETCH | STK__OP_CACHE);",
        "node->op->flags & STK__OP_CACHE;",
    ),
]


def pattern(mutant):
    """What is to be replaced; white space is all the same, so formatting does not matter."""
    return re.compile(r"\s+".join(re.escape(word) for word in mutant.old.split()))


def check_patterns():
    """Every mutation must still apply, and in one place."""
    is_good = True
    for mutant in MUTANTS:
        n = len(pattern(mutant).findall((ROOT / "src" / mutant.file).read_text()))
        if n != 1:
            print(f"{mutant.file} has {n} places for: {mutant.name}", file=sys.stderr)
            is_good = False
    return is_good


class Bench:
    """Compiles and runs mutants in a scratch directory."""

    def __init__(self, build, scratch, n_chains):
        self.build = build.resolve()
        self.scratch = pathlib.Path(scratch)
        self.n_chains = n_chains
        database = json.loads((self.build / "compile_commands.json").read_text())
        self.commands = {entry["file"]: entry for entry in database}

    def compile(self, mutant, number):
        source = ROOT / "src" / mutant.file
        copy = self.scratch / f"{number}_{source.name}"
        copy.write_text(pattern(mutant).sub(lambda _: mutant.new, source.read_text()))
        entry = self.commands[str(source)]
        output = copy.with_suffix(".o")
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(output)
        words[words.index("-c") + 1] = str(copy)
        words.append("-Wno-error")
        run_tool(words, entry["directory"])
        return output

    def link(self, mutant, output, number):
        """As CMake links the test, with the mutant before the library."""
        program = self.scratch / f"test_{number}"
        link = self.build / f"tests/exec/CMakeFiles/{mutant.test}.dir/link.txt"
        words = shlex.split(link.read_text())
        words[words.index("-o") + 1] = str(program)
        library = next(i for i, word in enumerate(words) if word.endswith("libstoker_core.a"))
        words.insert(library, str(output))
        run_tool(words, self.build / "tests/exec")
        return program

    def run(self, job):
        """What became of one mutant: (noticed, how)."""
        number, mutant = job
        try:
            program = self.link(mutant, self.compile(mutant, number), number)
        except subprocess.CalledProcessError as error:
            return False, "does not build: " + error.stderr.strip().splitlines()[0]
        line = [program, str(FIRST_SEED), str(self.n_chains), str(PATIENCE_S)]
        try:
            done = subprocess.run(
                line, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return True, "runs for ever"
        finally:
            program.unlink()
        return done.returncode != 0, summary(done)


def run_tool(words, directory):
    subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True)


def summary(done):
    """The line that says what went wrong, with the seed."""
    lines = (done.stdout + done.stderr).splitlines()
    said = next((x for x in lines if x.startswith(("FAIL", "HANG", "ok")) or "ERROR: " in x), "")
    seed = next((x.split(",")[0] for x in lines if x.startswith("seed")), "")
    return f"{said or f'signal {-done.returncode}'} {seed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-n", type=int, default=4000, help="chains per mutant")
    parser.add_argument("-k", default="", help="only mutants with this word in their name")
    args = parser.parse_args()
    if not check_patterns():
        return 2
    chosen = [m for m in MUTANTS if args.k in m.name]
    n_missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build, scratch, args.n)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(bench.run, enumerate(chosen))
            for mutant, (noticed, how) in zip(chosen, results, strict=True):
                verdict = "noticed" if noticed else "speed" if mutant.costs_speed_only else "MISSED"
                n_missed += verdict == "MISSED"
                print(f"{verdict:8} {mutant.file:20} {mutant.name}: {how}", flush=True)
    print(f"{len(chosen)} mutants, {n_missed} missed")
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())

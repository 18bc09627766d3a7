/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c: how a run went, for people and as JSON. */
#define _GNU_SOURCE
#include "summary.h"

#include "complain.h"
#include "figures.h"
#include "json_in.h"
#include "json_print.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

/* The instruction set in force: what the library says, or else what was asked for. */
static void cpu_name(const struct cli_summary *s, char *out, size_t size)
{
    char *text = stk_devices_json();
    struct cli_json *devices = cli_json_parse(text);
    const struct cli_json *cpu = cli_json_get(devices, "cpu");
    const char *used = cli_json_text(cpu, "used");
    snprintf(out, size, "%s", *used ? used : s->args->cpu ? s->args->cpu : "auto");
    cli_json_free(devices);
    stk_text_free(text);
}

static void label(FILE *file, const char *name)
{
    fprintf(file, "%s%-12s%s ", cli_style(file, CLI_BOLD), name, cli_style(file, CLI_PLAIN));
}

static void list_errors(FILE *file, const struct cli_summary *s)
{
    struct stk_error error;
    for (uint64_t i = 0; stk_iterator_error(s->it, i, &error) == STK_OK; i++)
        fprintf(file, "  %s\n", error.text);
}

/* Times and changes in columns, reasons as they are. */
static void list_decisions(FILE *file, const struct cli_summary *s)
{
    struct stk_decision d;
    uint64_t n = 0;
    label(file, "tuning");
    fputs(stk_iterator_decision(s->it, 0, &d) ? "nothing was changed\n" : "\n", file);
    for (; !stk_iterator_decision(s->it, n, &d); n++) {
        char change[48];
        snprintf(change, sizeof change, "%s %" PRId64 " → %" PRId64, d.knob, d.from, d.to);
        int columns = (int)strlen(change) - 2; /* the arrow is three bytes and one column */
        fprintf(file, "  %8.3f s  %s%*s  %s\n", (double)d.at_ns / 1e9, change,
                columns < 18 ? 18 - columns : 0, "", d.reason);
    }
}

static void print_cache(FILE *file, const struct stk_stats *stats)
{
    uint64_t n = stats->cache_hits + stats->cache_misses;
    if (!n)
        return;
    label(file, "cache");
    fprintf(file,
            "%" PRIu64 " of %" PRIu64 " elements served; keeps %" PRIu64
            ": %.1f MB in memory, %.1f MB on disk%s\n",
            stats->cache_hits, n, stats->cache_rows, cli_megabytes((double)stats->cache_bytes),
            cli_megabytes((double)stats->cache_disk_bytes),
            !stats->is_cache_full || *stats->cache_trouble ? ""
            : stats->cache_rows ? "; it is full: a larger budget (--memory) would keep more"
                                : "; the budget (--memory) left nothing for it");
    if (*stats->cache_trouble)
        fprintf(file, "%-12s no more is written to disk: %s\n", "", stats->cache_trouble);
}

/* The first decision of a run with a budget that is small for its workers. */
static bool has_fewer_workers(const struct cli_summary *s)
{
    struct stk_decision d;
    return !stk_iterator_decision(s->it, 0, &d) && !strcmp(d.knob, "workers") &&
           d.to == s->stats.workers && d.from > d.to;
}

/* Who had how much of the budget. */
static void list_owners(FILE *file, const struct cli_summary *s)
{
    struct stk_memory_use use;
    const char *separator = "";
    for (int i = 0; !stk_iterator_memory(s->it, i, &use); i++) {
        if (!use.peak_bytes)
            continue;
        fprintf(file, "%s%s %.1f MB", separator, use.owner, cli_megabytes((double)use.peak_bytes));
        separator = ", ";
    }
    fputs(" at most\n", file);
}

void cli_summary_print(FILE *file, const struct cli_summary *s)
{
    const struct cli_tally *t = s->tally;
    double seconds = t->end - t->start;
    char cpu[32];
    cpu_name(s, cpu, sizeof cpu);
    label(file, "elements");
    fprintf(file, "%" PRIu64 " in %" PRIu64 " batch%s, %" PRIu64 " epoch%s\n", t->elements,
            t->batches, t->batches == 1 ? "" : "es", s->stats.epochs,
            s->stats.epochs == 1 ? "" : "s");
    if (s->signal) {
        label(file, "ended");
        fprintf(file, "interrupted (SIG%s); what was delivered until then is counted\n",
                s->signal == SIGINT ? "INT" : "TERM");
    }
    label(file, "rate");
    fprintf(file, "%.1f elements/s in %.3f s; best epoch %.1f\n",
            cli_per_second((double)t->elements, seconds), seconds, t->best_rate);
    if (t->batches) {
        label(file, "first batch");
        fprintf(file, "after %.3f s\n", t->first_batch_s);
    }
    label(file, "memory");
    fprintf(file, "%.1f MB set aside at most, of a budget of %.1f MB\n",
            cli_megabytes((double)s->stats.peak_bytes),
            cli_megabytes((double)s->stats.budget_bytes));
    label(file, "owners");
    list_owners(file, s);
    label(file, "process");
    fprintf(file,
            "%.1f MB resident at most, with the program itself; %.1f MB at most without files\n",
            cli_peak_rss_mb(), t->peak_anon_mb);
    label(file, "read");
    fprintf(file, "%.1f MB\n", cli_megabytes((double)s->stats.bytes_read));
    print_cache(file, &s->stats);
    label(file, "workers");
    fprintf(file, "%d, %s, %.2f s of cpu time%s\n", s->stats.workers, cpu, cli_cpu_seconds(),
            has_fewer_workers(s)
                ? "; fewer than asked for: the budget (--memory) holds no more threads"
                : "");
    label(file, "errors");
    fprintf(file, "%" PRIu64 "\n", s->stats.errors);
    if (s->stats.warnings) {
        label(file, "warnings");
        fprintf(file, "%" PRIu64 " made of data with flaws\n", s->stats.warnings);
    }
    if (s->args->errors)
        list_errors(file, s);
    if (s->args->tuning)
        list_decisions(file, s);
}

static void add_mallocs(struct stk__text *out, const struct cli_tally *tally)
{
    double own = NAN, library = NAN;
    cli_tally_mallocs(tally, &own, &library);
    stk__json_real(out, "mallocs_per_batch", own);
    stk__json_real(out, "library_mallocs_per_batch", library);
}

static void add_errors(struct stk__text *out, const struct cli_summary *s)
{
    struct stk_error error;
    stk__json_open(out, "error_list", '[');
    for (uint64_t i = 0; stk_iterator_error(s->it, i, &error) == STK_OK; i++)
        stk__json_string(out, NULL, error.text);
    stk__json_close(out, ']');
}

static void add_owners(struct stk__text *out, const struct cli_summary *s)
{
    struct stk_memory_use use;
    stk__json_open(out, "memory", '{');
    for (int i = 0; !stk_iterator_memory(s->it, i, &use); i++) {
        stk__json_open(out, use.owner, '{');
        stk__json_count(out, "held_bytes", use.held_bytes);
        stk__json_count(out, "peak_bytes", use.peak_bytes);
        stk__json_close(out, '}');
    }
    stk__json_close(out, '}');
}

static void add_decisions(struct stk__text *out, const struct cli_summary *s)
{
    struct stk_decision d;
    stk__json_open(out, "tuning", '[');
    for (uint64_t i = 0; !stk_iterator_decision(s->it, i, &d); i++) {
        stk__json_open(out, NULL, '{');
        stk__json_fixed(out, "seconds", (double)d.at_ns / 1e9, 6);
        stk__json_string(out, "knob", d.knob);
        stk__json_whole(out, "from", d.from);
        stk__json_whole(out, "to", d.to);
        stk__json_string(out, "reason", d.reason);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void add_counts(struct stk__text *out, const struct cli_summary *s)
{
    const struct stk_stats *stats = &s->stats;
    char cpu[32];
    cpu_name(s, cpu, sizeof cpu);
    stk__json_count(out, "errors", stats->errors);
    stk__json_count(out, "warnings", stats->warnings);
    stk__json_count(out, "bytes_read", stats->bytes_read);
    stk__json_whole(out, "workers", stats->workers);
    stk__json_string(out, "cpu", cpu);
    stk__json_count(out, "budget_bytes", stats->budget_bytes);
    stk__json_count(out, "used_bytes", stats->used_bytes);
    stk__json_count(out, "peak_bytes", stats->peak_bytes);
    stk__json_count(out, "tickets", stats->tickets);
    stk__json_count(out, "direct_tickets", stats->direct_tickets);
    stk__json_fixed(out, "cpu_seconds", cli_cpu_seconds(), 6);
    stk__json_count(out, "cache_hits", stats->cache_hits);
    stk__json_count(out, "cache_misses", stats->cache_misses);
    stk__json_count(out, "cache_rows", stats->cache_rows);
    stk__json_count(out, "cache_bytes", stats->cache_bytes);
    stk__json_count(out, "cache_disk_bytes", stats->cache_disk_bytes);
    stk__json_count(out, "cache_limit_bytes", stats->cache_limit_bytes);
    stk__json_bool(out, "cache_full", stats->is_cache_full);
    stk__json_string(out, "cache_trouble", stats->cache_trouble);
}

static void add_rates(struct stk__text *out, const struct cli_tally *t)
{
    double seconds = t->end - t->start;
    stk__json_fixed(out, "seconds", seconds, 6);
    stk__json_fixed(out, "elements_per_s", cli_per_second((double)t->elements, seconds), 3);
    stk__json_fixed(out, "best_epoch_elements_per_s", t->best_rate, 3);
    stk__json_fixed(out, "first_batch_s", t->batches ? t->first_batch_s : NAN, 6);
    stk__json_fixed(out, "peak_rss_mb", cli_peak_rss_mb(), 3);
    stk__json_fixed(out, "peak_anon_mb", t->peak_anon_mb, 3);
}

void cli_summary_json(FILE *file, const struct cli_summary *s)
{
    struct cli_json_file out = cli_json_to(file);
    stk__json_open(&out.text, NULL, '{');
    stk__json_count(&out.text, "elements", s->tally->elements);
    stk__json_count(&out.text, "batches", s->tally->batches);
    stk__json_count(&out.text, "epochs", s->stats.epochs);
    add_rates(&out.text, s->tally);
    add_mallocs(&out.text, s->tally);
    add_counts(&out.text, s);
    if (s->signal)
        stk__json_whole(&out.text, "interrupted", s->signal);
    if (s->has_digest) {
        char digest[24];
        snprintf(digest, sizeof digest, "%016" PRIx64, s->digest);
        stk__json_string(&out.text, "digest", digest);
    }
    if (s->args->errors)
        add_errors(&out.text, s);
    add_owners(&out.text, s);
    if (s->args->tuning)
        add_decisions(&out.text, s);
    if (s->error)
        stk__json_string(&out.text, "error", s->error->text);
    stk__json_close(&out.text, '}');
    cli_json_finish(&out);
}

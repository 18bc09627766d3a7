/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c: how a run went, for people and as JSON. */
#define _GNU_SOURCE
#include "summary.h"

#include "complain.h"
#include "figures.h"
#include "json_in.h"
#include "value_text.h"

#include <inttypes.h>
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

static void json_mallocs(FILE *file, const struct cli_tally *tally)
{
    double own, library;
    if (cli_tally_mallocs(tally, &own, &library))
        fprintf(file, ",\"mallocs_per_batch\":%.6g,\"library_mallocs_per_batch\":%.6g", own,
                library);
    else
        fputs(",\"mallocs_per_batch\":null,\"library_mallocs_per_batch\":null", file);
}

static void json_errors(FILE *file, const struct cli_summary *s)
{
    struct stk_error error;
    fputs(",\"error_list\":[", file);
    for (uint64_t i = 0; stk_iterator_error(s->it, i, &error) == STK_OK; i++) {
        if (i)
            fputc(',', file);
        cli_text_print(file, error.text, strlen(error.text));
    }
    fputc(']', file);
}

static void json_owners(FILE *file, const struct cli_summary *s)
{
    struct stk_memory_use use;
    fputs(",\"memory\":{", file);
    for (int i = 0; !stk_iterator_memory(s->it, i, &use); i++)
        fprintf(file, "%s\"%s\":{\"held_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64 "}",
                i ? "," : "", use.owner, use.held_bytes, use.peak_bytes);
    fputc('}', file);
}

static void json_decisions(FILE *file, const struct cli_summary *s)
{
    struct stk_decision d;
    fputs(",\"tuning\":[", file);
    for (uint64_t i = 0; !stk_iterator_decision(s->it, i, &d); i++) {
        fprintf(file,
                "%s{\"seconds\":%.6f,\"knob\":\"%s\",\"from\":%" PRId64 ",\"to\":%" PRId64
                ",\"reason\":",
                i ? "," : "", (double)d.at_ns / 1e9, d.knob, d.from, d.to);
        cli_text_print(file, d.reason, strlen(d.reason));
        fputc('}', file);
    }
    fputc(']', file);
}

static void json_counts(FILE *file, const struct cli_summary *s)
{
    const struct stk_stats *stats = &s->stats;
    char cpu[32];
    cpu_name(s, cpu, sizeof cpu);
    fprintf(file,
            ",\"errors\":%" PRIu64 ",\"warnings\":%" PRIu64 ",\"bytes_read\":%" PRIu64
            ",\"workers\":%d,\"cpu\":\"%s\"",
            stats->errors, stats->warnings, stats->bytes_read, stats->workers, cpu);
    fprintf(file,
            ",\"budget_bytes\":%" PRIu64 ",\"used_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64,
            stats->budget_bytes, stats->used_bytes, stats->peak_bytes);
    fprintf(file, ",\"tickets\":%" PRIu64 ",\"direct_tickets\":%" PRIu64 ",\"cpu_seconds\":%.6f",
            stats->tickets, stats->direct_tickets, cli_cpu_seconds());
    fprintf(file,
            ",\"cache_hits\":%" PRIu64 ",\"cache_misses\":%" PRIu64 ",\"cache_rows\":%" PRIu64
            ",\"cache_bytes\":%" PRIu64 ",\"cache_disk_bytes\":%" PRIu64
            ",\"cache_limit_bytes\":%" PRIu64 ",\"cache_full\":%s,\"cache_trouble\":",
            stats->cache_hits, stats->cache_misses, stats->cache_rows, stats->cache_bytes,
            stats->cache_disk_bytes, stats->cache_limit_bytes,
            stats->is_cache_full ? "true" : "false");
    cli_text_print(file, stats->cache_trouble, strlen(stats->cache_trouble));
}

void cli_summary_json(FILE *file, const struct cli_summary *s)
{
    const struct cli_tally *t = s->tally;
    double seconds = t->end - t->start;
    fprintf(file, "{\"elements\":%" PRIu64 ",\"batches\":%" PRIu64 ",\"epochs\":%" PRIu64,
            t->elements, t->batches, s->stats.epochs);
    fprintf(file, ",\"seconds\":%.6f,\"elements_per_s\":%.3f,\"best_epoch_elements_per_s\":%.3f",
            seconds, cli_per_second((double)t->elements, seconds), t->best_rate);
    if (t->batches)
        fprintf(file, ",\"first_batch_s\":%.6f", t->first_batch_s);
    else
        fputs(",\"first_batch_s\":null", file);
    fprintf(file, ",\"peak_rss_mb\":%.3f,\"peak_anon_mb\":%.3f", cli_peak_rss_mb(),
            t->peak_anon_mb);
    json_mallocs(file, t);
    json_counts(file, s);
    if (s->signal)
        fprintf(file, ",\"interrupted\":%d", s->signal);
    if (s->has_digest)
        fprintf(file, ",\"digest\":\"%016" PRIx64 "\"", s->digest);
    if (s->args->errors)
        json_errors(file, s);
    json_owners(file, s);
    if (s->args->tuning)
        json_decisions(file, s);
    if (s->error) {
        fputs(",\"error\":", file);
        cli_text_print(file, s->error->text, strlen(s->error->text));
    }
    fputs("}\n", file);
}

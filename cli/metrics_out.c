/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_out.c: files appear whole: each is written beside its place and then given its name. */
#define _GNU_SOURCE
#include "metrics_out.h"

#include "complain.h"
#include "tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double interval = 2;         /* seconds */
static const char intervals[] = "100000"; /* of each thread */

static int fail(struct stk_error *err, const char *path)
{
    *err = (struct stk_error){ .code = STK_IO };
    snprintf(err->text, sizeof err->text, "%.300s: cannot be written: %s", path, strerror(errno));
    return STK_IO;
}

static int replace_file(const char *path, const char *text, struct stk_error *err)
{
    char *part = NULL;
    if (asprintf(&part, "%s.part", path) < 0)
        return fail(err, path);
    bool is_done = cli_write(part, text) && rename(part, path) == 0;
    int rc = is_done ? STK_OK : fail(err, path);
    if (!is_done)
        unlink(part);
    free(part);
    return rc;
}

static int save_trace(const char *path, struct stk_iterator *it, struct stk_error *err)
{
    char *text = NULL;
    if (!path)
        return STK_OK;
    int rc = stk_iterator_trace(it, &text, err);
    if (!rc)
        rc = replace_file(path, text, err);
    stk_text_free(text);
    return rc;
}

static int save(const char *path, const char *format, struct stk_iterator *it,
                struct stk_error *err)
{
    char *text = NULL;
    if (!path)
        return STK_OK;
    int rc = stk_iterator_metrics(it, format, &text, err);
    if (!rc)
        rc = replace_file(path, text, err);
    stk_text_free(text);
    return rc;
}

int cli_metrics_prepare(const struct cli_args *args, struct stk_error *err)
{
    return args->trace ? stk_options_set(args->options, "trace", intervals, err) : STK_OK;
}

int cli_metrics_tick(struct cli_metrics *metrics, struct stk_iterator *it, struct stk_error *err)
{
    if (!metrics->args->prometheus || cli_now() < metrics->due)
        return STK_OK;
    metrics->due = cli_now() + interval;
    return save(metrics->args->prometheus, "prometheus", it, err);
}

int cli_metrics_end(const struct cli_metrics *metrics, struct stk_iterator *it,
                    struct stk_error *err)
{
    int rc = save(metrics->args->prometheus, "prometheus", it, err);
    rc = rc ? rc : save(metrics->args->metrics, "json", it, err);
    return rc ? rc : save_trace(metrics->args->trace, it, err);
}

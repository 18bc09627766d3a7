/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h: batches as JSON. */
#pragma once
#include "json_print.h"

#include <stoker/stoker.h>

/* A field as nested lists; an element's scalar or string stands alone. */
void cli_dump_view(struct cli_json_file *out, const char *name, const struct stk_view *view);

/* "origin": where each row came from. */
void cli_dump_origins(struct cli_json_file *out, const struct stk_batch *batch);

/* One line: {"epoch":0,"batch":0,"rows":2,"fields":{"x":[0,1]},"origin":["…","…"]}. */
void cli_dump_batch(FILE *file, const struct stk_batch *batch);

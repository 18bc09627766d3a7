/* SPDX-License-Identifier: Apache-2.0 */
/* json_print.h: JSON on its way to a file. It is written with base/json_out.h, of which the command has its own
 * copy: all else that it needs of stoker it takes from stoker.h.
 *
 *     struct cli_json_file out = cli_json_to(stdout);
 *     stk__json_open(&out.text, NULL, '{');
 *     …                                          cli_json_drain(&out), where it may become long
 *     stk__json_close(&out.text, '}');
 *     cli_json_finish(&out);
 */
#pragma once
#include "base/json_out.h"

#include <stdio.h>

struct cli_json_file {
    FILE *file;
    struct stk__text text; /* not yet written */
};

/* Nothing yet: on one line, without spaces. */
struct cli_json_file cli_json_to(FILE *file);

/* Writes what there is once it is much, but for the end, which tells whether a comma is due. */
void cli_json_drain(struct cli_json_file *out);

/* Writes the rest and a new line, and frees it. */
void cli_json_finish(struct cli_json_file *out);

/* SPDX-License-Identifier: Apache-2.0 */
/* complain.h: telling people what went wrong, and where in their chain. */
#pragma once
#include "operand.h"

#include <stdbool.h>
#include <stdio.h>
#include <stoker/stoker.h>

/* "stoker: <sentence>" on stderr. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains and shows the place in the chain (which may be NULL). Returns the exit code: 2 for what
 * the user can mend in the command line or the chain, 1 for what the data or the machine did. */
int cli_report(const struct stk_error *err, const struct cli_chain *chain, bool is_running);

/* Writes a text to a file; complains and returns an exit code. NULL: there was no memory for it. */
int cli_save(const char *path, const char *text);

/* The same without a word: false, and errno says why. */
bool cli_write(const char *path, const char *text);

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_CYAN };

/* The escape sequence, or "" when the file is no terminal or NO_COLOR is set. */
const char *cli_style(FILE *file, enum cli_style style);

/* True once stdout cannot be written to. A reader that has gone away is no error, a full disk is.
 */
bool cli_output_is_broken(void);

/* Something that belongs to it could not be made: ": out of memory", for example. */
void cli_output_lose(const char *why);

/* Flushes stdout; the exit code, which becomes 1 (and is explained) where that fails on a code of
 * 0. */
int cli_output_finish(int exit_code);

/* SPDX-License-Identifier: Apache-2.0 */
/* interpose_files.h: the half of interpose.c that stands between programs and their files. */
#pragma once

/* Takes what is to happen to files from the environment. */
void files_start(void);

/* From now on nothing fails any more. Returns how often data files were opened or read. */
unsigned long files_stop(void);

/* The same with sizes that were asked for, files that were closed, and getrusage, of whatever thread. */
unsigned long files_calls(void);

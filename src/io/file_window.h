/* SPDX-License-Identifier: Apache-2.0 */
/* file_window.h: a window that moves over a data file from front to back, for scans that look for
 * rows. It grows where a row does not fit. */
#pragma once
#include "io/data_file.h"

enum { STK__WINDOW_TAIL = 64 }; /* readable zeros behind the data */

struct stk__file_window {
    struct stk__data_files *files;
    size_t file;
    uint8_t *data;
    size_t cap, filled;
    uint64_t offset; /* of data[0] in the file */
    bool is_last;    /* the data goes up to the end of the file */
    struct stk_error *err;
};

/* Reads the first part of a file from `offset` on. To be closed also after a failure. */
int stk__file_window_open(struct stk__file_window *window, struct stk__data_files *files,
                          size_t file, uint64_t offset, struct stk_error *err);
void stk__file_window_close(struct stk__file_window *window);

/* Keeps what begins at `kept` and reads on. */
int stk__file_window_move(struct stk__file_window *window, size_t kept);

/* SPDX-License-Identifier: Apache-2.0 */
/* file_window.c: reading on behind what is kept. */
#include "io/file_window.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 20 };

int stk__file_window_open(struct stk__file_window *w, struct stk__data_files *files, size_t file,
                          uint64_t offset, struct stk_error *err)
{
    *w = (struct stk__file_window){
        .files = files, .file = file, .cap = WINDOW, .offset = offset, .err = err
    };
    if (!(w->data = malloc(w->cap + STK__WINDOW_TAIL)))
        return stk__out_of_memory(err);
    return stk__file_window_move(w, 0);
}

void stk__file_window_close(struct stk__file_window *w)
{
    free(w->data);
    w->data = NULL;
}

int stk__file_window_move(struct stk__file_window *w, size_t kept)
{
    uint64_t all = w->files->item[w->file].bytes;
    w->offset += kept;
    w->filled -= kept;
    memmove(w->data, w->data + kept, w->filled);
    if (w->filled > w->cap / 2) {
        uint8_t *data = realloc(w->data, 2 * w->cap + STK__WINDOW_TAIL);
        if (!data)
            return stk__out_of_memory(w->err);
        w->data = data;
        w->cap *= 2;
    }
    uint64_t left = all - w->offset - w->filled;
    size_t n = left < w->cap - w->filled ? (size_t)left : w->cap - w->filled;
    const struct stk__file_place place = { w->offset + w->filled, n, (uint32_t)w->file };
    int code = stk__data_file_read(w->files, place, w->data + w->filled, w->err);
    if (code)
        stk__error_prefix(w->err, "'%s': ", w->files->item[w->file].path);
    w->filled += n;
    w->is_last = n == left;
    memset(w->data + w->filled, 0, STK__WINDOW_TAIL);
    return code;
}

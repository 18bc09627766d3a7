/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c: growing, sorting and searching lists of paths. */
#include "io/paths.h"

#include <stdlib.h>
#include <string.h>

/* Room for `need` items of `size` bytes, at least doubling. */
static int grow(void **items, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return STK_OK;
    size_t wanted = *cap ? *cap * 2 : 64;
    if (wanted < need)
        wanted = need;
    if (wanted > SIZE_MAX / 2 / size)
        return STK_MEMORY;
    void *bigger = realloc(*items, wanted * size);
    if (!bigger)
        return STK_MEMORY;
    *items = bigger;
    *cap = wanted;
    return STK_OK;
}

int stk__paths_add(struct stk__paths *paths, const char *text, size_t len)
{
    void *chars = paths->text, *starts = paths->start;
    int code = grow(&chars, &paths->text_cap, paths->text_len + len + 1, 1);
    paths->text = chars;
    if (!code)
        code = grow(&starts, &paths->cap, paths->n + 1, sizeof *paths->start);
    paths->start = starts;
    if (code)
        return code;
    memcpy(paths->text + paths->text_len, text, len);
    paths->text[paths->text_len + len] = 0;
    paths->start[paths->n++] = paths->text_len;
    paths->text_len += len + 1;
    return STK_OK;
}

/* Shrinking needs no memory; where it fails all the same nothing is lost. */
static void fit(void **items, size_t *cap, size_t n, size_t size)
{
    void *smaller = n < *cap ? realloc(*items, (n ? n : 1) * size) : NULL;
    if (!smaller)
        return;
    *items = smaller;
    *cap = n ? n : 1;
}

void stk__paths_fit(struct stk__paths *paths)
{
    void *chars = paths->text, *starts = paths->start;
    fit(&chars, &paths->text_cap, paths->text_len, 1);
    fit(&starts, &paths->cap, paths->n, sizeof *paths->start);
    paths->text = chars;
    paths->start = starts;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int stk__paths_sort(struct stk__paths *paths)
{
    if (paths->n < 2)
        return STK_OK;
    const char **order = malloc(paths->n * sizeof *order);
    if (!order)
        return STK_MEMORY;
    for (size_t i = 0; i < paths->n; i++)
        order[i] = stk__paths_at(paths, i);
    qsort(order, paths->n, sizeof *order, by_bytes);
    size_t kept = 0;
    for (size_t i = 0; i < paths->n; i++)
        if (i == 0 || strcmp(order[i - 1], order[i]))
            paths->start[kept++] = (size_t)(order[i] - paths->text);
    paths->n = kept;
    free(order);
    stk__paths_fit(paths);
    return STK_OK;
}

int64_t stk__paths_find(const struct stk__paths *paths, const char *text)
{
    size_t lo = 0, hi = paths->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(stk__paths_at(paths, mid), text);
        if (order == 0)
            return (int64_t)mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

size_t stk__paths_bytes(const struct stk__paths *paths)
{
    return paths->text_cap + paths->cap * sizeof *paths->start;
}

void stk__paths_clear(struct stk__paths *paths)
{
    paths->n = paths->text_len = 0;
}

void stk__paths_free(struct stk__paths *paths)
{
    free(paths->text);
    free(paths->start);
    *paths = (struct stk__paths){ 0 };
}

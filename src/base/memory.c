/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: small pieces from malloc, large ones mapped.
 *
 * malloc keeps large pieces that were freed once (its threshold for mapping grows), per thread: a run with a few
 * large images held 60 MB more than it used.
 */
#define _GNU_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGN = 64 };

static const size_t mapped_from = (size_t)1 << 20, huge_from = (size_t)4 << 20;

void *stk__memory_take(size_t bytes)
{
    if (bytes < mapped_from)
        return aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (bytes >= huge_from)
        madvise(memory, bytes, MADV_HUGEPAGE); /* a hint: fewer page faults on the first touch */
    return memory;
}

void stk__memory_free(void *memory, size_t bytes)
{
    if (memory && bytes >= mapped_from)
        munmap(memory, bytes);
    else
        free(memory);
}

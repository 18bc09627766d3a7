/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_memory.h: libjpeg's memory manager over an arena; private to the JPEG codecs. */
#pragma once
#include "base/memory/arena.h"

#include <stdio.h> /* jpeglib.h wants size_t and FILE declared */

#include <jpeglib.h>

struct stk__jpeg_memory {
    struct jpeg_memory_mgr methods;  /* first: what cinfo->mem points to while installed */
    struct jpeg_memory_mgr *library; /* the manager the library made for itself */
    struct stk_arena *arena;         /* borrowed; rewound by its owner between pictures */
    bool is_exhausted;               /* an allocation failed: the error is not about the data */
};

/* Takes over from the library's manager, which keeps what was made at creation. */
void stk__jpeg_memory_install(struct stk__jpeg_memory *memory, j_common_ptr cinfo,
                              struct stk_arena *arena);

/* Gives the library its own manager back, so that it can be destroyed. */
void stk__jpeg_memory_remove(struct stk__jpeg_memory *memory, j_common_ptr cinfo);

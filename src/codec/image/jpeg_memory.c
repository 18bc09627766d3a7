/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_memory.c: libjpeg's memory manager over an arena.
 *
 * The library asks for memory in two pools: of the picture, and permanent. Of the latter there are,
 * after the decompressor was created, only Huffman and quantization tables, which every file brings
 * along; we forget them before each picture (jpeg.c), so both pools are one arena and freeing is
 * rewinding it.
 *
 * "Virtual" arrays hold the coefficients of files with more than one scan. They are wholly in
 * memory here; the limit on pixels bounds them. Virtual sample arrays serve colour quantization
 * alone and are refused.
 */
#include "codec/image/jpeg_memory.h"

#include "base/cancel.h"

#include <jerror.h>
#include <string.h>

/* The vector code of the library reads and writes rows in whole registers: it relies on rows
 * that are aligned and padded to twice the widest one. */
enum { ROW_BYTES = 64 };

struct jvirt_barray_control {
    JBLOCKARRAY rows;
    JDIMENSION n_rows;
};

static void *alloc(j_common_ptr cinfo, size_t bytes)
{
    struct stk__jpeg_memory *memory = (struct stk__jpeg_memory *)cinfo->mem;
    void *at = stk__arena_take(memory->arena, bytes);
    if (!at) {
        memory->is_exhausted = true;
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    return at;
}

static void *alloc_any(j_common_ptr cinfo, int pool, size_t bytes)
{
    (void)pool;
    return alloc(cinfo, bytes);
}

/* Row pointers into one piece of memory. */
static void **alloc_rows(j_common_ptr cinfo, size_t row_bytes, JDIMENSION n_rows)
{
    void **rows = alloc(cinfo, n_rows * sizeof *rows);
    char *at = alloc(cinfo, row_bytes * n_rows);
    for (JDIMENSION y = 0; y < n_rows; y++)
        rows[y] = at + y * row_bytes;
    return rows;
}

static JSAMPARRAY alloc_samples(j_common_ptr cinfo, int pool, JDIMENSION n_samples,
                                JDIMENSION n_rows)
{
    (void)pool;
    size_t row_bytes =
        ((size_t)n_samples * sizeof(JSAMPLE) + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    return (JSAMPARRAY)alloc_rows(cinfo, row_bytes, n_rows);
}

static JBLOCKARRAY alloc_blocks(j_common_ptr cinfo, int pool, JDIMENSION n_blocks,
                                JDIMENSION n_rows)
{
    (void)pool;
    return (JBLOCKARRAY)alloc_rows(cinfo, n_blocks * sizeof(JBLOCK), n_rows);
}

static jvirt_sarray_ptr refuse_samples(j_common_ptr cinfo, int pool, boolean is_zeroed,
                                       JDIMENSION n_samples, JDIMENSION n_rows,
                                       JDIMENSION n_at_once)
{
    (void)pool, (void)is_zeroed, (void)n_samples, (void)n_rows, (void)n_at_once;
    ERREXIT(cinfo, JERR_NOT_COMPILED);
    return NULL;
}

static JSAMPARRAY refuse_access(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION from,
                                JDIMENSION n_rows, boolean is_written)
{
    (void)array, (void)from, (void)n_rows, (void)is_written;
    ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return NULL;
}

static jvirt_barray_ptr make_blocks(j_common_ptr cinfo, int pool, boolean is_zeroed,
                                    JDIMENSION n_blocks, JDIMENSION n_rows, JDIMENSION n_at_once)
{
    (void)n_at_once;
    jvirt_barray_ptr array = alloc(cinfo, sizeof *array);
    array->rows = alloc_blocks(cinfo, pool, n_blocks, n_rows);
    array->n_rows = n_rows;
    for (JDIMENSION row = 0; is_zeroed && row < n_rows; row++) {
        if (stk__cancel_is_asked()) /* all coefficients of a large picture are gigabytes */
            cinfo->err->error_exit(cinfo);
        memset(array->rows[row], 0, n_blocks * sizeof(JBLOCK));
    }
    return array;
}

static JBLOCKARRAY access_blocks(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION from,
                                 JDIMENSION n_rows, boolean is_written)
{
    (void)is_written;
    if (from > array->n_rows || n_rows > array->n_rows - from)
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return array->rows + from;
}

static void do_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void keep_pool(j_common_ptr cinfo, int pool)
{
    (void)cinfo, (void)pool;
}

void stk__jpeg_memory_install(struct stk__jpeg_memory *memory, j_common_ptr cinfo,
                              struct stk_arena *arena)
{
    *memory = (struct stk__jpeg_memory){
        .methods = {
            .alloc_small = alloc_any,
            .alloc_large = alloc_any,
            .alloc_sarray = alloc_samples,
            .alloc_barray = alloc_blocks,
            .request_virt_sarray = refuse_samples,
            .request_virt_barray = make_blocks,
            .realize_virt_arrays = do_nothing,
            .access_virt_sarray = refuse_access,
            .access_virt_barray = access_blocks,
            .free_pool = keep_pool,
            .self_destruct = do_nothing,
            .max_memory_to_use = cinfo->mem->max_memory_to_use,
            .max_alloc_chunk = cinfo->mem->max_alloc_chunk,
        },
        .library = cinfo->mem,
        .arena = arena,
    };
    cinfo->mem = &memory->methods;
}

void stk__jpeg_memory_remove(struct stk__jpeg_memory *memory, j_common_ptr cinfo)
{
    cinfo->mem = memory->library;
}

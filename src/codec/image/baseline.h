/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h: our own decoder for plain JPEG files; private to this room.
 *
 * It takes baseline and extended 8-bit Huffman files with one scan, gray, YCbCr or RGB, in the
 * samplings that are in use, and gives the pixels of libjpeg-turbo (accurate or fast transform,
 * smooth upsampling), bit for bit. Whatever it does not know, or does not find in perfect order, it leaves
 * to that library: a file decoded here is one that the library would have decoded without a word.
 * A picture can be made smaller on the way (libjpeg's reduced transforms), and decoded in part.
 *
 *     header ─▶ tables ─▶ scan ─▶ chunk of blocks ─▶ planes, a few rows ─▶ pixels
 *     baseline_header.c   baseline_scan.c            baseline_rows.c
 *              baseline_tables.c
 */
#pragma once
#include "base/memory/arena.h"
#include "codec/image/formats.h"
#include "kernel/jpeg.h"

/* ---- header ---- */

/* A Huffman code as the file defines it. */
struct stk__huffman {
    const uint8_t *counts; /* [16] codes of each length, then the symbols; NULL: not defined */
    int n_symbols;
};

struct stk__component {
    uint8_t id, quant, dc, ac; /* numbers of tables */
};

enum stk__colours { STK__GRAY, STK__YCC, STK__RGB };

struct stk__jpeg_header {
    int width, height;
    int n_components;
    struct stk__component component[3];
    int across, down; /* luma samples per chroma sample: 1, 2 or 4; 1 or 2 */
    enum stk__colours colours;
    int restart_interval;  /* MCUs; 0: none */
    uint16_t quant[4][64]; /* rows of 8 */
    bool has_quant[4];
    struct stk__huffman dc[4], ac[4];
    const uint8_t *scan, *end; /* the coded bytes, and the end of the file */
};

/* Reads everything up to the scan; false: not a file for us. The header borrows the bytes. */
bool stk__jpeg_header_read(struct stk__jpeg_header *header, const uint8_t *bytes, size_t n_bytes);

static inline int stk__jpeg_mcus_across(const struct stk__jpeg_header *header)
{
    return (header->width + 8 * header->across - 1) / (8 * header->across);
}

static inline int stk__jpeg_mcus_down(const struct stk__jpeg_header *header)
{
    return (header->height + 8 * header->down - 1) / (8 * header->down);
}

static inline int stk__jpeg_luma_blocks(const struct stk__jpeg_header *header)
{
    return header->across * header->down;
}

/* Blocks of an MCU: luma, then one of each chroma component. */
static inline int stk__jpeg_mcu_blocks(const struct stk__jpeg_header *header)
{
    return stk__jpeg_luma_blocks(header) + header->n_components - 1;
}

/* ---- tables ---- */

/* What the first code of an index stands for, to make tables of pairs from. */
struct stk__jpeg_singles {
    /* Codes of up to n bits come first: as many numbers of n bits begin with one. */
    unsigned n_short[STK__JPEG_INDEX_BITS + 1];
    uint8_t n_ended[STK__JPEG_INDEX_SIZE]; /* bits up to an end of block right after it; NO_CODE */
    uint8_t step[STK__JPEG_INDEX_SIZE], advance[STK__JPEG_INDEX_SIZE];
    struct stk__jpeg_entry entry[STK__JPEG_INDEX_SIZE];
};

/* A definition a table was made from, to use it again: counts and symbols. */
struct stk__huffman_copy {
    int n_bytes; /* 0: none */
    uint8_t bytes[16 + 256];
};

struct stk__jpeg_ac_table {
    struct stk__huffman_copy made_from;
    struct stk__jpeg_code code;
    struct stk__jpeg_singles singles;
    struct stk__jpeg_table table;
};

/* For DC and the AC symbol that may follow. */
struct stk__jpeg_dc_table {
    struct stk__huffman_copy made_from, followed_by;
    struct stk__jpeg_code code;
    struct stk__jpeg_table table;
};

struct stk__jpeg_tables {
    struct stk__jpeg_ac_table ac[3];
    struct stk__jpeg_dc_table dc[3];
    const struct stk__jpeg_table *ac_of[3], *dc_of[3]; /* by component */
};

/* Makes the tables that the scan uses; those that are there already are kept. False: a code that is
 * none. */
bool stk__jpeg_tables_make(struct stk__jpeg_tables *tables, const struct stk__jpeg_header *header);

/* ---- scan ---- */

enum { STK__SCAN_BUFFER = 256 << 10 };

/* Coded bytes on their way to the loop. Zeros stuffed after 0xff are taken out a piece at a time.
 */
struct stk__jpeg_scan {
    const struct stk__jpeg_kernels *kernels;
    const uint8_t *src, *end; /* of the file: not yet in the buffer */
    bool is_complete;         /* all bytes up to the next marker are in the buffer */
    uint8_t *filled;          /* end of the bytes in the buffer */
    struct stk__jpeg_bits bits;
    int mcus_left;    /* up to the next restart; of the whole scan if there is none */
    int next_restart; /* 0 to 7 */
    uint8_t buffer[STK__SCAN_BUFFER + 64];
};

void stk__jpeg_scan_open(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header,
                         const struct stk__jpeg_kernels *kernels);

/* Goes over a restart marker if it is time to; then the predictions of DC begin anew. False: there
 * is none, or not that one. */
bool stk__jpeg_scan_restart(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header,
                            bool *is_restart);

/* Decodes n blocks, or with `differences` skips them (jpeg.h). False: the data are damaged or cut.
 */
bool stk__jpeg_scan_blocks(struct stk__jpeg_scan *scan, const struct stk__jpeg_table *dc,
                           struct stk__jpeg_chunk *chunk, int n, int16_t *differences);

/* After the last block: whether the file goes on behind it. */
bool stk__jpeg_scan_is_clean(struct stk__jpeg_scan *scan);

/* ---- rows ---- */

/* Part of a picture. */
struct stk__jpeg_area {
    int x0, y0, x1, y1;
};

/* The last few rows of samples of each component, at row y modulo their number. */
struct stk__jpeg_planes {
    uint8_t *plane[3];
    size_t stride;
    int luma_rows, chroma_rows; /* powers of two */
    uint8_t *wide[2];           /* a row of chroma at full width */
};

struct stk__jpeg_rows {
    const struct stk__jpeg_header *header;
    const struct stk__jpeg_kernels *kernels;
    struct stk__jpeg_planes planes;
    int scale; /* the picture is that much smaller: 1, 2, 4 or 8 */
    struct stk__jpeg_area area;
    const struct stk__image *out;
    int width, height;         /* of the whole picture at that scale */
    int across, down;          /* luma samples per chroma sample at that scale */
    int mcu_width, mcu_height; /* in luma samples */
    int n_wanted;              /* components that the output needs */
    int mcu0, mcu1;            /* columns of MCUs that it needs */
    int row0, row1;            /* rows of MCUs */
    int next_y;                /* first row not yet written */
};

/* Memory from the arena; false when there is none. Header, kernels, scale, area and out are set;
 * `out` has room for the area. */
bool stk__jpeg_rows_open(struct stk__jpeg_rows *rows, struct stk_arena *arena);

/* Where sample x, y of component c goes. */
uint8_t *stk__jpeg_rows_at(const struct stk__jpeg_rows *rows, int c, int x, int y);

/* Samples on a side of component c's blocks. */
static inline int stk__jpeg_rows_block(const struct stk__jpeg_rows *rows, int c)
{
    return c ? rows->mcu_width / rows->across : 8 / rows->scale;
}

/* MCUs first to last of a row are in the planes: writes the pixels that can be written. */
void stk__jpeg_rows_write(struct stk__jpeg_rows *rows, int mcu_row, int first, int last);

/* ---- the decoder ---- */

struct stk__baseline;

/* In memory of `state`, with which it goes; `arena` is borrowed, for what one picture takes. NULL when out of
 * memory. */
struct stk__baseline *stk__baseline_new(struct stk_arena *state, struct stk_arena *arena);

/* False: not a file for us; decode it with the library, which may find the canvas open. True: the
 * result is in `code`, of the caller if he had no place for the picture. */
bool stk__baseline_decode(struct stk__baseline *baseline, const struct stk__decode_request *request,
                          struct stk__canvas *canvas, int *code, struct stk_error *err);

/* Instead of those in force; NULL: those again. */
void stk__baseline_use_kernels(struct stk__baseline *baseline,
                               const struct stk__jpeg_kernels *kernels);

/* Memory that each decoder takes. */
size_t stk__baseline_bytes(void);

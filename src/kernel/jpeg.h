/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.h: inner loops of the baseline JPEG decoder (codec/image/baseline.h): blocks out of the bits of a
 * scan, and pixels out of blocks.
 *
 * A lookup takes the next 10 bits and finds, as often as they suffice, more than one symbol:
 *
 *     10110 01  | 1110 x        code, extra bits of the first coefficient | code of the last one,
 *                               whose extra bits may lie beyond the index
 *     10110 01  | 00            … | end of block
 *
 * What the next lookup waits for, the number of bits to drop and whether the block ends, is a byte
 * in a table of its own, which stays in the first cache level whatever else is going on there; so is
 * how far k goes, since skipping needs no more than these two.
 *
 * Coefficients are counted along the zigzag: k is the last one decoded, -1 before DC. DC values are
 * differences to the previous block of the component.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STK__JPEG_INDEX_BITS = 10,
    STK__JPEG_INDEX_SIZE = 1 << STK__JPEG_INDEX_BITS,
    STK__JPEG_ENDS_BLOCK = 0x80, /* in step */
    STK__JPEG_BY_HAND = 127,     /* in advance: no entry; take one symbol by its code */
    STK__JPEG_MAX_AC_BITS = 10,  /* extra bits a decoder of 8-bit samples needs; more is refused */
    STK__JPEG_MAX_DC_BITS = 11,
    /* What one block can take of a scan: every coefficient with the longest code. */
    STK__JPEG_MAX_BLOCK_BYTES = (16 + 11 + 63 * (16 + 10) + 7) / 8,
    STK__JPEG_MAX_BLOCKS = 264, /* of a run */
    STK__JPEG_MAX_RUN_BYTES = STK__JPEG_MAX_BLOCKS * STK__JPEG_MAX_BLOCK_BYTES + 16,
};

/* Where the coefficients of a lookup go. With one symbol both are the same, and the last, which
 * counts, is stored last. */
struct stk__jpeg_entry {
    uint8_t shift; /* of the last one: its extra bits are window >> shift & mask */
    uint8_t first; /* added to k: the first coefficient */
    uint16_t mask;
    int16_t value;   /* of the first */
    uint16_t unused; /* eight bytes, for loops that address by them */
};

/* A Huffman code, to take one symbol at a time: a code of n bits is below end[n] when it stands on
 * top of 16 bits, and its symbol is symbol[code + offset[n]]. end[17] ends every search. */
struct stk__jpeg_code {
    uint32_t end[18];
    int32_t offset[18];
    uint8_t symbol[256];
};

struct stk__jpeg_table {
    uint8_t step[STK__JPEG_INDEX_SIZE];    /* bits to drop; STK__JPEG_ENDS_BLOCK */
    uint8_t advance[STK__JPEG_INDEX_SIZE]; /* added to k: the last coefficient */
    struct stk__jpeg_entry entry[STK__JPEG_INDEX_SIZE];
    const struct stk__jpeg_code *code;
};

/* A place in a scan whose stuffed zeros are gone. The window holds n_bits bits, the next one on
 * top, and below them zeros or what follows. */
struct stk__jpeg_bits {
    uint64_t window;
    uint64_t n_bits;     /* less than 64 */
    const uint8_t *next; /* the first byte that is not wholly in the n_bits */
};

/* The tables of a block. As large as a block, for loops that walk both with one register. */
struct stk__jpeg_steer {
    const struct stk__jpeg_table *ac;
    const struct stk__jpeg_table *next_dc; /* of the next block */
    uint8_t unused[128 - 2 * sizeof(void *)];
};

struct stk__jpeg_chunk {
    _Alignas(64) int16_t block[STK__JPEG_MAX_BLOCKS][64]; /* rows of 8, not zigzag */
    struct stk__jpeg_steer steer[STK__JPEG_MAX_BLOCKS];
};

/* Two blocks side by side, as one job for the inverse transform. */
struct stk__jpeg_pair {
    int16_t *left, *right; /* aligned to 16 bytes; cleared. The same twice is allowed */
    uint8_t *dst;          /* 8 rows of 16 samples, or as many as a block is reduced to */
    int16_t dc[2];         /* the DC values, instead of those in the blocks */
};

/* Coded bytes to be copied without the zeros stuffed after 0xff. */
struct stk__jpeg_copy {
    uint8_t *dst, *dst_end;
    const uint8_t *src, *src_end;
};

struct stk__jpeg_kernels {
    /* Copies up to a marker, or the end of the source, or of the room. True: it was one of the
     * first two. A 0xff at the end of the source counts as a marker. */
    bool (*unstuff)(struct stk__jpeg_copy *copy);
    /* Decodes n blocks, which are zero, beginning with the table dc. Reads up to
     * n * STK__JPEG_MAX_BLOCK_BYTES + 16 bytes from bits->next on. False: there is no such code, or
     * a coefficient beyond the block; then what is decoded means nothing. */
    bool (*decode)(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                   struct stk__jpeg_chunk *chunk, int n);
    /* The same, storing only the DC differences, and those one after the other. The blocks are work
     * space, and zero afterwards. */
    bool (*skip)(struct stk__jpeg_bits *bits, const struct stk__jpeg_table *dc,
                 struct stk__jpeg_chunk *chunk, int n, int16_t *differences);
    /* Multiplies by quant (rows of 8), transforms, and clears the blocks. False if a value of a
     * first row was outside -8192..8191, where libjpeg-turbo's own versions disagree. */
    bool (*transform)(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                      size_t stride);
    /* libjpeg's fast transform, with quant in its terms (stk__jpeg_fast_scale): the same otherwise,
     * for values of any size. */
    void (*transform_fast)(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                           size_t stride);
    /* The same as transform to size x size samples per block: 1, 2 or 4. False if a value was so large that
     * versions of libjpeg may disagree; then what is in dst means nothing. */
    bool (*reduce)(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant, size_t stride,
                   int size);
    /* Rows may be read up to 64 bytes past their end, nothing is written there.
     * dst has 2 * n samples; src goes from -1 to n. */
    void (*widen_h2v1)(uint8_t *dst, const uint8_t *src, int n);
    /* The same between two rows, of which `near` counts three times. */
    void (*widen_h2v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n);
    /* dst = (3 * near + far + bias) / 4. */
    void (*widen_h1v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, int n, int bias);
    /* n pixels of 3 or 4 channels, the fourth is 255. */
    void (*ycc_to_rgb)(uint8_t *dst, const uint8_t *const planes[3], int n, int channels);
    void (*interleave)(uint8_t *dst, const uint8_t *const planes[3], int n, int channels);
};

void stk__jpeg_fill_scalar(struct stk__jpeg_kernels *kernels);
/* Those on bits and coded bytes alone. */
void stk__jpeg_fill_scan_scalar(struct stk__jpeg_kernels *kernels);
void stk__jpeg_fill_reduce_scalar(struct stk__jpeg_kernels *kernels);
void stk__jpeg_fill_fast_scalar(struct stk__jpeg_kernels *kernels);
void stk__jpeg_fill_avx2(struct stk__jpeg_kernels *kernels);

bool stk__jpeg_unstuff_scalar(struct stk__jpeg_copy *copy);

/* k + 1 to the place in a block; 256-byte aligned, so that the low byte of an address tells k. */
extern const uint8_t stk__jpeg_zigzag[256];

/* What coefficients are multiplied by, times 2^14, for a transform that leaves out the factors of
 * rows and columns: the product of those of its row and its column, 1 and sqrt(2) cos(i pi / 16). */
extern const uint16_t stk__jpeg_fast_scale[64];

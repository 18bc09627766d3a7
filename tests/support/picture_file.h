/* SPDX-License-Identifier: Apache-2.0 */
/* picture_file.h: golden pictures, and decoding them into the heap. Include after cmocka.h. */
#pragma once
#include "codec/image/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy on the heap of exactly its size, so that reading past the end is seen by the sanitizer. */
struct picture_file {
    uint8_t *bytes;
    size_t n;
};

static inline struct picture_file picture_copy(const void *bytes, size_t n)
{
    struct picture_file file = { malloc(n ? n : 1), n };
    assert_non_null(file.bytes);
    memcpy(file.bytes, bytes, n);
    return file;
}

static inline struct picture_file picture_load(const char *name)
{
    char path[200];
    static uint8_t bytes[1 << 16];
    snprintf(path, sizeof path, "tests/golden/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    assert_true(n > 0 && n < sizeof bytes);
    fclose(f);
    return picture_copy(bytes, n);
}

static inline uint64_t picture_hash(const uint8_t *bytes, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

struct picture {
    int code;
    struct stk__image image; /* data on the heap, or NULL */
    uint64_t hash;
    struct stk_error err;
};

static inline int picture_place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    uint8_t **memory = ctx;
    (void)err;
    *memory = image->data = malloc(stk__image_bytes(image));
    assert_non_null(image->data);
    return STK_OK;
}

/* A request without limit of pixels gets one. Free image.data. */
static inline struct picture picture_decode(struct stk__codec *codec, struct picture_file file,
                                            struct stk__decode_request request)
{
    struct picture p = { 0 };
    uint8_t *memory = NULL;
    request.bytes = file.bytes;
    request.n_bytes = file.n;
    request.max_pixels = request.max_pixels ? request.max_pixels : 1 << 20;
    request.place = picture_place;
    request.ctx = &memory;
    p.code = stk__codec_decode(codec, &request, &p.image, &p.err);
    p.image.data = memory;
    if (!p.code)
        p.hash = picture_hash(memory, stk__image_bytes(&p.image));
    else
        assert_true(p.err.text[0]);
    return p;
}

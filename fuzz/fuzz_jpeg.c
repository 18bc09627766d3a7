/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jpeg.c: any bytes to the header probe and to both JPEG decoders: ours, with the library
 * behind it, must give what the library alone gives, in whole and in part. Seeds: tests/golden/
 * decode/ *.jpg. */
#include "base/cpu.h"
#include "base/hash.h"
#include "codec/image/codec.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct attempt {
    int code;
    struct stk__image image;
    struct stk_error err;
    uint8_t *memory;
    struct stk__region region;
};

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    struct attempt *attempt = ctx;
    free(attempt->memory);
    attempt->memory = image->data = malloc(image->stride * image->height);
    return image->data ? STK_OK : stk_fail(err, STK_MEMORY, "no memory");
}

static void choose(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    (void)width, (void)height;
    *region = ((struct attempt *)ctx)->region;
}

static void decode(struct stk__codec *codec, struct stk__decode_request request,
                   struct attempt *attempt)
{
    request.place = place;
    request.choose = attempt->region.width ? choose : NULL;
    request.ctx = attempt;
    attempt->code = stk__codec_decode(codec, &request, &attempt->image, &attempt->err);
}

static void expect(bool is_true)
{
    if (!is_true)
        abort();
}

static size_t row_bytes(const struct stk__image *image)
{
    return (size_t)image->width * (size_t)image->channels;
}

/* The rows of a part are rows of the whole. */
static void compare(const struct attempt *part, const struct attempt *whole)
{
    const struct stk__image *a = &part->image, *b = &whole->image;
    expect(a->channels == b->channels);
    for (uint32_t y = 0; y < a->height; y++)
        expect(!memcmp(a->data + y * a->stride,
                       b->data + (y + part->region.y) * b->stride +
                           part->region.x * (size_t)b->channels,
                       row_bytes(a)));
}

static struct stk__region some_region(uint64_t word, const struct stk__image *image)
{
    uint32_t x = (uint32_t)(word & 0xffff) % image->width;
    uint32_t y = (uint32_t)(word >> 16 & 0xffff) % image->height;
    return (struct stk__region){ x, y, (uint32_t)(word >> 32 & 0xffff) % (image->width - x) + 1,
                                 (uint32_t)(word >> 48) % (image->height - y) + 1 };
}

static void decode_twice(struct stk__codec *codec, struct stk__decode_request request)
{
    struct attempt ours = { 0 }, theirs = { 0 }, part = { 0 };
    decode(codec, request, &ours);
    request.is_by_library = true;
    decode(codec, request, &theirs);
    request.is_by_library = false;
    expect(ours.code == theirs.code);
    if (ours.code) {
        expect(!strcmp(ours.err.text, theirs.err.text));
    } else {
        expect(ours.image.height == theirs.image.height && ours.image.width == theirs.image.width);
        compare(&ours, &theirs);
        uint64_t word = stk__hash_mix(request.n_bytes, request.bytes[request.n_bytes / 2]);
        part.region = some_region(word, &theirs.image);
        decode(codec, request, &part);
        expect(!part.code);
        compare(&part, &theirs);
    }
    free(ours.memory);
    free(theirs.memory);
    free(part.memory);
}

/* One codec for all inputs: what a file leaves behind must not hurt the next. The options come
 * from the last bytes, so that seeds are plain files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct stk__codec *codec;
    static const int channels[] = { 0, 1, 3, 4 };
    if (!codec && !(codec = stk__codec_new()))
        return 0;
    unsigned options = size ? data[size - 1] : 0;
    struct stk__image_info info;
    struct stk_error err;
    stk__image_info(data, size, &info, &err);
    if (stk__image_format(data, size) != STK__FORMAT_JPEG)
        return 0;
    int level = options & 16 ? (int)stk__cpu_best() : STK__CPU_SCALAR;
    stk__codec_use_kernels(codec, &stk__kernels_at(level)->jpeg);
    decode_twice(codec, (struct stk__decode_request){
                            .bytes = data,
                            .n_bytes = size,
                            .channels = channels[options & 3],
                            .is_fast_dct = (options & 12) == 4,
                            .is_oriented = options & 8,
                            .on_truncated = (enum stk__on_truncated)((options >> 5) % 3),
                            .scale = options & 32 ? 2 << (options >> 6) % 3 : 1,
                            .max_pixels = 1 << 18 });
    return 0;
}

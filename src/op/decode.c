/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: JPEG and PNG bytes become pixels. */
#include "codec/codec.h"
#include "op/image_op.h"

#include <string.h>

struct decode {
    int64_t channels, max_pixels;
    int dct;
    bool orientation;
    const char *field;
};

enum { DCT_ACCURATE, DCT_FAST };
static const char *const dct_names[] = { "accurate", "fast", NULL };

static const struct stk_param rows[] = {
    STK_INT_ROW(decode, channels, 3, 0, 4, 0,
                "1 gray, 3 RGB, 4 RGB with alpha; 0 takes what each file has"),
    STK_CHOICE_ROW(decode, dct, dct_names, DCT_ACCURATE, 0,
                   "inverse transform of JPEG: accurate as in Pillow, or fast as in TensorFlow"),
    STK_BOOL_ROW(decode, orientation, false, 0, "turn pictures as their EXIF orientation says"),
    STK_INT_ROW(decode, max_pixels, 100000000, 1, INT64_C(1) << 40, 0,
                "a picture with more pixels is a bad element, and no memory is taken for it"),
    STK_TEXT_ROW(decode, field, NULL, STK_TAKES_NONE,
                 "field with the encoded bytes; none: the only one there is"),
    STK_ROWS_END,
};

/* The field is at the same place in input and output. */
struct state {
    int field;
    struct stk_part part; /* what the op above wants; choose NULL: all */
};

/* A row being decoded. */
struct job {
    struct stk_rows *rows;
    int row;
    int code; /* of choosing the part */
    struct stk_error err;
};

static bool is_bytes(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

static bool is_content(const struct stk_field *field)
{
    return is_bytes(field) && !(field->flags & (STK_FIELD_PATH | STK_FIELD_TEXT));
}

static bool is_path(const struct stk_field *field)
{
    return is_bytes(field) && field->flags & STK_FIELD_PATH;
}

/* Without a name: the only field with content, or where none has any, the only path. A field
 * path that we had read is called bytes now. */
static int pick_field(const struct stk_infer *inf, const char *name, struct stk_error *err)
{
    if (name && !strcmp(name, "path") && stk_type_find(inf->in[0], name) < 0 &&
        stk_type_find(inf->in[0], "bytes") >= 0)
        name = "bytes";
    bool (*fits)(const struct stk_field *) = name ? is_bytes : is_path;
    for (int f = 0; f < inf->in[0]->n_fields && !name; f++)
        if (is_content(&inf->in[0]->field[f]))
            fits = is_content;
    return stk_infer_pick(inf, name, fits, "picture bytes", err);
}

static int name_output(const struct stk_infer *inf, struct stk_field *field, struct stk_error *err)
{
    if (strcmp(field->name, "path") && strcmp(field->name, "bytes"))
        return STK_OK;
    if (stk_type_find(inf->in[0], "image") >= 0)
        return stk_fail(err, STK_NAME,
                        "there is a field 'image' already; rename it or '%s' before decoding",
                        field->name);
    field->name = "image";
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_BYTES = 2 << 20 };
    const struct decode *params = inf->params;
    if (params->channels == 2)
        return stk_fail(err, STK_VALUE, "channels can be 0, 1, 3 or 4, not 2");
    int f = pick_field(inf, params->field, err);
    if (f < 0)
        return err ? err->code : STK_TYPE;
    stk_infer_pass(inf);
    if (inf->in[0]->field[f].flags & STK_FIELD_PATH) {
        inf->read_field = f;
        return STK_OK;
    }
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *state = (struct state){ .field = f };
    inf->state = state;
    inf->from[f] = -1;
    inf->scratch_bytes = TYPICAL_BYTES;
    struct stk_field *field = &inf->out->field[f];
    field->kind = STK_SHAPED;
    field->dtype = STK_U8;
    field->flags = 0;
    field->rank = 3;
    field->shape[0] = field->shape[1] = -1;
    field->shape[2] = params->channels ? params->channels : -1;
    return name_output(inf, field, err);
}

static int thread_open(const void *params, const void *state, void **thread, struct stk_error *err)
{
    (void)params, (void)state;
    *thread = stk__codec_new();
    return *thread ? STK_OK : stk_fail(err, STK_MEMORY, "out of memory");
}

static void thread_close(void *thread)
{
    stk__codec_free(thread);
}

static int take_part(const void *params, const void *given, struct stk_arena *arena,
                     const struct stk_part *part, void **new_state)
{
    const struct state *state = given;
    (void)params;
    if (part->field != state->field)
        return STK_OK;
    struct state *to = stk_arena_alloc(arena, sizeof *to);
    if (!to)
        return STK_MEMORY;
    *to = (struct state){ state->field, *part };
    *new_state = to;
    return STK_OK;
}

static void choose(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    struct job *job = ctx;
    const struct state *state = job->rows->state;
    const int32_t size[2] = { (int32_t)height, (int32_t)width };
    struct stk_region part;
    job->code = stk__part_choose(&state->part, job->rows, job->row, size, &part, &job->err);
    if (!job->code)
        *region = (struct stk__region){ (uint32_t)part.left, (uint32_t)part.top,
                                        (uint32_t)part.width, (uint32_t)part.height };
}

/* No place for a picture of which no part could be chosen. */
static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    struct job *job = ctx;
    if (job->code)
        return stk_fail(err, job->code, "%s", job->err.text);
    image->data = stk_rows_alloc(job->rows, image->stride * image->height);
    return image->data ? STK_OK : stk_fail(err, STK_MEMORY, "out of memory");
}

static struct stk__decode_request make_request(struct job *job)
{
    const struct decode *params = job->rows->params;
    const struct state *state = job->rows->state;
    return (struct stk__decode_request){
        .channels = (int)params->channels,
        .is_fast_dct = params->dct == DCT_FAST,
        .is_oriented = params->orientation,
        .max_pixels = params->max_pixels,
        .choose = state->part.choose ? choose : NULL,
        .place = place,
        .ctx = job,
    };
}

static void store(struct stk_column *column, int row, const struct stk__image *image)
{
    int32_t *dims = column->dims + (size_t)row * 3;
    dims[0] = (int32_t)image->height;
    dims[1] = (int32_t)image->width;
    dims[2] = image->channels;
    column->span[row] =
        (struct stk_span){ .data = image->data, .bytes = image->stride * image->height };
}

static void mark(const struct job *job, int code, const char *text)
{
    const struct state *state = job->rows->state;
    job->rows->blamed = job->code ? state->part.name : NULL;
    stk_rows_fail(job->rows, job->row, code, "%s", text);
    job->rows->blamed = NULL;
}

static int run(struct stk_rows *run_rows)
{
    const struct state *state = run_rows->state;
    const struct stk_column *in = &run_rows->in[state->field];
    struct job job = { .rows = run_rows };
    struct stk__decode_request request = make_request(&job);
    for (int i = 0; i < run_rows->n; i++) {
        if (run_rows->mask[i] != STK_LIVE)
            continue;
        struct stk__image image;
        struct stk_error err;
        job.row = i;
        job.code = STK_OK;
        request.bytes = in->span[i].data;
        request.n_bytes = in->span[i].bytes;
        int code = stk__codec_decode(run_rows->thread, &request, &image, &err);
        if (code == STK_MEMORY)
            return code;
        if (code)
            mark(&job, code, err.text);
        else
            store(&run_rows->out[state->field], i, &image);
    }
    return STK_OK;
}

const struct stk_op stk__op_decode = {
    .decl = { "decode", 1, "Decode JPEG and PNG pictures.",
              "The encoded bytes are replaced by pixels: uint8, height x width x channels. What a "
              "file is is told from its content, not its name. If the field holds paths, the "
              "files are read first. A field named path or bytes is called image afterwards; "
              "other names stay.\n"
              "\n"
              "    files('train/*/*.jpg').decode()\n"
              "    files('scans/*.png').decode(channels=1)\n"
              "    files('photos/*').decode(orientation=true, dct=fast)\n"
              "\n"
              "A file that is damaged, cut off or something else is a bad element with the reason; "
              "pixels are never guessed. PNG files of 16 bits keep the high byte of each sample, "
              "alpha is dropped without blending, and CMYK pictures become RGB.",
              rows, sizeof(struct decode) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .take_part = take_part,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = run },
};

/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: the bytes of pictures become pixels. */
#include "base/memory/gauge.h"
#include "codec/image/codec.h"
#include "op/image/image_op.h"

#include <string.h>

struct decode {
    int64_t channels, scale, max_pixels;
    int dct, dtype, palette, on_truncated;
    bool orientation;
    struct stk_numbers frames;
    const char *field;
};

enum { DCT_ACCURATE, DCT_FAST };
static const char *const dct_names[] = { "accurate", "fast", NULL };
enum { DTYPE_U8, DTYPE_U16 };
static const char *const dtype_names[] = { "uint8", "uint16", NULL };
enum { PALETTE_COLOUR, PALETTE_INDEX };
static const char *const palette_names[] = { "colour", "index", NULL };
static const char *const truncated_names[] = { [STK__TRUNCATED_ERROR] = "error",
                                               [STK__TRUNCATED_GRAY] = "gray",
                                               [STK__TRUNCATED_KEEP] = "keep",
                                               NULL };
static const char *const frames_words[] = { "all", NULL };

static const struct stk_param rows[] = {
    STK_INT_ROW(decode, channels, 3, 0, 4, 0,
                "1 gray, 3 RGB, 4 RGB with alpha; 0 takes what each file has"),
    STK_CHOICE_ROW(decode, dct, dct_names, DCT_ACCURATE, 0,
                   "inverse transform of JPEG: accurate as in Pillow, or fast as in TensorFlow"),
    STK_BOOL_ROW(decode, orientation, false, 0,
                 "turn pictures as their orientation, of EXIF or XMP, says"),
    STK_INT_ROW(decode, max_pixels, 100000000, 1, INT64_C(1) << 40, 0,
                "a picture with more pixels is a bad element, and no memory is taken for it"),
    STK_CHOICE_ROW(decode, dtype, dtype_names, DTYPE_U8, 0,
                   "uint16 keeps all bits of 16-bit PNG; samples of 8 bits are multiplied by 257"),
    STK_NUMBERS_ROW(decode, frames, frames_words, 1, 1, STK_TAKES_NONE,
                    "all, or at most so many, frames of an animation; none: the first, as a "
                    "picture"),
    STK_CHOICE_ROW(decode, palette, palette_names, PALETTE_COLOUR, 0,
                   "index: numbers of colours instead of the colours, as masks are stored"),
    STK_CHOICE_ROW(decode, on_truncated, truncated_names, STK__TRUNCATED_ERROR, 0,
                   "a file that ends early is a bad element, or what is missing is gray, or it is "
                   "kept as the decoder leaves it"),
    STK_INT_ROW(decode, scale, 1, 1, 8, STK_TAKES_AUTO,
                "makes JPEG pictures 2, 4 or 8 times smaller while it decodes them; auto: as small "
                "as the op that resizes them lets it"),
    STK_TEXT_ROW(decode, field, NULL, STK_TAKES_NONE,
                 "field with the encoded bytes; none: the only one there is"),
    STK_ROWS_END,
};

/* The field is at the same place in input and output. */
struct state {
    int field;
    struct stk__image_part part; /* what the op above wants; choose NULL: all */
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

static bool has_frames(const struct decode *params)
{
    return params->frames.n || params->frames.choice >= 0;
}

static uint32_t max_frames(const struct decode *params)
{
    if (!has_frames(params))
        return 0;
    return params->frames.n ? (uint32_t)params->frames.item[0] : UINT32_MAX;
}

static int check_params(const struct decode *params, struct stk_error *err)
{
    if (params->channels == 2)
        return stk_fail(err, STK_VALUE, "channels can be 0, 1, 3 or 4, not 2");
    if (params->scale != STK_AUTO && (params->scale & (params->scale - 1)))
        return stk_fail(err, STK_VALUE, "scale can be 1, 2, 4, 8 or auto, not %d",
                        (int)params->scale);
    if (params->frames.n) {
        double n = params->frames.item[0];
        if (!(n >= 1 && n < UINT32_MAX) || n != (double)(uint32_t)n)
            return stk_fail(err, STK_VALUE, "frames is none, all or a whole number from 1, not %g",
                            n);
    }
    if (params->palette == PALETTE_INDEX && params->channels == 4)
        return stk_fail(err, STK_VALUE, "palette=index gives one channel, not 4");
    if (params->palette == PALETTE_INDEX && params->dtype == DTYPE_U16)
        return stk_fail(err, STK_VALUE,
                        "palette=index gives uint8: a palette has at most 256 "
                        "colours");
    return STK_OK;
}

static void shape_output(const struct decode *params, struct stk_field *field)
{
    int n_frames = has_frames(params);
    field->kind = STK_SHAPED;
    field->dtype = params->dtype == DTYPE_U16 ? STK_U16 : STK_U8;
    field->flags = 0;
    field->rank = (uint8_t)(3 + n_frames);
    field->shape[0] = field->shape[1] = field->shape[2] = -1;
    field->shape[2 + n_frames] = params->channels ? params->channels : -1;
    if (params->palette == PALETTE_INDEX)
        field->shape[2 + n_frames] = 1;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_BYTES = 2 << 20 };
    const struct decode *params = inf->params;
    int code = check_params(params, err);
    if (code)
        return code;
    int f = pick_field(inf, params->field, err);
    if (f < 0)
        return err ? err->code : STK_TYPE;
    stk_infer_pass(inf);
    if (inf->in[0]->field[f].flags & STK_FIELD_PATH)
        return stk_infer_read(inf, f, err);
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *state = (struct state){ .field = f };
    inf->state = state;
    inf->from[f] = -1;
    inf->reads = UINT32_C(1) << f;
    inf->is_optional = true;
    inf->scratch_bytes = TYPICAL_BYTES;
    shape_output(params, &inf->out->field[f]);
    return name_output(inf, &inf->out->field[f], err);
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
                     const struct stk__image_part *part, void **new_state)
{
    const struct decode *call = params;
    const struct state *state = given;
    if (part->field != state->field || (!part->choose && call->scale != STK_AUTO))
        return STK_OK;
    struct state *to = stk_arena_alloc(arena, sizeof *to);
    if (!to)
        return STK_MEMORY;
    *to = (struct state){ state->field, *part };
    *new_state = to;
    return STK_OK;
}

/* How many times smaller a picture may be decoded than it is. */
static int choose_scale(const struct job *job, const uint8_t *bytes, size_t n_bytes)
{
    const struct decode *params = job->rows->params;
    const struct state *state = job->rows->state;
    struct stk__image_info info;
    if (params->scale != STK_AUTO)
        return (int)params->scale;
    if (!state->part.shrink || stk__image_info(bytes, n_bytes, &info, NULL) ||
        info.format != STK__FORMAT_JPEG)
        return 1;
    bool is_turned = params->orientation && info.orientation > 4;
    const int32_t size[2] = { (int32_t)(is_turned ? info.width : info.height),
                              (int32_t)(is_turned ? info.height : info.width) };
    double shrink = stk__part_shrink(&state->part, job->rows, job->row, size);
    return shrink >= 8 ? 8 : shrink >= 4 ? 4 : shrink >= 2 ? 2 : 1;
}

/* A picture that has no such part is decoded whole: if it is damaged too, that is the reason. */
static void choose(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    struct job *job = ctx;
    const struct state *state = job->rows->state;
    const int32_t size[2] = { (int32_t)height, (int32_t)width };
    struct stk__image_region part;
    job->code = stk__part_choose(&state->part, job->rows, job->row, size, &part, &job->err);
    if (!job->code)
        *region = (struct stk__region){ (uint32_t)part.left, (uint32_t)part.top,
                                        (uint32_t)part.width, (uint32_t)part.height };
}

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    struct job *job = ctx;
    if (image->frames > 1) /* the header does not say how many */
        stk__gauge_expect(stk__image_bytes(image));
    image->data = stk_rows_alloc(job->rows, stk__image_bytes(image));
    return image->data ? STK_OK : stk_fail(err, STK_MEMORY, "out of memory");
}

/* A picture, and one that is not too large, as far as its first bytes tell. */
static bool may_begin(const void *given, const uint8_t *head, size_t n)
{
    const struct decode *params = given;
    struct stk__image_info info;
    if (stk__image_format(head, n) == STK__FORMAT_UNKNOWN)
        return false;
    return stk__image_info(head, n, &info, NULL) ||
           (int64_t)info.width * info.height <= params->max_pixels;
}

static struct stk__decode_request make_request(struct job *job)
{
    const struct decode *params = job->rows->params;
    const struct state *state = job->rows->state;
    return (struct stk__decode_request){
        .channels = params->palette == PALETTE_INDEX ? 1 : (int)params->channels,
        .is_wide = params->dtype == DTYPE_U16,
        .is_indexed = params->palette == PALETTE_INDEX,
        .max_frames = max_frames(params),
        .on_truncated = (enum stk__on_truncated)params->on_truncated,
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
    int32_t *dims = column->dims + (size_t)row * (image->frames ? 4 : 3);
    if (image->frames)
        *dims++ = (int32_t)image->frames;
    dims[0] = (int32_t)image->height;
    dims[1] = (int32_t)image->width;
    dims[2] = image->channels;
    column->span[row] = (struct stk_span){ .data = image->data, .bytes = stk__image_bytes(image) };
}

static void blame_part(const struct job *job)
{
    const struct state *state = job->rows->state;
    job->rows->inside->blamed = state->part.name;
    stk_rows_fail(job->rows, job->row, job->code, "%s", job->err.text);
    job->rows->inside->blamed = NULL;
}

/* Text is taken for what it is; who has paths in it wants their files. */
static const char *hint_for(const struct stk_field *field)
{
    return field->flags & STK_FIELD_TEXT ? "; if it is a path, read() it first" : "";
}

static int run(struct stk_rows *run_rows)
{
    const struct state *state = run_rows->state;
    const struct stk_column *in = &run_rows->in[state->field];
    struct job job = { .rows = run_rows };
    struct stk__decode_request request = make_request(&job);
    uint64_t n_flawed = stk__codec_n_flawed(run_rows->thread);
    for (int i = 0; i < run_rows->n; i++) {
        if (run_rows->mask[i] != STK_LIVE)
            continue;
        struct stk__image image;
        struct stk_error err;
        job.row = i;
        job.code = STK_OK;
        request.bytes = in->span[i].data;
        request.n_bytes = in->span[i].bytes;
        request.scale = choose_scale(&job, request.bytes, request.n_bytes);
        int code = stk__codec_decode(run_rows->thread, &request, &image, &err);
        if (code == STK_MEMORY)
            return code;
        if (code)
            stk_rows_fail(run_rows, i, code, "%s%s", err.text,
                          hint_for(&run_rows->in_type->field[state->field]));
        else if (job.code)
            blame_part(&job);
        else
            store(&run_rows->out[state->field], i, &image);
    }
    run_rows->n_warned = (int)(stk__codec_n_flawed(run_rows->thread) - n_flawed);
    return STK_OK;
}

static const char doc[] =
    "The encoded bytes are replaced by pixels: height x width x channels, uint8 or uint16. What a "
    "file is is told from its content, not its name. If the field holds paths, the files are read "
    "first. A field named path or bytes is called image afterwards; other names stay.\n"
    "\n"
    "    files('train/*/*.jpg').decode()\n"
    "    files('scans/*.png').decode(channels=1, dtype=uint16)\n"
    "    files('masks/*.png').decode(palette=index)\n"
    "    files('clips/*.gif').decode(frames=8)\n"
    "    files('photos/*').decode(orientation=true, dct=fast, on_truncated=gray)\n"
    "\n"
    "A crop right after it (crop, center_crop, random_resized_crop, random_crop without padding) "
    "has "
    "only what it keeps decoded, with the same pixels; damage elsewhere in a file may then go "
    "unnoticed, but not that it ends early.\n"
    "\n"
    "A file that is damaged or something else is a bad element with the reason, and the place in "
    "the file where it is known, of JPEG always; on which processor, and with which dct or scale, "
    "makes no difference. Flaws that leave every pixel known are warnings: stray bytes between the "
    "segments of a JPEG file, wrong parameters of its scans, an unknown version; numbers that a "
    "palette lacks (black, as in Pillow; gray without any palette). So are missing data where "
    "on_truncated accepts them. Such pictures are delivered, and counted: warnings in stats, "
    "summary and metrics. With uint8, PNG files of 16 bits keep the high byte of each "
    "sample. Alpha is dropped without blending, CMYK pictures become RGB, and colour profiles are "
    "ignored.\n"
    "\n"
    "With scale=auto a picture that is to become at least twice smaller is not decoded in all its "
    "detail: of a JPEG file 1/2, 1/4 or 1/8 is computed, never less than the resize right after "
    "decode needs (resize, resize_side, resize_with_pad, resize_and_crop, random_resized_crop). "
    "This is several times faster on photographs, and the pixels differ: each is a mean over "
    "those it stands for. Random windows are drawn in the smaller picture.\n"
    "\n"
    "    files('photos/*').decode(scale=auto).resize(224, 224)\n"
    "\n"
    "channels=0 gives JPEG 1 or 3, PNG 1 to 4, GIF 3, WebP 3 or 4 (with alpha); BMP 1 if its "
    "palette is gray, 4 if its pixels have 32 bits, else 3. palette=index gives one channel: "
    "numbers of colours, or gray; a file that has neither is bad.\n"
    "\n"
    "With frames the result is frames x height x width x channels, of one frame where the file is "
    "no animation; max_pixels counts those of all frames. Frames of GIF are drawn on the screen "
    "its header states, black and transparent at first, and disposed of as they say. "
    "tf.io.decode_gif never disposes of frames, and gives the size of the largest one.\n"
    "\n"
    "on_truncated is about files that end too early behind a whole header; animated WebP is always "
    "an error then. gray: missing pixels are 128. keep: they are 0, or those of the frame before. "
    "JPEG gives the same for both, what libjpeg-turbo delivers: gray where there are no data, and "
    "coarse pixels where later scans are missing. Other damage stays an error.";

const struct stk__op stk__op_decode = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "decode", 1, "Decode JPEG, PNG, GIF, WebP and BMP pictures.", doc, rows,
              sizeof(struct decode) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .take_part = take_part,
    .may_begin = may_begin,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = run },
};

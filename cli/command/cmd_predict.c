/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_predict.c: `stoker predict`: what a trained model says of images. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "json_print.h"
#include "operand.h"
#include "sheet.h"
#include "value_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

struct predict {
    const struct cli_args *args;
    struct stk_dataset *data;
    struct stk_model *model;
    struct stk_trainer *trainer;
    char *classes;       /* a name on each line, or NULL */
    char *image, *label; /* fields of the recipe, or NULL */
    int64_t outputs;
    enum stk_output_kind kind;
    float *output; /* of a batch */
    struct cli_sheet sheet;
    int64_t rows, labelled, right;
};

/* The i-th line of the names of classes; "" if there is none. */
static void class_name(const struct predict *p, int64_t which, char *out, size_t size)
{
    const char *line = p->classes;
    for (int64_t i = 0; line && i < which; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (line && *line)
        snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
    else
        snprintf(out, size, "%" PRId64, which);
}

/* ---- verdicts ---- */

/* What a model says of a row: a class and how probable it is, or numbers. */
struct verdict {
    int64_t class;
    double probability;
    const float *value; /* of a model whose outputs are numbers, else NULL */
    double truth;       /* NAN: not known */
    bool is_wrong;
    char name[96], wanted[96]; /* what it says and what is true, where they are classes */
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One output that is true or false: class 1 or 0. */
static void judge_binary(double probability, struct verdict *v)
{
    v->class = probability > 0.5;
    v->probability = v->class ? probability : 1 - probability;
}

/* The greatest output's class. */
static void judge_classes(const struct predict *p, const float *output, struct verdict *v)
{
    double exponents = 0;
    for (int64_t i = 1; i < p->outputs; i++)
        v->class = output[i] > output[v->class] ? i : v->class;
    for (int64_t i = 0; i < p->outputs; i++)
        exponents += exp((double)output[i] - (double)output[v->class]);
    v->probability = p->kind == STK_OUTPUT_LOGITS          ? 1 / exponents
                     : p->kind == STK_OUTPUT_BINARY_LOGITS ? sigmoid((double)output[v->class])
                                                           : (double)output[v->class];
}

static struct verdict judge(struct predict *p, const float *output, double truth)
{
    struct verdict v = { .truth = truth };
    bool is_logit = p->kind == STK_OUTPUT_BINARY_LOGITS;
    if (p->kind == STK_OUTPUT_VALUES) {
        v.value = output;
        return v;
    }
    if (p->outputs == 1)
        judge_binary(is_logit ? sigmoid((double)output[0]) : (double)output[0], &v);
    else
        judge_classes(p, output, &v);
    class_name(p, v.class, v.name, sizeof v.name);
    if (truth >= 0) {
        class_name(p, (int64_t)truth, v.wanted, sizeof v.wanted);
        v.is_wrong = (int64_t)truth != v.class;
        p->labelled++;
        p->right += !v.is_wrong;
    }
    return v;
}

/* ---- rows ---- */

/* An image as levels from 0 to 255, whatever it was scaled to. */
static void add_picture(struct predict *p, const struct stk_view *image, int64_t row,
                        const char *caption, bool is_wrong)
{
    int64_t n = image->shape[1] * image->shape[2] * image->shape[3];
    size_t bytes = stk_dtype_bytes(image->dtype);
    const char *at = (const char *)image->data + row * image->strides[0];
    float *levels = malloc((size_t)n * sizeof *levels);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; levels && i < n; i++) {
        levels[i] = (float)cli_value_read(image->dtype, at + (size_t)i * bytes);
        low = fmin(low, (double)levels[i]);
        high = fmax(high, (double)levels[i]);
    }
    bool is_byte = image->dtype == STK_U8 || (low >= 0 && high > 1 && high <= 255);
    double factor = is_byte ? 1 : low >= 0 && high <= 1 ? 255 : high > low ? 255 / (high - low) : 0;
    double offset = is_byte || (low >= 0 && high <= 1) ? 0 : -low * factor;
    for (int64_t i = 0; levels && i < n; i++)
        levels[i] = (float)((double)levels[i] * factor + offset);
    if (levels)
        cli_sheet_add(&p->sheet, levels, caption, is_wrong);
    free(levels);
}

static void print_json(const struct predict *p, const char *origin, const struct verdict *v)
{
    struct cli_json_file out = cli_json_to(stdout);
    stk__json_open(&out.text, NULL, '{');
    stk__json_string(&out.text, "origin", origin);
    if (v->value) {
        stk__json_open(&out.text, "values", '[');
        for (int64_t i = 0; i < p->outputs; i++)
            stk__json_real(&out.text, NULL, (double)v->value[i]);
        stk__json_close(&out.text, ']');
    } else {
        stk__json_whole(&out.text, "class", v->class);
        stk__json_string(&out.text, "name", v->name);
        stk__json_fixed(&out.text, "probability", v->probability, 6);
    }
    if (v->value && !isnan(v->truth))
        stk__json_real(&out.text, "label", v->truth);
    else if (v->truth >= 0)
        stk__json_whole(&out.text, "label", (int64_t)v->truth);
    stk__json_close(&out.text, '}');
    cli_json_finish(&out);
}

static void print_line(const struct predict *p, const char *origin, const struct verdict *v)
{
    cli_name_pad(stdout, origin, 40);
    fputs(" ", stdout);
    for (int64_t i = 0; v->value && i < p->outputs; i++)
        printf(" %12.6g", (double)v->value[i]);
    if (v->value && !isnan(v->truth))
        printf("   is %.6g", v->truth);
    if (!v->value) {
        fputs(" ", stdout);
        cli_name_pad(stdout, v->name, 12);
        printf(" %6.2f %%%s", v->probability * 100, v->is_wrong ? "   is " : "");
        cli_name_print(stdout, v->is_wrong ? v->wanted : "");
    }
    putchar('\n');
}

static void caption_of(const struct verdict *v, char *out, size_t size)
{
    if (v->value)
        snprintf(out, size, "%.4g", (double)v->value[0]);
    else
        snprintf(out, size, "%.60s %.0f%%%s%.60s", v->name, v->probability * 100,
                 v->is_wrong ? "\nis " : "", v->is_wrong ? v->wanted : "");
}

static void tell_row(struct predict *p, struct stk_batch *batch, const struct stk_view *image,
                     const struct stk_view *label, int64_t row, const float *output)
{
    double truth =
        label ? cli_value_read(label->dtype, (const char *)label->data + row * label->strides[0])
              : NAN;
    struct verdict v = judge(p, output, truth);
    char *origin = stk_batch_origin(batch, row), caption[160];
    if (p->args->json)
        print_json(p, origin ? origin : "", &v);
    else if (!p->args->quiet)
        print_line(p, origin ? origin : "", &v);
    caption_of(&v, caption, sizeof caption);
    if (p->sheet.rgb && image->rank == 4)
        add_picture(p, image, row, caption, v.is_wrong);
    stk_text_free(origin);
}

static int begin_sheet(struct predict *p, const struct stk_view *image)
{
    int64_t cells = p->args->take >= 0 && p->args->take < 40 ? p->args->take : 40;
    if (!p->args->png || p->sheet.rgb || image->rank != 4 || !cells)
        return CLI_OK;
    if (cli_sheet_begin(&p->sheet, (int)image->shape[1], (int)image->shape[2], (int)image->shape[3],
                        (int)cells))
        return CLI_OK;
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* ---- batches ---- */

/* The field that the model was trained on, else the usual one, else the one at the place. */
static bool find_view(const struct stk_batch *batch, const char *name, const char *usual, int place,
                      struct stk_view *out)
{
    struct stk_error unseen;
    return (name && !stk_batch_view(batch, name, out, &unseen)) ||
           !stk_batch_view(batch, usual, out, &unseen) ||
           (place >= 0 && !stk_batch_view_at(batch, place, out));
}

static int predict_batch(struct predict *p, struct stk_batch *batch, struct stk_error *err)
{
    struct stk_view image, label;
    int64_t rows = stk_batch_n_rows(batch);
    find_view(batch, p->image, "image", 0, &image);
    bool has_label = find_view(batch, p->label, "label", -1, &label) && label.rank == 1;
    if (begin_sheet(p, &image))
        return STK_MEMORY;
    for (int64_t at = 0; at < rows; at += BATCH) {
        struct stk_view part = image;
        part.shape[0] = rows - at < BATCH ? rows - at : BATCH;
        part.data = (char *)image.data + at * image.strides[0];
        int rc = stk_trainer_predict(p->trainer, &part, p->output, err);
        for (int64_t i = 0; i < part.shape[0] && !rc; i++) {
            if (p->args->take >= 0 && p->rows >= p->args->take)
                return STK_END;
            tell_row(p, batch, &image, has_label ? &label : NULL, at + i,
                     p->output + i * p->outputs);
            p->rows++;
        }
        if (rc)
            return rc;
    }
    return STK_OK;
}

static int predict_all(struct predict *p, struct stk_error *err)
{
    struct stk_iterator *it;
    struct stk_batch *batch;
    int rc = stk_iterator_new(p->data, p->args->options, &it, err);
    while (!rc && (rc = stk_iterator_next(it, &batch, err)) == STK_OK) {
        rc = predict_batch(p, batch, err);
        stk_batch_unref(batch);
        if (cli_output_is_broken())
            rc = STK_END;
    }
    if (rc == STK_END)
        rc = STK_OK;
    stk_iterator_free(it);
    return rc;
}

/* ---- parts ---- */

/* The chain of the command line, else valid of the recipe that the checkpoint carries. */
static int find_chain(const struct cli_args *args, char **out, struct stk_error *err)
{
    char *recipe = NULL;
    if (args->n_words > 1) {
        struct cli_chain chain = { 0 };
        int code = cli_chain_load(&chain, args->words[1]);
        *out = code == CLI_OK ? strdup(chain.text) : NULL;
        cli_chain_close(&chain);
        return *out ? STK_OK : STK_STATE;
    }
    int rc = stk_checkpoint_text(args->words[0], "recipe", &recipe, err);
    if (!rc)
        rc = stk_recipe_text(recipe, "valid", out, err);
    stk_text_free(recipe);
    return rc;
}

/* As find_view. */
static void find_field(const struct predict *p, struct stk_field_info *out)
{
    const char *const names[] = { p->image, "image" };
    for (int k = 0; k < 2; k++)
        for (int i = 0; names[k] && i < stk_dataset_n_fields(p->data); i++)
            if (!stk_dataset_field(p->data, i, out) && !strcmp(out->name, names[k]))
                return;
    stk_dataset_field(p->data, 0, out);
}

/* Likewise, of labels. */
static const char *label_field(const struct predict *p)
{
    struct stk_field_info field;
    for (int i = 0; p->label && i < stk_dataset_n_fields(p->data); i++)
        if (!stk_dataset_field(p->data, i, &field) && !strcmp(field.name, p->label))
            return p->label;
    return "label";
}

/* "16×16×3" */
static void shape_text(const int64_t *shape, int rank, char *out, size_t size)
{
    size_t len = 0;
    out[0] = 0;
    for (int i = 0; i < rank && len < size; i++)
        len += shape[i] < 0
                   ? (size_t)snprintf(out + len, size - len, "%s?", i ? "×" : "")
                   : (size_t)snprintf(out + len, size - len, "%s%" PRId64, i ? "×" : "", shape[i]);
}

/* What a field of images is to be, before the first batch is made. */
static int check_field(const struct stk_field_info *field, const int64_t *shape, int rank,
                       struct stk_error *err)
{
    const int64_t *theirs = field->shape + (field->rank == rank + 1);
    bool is_fitting = field->rank == rank || field->rank == rank + 1;
    bool is_taken = field->dtype == STK_F32 || field->dtype == STK_U8;
    char wanted[120], given[120], fix[80] = "";
    for (int i = 0; is_fitting && i < rank; i++)
        is_fitting = theirs[i] < 0 || theirs[i] == shape[i];
    if (is_fitting && is_taken)
        return STK_OK;
    shape_text(shape, rank, wanted, sizeof wanted);
    if (rank == 3 && field->rank == 4 - (theirs == field->shape) && theirs[2] == shape[2])
        snprintf(fix, sizeof fix, "; resize(%" PRId64 ", %" PRId64 ") makes it so", shape[0],
                 shape[1]);
    shape_text(theirs, field->rank - (int)(theirs - field->shape), given, sizeof given);
    snprintf(err->text, sizeof err->text,
             "the model takes float32 or uint8 %s, but the chain gives %s%s%s in its field %s%s",
             wanted, stk_dtype_name(field->dtype), *given ? " " : "", given, field->name,
             is_fitting ? "; cast(float32) makes it so" : fix);
    return err->code = STK_TYPE;
}

/* Elements are put into batches, which is what models take. */
static int open_data(struct predict *p, const char *chain, struct stk_error *err)
{
    struct stk_field_info field;
    struct stk_dataset *batched;
    int64_t input[3];
    int rc = stk_dataset_new(chain, NULL, &p->data, err);
    stk_trainer_shapes(p->trainer, input, &p->outputs);
    int rank = input[0] == 1 && input[1] == 1 ? 1 : 3;
    if (rc)
        return rc;
    find_field(p, &field);
    rc = check_field(&field, rank == 1 ? input + 2 : input, rank, err);
    if (!rc)
        rc = stk_checkpoint_check_classes(p->args->words[0], p->data, label_field(p), err);
    if (rc || field.rank != rank)
        return rc;
    rc = stk_dataset_then(p->data, "batch(32)", NULL, &batched, err);
    if (!rc) {
        stk_dataset_unref(p->data);
        p->data = batched;
    }
    return rc;
}

static int make_trainer(struct predict *p, struct stk_error *err)
{
    struct stk_trainer_options options = { .max_batch = BATCH, .only_forward = true };
    const char *checkpoint = p->args->words[0];
    struct stk_error unseen;
    char *text = NULL, *loss = NULL;
    int rc = stk_checkpoint_text(checkpoint, "model", &text, err);
    if (!rc)
        rc = stk_model_new(text, &p->model, err);
    stk_text_free(text);
    if (!rc && !stk_checkpoint_text(checkpoint, "loss", &loss, &unseen))
        options.loss = loss; /* says what outputs mean */
    if (!rc)
        rc = stk_trainer_new(p->model, &options, &p->trainer, err);
    stk_text_free(loss);
    if (!rc)
        p->kind = stk_trainer_output_kind(p->trainer);
    if (!rc)
        rc = stk_trainer_load_weights(p->trainer, checkpoint, NULL, 0, err);
    if (!rc && stk_checkpoint_text(checkpoint, "classes", &p->classes, &unseen))
        p->classes = NULL;
    if (!rc && stk_checkpoint_text(checkpoint, "image", &p->image, &unseen))
        p->image = NULL;
    if (!rc && stk_checkpoint_text(checkpoint, "label", &p->label, &unseen))
        p->label = NULL;
    return rc;
}

static int conclude(struct predict *p)
{
    if (p->labelled && !p->args->json)
        printf("%s%" PRId64 " of %" PRId64 " right: %.2f %%\n", p->args->quiet ? "" : "\n",
               p->right, p->labelled, 100.0 * (double)p->right / (double)p->labelled);
    if (!p->sheet.rgb)
        return CLI_OK;
    return cli_sheet_write(&p->sheet, p->args->png) ? CLI_OK : CLI_FAILED;
}

static int run(struct cli_args *args)
{
    struct predict p = { .args = args };
    struct stk_error err = { 0 };
    char *chain = NULL;
    if (args->n_words > 2) {
        cli_complain("predict takes a CHECKPOINT and a CHAIN; quote the chain if it holds spaces");
        return CLI_USAGE;
    }
    if (args->cpu && stk_cpu_limit(args->cpu, &err))
        return cli_report(&err, NULL, false);
    int rc = find_chain(args, &chain, &err);
    if (!rc)
        rc = make_trainer(&p, &err);
    if (!rc)
        rc = open_data(&p, chain, &err);
    if (!rc && !(p.output = malloc((size_t)p.outputs * BATCH * sizeof *p.output)))
        rc = STK_MEMORY;
    if (!rc)
        rc = predict_all(&p, &err);
    const struct cli_chain told = { .text = chain };
    int code = rc ? cli_report(&err, chain ? &told : NULL, true) : conclude(&p);
    cli_sheet_free(&p.sheet);
    free(p.output);
    stk_trainer_free(p.trainer);
    stk_model_free(p.model);
    stk_dataset_unref(p.data);
    stk_text_free(p.classes);
    stk_text_free(p.image);
    stk_text_free(p.label);
    stk_text_free(chain);
    return code;
}

static const struct cli_option options[] = {
    { "take", "N", "stop after N images", CLI_COUNT, offsetof(struct cli_args, take) },
    { "png", "FILE",
      "write the first 40 with what was said of them, and what they are where that is wrong",
      CLI_TEXT, offsetof(struct cli_args, png) },
    { "json", NULL, "print a JSON object for each image", CLI_FLAG,
      offsetof(struct cli_args, json) },
    { "quiet", NULL, "print nothing of each image", CLI_FLAG, offsetof(struct cli_args, quiet) },
    { 0 },
};

const struct cli_command cli_predict = {
    .name = "predict",
    .operand = "CHECKPOINT [CHAIN]...",
    .summary = "Say what a trained model sees in images.",
    .text = "CHAIN gives images as the model takes them, with or without labels; without one it is "
            "valid of\nthe recipe that the checkpoint was trained by:\n\n"
            "    stoker predict run/best.safetensors --png seen.png\n"
            "    stoker predict run/best.safetensors \"files('new/*.jpg').decode().resize(64, "
            "64).scale(1/255)\"",
    .options = options,
    .takes_run_options = true,
    .run = run,
};

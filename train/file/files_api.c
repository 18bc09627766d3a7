/* SPDX-License-Identifier: Apache-2.0 */
/* files_api.c: the public functions of files of weights: reading them alone, and exporting. */
#include "train/file/checkpoint_file.h"
#include "train/file/export.h"
#include "train/file/import.h"

#include <stdlib.h>

/* A map as pairs; *out is freed with free. */
static int pairs_of(const struct stk_note *map, int n, struct stk_pairs *out, struct stk_error *err)
{
    const char **text = malloc(((size_t)n * 2 + 1) * sizeof *text);
    if (!text)
        return stk__out_of_memory(err);
    for (int i = 0; i < n; i++) {
        text[i] = map[i].name;
        text[n + i] = map[i].value;
    }
    *out = (struct stk_pairs){ text, text + n, n };
    return STK_OK;
}

int stk_trainer_load_weights(struct stk_trainer *trainer, const char *path,
                             const struct stk_note *map, int n_map, struct stk_error *err)
{
    const struct stk__weights into = stk__trainer_weights(trainer);
    struct stk__safetensors file;
    struct stk_pairs pairs;
    int rc = pairs_of(map, n_map, &pairs, err);
    if (rc)
        return rc;
    rc = stk__safetensors_open(&file, path, err);
    if (!rc) {
        rc = stk__import_weights(&file, &pairs, &into, err);
        stk__safetensors_close(&file);
    }
    if (!rc)
        stk_trainer_changed(trainer);
    free((void *)pairs.name);
    return rc;
}

static struct stk__export export_of(const struct stk_export_options *options)
{
    static const struct stk_export_options none;
    const struct stk_export_options *o = options ? options : &none;
    return (struct stk__export){ .is_nchw = o->is_nchw, .has_softmax = o->has_softmax };
}

int stk_trainer_export(struct stk_trainer *trainer, const char *path,
                       const struct stk_export_options *options, struct stk_error *err)
{
    struct stk__export export = export_of(options);
    export.weights = stk__trainer_weights(trainer);
    return stk__export_onnx(&export, path, err);
}

/* The model that a file of weights says it is of. */
static int read_model(const struct stk__safetensors *file, struct stk_arena *arena,
                      struct stk__model *out, struct stk_error *err)
{
    const char *text = stk__safetensors_text(file, "model");
    if (!text)
        return stk_fail(err, STK_STATE, "%s does not say of which model its weights are",
                        file->path);
    int rc = stk__model_build(text, arena, out, err);
    if (rc && err) {
        stk__error_prefix(err, "%s: its model: ", file->path);
        err->at = err->len = 0;
    }
    return rc;
}

int stk_checkpoint_export(const char *checkpoint, const char *path,
                          const struct stk_export_options *options, struct stk_error *err)
{
    struct stk__export export = export_of(options);
    struct stk__safetensors file;
    struct stk__model model;
    struct stk_arena arena;
    int rc = stk__safetensors_open(&file, checkpoint, err);
    if (rc)
        return rc;
    stk__arena_init(&arena, 1 << 14);
    rc = read_model(&file, &arena, &model, err);
    if (!rc)
        rc = stk__weights_new(&model, &export.weights, err);
    if (!rc) {
        rc = stk__import_weights(&file, NULL, &export.weights, err);
        if (!rc)
            rc = stk__export_onnx(&export, path, err);
        stk__weights_free(&export.weights);
    }
    stk__arena_free(&arena);
    stk__safetensors_close(&file);
    return rc;
}

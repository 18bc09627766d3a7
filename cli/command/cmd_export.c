/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c: `stoker export`: a trained model as an ONNX file. */
#include "commands.h"
#include "complain.h"

#include <sys/stat.h>

static int run(struct cli_args *args)
{
    const struct stk_export_options how = { .is_nchw = args->nchw, .has_softmax = args->softmax };
    struct stk_error err = { 0 };
    struct stat info = { 0 };
    if (args->n_words != 2) {
        cli_complain("export needs a CHECKPOINT and the OUT.onnx to write");
        return CLI_USAGE;
    }
    if (stk_checkpoint_export(args->words[0], args->words[1], &how, &err))
        return cli_report(&err, NULL, true);
    stat(args->words[1], &info);
    printf("%s  %.2f MB, opset 17\n", args->words[1], (double)info.st_size * 1e-6);
    return CLI_OK;
}

static const struct cli_option options[] = {
    { "nchw", NULL, "images come as [N, C, H, W]; else as pipelines give them, [N, H, W, C]",
      CLI_FLAG, offsetof(struct cli_args, nchw) },
    { "softmax", NULL, "the output is probabilities: softmax is added unless the model ends in it",
      CLI_FLAG, offsetof(struct cli_args, softmax) },
    { 0 },
};

const struct cli_command cli_export = {
    .name = "export",
    .operand = "CHECKPOINT OUT.onnx...",
    .summary = "Write a trained model as an ONNX file, for inference elsewhere.",
    .text = "    stoker export run/best.safetensors model.onnx --softmax",
    .options = options,
    .run = run,
};

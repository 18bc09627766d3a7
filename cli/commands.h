/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: every command, one line each. */
#pragma once
#include "args.h"

extern const struct cli_command cli_run, cli_head, cli_inspect, cli_stats, cli_pack, cli_plan,
    cli_profile, cli_train, cli_eval, cli_predict, cli_export, cli_ops, cli_model, cli_layers,
    cli_devices, cli_version;

/* Prints what an op or a layer is; false if there is none of that name. */
bool cli_op_explain(const char *name);
bool cli_layer_explain(const char *name);

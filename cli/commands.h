/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: every command, one line each. */
#pragma once
#include "args.h"

extern const struct cli_command cli_run, cli_head, cli_inspect, cli_stats, cli_pack, cli_plan,
    cli_profile, cli_ops, cli_devices, cli_version;

/* Prints what an op is; false if there is none of that name. */
bool cli_op_explain(const char *name);

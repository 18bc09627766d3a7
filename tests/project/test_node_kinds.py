# SPDX-License-Identifier: Apache-2.0
"""A kind of node that leaves out what every kind must say is no run-time surprise: it does not compile."""
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
WHOLE = ['"made_up"', "stk__flatten_group", "stk__probability_kept", "STK__ORDER_KEPT", "add_onnx"]
SOURCE = """
#include "train/model/node_kind.h"
#include "train/plan/step_plan.h"
static void add_onnx(struct stk__exporting *e, const struct stk__model_node *node, const char *in, const char *out)
{{
    (void)e, (void)node, (void)in, (void)out;
}}
const struct stk__node_kind made_up = {{ STK__KIND({says}) }};
stk__export_fn *const used = add_onnx;
"""


def compiles(says):
    command = [os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-I", TOP, "-I", TOP / "src",
               "-I", TOP / "include", "-x", "c", "-"]
    done = subprocess.run(command, input=SOURCE.format(says=", ".join(says)), capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def test_a_whole_kind_compiles():
    assert compiles(WHOLE) == (True, "")


@pytest.mark.parametrize("which", range(len(WHOLE)))
def test_a_kind_that_leaves_something_out_does_not(which):
    assert not compiles(WHOLE[:which] + WHOLE[which + 1:])[0]


@pytest.mark.parametrize("which", [1, 2, 4])
def test_nor_one_that_says_null(which):
    assert not compiles(WHOLE[:which] + ["NULL"] + WHOLE[which + 1:])[0]

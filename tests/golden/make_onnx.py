# SPDX-License-Identifier: Apache-2.0
"""Writes net.onnx, a small convolutional net put together with the onnx package, as
tests/test_onnx_writer.c puts it together with stoker's writer.

    python tests/golden/make_onnx.py          (with the packages of tools/requirements-peers.txt)
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

WEIGHTS = {
    "conv/kernel": (8, 3, 3, 3),
    "conv/bias": (8,),
    "depthwise/kernel": (8, 1, 3, 3),
    "dense/kernel": (10, 8 * 4 * 4),
    "dense/bias": (10,),
}


def weight(shape):
    i = np.arange(np.prod(shape))
    return (((37 * i + 11) % 256 - 128) / 512).astype(np.float32).reshape(shape)


def model():
    node = helper.make_node
    pads, two = [1, 1, 1, 1], [2, 2]
    nodes = [
        node(
            "Conv",
            ["x", "conv/kernel", "conv/bias"],
            ["conv"],
            name="conv",
            kernel_shape=[3, 3],
            pads=pads,
        ),
        node("Relu", ["conv"], ["relu"], name="relu"),
        node("MaxPool", ["relu"], ["pool"], name="pool", kernel_shape=two, strides=two),
        node(
            "Conv",
            ["pool", "depthwise/kernel"],
            ["depthwise"],
            name="depthwise",
            auto_pad="SAME_UPPER",
            group=8,
        ),
        node("LeakyRelu", ["depthwise"], ["leaky"], name="leaky", alpha=0.25),
        node("Flatten", ["leaky"], ["flat"], name="flat", axis=1),
        node("Gemm", ["flat", "dense/kernel", "dense/bias"], ["dense"], name="dense", transB=1),
        node("Softmax", ["dense"], ["y"], name="softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])],
        [onnx.numpy_helper.from_array(weight(shape), name) for name, shape in WEIGHTS.items()],
    )
    made = helper.make_model(
        graph,
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
        producer_name="stoker",
        producer_version="golden",
    )
    entry = made.metadata_props.add()
    entry.key, entry.value = "chain", "input(8, 8, 3).conv2d(8, 3)"
    return made


if __name__ == "__main__":
    made = model()
    onnx.checker.check_model(made, full_check=True)
    path = pathlib.Path(__file__).with_name("net.onnx")
    path.write_bytes(made.SerializeToString(deterministic=True))
    print(f"{path.name}: {path.stat().st_size} bytes")

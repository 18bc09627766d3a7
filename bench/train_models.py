# SPDX-License-Identifier: Apache-2.0
"""stoker's known models in Keras and in PyTorch, for the works that train. Outputs are logits."""

BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1))  # of m3: filters and stride


def keras_model(keras, name, size):
    if name == "resnet18":
        return keras_resnet18(keras, size)
    if name == "mobilenet_v2":
        return keras.applications.MobileNetV2(
            (size, size, 3), weights=None, classes=1000, classifier_activation=None
        )
    layers = keras.layers
    chain = {"m1": keras_m1, "m2": keras_m2, "m3": keras_m3, "m4": keras_m4}[name](layers)
    return keras.Sequential([keras.Input((size, size, 3)), *chain])


def keras_m1(layers):
    return [
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10, dtype="float32"),
    ]


def keras_m2(layers):
    return [
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, dtype="float32"),
    ]


def keras_m3(layers):
    chain = [layers.Conv2D(32, 3, 2, padding="same", activation="relu")]
    for filters, stride in BLOCKS:
        chain.append(layers.DepthwiseConv2D(3, stride, padding="same", activation="relu"))
        chain.append(layers.Conv2D(filters, 1, activation="relu"))
    return [*chain, layers.GlobalAveragePooling2D(), layers.Dense(10, dtype="float32")]


def keras_m4(layers):
    return [
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.DepthwiseConv2D(3, padding="same", activation="relu"),
        layers.Conv2D(64, 1, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(10, dtype="float32"),
    ]


def keras_resnet18(keras, size):
    layers = keras.layers

    def conv(x, filters, kernel, stride):
        pad = layers.ZeroPadding2D(kernel // 2)(x) if kernel > 1 else x
        x = layers.Conv2D(filters, kernel, stride, use_bias=False)(pad)
        return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)

    def block(x, filters, stride):
        short = conv(x, filters, 1, stride) if stride > 1 else x
        x = layers.ReLU()(conv(x, filters, 3, stride))
        return layers.ReLU()(layers.Add()([conv(x, filters, 3, 1), short]))

    given = keras.Input((size, size, 3))
    x = layers.ReLU()(conv(given, 64, 7, 2))
    x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for filters, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        x = block(x, filters, stride)
    x = layers.Dense(1000, dtype="float32")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(given, x)


def torch_model(torch, name):
    if name in ("resnet18", "mobilenet_v2"):
        import torchvision

        return getattr(torchvision.models, name)()
    nn = torch.nn
    chain = {"m1": torch_m1, "m2": torch_m2, "m3": torch_m3, "m4": torch_m4}[name](nn)
    return nn.Sequential(*chain)


def torch_m1(nn):
    return [
        *(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 54 * 54, 128), nn.ReLU(), nn.Linear(128, 10)),
    ]


def torch_m2(nn):
    return [
        *(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 64, 3), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10)),
    ]


def torch_m3(nn):
    chain, channels = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU()], 32
    for filters, stride in BLOCKS:
        chain += [nn.Conv2d(channels, channels, 3, stride, 1, groups=channels), nn.ReLU()]
        chain += [nn.Conv2d(channels, filters, 1), nn.ReLU()]
        channels = filters
    return [*chain, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10)]


def torch_m4(nn):
    return [
        *(nn.Conv2d(3, 32, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 32, 3, 1, 1, groups=32), nn.ReLU(), nn.Conv2d(32, 64, 1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 56 * 56, 10)),
    ]


def batches(job):
    """Images and labels of some batches, the same for everybody: they are trained on in turn."""
    import numpy

    random = numpy.random.default_rng(1)
    n = min(4, job.count // job.batch)
    shape = (n, job.batch, job.size, job.size, 3)
    images = random.random(shape, dtype=numpy.float32)
    return list(zip(images, random.integers(0, job.classes, (n, job.batch))))

# SPDX-License-Identifier: Apache-2.0
"""Writes trainer.bin: small nets trained by Keras and by PyTorch, each with its own layers and losses.

    python tests/golden/make_trainer.py     (with the packages of tools/requirements-peers.txt)

Of each net a case whose text is three lines, the peer, the chain that means the same in stoker, and the names
of its weights, with the arrays

    images, labels (BATCHES of ROWS), weights before, outputs in use of the first batch, its loss while training,
    gradients by the weights that are trained

and then one for each optimizer: its text, and the arrays

    weights after 3 steps, the losses of 50 steps, outputs in use after them of the first batch

Weights lie one after the other, in the order of the names, as stoker shapes them. Batches come in turn."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

import train_cases

ROWS, BATCHES, STEPS, CLASSES = 8, 3, 50, 5

# ---- Keras ----


def keras_nets():
    import keras
    from keras import layers as L

    def residual():
        x = keras.Input((8, 8, 3))
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(6, 3, padding="same", use_bias=False)(x)))
        z = L.BatchNormalization()(L.Conv2D(6, 3, padding="same", use_bias=False)(y))
        y = L.Activation("relu")(L.Add()([z, y]))
        z = L.BatchNormalization()(L.Conv2D(8, 3, 2, padding="same", use_bias=False)(y))
        y = L.Add()([z, L.Conv2D(8, 1, 2)(y)])
        return keras.Model(x, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(y)))

    return {
        "input(10, 9, 3).conv2d(6, 3, use_bias=false).batchnorm().activation(relu).maxpool(2)"
        ".conv2d(8, 3, activation=relu).flatten().dense(12, activation=relu).dense(5)": lambda: keras.Sequential([
            keras.Input((10, 9, 3)), L.Conv2D(6, 3, use_bias=False), L.BatchNormalization(), L.Activation("relu"),
            L.MaxPooling2D(), L.Conv2D(8, 3, activation="relu"), L.Flatten(), L.Dense(12, activation="relu"), L.Dense(CLASSES),
        ]),
        "input(10, 9, 3).conv2d(6, 3, 2, same, use_bias=false).batchnorm(momentum=0.9).activation(relu6)"
        ".depthwise_conv2d(3, padding=same, activation=relu).conv2d(8, 1, activation=gelu)"
        ".separable_conv2d(10, 3, 2, same, depth_multiplier=2, activation=swish).global_avgpool().dense(5)": lambda: keras.Sequential([
            keras.Input((10, 9, 3)), L.Conv2D(6, 3, 2, padding="same", use_bias=False), L.BatchNormalization(momentum=0.9),
            L.Activation("relu6"), L.DepthwiseConv2D(3, padding="same", activation="relu"), L.Conv2D(8, 1, activation="gelu"),
            L.SeparableConv2D(10, 3, 2, padding="same", depth_multiplier=2, activation="swish"), L.GlobalAveragePooling2D(),
            L.Dense(CLASSES),
        ]),
        "input(8, 8, 3).conv2d(6, 3, padding=same, use_bias=false).batchnorm().activation(relu)"
        ".residual(conv2d(6, 3, padding=same, use_bias=false).batchnorm(), activation=relu)"
        ".residual(conv2d(8, 3, 2, same, use_bias=false).batchnorm(), shortcut=conv2d(8, 1, 2)).global_avgpool().dense(5)": residual,
    }  # fmt: skip


KERAS_OPTIMIZERS = {
    "sgd(0.05)": ("SGD", {"learning_rate": 0.05}),
    "sgd(0.01, momentum=0.9)": ("SGD", {"learning_rate": 0.01, "momentum": 0.9}),
    "sgd(0.01, momentum=0.9, nesterov=true)": ("SGD", {"learning_rate": 0.01, "momentum": 0.9, "nesterov": True}),
    "adam(0.002)": ("Adam", {"learning_rate": 0.002}),
    "adamw(0.002, weight_decay=0.05)": ("AdamW", {"learning_rate": 0.002, "weight_decay": 0.05}),
}
STEMS = {"batch_normalization": "batchnorm"}


def keras_name(layer, variable):
    stem, _, number = layer.name.rpartition("_")
    if not number.isdigit():
        return f"{STEMS.get(layer.name, layer.name)}/{variable.name}"
    return f"{STEMS.get(stem, stem)}_{number}/{variable.name}"


class Keras:
    """A net with the weights it began with."""

    def __init__(self, make, seed):
        import keras

        keras.utils.clear_session()
        keras.utils.set_random_seed(seed)
        self.net = make()
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        rng = np.random.default_rng(seed)
        for variable in self.net.weights:
            if variable.name in ("bias", "beta"):
                variable.assign(rng.normal(0, 0.1, variable.shape))
        self.began = [variable.numpy() for variable in self.net.weights]
        pairs = [(keras_name(layer, v), v) for layer in self.net.layers for v in layer.weights]
        self.names = [name for name, _ in pairs]
        self.variables = [variable for _, variable in pairs]

    def weights(self):
        return np.concatenate([variable.numpy().ravel() for variable in self.variables])

    def outputs(self, images):
        return np.asarray(self.net(images, training=False))

    def begin(self, optimizer):
        import keras

        for variable, value in zip(self.net.weights, self.began):
            variable.assign(value)
        kind, arguments = optimizer
        self.net.compile(getattr(keras.optimizers, kind)(**arguments), self.loss)

    def step(self, images, labels):
        self.net.reset_metrics()  # or else it is the mean of all steps
        return float(self.net.train_on_batch(images, labels))

    def gradients(self, images, labels):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.net(images, training=True))
        trained = [variable for variable in self.variables if variable.trainable]
        found = tape.gradient(loss, [variable.value for variable in trained])
        return float(loss), np.concatenate([np.ravel(g) for g in found])


# ---- PyTorch ----


def torch_nets():
    from torch import nn

    class Last(nn.Module):
        """Channels last, as stoker flattens."""

        def forward(self, x):
            return x.permute(0, 2, 3, 1).flatten(1)

    class Mean(nn.Module):
        def forward(self, x):
            return x.mean((2, 3))

    class Residual(nn.Module):
        def __init__(self, main, shortcut):
            super().__init__()
            self.main, self.shortcut = main, shortcut

        def forward(self, x):
            return self.main(x) + self.shortcut(x)

    def block():
        first = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6))
        second = nn.Sequential(nn.Conv2d(6, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8))
        return [Residual(first, nn.Identity()), nn.ReLU(), Residual(second, nn.Conv2d(6, 8, 1, 2))]

    norm = "batchnorm(0.9, 1e-5, unbiased=true)"
    return {
        f"input(10, 9, 3).conv2d(6, 3, use_bias=false).{norm}.activation(relu).maxpool(2)"
        ".conv2d(8, 3, activation=relu).flatten().dense(12, activation=relu).dense(5)": lambda: [
            nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(),
            Last(), nn.Linear(2 * 1 * 8, 12), nn.ReLU(), nn.Linear(12, CLASSES),
        ],
        f"input(10, 9, 3).conv2d(6, 3, 2, 1, use_bias=false).{norm}.activation(relu6)"
        f".depthwise_conv2d(3, padding=1, use_bias=false).{norm}.activation(relu).conv2d(8, 1, activation=gelu)"
        ".depthwise_conv2d(3, 2, 1, use_bias=false).conv2d(10, 1, activation=swish).global_avgpool().dense(5)": lambda: [
            nn.Conv2d(3, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU6(),
            nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 1), nn.GELU(),
            nn.Conv2d(8, 8, 3, 2, 1, groups=8, bias=False), nn.Conv2d(8, 10, 1), nn.SiLU(), Mean(), nn.Linear(10, CLASSES),
        ],
        f"input(8, 8, 3).conv2d(6, 3, padding=1, use_bias=false).{norm}.activation(relu)"
        f".residual(conv2d(6, 3, padding=1, use_bias=false).{norm}, activation=relu)"
        f".residual(conv2d(8, 3, 2, 1, use_bias=false).{norm}, shortcut=conv2d(8, 1, 2)).global_avgpool().dense(5)": lambda: [
            nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), *block(), Mean(), nn.Linear(8, CLASSES),
        ],
    }  # fmt: skip


TORCH_OPTIMIZERS = {
    "sgd(0.05, form=pytorch)": ("SGD", {"lr": 0.05}),
    "sgd(0.01, momentum=0.9, form=pytorch)": ("SGD", {"lr": 0.01, "momentum": 0.9}),
    "sgd(0.01, momentum=0.9, nesterov=true, form=pytorch)": ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    "adam(0.002, form=pytorch)": ("Adam", {"lr": 0.002}),
    "adamw(0.002, weight_decay=0.05, form=pytorch)": ("AdamW", {"lr": 0.002, "weight_decay": 0.05}),
}


def turned(kind, tensor):
    """As stoker shapes it."""
    if kind == "depthwise_conv2d" and tensor.dim() == 4:
        return tensor.permute(2, 3, 0, 1)
    if kind == "conv2d" and tensor.dim() == 4:
        return tensor.permute(2, 3, 1, 0)
    return tensor.t() if tensor.dim() == 2 else tensor


def torch_weights(net):
    """(stoker's name, its kind, the tensor), in the order of modules."""
    from torch import nn

    counts, found = {}, []
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            kind, parts = "depthwise_conv2d" if module.groups > 1 else "conv2d", {"kernel": module.weight, "bias": module.bias}
        elif isinstance(module, nn.Linear):
            kind, parts = "dense", {"kernel": module.weight, "bias": module.bias}
        elif isinstance(module, nn.BatchNorm2d):
            kind, parts = "batchnorm", {
                "gamma": module.weight, "beta": module.bias,
                "moving_mean": module.running_mean, "moving_variance": module.running_var,
            }  # fmt: skip
        else:
            continue
        number = counts[kind] = counts.get(kind, -1) + 1
        name = f"{kind}_{number}" if number else kind
        found += [(f"{name}/{part}", kind, tensor) for part, tensor in parts.items() if tensor is not None]
    return found


class Torch:
    def __init__(self, make, seed):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.net = torch.nn.Sequential(*make())
        self.listed = torch_weights(self.net)
        self.names = [name for name, _, _ in self.listed]
        self.began = {key: value.clone() for key, value in self.net.state_dict().items()}

    def joined(self, tensors):
        return np.concatenate([turned(kind, t.detach()).numpy().ravel() for kind, t in tensors])

    def weights(self):
        return self.joined([(kind, tensor) for _, kind, tensor in self.listed])

    def outputs(self, images):
        import torch

        with torch.no_grad():
            return self.net.eval()(self.tensor(images)).numpy()

    def tensor(self, images):
        import torch

        return torch.tensor(images).permute(0, 3, 1, 2)

    def begin(self, optimizer):
        import torch

        self.net.load_state_dict(self.began)
        kind, arguments = optimizer
        self.optimizer = getattr(torch.optim, kind)(self.net.parameters(), **arguments)

    def backward(self, images, labels):
        import torch

        self.net.train().zero_grad()
        loss = torch.nn.functional.cross_entropy(self.net(self.tensor(images)), torch.tensor(labels))
        loss.backward()
        return loss.item()

    def step(self, images, labels):
        loss = self.backward(images, labels)
        self.optimizer.step()
        return loss

    def gradients(self, images, labels):
        loss = self.backward(images, labels)
        return loss, self.joined([(kind, t.grad) for _, kind, t in self.listed if t.requires_grad])


# ---- what is written down ----


def batches_of(chain, seed):
    """Classes that differ by where it is bright."""
    rng = np.random.default_rng(seed)
    shape = [int(side) for side in chain[chain.index("(") + 1 : chain.index(")")].split(",")]
    labels = rng.integers(0, CLASSES, (BATCHES, ROWS))
    images = rng.normal(0, 0.7, (BATCHES, ROWS, *shape)).astype(np.float32)
    for batch, row in np.ndindex(labels.shape):
        images[batch, row, labels[batch, row] : labels[batch, row] + 3] += 1
    return images, labels


def train(net, optimizer, images, labels):
    net.begin(optimizer)
    losses = []
    for step in range(STEPS):
        losses.append(net.step(images[step % BATCHES], labels[step % BATCHES]))
        if step == 2:
            after = net.weights()
    assert sum(losses[-BATCHES:]) < sum(losses[:BATCHES]), "nothing is learnt, so nothing is shown"
    return [after, losses, net.outputs(images[0])]


def cases_of(peer):
    wrapped, nets, optimizers = {
        "keras": (Keras, keras_nets, KERAS_OPTIMIZERS),
        "pytorch": (Torch, torch_nets, TORCH_OPTIMIZERS),
    }[peer]
    cases = []
    for seed, (chain, make) in enumerate(nets().items()):
        images, labels = batches_of(chain, seed)
        net = wrapped(make, seed)
        weights, outputs = net.weights(), net.outputs(images[0])
        net.begin(next(iter(optimizers.values())))
        loss, gradients = net.gradients(images[0], labels[0])
        text = f"{peer}\n{chain}\n{' '.join(net.names)}"
        cases.append((text, [images, labels, weights, outputs, [loss], gradients]))
        cases += [(text, train(net, optimizer, images, labels)) for text, optimizer in optimizers.items()]
    return cases


def main():
    cases = [case for peer in ("keras", "pytorch") for case in train_cases.apart(cases_of, peer)]
    train_cases.write("trainer.bin", cases)


if __name__ == "__main__":
    main()

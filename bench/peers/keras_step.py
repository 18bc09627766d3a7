# SPDX-License-Identifier: Apache-2.0
"""A `tf.function` around GradientTape and Adam, as its guide has it; batches are constants in memory."""

import itertools
import os

from train_models import batches, keras_model

NAME = "Keras, tf.function"
PLACE = 60
PACKAGES = ["tensorflow-cpu"]


def load():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras
    import tensorflow

    return tensorflow, keras


def train(loaded, job):
    tf, keras = loaded
    tf.config.threading.set_intra_op_parallelism_threads(job.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.mixed_precision.set_global_policy(job.precision)
    model = keras_model(keras, job.model, job.size)
    optimizer = keras.optimizers.Adam()
    is_scaled = job.precision == "mixed_float16"
    if is_scaled:
        optimizer = keras.mixed_precision.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
            scaled = optimizer.scale_loss(loss) if is_scaled else loss
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    made = [(tf.constant(images), tf.constant(labels)) for images, labels in batches(job)]

    def epoch():
        for images, labels in itertools.islice(itertools.cycle(made), job.count // job.batch):
            float(step(images, labels))
            yield images

    return epoch


def train_half(loaded, job):
    return train(loaded, job)

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


def _use_threads(tf, job):
    tf.config.threading.set_intra_op_parallelism_threads(job.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def train(loaded, job):
    tf, keras = loaded
    _use_threads(tf, job)
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


def train_job(loaded, job):
    """`fit`, with threads as TensorFlow chooses them: its pipeline needs some, too."""
    tf, keras = loaded
    model = keras_model(keras, job.model, job.size)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)

    def make(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, [job.size, job.size]) / 255.0, label

    labels = [i % job.classes for i in range(len(job.files))]
    data = tf.data.Dataset.from_tensor_slices((job.files, labels)).shuffle(len(job.files))
    data = data.map(make, num_parallel_calls=tf.data.AUTOTUNE).batch(job.batch)
    data = data.prefetch(tf.data.AUTOTUNE)

    def epoch():
        model.fit(data, epochs=1, verbose=0)
        yield range(len(job.files))

    return epoch

# SPDX-License-Identifier: Apache-2.0
"""Datasets and batches for people: text, and HTML with thumbnails for notebooks. Showing never
fails.
"""

import html

from . import _dataset, _ranks
from ._core import Array, Bytes, Ragged, Stream

_N_IMAGES = 8
_SIDE = 96  # of a thumbnail, in pixels
_PATIENCE_MS = 2000  # for the first batch
_MEMORY = 1 << 28  # and the budget for it, in bytes


# ---- text ----


def shape_text(dtype, shape):
    return f"{dtype}[{', '.join(map(str, shape))}]"


def array_repr(array):
    text = shape_text(array.dtype, array.shape)
    if array.size <= 16:
        text += f", {array.tolist()}"
    return f"Array({text})"


def rows_repr(rows):
    name = type(rows).__name__
    text = f"{len(rows)} rows" if isinstance(rows, Bytes) else f"{rows.dtype}, {len(rows)} rows"
    if len(rows) <= 16 and rows.nbytes <= 256:
        text += f", {rows.tolist()}"
    return f"{name}({text})"


def field_text(field):
    if isinstance(field, bytes):
        return f"bytes, {len(field)} of them"
    if isinstance(field, Array):
        return shape_text(field.dtype, field.shape)
    return f"{'ragged ' if isinstance(field, Ragged) else ''}{field.dtype} × {len(field)}"


def batch_repr(batch):
    return (
        "Batch(" + ", ".join(f"{name}: {field_text(field)}" for name, field in batch.items()) + ")"
    )


def count_text(ds):
    count = ds.cardinality
    return (
        "∞"
        if count == _dataset.INFINITE
        else "unknown"
        if count == _dataset.UNKNOWN
        else f"{count:,}"
    )


def dataset_repr(ds):
    spec = ds.spec
    width = max(map(len, spec), default=0)
    lines = [f"Dataset × {count_text(ds)}: {shorten(str(ds))}"]
    lines += [f"  {name:<{width}}  {field!r}" for name, field in spec.items()]
    return "\n".join(lines)


def shorten(text, most=2000):
    return text if len(text) <= most else text[: most // 2] + " … " + text[-most // 2 :]


# ---- HTML ----


def table(rows):
    cells = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<table>{cells}</table>"


def dataset_html(ds):
    text = f"<div><code>{html.escape(shorten(str(ds)))}</code> × {count_text(ds)}</div>"
    text += table([(name, repr(field)) for name, field in ds.spec.items()])
    try:
        first = first_batch(ds)
        return text + (thumbnails(first, ds) if first is not None else "")
    except Exception as error:
        return text + f"<div>the first one cannot be shown: {html.escape(str(error))}</div>"


def batch_html(batch):
    text = table([(name, field_text(field)) for name, field in batch.items()])
    try:
        return text + thumbnails(batch)
    except Exception as error:
        return text + f"<div>it cannot be shown: {html.escape(str(error))}</div>"


def first_batch(ds):
    """The first batch if it can be had soon and at no cost to others; generators are left alone."""
    if any(isinstance(thing, Stream) for thing in (ds._chain.objects or {}).values()):
        return None
    if not has_images(ds.spec):
        return None
    options = _ranks.known(ds._chain, ds._settings)
    options = {**options, "epoch": "0", "epochs": "1", "memory": str(_MEMORY)}
    with ds.take(1)._chain.iterate(options) as batches:
        return batches._next_within(_PATIENCE_MS)


def has_images(spec):
    return any(
        len(field.shape) in (3, 4) and field.shape[-1] in (1, 3, 4, None) for field in spec.values()
    )


def thumbnails(batch, ds=None):
    for name, field in batch.items():
        if (
            isinstance(field, Array)
            and field.ndim in (3, 4)
            and field.shape[-1] in (1, 3, 4)
            and field.dtype in ("uint8", "float32", "float64")
            and field.size
        ):
            captions = caption_texts(batch, ds)
            images = [
                image_html(png, captions[i] if i < len(captions) else "")
                for i, png in enumerate(pngs(field))
            ]
            return f'<div title="{html.escape(name)}">{"".join(images)}</div>'
    return ""


def caption_texts(batch, ds):
    """Class names under the images, where there are labels."""
    names = ds.class_names() if ds is not None and "label" in ds.spec else []
    label = batch["label"] if "label" in batch else None
    if not isinstance(label, Array) or label.ndim > 1:
        return []
    numbers = [label.item()] if label.ndim == 0 else label.tolist()[:_N_IMAGES]
    return [names[n] if isinstance(n, int) and 0 <= n < len(names) else str(n) for n in numbers]


def image_html(png, caption):
    import base64

    source = "data:image/png;base64," + base64.b64encode(png).decode()
    style = "display:inline-block;margin:2px;text-align:center"
    text = f"<figcaption>{html.escape(caption)}</figcaption>"
    return f'<figure style="{style}"><img src="{source}">{text}</figure>'


# ---- pictures ----


def pngs(field):
    """Up to eight images of a field, small."""
    shape = field.shape if field.ndim == 4 else (1, *field.shape)
    flat = (
        memoryview(field)
        .cast("B")
        .cast({"uint8": "B", "float32": "f", "float64": "d"}[field.dtype])
    )
    size = shape[1] * shape[2] * shape[3]
    for i in range(min(shape[0], _N_IMAGES)):
        yield small_png(flat[i * size : (i + 1) * size], shape[1:])


def small_png(values, shape):
    """Every n-th pixel of an image as a PNG."""
    height, width, channels = shape
    step = max(1, -(-max(height, width) // _SIDE))
    rows = [
        [
            values[(y * width + x) * channels + c]
            for x in range(0, width, step)
            for c in range(channels)
        ]
        for y in range(0, height, step)
    ]
    return png(to_bytes(rows), len(rows[0]) // channels, channels)


def to_bytes(rows):
    """Rows of 0..255. Floats are 0..1, 0..255, or else stretched from the least to the greatest."""
    if rows and rows[0] and isinstance(rows[0][0], int):
        return [bytes(row) for row in rows]
    finite = [v for row in rows for v in row if v - v == 0]
    low, high = min(finite, default=0), max(finite, default=1)
    if low >= 0 and high <= 1:
        low, high = 0, 1
    elif low >= 0 and high <= 255:
        low, high = 0, 255
    scale = 255 / (high - low) if high > low else 0
    return [
        bytes(min(255, max(0, int((v - low) * scale + 0.5))) if v - v == 0 else 0 for v in row)
        for row in rows
    ]


def png(rows, width, channels):
    import struct
    import zlib

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, len(rows), 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )

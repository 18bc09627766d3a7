# SPDX-License-Identifier: Apache-2.0
"""Python values as the text of a chain."""

from os import PathLike, fspath

REQUIRED = ...

# Rows whose texts are quoted; in others a text is a word such as auto or bilinear.
_QUOTED = ("text", "texts", "pairs", "value")
FUNCTION_HINT = "; Python functions go into ds.map, ds.filter and stoker.from_generator"
_PLAIN = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


class Writer:
    """Writes calls, and collects the objects that they name."""

    def __init__(self, objects=None):
        self.known = objects or {}  # names that are taken, by the chain the calls are for
        self.more = {}

    def call(self, name, rows, values):
        """name(…) with what differs from the defaults: by position as long as that is possible,
        then by name.
        """
        parts, by_name = [], False
        for (param, kind, default, is_variadic), value in zip(rows, values):
            if is_variadic:
                items = (
                    value[0] if len(value) == 1 and isinstance(value[0], (list, tuple)) else value
                )
                parts += [self.value(item, kind, param, name) for item in items]
            elif default is not REQUIRED and is_same(value, default):
                by_name = True
            else:
                text = self.value(value, kind, param, name)
                parts.append(f"{param}={text}" if by_name else text)
        return f"{name}({', '.join(parts)})"

    def value(self, value, kind, param="", call=""):
        """One value; `kind` is the type of the row that it is for."""
        if value is None:
            return "none"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return number(value)
        if isinstance(value, PathLike):
            value = fspath(value)
        if isinstance(value, str) and kind == "chains":
            return value  # a chain that is not a dataset by itself
        if isinstance(value, (str, bytes)):
            is_word = kind not in _QUOTED and isinstance(value, str) and is_name(value)
            return value if is_word else quote(value)
        if isinstance(value, Call):
            return value.text
        if type(value).__name__ in _FEATURES and hasattr(value, "_fields"):
            return feature(value, param).text
        if isinstance(value, dict):
            return (
                "{"
                + ", ".join(
                    f"{key(name)}: {self.value(item, kind, name, call)}"
                    for name, item in split_sparse(value).items()
                )
                + "}"
            )
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.value(item, kind, param, call) for item in value) + "]"
        if hasattr(value, "_chain"):
            return self.chain(value)
        return self.foreign(value, kind, param, call)

    def foreign(self, value, kind, param, call):
        """Values of other packages: numbers of NumPy, dtypes, arrays. Where elements are wanted
        an array is bound.
        """
        if kind == "choice":
            return dtype_name(value)
        if kind == "value" and getattr(value, "shape", None) != ():
            from . import _arrays

            return "@" + self.bind(_arrays.object_name(param), _arrays.memory(value, param))
        if hasattr(value, "tolist"):
            return self.value(value.tolist(), kind, param, call)
        for convert in ("__index__", "__float__"):
            if hasattr(value, convert):
                return number(getattr(value, convert)())
        hint = FUNCTION_HINT if callable(value) else ""
        raise TypeError(f"{call}: {param} cannot be {type(value).__name__}{hint}")

    def chain(self, dataset):
        """The text of another dataset; its objects get other names where theirs are taken."""
        text, names = str(dataset), {}
        for name, thing in (dataset._chain.objects or {}).items():
            names[name] = self.bind(name, thing)
        return rename(text, names)

    def bind(self, name, thing):
        """A name for an object: its own, or one like it that is free."""
        taken = {**self.known, **self.more}
        wanted, number_ = name, 2
        while wanted in taken and taken[wanted] is not thing:
            wanted, number_ = f"{name}_{number_}", number_ + 1
        if wanted not in taken:
            self.more[wanted] = thing
        return wanted


class Call:
    """A call inside a value, as features are: stoker.fixed([10], 'float32')."""

    __slots__ = ("text",)

    def __init__(self, name, rows, values):
        is_array = [hasattr(v, "tolist") and not isinstance(v, type) for v in values]
        values = [v.tolist() if is_one else v for v, is_one in zip(values, is_array)]
        self.text = Writer().call(name, rows, values)

    def __repr__(self):
        return self.text


# TensorFlow's features: the call that means the same, and what becomes its arguments.
_FEATURES = {
    "FixedLenFeature": ("fixed", ("shape", "dtype", "default_value")),
    "FixedLenSequenceFeature": ("fixed_sequence", ("shape", "dtype", "allow_missing")),
    "RaggedFeature": ("ragged", ("dtype", "value_key")),
    "VarLenFeature": ("varlen", ("dtype",)),
}

# Partitions of a RaggedFeature, and the argument of ragged that each becomes.
_PARTITIONS = {
    "RowSplits": "row_splits",
    "RowLengths": "row_lengths",
    "RowStarts": "row_starts",
    "RowLimits": "row_limits",
    "ValueRowIds": "value_rowids",
}

# Defaults of a FixedLenSequenceFeature that padded_batch has too.
_NO_FILLER = (None, 0, "", b"")


def feature(value, field):
    """tf.io.FixedLenFeature and such as a call; `field` is for messages."""
    from . import _ops

    name, members = _FEATURES[type(value).__name__]
    if getattr(value, "partitions", None):
        return ragged(value, field)
    if "default_value" not in members and getattr(value, "default_value", None) not in _NO_FILLER:
        raise TypeError(
            f"{field}: default_value={value.default_value!r} of a {type(value).__name__} fills up "
            "lists in a batch, which are left as long as they are here: leave it out, and batch "
            f"with padded_batch(n, padding_values={{{field!r}: {value.default_value!r}}})"
        )
    given = {member: getattr(value, member) for member in members}
    given["dtype"] = dtype_name(given["dtype"]).replace("string", "bytes")
    if "shape" in given:
        given["shape"] = [int(size) for size in given["shape"]]
    rows = _ops.CALLS[name]
    return Call(name, rows, [given.get(row[0], row[2]) for row in rows])


def ragged(value, field):
    """A tf.io.RaggedFeature with partitions, outermost first: one that names a key, then a
    UniformRowLength. Several of the latter are the shape of what a list has.
    """
    from . import _ops

    dtype = dtype_name(value.dtype).replace("string", "bytes")
    names = [type(partition).__name__ for partition in value.partitions]
    keyed = [name for name in names if name in _PARTITIONS]
    unknown = [name for name in names if name not in (*_PARTITIONS, "UniformRowLength")]
    if unknown:
        raise TypeError(f"{field}: {unknown[0]} is no partition of a RaggedFeature")
    lengths = [int(p.length) for p, name in zip(value.partitions, names) if name not in keyed]
    if not keyed and len(lengths) > 1:
        return _ops.fixed_sequence(lengths, dtype, True, value.value_key)
    if len(keyed) > 1 or names[1:] != ["UniformRowLength"] * len(names[1:]) or len(lengths) > 1:
        flat = value.value_key or field
        raise TypeError(
            f"{field}: partitions {', '.join(names)} nest lists deeper than a field can hold, which is "
            "one partition that names a key and a UniformRowLength inside of it: read the values "
            f"as {{{field!r}: stoker.varlen({dtype!r}, key={flat!r})}} and each key as a field of its own, "
            "stoker.varlen('int64')"
        )
    given = {_PARTITIONS[name]: p.key for p, name in zip(value.partitions, names) if name in keyed}
    return _ops.ragged(dtype, value.value_key, *(lengths or [None]), **given)


def split_sparse(features):
    """A tf.io.SparseFeature becomes two fields: its indices and its values."""
    fields = {}
    for name, value in features.items():
        is_sparse = type(value).__name__ == "SparseFeature" and hasattr(value, "_fields")
        made = {name: value}
        if is_sparse:
            made = {f"{name}_{part}": sparse(value, part) for part in ("indices", "values")}
        for twice in made.keys() & fields.keys():
            raise ValueError(
                f"there are two fields {twice}, as a SparseFeature s becomes s_indices and s_values; rename one"
            )
        fields.update(made)
    return fields


def sparse(value, part):
    from . import _ops

    dtype = dtype_name(value.dtype).replace("string", "bytes")
    sizes = value.size if isinstance(value.size, (list, tuple)) else [value.size]
    sizes = [int(size) for size in sizes]
    is_sorted = bool(value.already_sorted)
    return _ops.sparse(value.index_key, value.value_key, dtype, sizes, is_sorted, part)


def is_same(value, default):
    return value is default or (type(value) is type(default) and value == default)


def number(value):
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def is_name(text):
    return text.isascii() and text.isidentifier()


def key(name):
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {type(name).__name__}")
    return name if is_name(name) else quote(name)


def quote(text):
    """A string of the language. What is no UTF-8, such as odd file names, is written byte by
    byte.
    """
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    try:
        return (
            "'"
            + "".join(
                _PLAIN.get(c)
                or (
                    c
                    if c >= " " and not "\x7f" <= c < "\xa0"
                    else "".join(f"\\x{b:02x}" for b in c.encode())
                )
                for c in raw.decode("utf-8")
            )
            + "'"
        )
    except UnicodeDecodeError:
        return (
            "'"
            + "".join(
                chr(b) if 32 <= b < 127 and chr(b) not in "\\'" else f"\\x{b:02x}" for b in raw
            )
            + "'"
        )


def dtype_name(value):
    """'float32' of numpy.float32, numpy.dtype('float32'), torch.float32, tensorflow.float32 and
    such.
    """
    name = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    return str(name).rpartition(".")[2].rstrip("_")


def rename(text, names):
    """Puts other names for @names into a chain; strings are left alone."""
    if all(old == new for old, new in names.items()):
        return text
    out, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] in "'\"":
            while text[end] != text[at]:
                end += 2 if text[end] == "\\" else 1
            end += 1
        elif text[at] == "@":
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            name = text[at + 1 : end]
            out.append("@" + names.get(name, name))
            at = end
            continue
        out.append(text[at:end])
        at = end
    return "".join(out)


def encode(text):
    return text.encode("utf-8", "surrogateescape")

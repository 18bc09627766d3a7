# SPDX-License-Identifier: Apache-2.0
"""Expressions of map and filter, one row at a time.

Literals are weak: they take the type of what they meet. Types of one kind (unsigned, signed, float)
widen, int / int gives float32, every other mixture wants a cast. Ints wrap. // and % round towards
minus infinity; an integer zero to divide by makes the row bad, even where the result is not used.
Lists (fields with dimensions) work element by element.
"""

import ast
import struct
from dataclasses import dataclass

WEAK_INT, WEAK_REAL = "int literal", "real literal"


@dataclass(frozen=True)
class Value:
    """A number, a string of bytes or nested lists of them, with their common type."""

    dtype: str
    data: object


class RowError(Exception):
    """Makes one row bad."""


def kind_of(dtype):
    """'b' for bool, 'i' signed, 'u' unsigned, 'f' float."""
    return {WEAK_INT: "i", WEAK_REAL: "f"}.get(dtype, dtype[0])


def bits_of(dtype):
    return int("".join(c for c in dtype if c.isdigit()))


def fit(dtype, number):
    """A number as the dtype holds it: ints wrap, floats round to nearest even."""
    if dtype == WEAK_INT:
        return number
    if dtype in (WEAK_REAL, "float64"):
        return float(number)
    if dtype == "bool":
        return bool(number)
    if dtype == "float32":
        return round_float32(number)
    number &= 2 ** bits_of(dtype) - 1
    is_negative = kind_of(dtype) == "i" and number >= 2 ** (bits_of(dtype) - 1)
    return number - 2 ** bits_of(dtype) if is_negative else number


def round_float32(number):
    if isinstance(number, int) and abs(number) > 2**53:
        number = round_int(number)  # once, not first to a double
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def round_int(number):
    """An int rounded to 24 bits, ties to even."""
    shift = abs(number).bit_length() - 24
    quotient, rest = divmod(abs(number), 1 << shift)
    half = 1 << shift - 1
    quotient += rest > half or rest == half and quotient % 2
    return (quotient << shift) * (1 if number > 0 else -1)


def common(a, b):
    """The type two operands are brought to."""
    if a == b:
        return a
    if a in (WEAK_INT, WEAK_REAL) and b in (WEAK_INT, WEAK_REAL):
        return WEAK_REAL
    for weak, strong in ((a, b), (b, a)):
        if weak == WEAK_INT and strong != "bool" or weak == WEAK_REAL and kind_of(strong) == "f":
            return strong
    if kind_of(a) != kind_of(b) or WEAK_REAL in (a, b):
        raise TypeError(f"{a} and {b} want a cast")
    return max(a, b, key=bits_of)


def each(function, *operands):
    """function over scalars, or element by element where operands are lists; scalars stretch."""
    lists = [data for data in operands if isinstance(data, list)]
    if not lists:
        return function(*operands)
    n = len(lists[0])
    columns = [data if isinstance(data, list) else [data] * n for data in operands]
    return [each(function, *items) for items in zip(*columns, strict=True)]


def adapt(value, dtype):
    """An operand as the type both are brought to."""
    return Value(dtype, each(lambda number: fit(dtype, number), value.data))


def convert(value, dtype):
    """cast: ints wrap; floats lose their fraction and stop at the ends of an int's range, NaN gives
    0; everything but zero is true."""

    def one(number):
        if isinstance(number, float) and kind_of(dtype) in "iu":
            low, high = bounds(dtype)
            return 0 if number != number else int(max(low, min(high, number)))
        return fit(dtype, number)

    return Value(dtype, each(one, value.data))


def bounds(dtype):
    bits = bits_of(dtype)
    return (0, 2**bits - 1) if kind_of(dtype) == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def floor_divide(a, b):
    if b == 0:
        raise RowError("division by zero")
    return a // b


def modulo(a, b):
    if b == 0:
        raise RowError("division by zero")
    return a % b


def real_divide(a, b):
    if b == 0:
        if a == 0 or a != a:
            return float("nan")
        return float("inf") if a > 0 else float("-inf")
    return a / b


ARITHMETIC = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: real_divide,
    ast.FloorDiv: floor_divide,
    ast.Mod: modulo,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
}
COMPARISON = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def arithmetic(op, a, b):
    function = ARITHMETIC[type(op)]
    if isinstance(op, ast.Div) and kind_of(a.dtype) in "iu" and kind_of(b.dtype) in "iu":
        dtype = WEAK_REAL if a.dtype == b.dtype == WEAK_INT else "float32"
    else:
        dtype = common(a.dtype, b.dtype)
    a, b = adapt(a, dtype), adapt(b, dtype)
    return Value(dtype, each(lambda x, y: fit(dtype, function(x, y)), a.data, b.data))


def evaluate(node, names):
    """The value of a syntax tree, given the values of the names in it."""
    if isinstance(node, ast.Constant):
        return Value(WEAK_INT if isinstance(node.value, int) else WEAK_REAL, node.value)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = evaluate(node.operand, names)
        return Value(value.dtype, each(lambda x: fit(value.dtype, -x), value.data))
    if isinstance(node, ast.BinOp):
        return arithmetic(node.op, evaluate(node.left, names), evaluate(node.right, names))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Value("bool", each(lambda x: not x, evaluate(node.operand, names).data))
    if isinstance(node, ast.BoolOp):
        join = all if isinstance(node.op, ast.And) else any
        parts = [evaluate(part, names).data for part in node.values]
        return Value("bool", each(lambda *truths: join(truths), *parts))
    if isinstance(node, ast.Compare):
        a, b = evaluate(node.left, names), evaluate(node.comparators[0], names)
        dtype = common(a.dtype, b.dtype)
        a, b = adapt(a, dtype), adapt(b, dtype)
        return Value("bool", each(COMPARISON[type(node.ops[0])], a.data, b.data))
    if isinstance(node, ast.Call):
        return call(node.func.id, [evaluate(arg, names) for arg in node.args])
    raise TypeError(f"the model does not know {ast.dump(node)}")


def call(name, args):
    """where, min, max, abs, len, or a cast by the name of its type."""
    if name == "len":
        return Value("int64", len(args[0].data))
    if name == "where":
        condition, a, b = args
        dtype = common(a.dtype, b.dtype)
        a, b = adapt(a, dtype), adapt(b, dtype)
        return Value(dtype, each(lambda c, x, y: x if c else y, condition.data, a.data, b.data))
    if name in ("min", "max"):
        dtype = common(args[0].dtype, args[1].dtype)
        a, b = (adapt(arg, dtype) for arg in args)
        return Value(dtype, each(min if name == "min" else max, a.data, b.data))
    if name == "abs":
        dtype = args[0].dtype
        return Value(dtype, each(lambda x: fit(dtype, abs(x)), args[0].data))
    return convert(args[0], name)


def strengthen(value):
    """A field cannot hold a literal: what is still weak becomes int64 or float32."""
    strong = {WEAK_INT: "int64", WEAK_REAL: "float32"}
    return convert(value, strong[value.dtype]) if value.dtype in strong else value


def assign(text, fields):
    """The fields after 'a = …; b = …', or after a bare expression over the only field."""
    fields = dict(fields)
    for statement in text.split(";"):
        if not statement.strip():
            continue
        tree = ast.parse(statement.strip()).body[0]
        if isinstance(tree, ast.Assign):
            name = tree.targets[0].id
        else:
            (name,) = fields
        fields[name] = strengthen(evaluate(tree.value, fields))
    return fields


def predicate(text, fields):
    return evaluate(ast.parse(text.strip()).body[0].value, fields).data

# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/arrays with real NumPy and h5py, and arrays.txt: what is in each file.

A line of arrays.txt: file, array, dtype, shape, and the CRC-32 of its bytes in row-major order, little
endian; texts count as their UTF-8 bytes with a zero behind each.
"""
import io
import pathlib
import zipfile
import zlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent / "arrays"
TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
lines = []


def note(file, name, array):
    if array.dtype.kind in "SUO":
        texts = [x if isinstance(x, bytes) else str(x).encode() for x in array.tolist()]
        data, dtype = b"".join(text + b"\0" for text in texts), "bytes"
    else:
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        dtype = array.dtype.newbyteorder("=").name
    shape = ",".join(map(str, array.shape))
    lines.append(f"{file} {name} {dtype} {shape} {zlib.crc32(data):08x}")


def numbers(rng, dtype, shape):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, dtype=kind.newbyteorder("="), endpoint=True).astype(dtype)


def write_npy(rng):
    for dtype in [order + kind for kind in TYPES for order in "<>"]:
        array = numbers(rng, dtype, (5, 3, 2))
        name = f"{'little' if dtype[0] == '<' else 'big'}_{dtype[1:]}.npy"
        np.save(HERE / name, array)
        note(name, "data", array)
    arrays = {
        "bool": np.array([True, False, True]),
        "bytes": np.array([b"one", b"", b"three", b"a b"]),
        "unicode": np.array(["one", "", "\u00e4\u20ac\U0001f600", "x"]),
        "big_unicode": np.array(["one", "\u00e4"]).astype(">U3"),
        "empty": np.zeros((0, 4), "f4"),
        "no_columns": np.zeros((3, 0), "f4"),
        "dates": np.array(["2026-01-01", "1969-12-31"], "M8[s]"),
    }
    for name, array in arrays.items():
        np.save(HERE / f"{name}.npy", array)
        note(f"{name}.npy", "data", array.view("i8") if array.dtype.kind == "M" else array)
    for version in ((2, 0), (3, 0)):
        with open(HERE / f"version_{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(6).reshape(3, 2), version=version)
        note(f"version_{version[0]}.npy", "data", np.arange(6).reshape(3, 2))


def write_refused():
    """Files that are refused, each for its own reason."""
    np.save(HERE / "refused_fortran.npy", np.asfortranarray(np.zeros((3, 4))))
    np.save(HERE / "refused_scalar.npy", np.array(5))
    np.save(HERE / "refused_complex.npy", np.zeros(3, "c8"))
    np.save(HERE / "refused_objects.npy", np.array([{}, []], object), allow_pickle=True)
    np.save(HERE / "refused_records.npy", np.zeros(3, [("a", "i4"), ("b", "f4")]))
    np.save(HERE / "refused_text_table.npy", np.array([["a", "b"], ["c", "d"]]))
    np.savez(HERE / "refused_lengths.npz", x=np.arange(3), y=np.arange(4))


def write_npz(rng):
    arrays = {"x": numbers(rng, "<f4", (6, 4)), "y": np.arange(6), "name": np.array(list("abcdef"))}
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    with zipfile.ZipFile(HERE / "mixed.npz", "w") as archive:
        archive.comment = b"a comment at the end"
        archive.writestr(zipfile.ZipInfo("readme.txt"), "not an array")
        for (name, array), method in zip(arrays.items(), (0, 8, 0)):
            memory = io.BytesIO()
            np.save(memory, array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), memory.getvalue(), compress_type=method)
    for file in ("stored.npz", "deflated.npz", "mixed.npz"):
        for name, array in arrays.items():
            note(file, name, array)


def write_chunked(rng):
    """Every filter, and rows that are chunks, parts of chunks, and spread over several."""
    shape = (7, 6, 5)
    filters = {
        "raw": {},
        "gzip": {"compression": "gzip"},
        "lzf": {"compression": "lzf"},
        "shuffle": {"shuffle": True},
        "check": {"fletcher32": True},
        "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
        "lzf_all": {"compression": "lzf", "shuffle": True, "fletcher32": True},
    }
    chunks = {"row": (1, 6, 5), "rows": (3, 6, 5), "part": (2, 4, 3), "tiny": (1, 1, 2)}
    for file, options in (("chunks.h5", {}), ("latest.h5", {"libver": ("v110", "v110")})):
        with h5py.File(HERE / file, "w", **options) as out:
            for name, how in filters.items():
                for chunk, size in chunks.items():
                    is_basic = name in ("raw", "all")
                    if not is_basic and (file == "latest.h5" or chunk in ("rows", "tiny")):
                        continue
                    array = numbers(rng, "<u2", shape) % 50 * 11
                    out.create_dataset(f"{name}_{chunk}", data=array, chunks=size, **how)
                    note(file, f"{name}_{chunk}", array)


def write_types(rng):
    with h5py.File(HERE / "types.h5", "w") as out:
        for dtype in [order + kind for kind in TYPES for order in "<>"]:
            array = numbers(rng, dtype, (4, 3))
            name = f"{'little' if dtype[0] == '<' else 'big'}_{dtype[1:]}"
            out.create_dataset(name, data=array)
            note("types.h5", name, array)
        texts = ["one", "", "\u00e4\u20ac", "four"]
        arrays = {
            "bool": np.array([True, False, False, True]),
            "fixed_text": np.array([b"one", b"", b"three", b"a b"]),
        }
        for name, array in arrays.items():
            out.create_dataset(name, data=array)
            note("types.h5", name, array)
        out.create_dataset("texts", data=texts, dtype=h5py.string_dtype())
        note("types.h5", "texts", np.array(texts, object))
        colours = h5py.enum_dtype({"red": 0, "green": 7}, basetype=">i2")
        out.create_dataset("colours", data=np.array([0, 7, 7, 0]), dtype=colours)
        note("types.h5", "colours", np.array([0, 7, 7, 0], "i2"))
        out.create_dataset("scalar", data=5)
        out.create_dataset("null", data=h5py.Empty("f4"))


def write_layouts(rng):
    with h5py.File(HERE / "layouts.h5", "w", userblock_size=512) as out:
        array = numbers(rng, "<i4", (6, 5))
        out.create_dataset("contiguous", data=array)
        note("layouts.h5", "contiguous", array)
        out.create_dataset("chunked", data=array, chunks=(1, 5), compression="gzip")
        note("layouts.h5", "chunked", array)
        out.create_dataset("scaled", data=array % 1000, chunks=(2, 5), scaleoffset=0)
        note("layouts.h5", "scaled", array % 1000)
        half = out.create_dataset("half", (6, 5), "<i4", chunks=(1, 5), fillvalue=-7)
        half[2:4] = array[2:4]
        note("layouts.h5", "half", half[:])
        unwritten = out.create_dataset("unwritten", (6, 5), "<f4", fillvalue=1.5)
        note("layouts.h5", "unwritten", unwritten[:])
        grown = out.create_dataset("grown", (2, 5), "<i4", chunks=(2, 2), maxshape=(None, 5))
        grown.resize((6, 5))
        grown[:] = array
        note("layouts.h5", "grown", array)
    with h5py.File(HERE / "refused.h5", "w") as out:
        out["records"] = np.zeros(3, [("a", "i4"), ("b", "f4")])
        out["lists"] = np.array([np.arange(2), np.arange(3)], object).astype(h5py.vlen_dtype("i4"))
        out["references"] = np.array([out["records"].ref], h5py.ref_dtype)
    with h5py.File(HERE / "lengths.h5", "w") as out:
        out["x"], out["y"] = np.arange(3), np.arange(4)


def write_volume(rng):
    with h5py.File(HERE / "volume.h5", "w") as out:
        array = numbers(rng, "<u2", (9, 12, 10))
        out.create_dataset("gzip", data=array, chunks=(4, 5, 4), compression="gzip")
        out.create_dataset("contiguous", data=array)
        out.create_dataset("colour", data=numbers(rng, "u1", (9, 12, 10, 3)), chunks=(3, 3, 3, 3))
    np.save(HERE / "volume.npy", array)


def main():
    rng = np.random.default_rng(11)
    HERE.mkdir(exist_ok=True)
    write_npy(rng)
    write_refused()
    write_npz(rng)
    write_chunked(rng)
    write_types(rng)
    write_layouts(rng)
    write_volume(rng)
    (HERE.parent / "arrays.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()

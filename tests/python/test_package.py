# SPDX-License-Identifier: Apache-2.0
"""The package itself: the wheel, the command in it, what importing costs, stubs and registry."""

import ast
import importlib.util
import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import zipfile

import pytest
import stoker
from places import BUILD, TREE
from stoker import _core, _ops

PACKAGE = pathlib.Path(stoker.__file__).parent
HANG_SECONDS = 120


def run(words, **options):
    options = {
        "capture_output": True,
        "encoding": "utf-8",
        "timeout": HANG_SECONDS,
        "check": False,
        **options,
    }
    return subprocess.run([str(word) for word in words], **options)


# ---- the wheel ----


@pytest.fixture(scope="module")
def wheel():
    found = sorted((BUILD / "wheels").glob("stoker-*.whl"))
    if not found:
        pytest.fail(f"there is no wheel in {BUILD / 'wheels'}: run make python")
    return found[-1]


def test_wheel(wheel):
    assert re.fullmatch(r"stoker-[\d.]+-cp311-abi3-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    for name in (
        "__init__.py",
        "__init__.pyi",
        "_ops.py",
        "py.typed",
        "_core.abi3.so",
        "_bin/stoker",
    ):
        assert f"stoker/{name}" in names, name
    assert all(name.startswith("stoker") for name in names) and not any(
        "/src/" in name for name in names
    )
    assert f"Version: {stoker.__version__}\n" in metadata and "Requires-Python: >=3.11" in metadata
    assert "Requires-Dist" not in metadata


def test_wheel_works_elsewhere(wheel, tmp_path, pictures):
    """Installed into an empty environment, used from another directory, without NumPy and
    without the tree.
    """
    environment = tmp_path / "env"
    assert run([sys.executable, "-m", "venv", "--without-pip", environment]).returncode == 0
    python = environment / "bin" / "python"
    done = run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--disable-pip-version-check",
            wheel,
        ]
    )
    assert done.returncode == 0, done.stderr
    script = tmp_path / "use.py"
    script.write_text(
        "import importlib.util, sys\nimport stoker\n"
        "assert importlib.util.find_spec('numpy') is None\n"
        f"assert stoker.__file__.startswith({str(environment)!r}), stoker.__file__\n"
        "ds = stoker.image_folder(sys.argv[1]).shuffle().decode().resize(8, 8).batch(2)\n"
        "assert [b.image.shape for b in ds] == [(2, 8, 8, 3)] * 3\n"
        "b = ds[0]\n"
        "assert b.label[0] in (0, 1) and b.image[0].shape == (8, 8, 3)\n"
        "assert b.image[1][2].ndim == 2\n"
        "assert len(b.image.tolist()) == 2 and memoryview(b.image).shape == (2, 8, 8, 3)\n"
        "assert [row for row in b.label] == b.label.tolist()\n"
        "assert stoker.from_arrays(x=[1.5, 2], t=['a', 'b'])[1].x == 2\n"
        "assert [int(e.x) for e in stoker.from_generator(lambda: range(3), 'int64')] == [0, 1, 2]\n"
        "repr(ds), ds._repr_html_(), repr(b), ds.plan().json\n"
        "for use in (b.numpy, lambda: b.image[:, 1]):\n"
        "    try:\n        use()\n"
        "    except ImportError as error:\n        assert 'NumPy' in str(error)\n"
        "    else:\n        raise AssertionError\n"
        "print('fine')\n",
        encoding="utf-8",
    )
    done = run([python, "-I", script, pictures], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert done.stdout == "fine\n" and done.returncode == 0, done.stderr
    for words in ([python, "-I", "-m", "stoker"], [environment / "bin" / "stoker"]):
        done = run([*words, "run", "range(10).batch(4)", "--json"], cwd=tmp_path)
        assert json.loads(done.stdout)["elements"] == 10, done.stderr


def test_only_one_name_is_exported():
    done = run(["nm", "-D", "--defined-only", "--format=posix", _core.__file__])
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["PyInit__core"], names


def test_only_the_limited_interface_is_used():
    assert pathlib.Path(_core.__file__).name == "_core.abi3.so"
    done = run(["nm", "-D", "--undefined-only", "--format=posix", _core.__file__])
    wrong = [
        name
        for name in done.stdout.split()
        if re.match(r"_Py(?!Arg_|Object_(New|GC_New|CallMethod)|_)", name)
    ]
    assert not wrong, wrong


# ---- the command ----


def test_command_is_the_command():
    for words in (
        ["version"],
        ["ops", "--json"],
        ["run", "range(3).batch(2)", "--dump", "--quiet"],
    ):
        here = run([sys.executable, "-m", "stoker", *words])
        there = run([BUILD / "stoker", *words])
        assert (here.returncode, here.stdout) == (
            there.returncode,
            there.stdout,
        ) and here.returncode == 0


@pytest.mark.parametrize(
    "words, code",
    [
        (["run", "range(10).bach(2)"], 2),
        (["nothing"], 2),
        ([], 2),
        (["run", "values({x: [0]}).map('1 // x')"], 1),
        (["--help"], 0),
    ],
)
def test_command_exit_codes(words, code):
    assert run([sys.executable, "-m", "stoker", *words]).returncode == code


def test_command_signals(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-m", "stoker", "run", "range(10).repeat().batch(2)"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for_exec(child.pid)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=HANG_SECONDS)
        assert child.returncode == 130
    finally:
        child.kill()
        child.wait()


def wait_for_exec(pid):
    """Until the interpreter has become the command, and that has started its run."""
    import time

    end = time.monotonic() + 30
    while time.monotonic() < end:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            is_command = file.read().startswith(b"stoker\0")
        if is_command and len(os.listdir(f"/proc/{pid}/task")) > 2:
            return
        time.sleep(0.01)
    pytest.fail("the command did not start")


# ---- importing ----


def test_import_is_lean():
    """Nothing large is imported, and nothing that is not Python's own."""
    done = run(
        [
            sys.executable,
            "-c",
            "import sys; before = set(sys.modules); import stoker\n"
            "print(*sorted(set(sys.modules) - before))",
        ]
    )
    new = set(done.stdout.split())
    assert new <= {
        "stoker",
        "stoker._core",
        "stoker._dataset",
        "stoker._epochs",
        "stoker._errors",
        "stoker._keywords",
        "stoker._ops",
        "stoker._ranks",
        "stoker._text",
        "stoker._workers",
        "atexit",
        "itertools",
    }, new


def test_all_is_there():
    for name in stoker._public:
        assert getattr(stoker, name) is not None
    assert "files" in stoker.__all__ and set(stoker.__all__) <= set(dir(stoker))
    names = {}
    exec("from stoker import *", names)  # noqa: S102
    assert set(stoker.__all__) <= set(names)


def test_import_star_shadows_nothing():
    names = {}
    exec("import random\nfrom stoker import *", names)  # noqa: S102
    assert names["random"] is __import__("random") and "files" in names
    assert not set(stoker.__all__) & (set(dir(__import__("builtins"))) | sys.stdlib_module_names)
    assert callable(stoker.list) and callable(stoker.random) and {"list", "random"} <= set(dir(stoker))


@pytest.mark.skipif(bool(importlib.util.find_spec("torch")), reason="PyTorch is installed")
def test_what_needs_torch_says_so():
    with pytest.raises(ImportError, match="Feed is for PyTorch"):
        stoker.Feed  # noqa: B018


# ---- the registry ----


def registry():
    return {op["name"]: op for op in json.loads(_core.ops_json())}


def test_every_op_is_there():
    for name, op in registry().items():
        if name in ("element", "filter_function", "generator", "map_function"):  # other ways
            continue
        is_root = "root" in op["flags"]
        holders = (
            [stoker] if is_root else [stoker.Dataset] + ([stoker] if "multi" in op["flags"] else [])
        )
        for holder in holders:
            parameters = [
                p for p in inspect.signature(getattr(holder, name)).parameters if p != "self"
            ]
            more = {"map": ["output"], "filter": []}.get(name)
            more = [] if more is None else [*more, "workers", "processes", "random"]
            assert parameters == [param["name"] for param in op["params"]] + more, name
            assert inspect.getdoc(getattr(holder, name)).startswith(op["summary"])


def test_defaults_are_those_of_the_registry():
    for name, op in registry().items():
        for param, row in zip(op["params"], _ops.ROWS.get(name, ())):
            if row[2] is not ...:
                assert row[2] == param["default"], (name, row)


def test_options_are_those_of_the_library():
    for method in ("iterate", "plan", "options"):
        names = list(inspect.signature(getattr(stoker.Dataset, method)).parameters)[1:]
        assert {"workers", "seed", "epoch", "epochs", "memory", "on_error"} <= set(names)
        for name in names:
            with pytest.raises((TypeError, ValueError), match=f"options: {name}"):
                stoker.range(3)._chain.iterate({name: "what"})


# ---- stubs ----


def stub_functions(node):
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def parameter_names(function):
    args = function.args
    given = [
        *args.posonlyargs,
        *args.args,
        *([args.vararg] if args.vararg else []),
        *args.kwonlyargs,
    ]
    return [arg.arg for arg in given if arg.arg != "self"]


def test_stubs_fit():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    assert (PACKAGE / "py.typed").exists()
    functions = stub_functions(stub)
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    del classes["Feed"]  # needs PyTorch: tests/parity/test_parity_data_loader.py
    assert set(stoker._public) - {"INFINITE", "UNKNOWN"} == set(functions) | set(classes)
    for name, function in functions.items():
        wanted = [
            p
            for p in inspect.signature(getattr(stoker, name)).parameters
            if p not in ("lines", "objects", "options", "named")
        ]
        assert parameter_names(function) == wanted, name
    for name, node in classes.items():
        for member in stub_functions(node):
            is_later = member == "__buffer__" and sys.version_info < (3, 12)
            assert is_later or hasattr(getattr(stoker, name), member) or member == "__getattr__", (
                name,
                member,
            )
    for name, function in stub_functions(classes["Dataset"]).items():
        if not name.startswith("__") and name not in (
            "canonical",
            "cardinality",
            "spec",
            "progress",
        ):
            parameters = list(inspect.signature(getattr(stoker.Dataset, name)).parameters)[1:]
            parameters = [p for p in parameters if p != "options"]
            assert parameter_names(function) == parameters, name


def test_stubs_name_every_member():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name in (
            "Array",
            "Bytes",
            "Ragged",
            "Batch",
            "Iterator",
            "Dataset",
        ):
            public = {name for name in vars(getattr(stoker, node.name)) if not name.startswith("_")}
            assert public <= set(stub_functions(node)), (
                node.name,
                public - set(stub_functions(node)),
            )


def test_installed_package_is_of_this_tree():
    for name in ("_ops.py", "_dataset.py", "__init__.pyi"):
        assert (PACKAGE / name).read_text(encoding="utf-8") == (
            TREE / "python/stoker" / name
        ).read_text(encoding="utf-8")
    assert importlib.util.find_spec("stoker").origin == str(PACKAGE / "__init__.py")

# SPDX-License-Identifier: Apache-2.0
"""Random numbers in functions of a chain: those of an element depend on it, its epoch and the seed.

A function draws from a generator that it is given (a parameter `rng`), or from those that a process
has once: random's, NumPy's and PyTorch's. These are seeded for each element from the words by which
random ops draw. In a helper process that is all. On threads of this process their states are put
aside before a run of elements and put back behind it, so that the program around it does not notice
(python/src/py_lease.c).

Seeding takes 2 to 4 µs for each generator, and putting aside 100 µs for up to 64 elements. A
function that cannot draw is spared both: its code is looked at, and what it calls.
"""

import builtins
import dis
import functools
import inspect
import sys
import types
import warnings

from ._errors import StokerWarning, outside

# What the extension is told (python/src/py_function.c).
SEEDED, RANDOM, SHARED = 1, 2, 4

# What is found by looking at code.
NEVER, MAYBE, SURELY = 0, 1, 2

_MOST_THINGS = 300  # looked at; behind more of them anything may be
_MOST_ITEMS = 100  # of a list, likewise
_DRAWING = ("random", "statistics")  # modules
# Packages that draw only by functions with "rand" in their names, if at all.
_HARMLESS = ("builtins", "numpy", "PIL", "cv2", "ml_dtypes", "stoker")
_PLAIN = (int, float, complex, str, bytes, bytearray, bool, type(None), type(...), range)
_GENERATORS = (
    "random.Random",
    "random.SystemRandom",
    "numpy.random._generator.Generator",
    "numpy.random.mtrand.RandomState",
    "torch._C.Generator",
)


class Drawing:
    """A function whose random numbers are the element's: called with it and with its bytes."""

    def __init__(self, function, takes_rng, is_shared):
        self.function, self.takes_rng, self.is_shared = function, takes_rng, is_shared
        self.__name__ = getattr(function, "__name__", "function")

    def __reduce__(self):
        return Drawing, (self.function, self.takes_rng, self.is_shared)

    def __call__(self, element, seed):
        if self.is_shared:
            seed_all(seed)
        if self.takes_rng:
            return self.function(element, rng=generator(seed))
        return self.function(element)


class Found:
    """What is known of a function's random numbers: said by its user, its code and a trial."""

    def __init__(self, function, random):
        if random not in (None, True, False):
            raise TypeError(f"random is True, False or None, not {random!r}")
        self.function, self.random = function, random
        self.takes_rng = takes_rng(function)
        if random is False and self.takes_rng:
            raise TypeError("a function with a parameter rng draws, so random cannot be False")
        self.code = NEVER if random is False else looked_at(function)
        if random and not self.takes_rng:
            self.code = SURELY

    def is_random(self):
        return self.takes_rng or self.code == SURELY

    def is_drawing(self):
        return self.takes_rng or self.code != NEVER

    def settle(self, has_drawn, is_helped):
        """After a trial. Where the code does not tell, that counts on threads, where seeding keeps
        calls apart that would overlap. In helper processes it costs little and goes on.
        """
        if self.code == MAYBE and has_drawn:
            self.code = SURELY
        elif self.code == MAYBE and not is_helped:
            self.code = NEVER

    def called(self):
        """The function as it is to be called."""
        if not self.is_drawing():
            return self.function
        return Drawing(self.function, self.takes_rng, self.code != NEVER)

    def flags(self, is_helped):
        """What the extension is told of it."""
        is_shared = self.code != NEVER and not is_helped
        return (
            (SEEDED if self.is_drawing() else 0)
            | (RANDOM if self.is_random() else 0)
            | (SHARED if is_shared else 0)
        )


def takes_rng(function):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(p.name == "rng" and p.kind in named for p in parameters[1:])


# ---- generators ----


@functools.cache
def _words():
    """A seed sequence of NumPy that gives words as they are: hashing them again takes 10 µs."""
    import numpy as np

    class Words(np.random.bit_generator.ISpawnableSeedSequence):
        def __init__(self, words):
            self.words = words

        def generate_state(self, n_words, dtype=np.uint32):
            if dtype is np.uint64 and n_words <= len(self.words):
                return self.words[:n_words]
            return self.hashed().generate_state(n_words, dtype)

        def spawn(self, n_children):
            return self.hashed().spawn(n_children)

        def hashed(self):
            return np.random.SeedSequence([int(word) for word in self.words])

        def __reduce__(self):
            return _words_of, (self.words,)

    return np, Words


def _words_of(words):
    return _words()[1](words)


def generator(seed):
    """A numpy.random.Generator of the element's own."""
    np, words = _words()
    return np.random.Generator(np.random.PCG64(words(np.frombuffer(seed, np.uint64))))


def seed_all(seed):
    """Seeds what the program has loaded of random, NumPy and PyTorch."""
    loaded = sys.modules
    if module := loaded.get("random"):
        module.seed(int.from_bytes(seed[:8], "little"))
    if module := loaded.get("numpy.random"):
        module.seed(int.from_bytes(seed[8:12], "little"))
    if generator := _torch_generator():
        generator.manual_seed(int.from_bytes(seed[16:24], "little"))


def _torch_generator():
    """That of the CPU: a function has nothing to do with those of other devices."""
    return getattr(sys.modules.get("torch"), "default_generator", None)


def states():
    """The states of the process's generators, for restore."""
    loaded = sys.modules
    python, numpy, torch = loaded.get("random"), loaded.get("numpy.random"), _torch_generator()
    return (
        python and python.getstate(),
        numpy and numpy.get_state(),
        torch and torch.get_state(),
    )


def restore(kept):
    python, numpy, torch = kept
    if python:
        sys.modules["random"].setstate(python)
    if numpy:
        sys.modules["numpy.random"].set_state(numpy)
    if torch is not None:
        _torch_generator().set_state(torch)


def digest(kept):
    """States as something that can be compared."""
    python, numpy, torch = kept
    return (
        python,
        numpy and (numpy[1].tobytes(), *numpy[2:]),
        None if torch is None else bytes(torch.tolist()),
    )


# ---- looking at code ----


def looked_at(function):
    """Whether a function can draw from generators of the process, as far as its code tells."""
    look = _Look()
    found = look.at(function)
    if look.has_own:
        warnings.warn(
            "the function draws from a generator of its own, so its numbers depend on the order in "
            "which elements come to it; a parameter named rng gets one that does not",
            StokerWarning,
            stacklevel=outside(),
        )
    return found


class _Look:
    """Goes from a function through all that it refers to. It errs towards MAYBE."""

    def __init__(self):
        self.seen = set()
        self.has_own = False  # a generator that is not one of the process's

    def at(self, thing):
        if id(thing) in self.seen or isinstance(thing, _PLAIN):
            return NEVER
        self.seen.add(id(thing))
        if len(self.seen) > _MOST_THINGS:
            return MAYBE
        if isinstance(thing, types.FunctionType):
            return self.at_function(thing)
        if isinstance(thing, functools.partial):
            return self.at_all([thing.func, *thing.args, *thing.keywords.values()])
        if isinstance(thing, types.MethodType):
            return max(self.at(thing.__self__), self.at(thing.__func__))
        if isinstance(thing, types.ModuleType):
            return _of_module(thing.__name__)
        if isinstance(thing, types.BuiltinFunctionType):  # of a module, or an object's
            owner = thing.__self__
            is_free = owner is None or isinstance(owner, types.ModuleType)
            return _of_module(thing.__module__ or "") if is_free else self.at(owner)
        if isinstance(thing, (list, tuple, set, frozenset)) and len(thing) <= _MOST_ITEMS:
            return self.at_all(thing)
        if isinstance(thing, dict) and len(thing) <= _MOST_ITEMS:
            return self.at_all(thing.values())
        return self.at_object(thing)

    def at_all(self, things):
        return max((self.at(thing) for thing in things), default=NEVER)

    def at_function(self, function):
        names, imported = set(), set()
        _read_code(function.__code__, names, imported)
        found = max((_of_module(name) for name in imported), default=NEVER)
        if any(name.startswith("rand") for name in names):
            found = SURELY
        known = {**vars(builtins), **function.__globals__}
        held = [cell.cell_contents for cell in function.__closure__ or () if _is_set(cell)]
        return max(
            found,
            self.at_all(known[name] for name in names if name in known),
            self.at_all(held),
            self.at_all(function.__defaults__ or ()),
        )

    def at_object(self, thing):
        kind = thing if isinstance(thing, type) else type(thing)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in _GENERATORS:
            self.has_own |= kind is not thing and not _is_shared(thing)
            return SURELY
        return _of_module(kind.__module__)


def _is_shared(generator):
    """Whether it is one that is seeded for each element."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    shared = (
        _torch_generator(),
        getattr(getattr(python, "random", None), "__self__", None),
        getattr(getattr(numpy, "rand", None), "__self__", None),
    )
    return any(generator is one for one in shared)


def _is_set(cell):
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a name that has no value yet
        return False


def _read_code(code, names, imported):
    """The names in a code and in those inside it, and what it imports. A method of a local name
    `rng` is one of a generator that the function was given.
    """
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            imported.add(step.argval)
        elif isinstance(step.argval, str) and not step.opname.startswith(("LOAD_FAST", "STORE_")):
            if step.opname != "LOAD_CONST" and not _loads_rng(before):
                names.add(step.argval)
        before = step
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _read_code(constant, names, imported)


def _loads_rng(step):
    """Whether an instruction ends with loading the local name rng: some load two at a time."""
    if step is None or not step.opname.startswith("LOAD_FAST"):
        return False
    return (step.argval[-1] if isinstance(step.argval, tuple) else step.argval) == "rng"


def _of_module(name):
    root = name.partition(".")[0]
    if root in _DRAWING or name.startswith(("numpy.random", "torch.random")):
        return SURELY
    return NEVER if root in _HARMLESS or root in sys.stdlib_module_names else MAYBE

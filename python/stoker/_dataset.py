# SPDX-License-Identifier: Apache-2.0
"""Dataset: a chain of calls as a value, and what can be asked of it."""

import os
from _thread import allocate_lock
from _weakref import ref as weak_ref

from . import _epochs, _keywords, _ops, _ranks, _text, _workers
from ._core import Chain, check_options, state_place
from ._errors import StateError

INFINITE = -1  # ds.cardinality of an endless dataset
UNKNOWN = -2  # ds.cardinality of one that nobody can count beforehand

# Of a run: names and order are those of docs/options.md.
_OPTIONS = [n for n in _ops.Ops.iterate.__code__.co_varnames if n != "self"]
_MOST_WRITTEN = 64  # numbers in the text of a chain; more are an array
_SUFFIXES = {"K": 10, "M": 20, "G": 30, "T": 40}

_epoch_lock = allocate_lock()  # guards _next_epoch of all datasets


def _renew_lock():
    global _epoch_lock
    _epoch_lock = allocate_lock()


os.register_at_fork(after_in_child=_renew_lock)


def text_of_state(state):
    try:
        return state["state"]
    except (TypeError, KeyError):
        raise TypeError("a state is what state_dict() of an Iterator or a Batch gives") from None


class Field:
    """What one field is: its name, kind ('fixed', 'shaped', 'bytes', 'ragged'), dtype and shape.

    A dimension that differs between elements or batches is None. A field of bytes has the dtype
    'bytes'.
    """

    __slots__ = ("name", "kind", "dtype", "shape")

    def __init__(self, name, kind, dtype, shape):
        self.name, self.kind, self.dtype, self.shape = name, kind, dtype, tuple(shape)

    def __repr__(self):
        if self.kind == "bytes" and not self.shape:
            return "bytes"
        dims = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{'ragged ' if self.kind == 'ragged' else ''}{self.dtype}[{dims}]"

    def _row(self):
        return self.name, self.kind, self.dtype, self.shape

    def __eq__(self, other):
        return self._row() == other._row() if isinstance(other, Field) else NotImplemented

    def __hash__(self):
        return hash(self._row())

    def __reduce__(self):
        return Field, self._row()


class Rewrite:
    """What was done to a chain before it runs, or why it was not: a rule, and a sentence."""

    __slots__ = ("rule", "is_done", "text")

    def __init__(self, rule, is_done, text):
        self.rule, self.is_done, self.text = rule, is_done, text

    def __repr__(self):
        return f"Rewrite(rule={self.rule!r}, is_done={self.is_done}, text={self.text!r})"

    def __str__(self):
        return self.text if self.is_done else f"not done: {self.text}"


class Plan:
    """How a chain will run: str(plan) is a tree for people, plan.json the same as data. plan.chain is
    what is run after plan.rewrites."""

    def __init__(self, chain, options):
        self._chain, self._options = chain, options
        self._tree = chain.plan(options, False)

    def __str__(self):
        return self._tree

    def __repr__(self):
        return self._tree.rstrip("\n")

    @property
    def json(self):
        import json

        return json.loads(self._chain.plan(self._options, True))

    @property
    def chain(self):
        return self.json["chain"]

    @property
    def rewrites(self):
        return [Rewrite(r["pass"], r["done"], r["text"]) for r in self.json["rewrites"]]

    def _repr_html_(self):
        import html

        return f"<pre>{html.escape(self._tree)}</pre>"


class Dataset(_ops.Ops):
    """A chain of calls: what data, in which order, and what is done to it. Nothing is read before
    it is iterated.

        ds = stoker.files('train/*/*.jpg').decode().resize(224, 224).batch(32)
        for batch in ds: ...          # an epoch; the next `for` is the next one
        len(ds), ds.spec, ds[0], ds[:10], ds.head(3), str(ds), ds.plan()

    Every op is a method that gives a new Dataset and leaves this one as it is. What can be found
    wrong without reading data is raised at once, on the line that says it.
    """

    __slots__ = (
        "_chain",
        "_settings",
        "_next_epoch",
        "_number",
        "_came_with",
        "_state",
        "_run",
        "_watch",
        "__weakref__",
    )

    def __init__(self, text):
        """The dataset of a chain or a recipe, as stoker.parse."""
        made = parse(text)
        self._set(made._chain, {})

    def _set(self, chain, settings):
        self._chain, self._settings, self._next_epoch = chain, settings, 0
        self._number, self._came_with = _epochs.new_number(), None
        self._state = self._run = self._watch = None
        return self

    @property
    def __class__(self):
        """isinstance() asks for it where it has not found the type, so PyTorch's DataLoader does
        before it decides how to read a dataset.
        """
        _workers.register()
        return type(self)

    # ---- making others ----

    def _then(self, name, values):
        writer = _text.Writer(self._chain.objects)
        rows = _ops.ROWS.get(name) or _plugin_rows(name)
        text = writer.call(name, rows, values)
        more = writer.more
        everything = {**(self._chain.objects or {}), **more} if more else None
        chain = self._chain.then(_text.encode(text), more or None, everything, name in _ops.SLOW)
        return Dataset.__new__(type(self))._set(chain, self._settings)

    def _with_object(self, name, wanted, thing):
        """This and a call of an op with an object of the program, named like it."""
        writer = _text.Writer(self._chain.objects)
        text = f"{name}(@{writer.bind(wanted, thing)})"
        everything = {**(self._chain.objects or {}), **writer.more}
        chain = self._chain.then(_text.encode(text), writer.more, everything, False)
        return Dataset.__new__(type(self))._set(chain, self._settings)

    def map(self, expression, output=None, workers="thread", processes=None, random=None):
        """Compute fields by an expression. Or elements by a function:

            ds.map('y = x / 255')
            ds.map(lambda e: {'y': e['x'] / 255})
            ds.batch(32).map(augment, output={'image': ('float32', (None, 64, 64, 3))})

        An expression is a text in stoker's language; docs/expressions.md has all of it, and it is
        fast. A function gets an element as a dict of NumPy arrays (numbers where a field has no
        dimensions, bytes, lists of bytes) that are its own, behind batch a whole batch, and
        returns a dict, or the new value of the only field. It is called on threads of stoker, in
        any order, while results keep theirs. An exception makes the element a bad one: it is raised
        where the batches are read, or skipped under on_error='skip'.

        What the function makes is found by trying it on the first element, or said by output:
        {name: dtype} or {name: (dtype, shape)}, None for a dimension that differs.

        workers='process' has helper processes (as many as `processes` says, or as there are cores)
        carry the function out, for code that holds the lock of the interpreter. They are forks of
        this process, made when they are first needed. What they get and give is pickled, and arrays
        go through shared memory. An element whose helper dies is given to another one, once.

        Random numbers are the element's own: the same for any number of workers, others in each
        epoch and under each seed. A function with a parameter `rng` gets a numpy.random.Generator
        by it; random, numpy.random and torch are seeded for each element where the function draws
        from them, which its code and the trial tell, or random=True and random=False.
        """
        if callable(expression):
            from . import _functions

            return _functions.map(self, expression, output, workers, processes, random)
        if output is not None:
            raise TypeError("output is for functions, not for expressions")
        _check_no_function(workers, processes, random)
        return super().map(expression)

    def filter(self, expression, workers="thread", processes=None, random=None):
        """Keep the elements for which a condition is true. That is an expression or a function:

            ds.filter('label < 5')
            ds.filter(lambda e: e['label'] < 5)

        A function gets what one of map gets.
        """
        if callable(expression):
            from . import _functions

            return _functions.filter(self, expression, workers, processes, random)
        _check_no_function(workers, processes, random)
        return super().filter(expression)

    def _with_options(self, given):
        settings = {**self._settings, **texts(given)}
        check_options(settings)
        return Dataset.__new__(type(self))._set(self._chain, settings)

    # ---- text ----

    def __str__(self):
        return self._chain.text(False)

    @property
    def canonical(self):
        """The chain with every parameter and op version: two that mean the same have the same."""
        return self._chain.text(True)

    def __repr__(self):
        from . import _show

        return _show.dataset_repr(self)

    def _repr_html_(self):
        from . import _show

        return _show.dataset_html(self)

    def _identity(self):
        objects = self._chain.objects or {}
        return (
            self.canonical,
            [(name, id(thing)) for name, thing in sorted(objects.items())],
            self._settings,
        )

    def __eq__(self, other):
        return (
            self._identity() == other._identity() if isinstance(other, Dataset) else NotImplemented
        )

    def __hash__(self):
        return hash(self.canonical)

    def __reduce__(self):
        """The process that reads it back may not know the rank: it goes along."""
        settings = _ranks.known(self._chain, self._settings)
        along = _epochs.for_spawned(self._number, self._next_epoch)
        return _restore, (type(self), str(self), self._chain.objects, settings, along)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name, name=name, obj=self)
        from . import _names, _plugins

        method = _plugins.method(self, name)
        if method is not None:
            return method
        known = [*dir(type(self)), *_plugins.names()]
        raise AttributeError(_names.missing_method(name, known), name=name, obj=self)

    def __dir__(self):
        from . import _plugins

        return [*super().__dir__(), *_plugins.names()]

    # ---- questions ----

    @property
    def cardinality(self):
        """Elements (batches, behind batch) in an epoch; stoker.INFINITE or stoker.UNKNOWN where
        that is no number. Where shard() deals them out, those of this process.
        """
        return _count(self._chain, self._settings)

    def __len__(self):
        count = self.cardinality
        if count >= 0:
            return count
        if count == INFINITE:
            raise TypeError("this dataset is endless (take() gives it an end), so it has no length")
        raise TypeError(
            "nobody knows the length of this dataset before it is read: "
            "it has a filter or a stream in it"
        )

    def __bool__(self):
        return True

    @property
    def spec(self):
        """What iterating gives: a dict from names to Fields."""
        return {row[0]: Field(*row) for row in self._chain.fields()}

    def class_names(self, field="label"):
        """Names of the values of an integer field, such as the directories of image_folder; []
        if there are none.
        """
        if field not in self.spec:
            raise KeyError(f"there is no field {field!r}; there are {list(self.spec)}")
        names = []
        while (name := self._chain.class_name(field, len(names))) is not None:
            names.append(name)
        return names

    # ---- elements ----

    def __getitem__(self, key):
        """ds[i]: one element (or batch) of epoch 0, without reading others; ds[a:b]: a Dataset
        of that part; ds[[3, 1, 2]]: one of these elements, in this order.
        """
        if isinstance(key, slice):
            return self._slice(key)
        if _is_list(key):
            return self._picked(key)
        if not hasattr(key, "__index__"):
            raise TypeError(f"an element is asked for by its number, not by {key!r}")
        index, count = key.__index__(), self.cardinality
        if index < 0:
            index += len(self)
        if index < 0 or 0 <= count <= index:
            raise IndexError(f"there are {count} elements, so there is no element {key}")
        return self._chain.at(_ranks.settled(self._chain, self._settings), index)

    def _slice(self, key):
        start, stop, step = key.start, key.stop, 1 if key.step is None else key.step
        if step < 1:
            raise ValueError(
                "a dataset cannot be read backwards: the step of a slice is at least 1"
            )
        if (start or 0) < 0 or (stop or 0) < 0:
            start, stop, _ = slice(start, stop).indices(len(self))
        start = start or 0
        part = self.skip(start) if start else self
        part = part if stop is None else part.take(max(0, stop - start))
        return part.shard(step, 0) if step > 1 else part

    def _picked(self, key):
        """Those of a list or an array of numbers; of a mask, those where it is true."""
        items = key.tolist() if hasattr(key, "tolist") else list(key)
        if items and all(isinstance(item, bool) for item in items):
            if len(items) != len(self):
                raise IndexError(f"a mask of {len(items)} for {len(self)} elements")
            items = [number for number, is_wanted in enumerate(items) if is_wanted]
        for item in items:
            if isinstance(item, bool) or not hasattr(item, "__index__"):
                raise TypeError(f"an element is asked for by its number, not by {item!r}")
        numbers = [item.__index__() for item in items]
        if any(number < 0 for number in numbers):
            n = len(self)
            numbers = [number + n if number < 0 else number for number in numbers]
        count = self.cardinality
        wrong = [k for k, n in zip(items, numbers) if n < 0 or 0 <= count <= n]
        if wrong:
            raise IndexError(f"there are {count} elements, so there is no element {wrong[0]}")
        if not numbers:
            return self.take(0)
        if len(numbers) <= _MOST_WRITTEN:
            return self.pick(numbers)
        from array import array

        return self.pick(memoryview(array("q", numbers)))

    def head(self, n=5):
        """The first n elements (or batches) of epoch 0, a list."""
        options = {"epoch": "0", **_ranks.settled(self._chain, self._settings), "epochs": "1"}
        with self.take(max(0, n))._chain.iterate(options) as batches:
            return list(batches)

    # ---- runs ----

    def __iter__(self):
        state, self._state = self._state, None
        return self.resume(state) if state else self._iterate({})

    def resume(self, state, **options):
        """Starts a run behind the place that a state_dict says, and gives its Iterator.

            it = iter(ds)
            for batch in it:
                ...
                json.dump(it.state_dict(), file)
            for batch in ds.resume(json.load(file)): ...

        What comes is bit by bit what would have come. The chain, its data, seed and on_error must
        be the same; workers and memory need not. Without `epochs` it ends where that run would
        have ended.
        """
        given = texts(options)
        epoch, _, end = state_place(text_of_state(state))
        if state.get("is_over") and not given:
            self.set_epoch(end)
            return self._iterate({})
        settings = {**self._settings, **given}
        if "epoch" not in given:
            settings["epoch"] = str(epoch)
            settings["epochs"] = given.get("epochs", "none" if end is None else str(end - epoch))
        self.set_epoch(epoch + 1 if end is None else end)
        return self._start(settings, given, text_of_state(state))

    def set_epoch(self, epoch):
        """Makes the next loop over this Dataset epoch number `epoch`, also in workers of a
        DataLoader. Without it each loop is the epoch after the last one.
        """
        if not hasattr(epoch, "__index__") or epoch.__index__() < 0:
            raise ValueError(f"epochs are numbered from 0, so there is no epoch {epoch!r}")
        following = epoch.__index__() - int(self._settings.get("epoch", 0))
        worker = _workers.info()
        with _epoch_lock:
            self._next_epoch = following
            if not worker or not _workers.was_made_in(self, worker):
                _epochs.say(bool(worker), self._came_with, self._number, following)

    def load_state_dict(self, state):
        """Makes the next run of this Dataset (`for batch in ds`) go on where `state` says."""
        state_place(text_of_state(state))
        self._state = dict(state)

    def state_dict(self):
        """The place of the last run of this Dataset, for load_state_dict: a dict of text.

            for batch in ds:
                ...
                checkpoint = {'model': model.state_dict(), 'data': ds.state_dict()}

        It is behind the last batch that was delivered; where that was the last one, at the
        beginning of the next epoch; and before the first run, at that of the first.
        """
        if self._state is not None:
            return dict(self._state)
        if self._run is not None:
            return self._run.state()
        with self._chain.iterate(
            _ranks.settled(self._chain, {**self._settings, "workers": "0"})
        ) as it:
            return it.state_dict()

    def _iterate(self, given):
        given = texts(given)
        settings = {**self._settings, **given}
        if "epoch" not in given:
            settings["epoch"] = str(
                int(settings.get("epoch", 0)) + self._claim_epochs(settings.get("epochs", "1"))
            )
        return self._start(settings, given)

    def _start(self, settings, given, *state):
        chain, worker = self._chain, _workers.info()
        if worker and not ("rank" in given and "world" in given):
            chain, settings = _workers.part(self, worker), _workers.settings(settings, worker)
        settings = _ranks.settled(chain, settings)
        run = self._run = Run(chain, settings)
        it = chain.iterate(settings, state[0] if state else None, run)
        run.iterator = weak_ref(it)
        if self._watch is not None:
            self._watch._started(it)
        return it

    def _claim_epochs(self, n):
        n, worker = int(n) if n.isdigit() else 1, _workers.info()
        with _epoch_lock:
            if worker and not _workers.was_made_in(self, worker):
                return _epochs.claim_in_worker(
                    worker, self._came_with, self._number, self._next_epoch, n
                )
            first = _epochs.claim(self._number, self._next_epoch, n)
            self._next_epoch = first + n
        return first

    def _plan(self, given):
        settings = {**self._settings, **texts(given)}
        return Plan(self._chain, _ranks.known(self._chain, settings))

    def pack(
        self,
        out,
        shards=1,
        *,
        to=None,
        compression=None,
        variants=None,
        keep_original=False,
        force=False,
        progress=False,
        **options,
    ):
        """Stores every element in `shards` record files that TensorFlow (to='tfrecord') or
        WebDataset (to='tar') read, with a manifest beside them; without `to` the ending of the
        names decides. Gives a Packed.

            ds.pack('train-{shard:05d}-of-{shards:05d}.tfrecord', shards=8)

        A file gets its name when it is complete; a call that was stopped goes on when it is made
        again. A directory that is missing is made, if the one above it is there. compression is 'none', 'gzip' or 'zlib'; None: as the names say ('.gz', '.tgz'). variants=k stores k passes with their own
        random draws, keep_original one without random ops before them. force replaces files of
        another chain. progress=True keeps a line on standard error up to date. Further keywords
        are run options. docs/packing.md says how fields are stored.
        """
        from . import _pack

        return _pack.pack(
            self, out, shards, to, compression, variants, keep_original, force, progress, options
        )

    def stats(self, batches=None, **options):
        """Goes over the data once and says what is in each field: a Statistics, which is a dict
        that prints as tables.

            stats = ds.stats()
            stats['image']['normalize']['call'], stats['label']['classes'], print(stats)

        batches: look at that many only. Keywords are run options.
        """
        from . import _findings

        return _findings.stats(self, batches, options)

    def profile(self, seconds=3, consumer_ms=0, trials=True, **options):
        """Runs the chain for some seconds, says where the time goes and what holds it up, and tries
        out what would be faster: a Profile, which is a dict that prints as tables.

            found = ds.profile(consumer_ms=20)    # a step of 20 ms after each batch
            print(found)
            found.verdict, found.stall, found.advice[0]['chain']
            found.report('profile.html')          # a page for a browser

        trials=False tries nothing out; what advice brings is then modelled. Keywords are run
        options. stoker.watch does the same around a loop of your own.
        """
        from . import _profile

        return _profile.profile(self, seconds, consumer_ms, trials, options)

    def progress(self, **options):
        """Iterates like `for batch in ds`, and shows how far it is on standard error; see
        stoker.progress.
        """
        from . import _progress

        return _progress.progress(self, options)


def _check_no_function(workers, processes, random):
    if workers != "thread" or processes is not None or random is not None:
        raise TypeError("workers, processes and random are for functions, not for expressions")


def _count(chain, settings):
    """Elements of an epoch for the process that this is."""
    if chain.count < 0 or not _ranks.is_dealt_out(chain):
        return chain.count
    return Plan(chain, _ranks.settled(chain, settings)).json["count"]


class Run:
    """What a Dataset knows of a run that it started, also when the Iterator is gone."""

    __slots__ = ("chain", "settings", "iterator", "last")

    def __init__(self, chain, settings):
        self.chain, self.settings, self.iterator, self.last = chain, settings, None, None

    def end(self, state, is_over):
        """The Iterator says where it came to before it goes."""
        self.last = _place(state, is_over)

    def state(self):
        it = self.iterator and self.iterator()
        if it is None or it.closed:
            if self.last is None:
                raise StateError("the last run has left no place to go on from")
            return dict(self.last)
        return _place(it.state_dict()["state"], it._is_over)

    def left(self, state):
        """Batches that come behind a state: len(iterator)."""
        epoch, batches, end = state_place(text_of_state(state))
        count = INFINITE if end is None else _count(self.chain, self.settings)
        if count < 0:
            raise TypeError(
                "this run is endless, so it has no length"
                if count == INFINITE
                else "nobody knows how many batches will come: the chain has a filter or a stream"
            )
        return max(0, (end - epoch) * count - batches)


def _place(state, is_over):
    return {"state": state, "is_over": True} if is_over else {"state": state}


def _is_list(key):
    return isinstance(key, (list, tuple, range)) or len(getattr(key, "shape", ())) == 1


def _plugin_rows(name):
    from . import _plugins

    return _plugins.rows(name)


def texts(options):
    """Options as the library takes them: names and texts. What was not given (...) is left out."""
    _keywords.check(options, _OPTIONS, "a run")
    return {name: _option(name, value) for name, value in options.items() if value is not ...}


def _option(name, value):
    if name == "memory" and isinstance(value, str):
        value = _bytes(value)
    if value is None:
        return "none"
    if isinstance(value, bool) or not (
        isinstance(value, (int, float, str)) or hasattr(value, "__index__")
    ):
        raise TypeError(f"{name} cannot be {value!r}")
    if isinstance(value, str):
        return value or "''"
    return _text.number(value.__index__() if hasattr(value, "__index__") else value)


def _bytes(text):
    """'512M' as a number; anything else stays as it is, for the library to judge."""
    amount = text.strip().upper().removesuffix("IB").removesuffix("B")
    shift = _SUFFIXES.get(amount[-1:])
    try:
        return int(float(amount[:-1]) * (1 << shift)) if shift else text
    except (ValueError, OverflowError):
        return text


def root(name, values):
    """The dataset that a root function begins."""
    writer = _text.Writer()
    text = writer.call(name, _ops.ROWS[name], values)
    chain = Chain(_text.encode(text), writer.more or None, name in _ops.SLOW)
    return Dataset.__new__(Dataset)._set(chain, {})


def parse(text, **objects):
    """The dataset of a chain or a recipe. Names after @ in it are given as keywords.

        stoker.parse("files('*.jpg').decode().batch(32)")
        stoker.parse("values({x: @images}).shuffle().batch(@size)", images=array, size=32)

    An object may be an array, a number, a text, another Dataset, a pair (function, spec) for
    `generator(@name)`, as in from_generator, or for `map_function(@name)` (the spec is a dict), or a
    function for `filter_function(@name)`.
    """
    if not isinstance(text, str):
        raise TypeError(f"a chain is a str, not {type(text).__name__}")
    if not objects:
        return Dataset.__new__(Dataset)._set(Chain(_text.encode(text)), {})
    from . import _arrays

    before, bound = _arrays.assignments(objects, text)
    return Dataset.__new__(Dataset)._set(Chain(_text.encode(before + text), bound or None), {})


def _restore(kind, text, objects, settings, along=None):
    ds = Dataset.__new__(kind)._set(Chain(_text.encode(text), objects), settings)
    if along:
        file, number = along
        ds._came_with = file.detach(), number
    return ds


_keywords.guard(_ops.Ops, [*_ops.METHODS, "iterate", "options", "plan"])
_keywords.guard(_ops, _ops.__all__)
_keywords.guard(Dataset, ["map", "filter", "class_names", "head"])

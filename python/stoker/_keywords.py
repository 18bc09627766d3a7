# SPDX-License-Identifier: Apache-2.0
"""What to say of a keyword that a function does not have: what it is called here."""

_VARIADIC = 8  # CO_VARKEYWORDS: takes any keyword, and checks them itself

# What other tools call it, and what it is here, where the function has such a keyword.
_ELSEWHERE = {
    "num_workers": ("workers",),  # PyTorch
    "num_parallel_calls": ("workers",),  # tf.data
    "num_threads": ("workers",),  # DALI
    "num_proc": ("processes", "workers"),  # Hugging Face
    "n_jobs": ("workers",),
    "max_workers": ("workers",),
    "prefetch_factor": ("window",),
    "prefetch": ("window",),
    "num_parallel_reads": ("io_depth",),
    "num_epochs": ("epochs",),
    "drop_last": ("drop_remainder",),
    "batch": ("batch_size",),
    "buffer": ("buffer_size",),
    "num_replicas": ("world",),
    "world_size": ("world",),
    "random_state": ("seed",),
    "dtype": ("output",),
    "output_signature": ("output", "spec"),
    "output_types": ("output", "spec"),
    "features": ("output",),
}
# What there is instead of a keyword.
_SENTENCES = {
    "batch_size": "ds.batch(n) makes batches of n",
    "shuffle": "ds.shuffle() gives every epoch an order of its own",
    "drop_last": "ds.batch(n, drop_remainder=True) leaves the last rows out",
    "pin_memory": "batches lie in memory of their own, and need no pinning before they are copied",
    "persistent_workers": "workers are threads, which cost next to nothing to start",
    "worker_init_fn": "workers are threads and need none; random numbers are the element's own",
    "generator": "seed= decides everything random",
    "collate_fn": "ds.map(function) behind ds.batch(n) gets whole batches",
    "sampler": "ds.shuffle(), ds.balance(), ds.split() and ds[[3, 1, 2]] choose elements",
    "batch_sampler": "ds.shuffle(), ds.balance() and ds.bucket_by_length() choose elements",
    "deterministic": "the same seed always gives the same batches",
    "num_workers": "ds.iterate(workers=n) says how many threads there are",
    "num_parallel_calls": "ds.iterate(workers=n) says how many threads there are",
    "timeout": "nothing is waited for that has to be given up",
    "repeat": "ds.repeat(n), or epochs= of ds.iterate, goes over the data several times",
}


def unknown(name, known, what):
    """The message of the TypeError."""
    others = [other for other in _ELSEWHERE.get(name, ()) if other in known]
    if others:
        hint = f"; here it is called {others[0]!r}"
    elif name in _SENTENCES:
        hint = f"; {_SENTENCES[name]}"
    else:
        from ._names import near

        hint = near(name, known)
    return f"{what} has no argument {name!r}{hint} (it takes {', '.join(known) or 'none'})"


def check(named, known, what):
    for name in named:
        if name not in known:
            raise TypeError(unknown(name, known, what))


def checked(function):
    """The function, with a better answer to keywords that it does not have."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = [name for name in names if name != "self"]
    allowed = frozenset(known)

    def call(*values, **named):
        if not allowed.issuperset(named):
            check(named, known, f"{function.__name__}()")
        return function(*values, **named)

    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(call, attribute, getattr(function, attribute))
    call.__wrapped__ = function  # which has the signature that help shows
    return call


def guard(space, names):
    """Puts checked functions in the place of those of a class or a module."""
    for name in names:
        function = vars(space).get(name)
        if hasattr(function, "__code__") and not function.__code__.co_flags & _VARIADIC:
            setattr(space, name, checked(function))

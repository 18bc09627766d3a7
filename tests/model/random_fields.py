# SPDX-License-Identifier: Apache-2.0
"""Random calls of the ops that make a field out of others (field_ops.py, text_ops.py)."""

from .language import show


def grow(maker, draft):
    """Appends one; False if no field fits."""
    arrays = [one_hot, pad, slice_, ensure_shape, concat_fields, lookup_numbers]
    texts = [split, join, to_number]
    choices = arrays + (texts if draft.of_kind("bytes") else [])
    choices += [case, strip, hash_bucket, lookup_texts, regex] if draft.of_kind(*NUMBERED) else []
    choices = [one_hot, lookup_numbers] if draft.is_batched else choices
    return maker.random.choice(choices)(maker, draft)


def place(maker, draft, name, kind):
    """The arguments that name the field and the result, which is of this kind."""
    if maker.random.random() < 0.5:
        draft.fields[name] = kind
        return f"field={name}"
    new = maker.name()
    draft.fields[new] = kind
    return f"field={name}, into={new}"


def pick(maker, draft, *kinds):
    names = draft.of_kind(*kinds)
    return maker.random.choice(names) if names else None


NUMBERED = {"bytes": "int", "texts": "ragged", "pair": "vector"}  # what numbers of texts are


def numbered(maker, draft):
    """A text, or texts, that get numbers: the argument sep for one that is cut first, and the
    arguments that name the field and the result."""
    name = pick(maker, draft, *NUMBERED)
    kind = draft.fields[name]
    sep = maker.random.choice([None, "", "n"]) if kind == "bytes" else None
    made = NUMBERED[kind] if sep is None else "ragged"
    return ("" if sep is None else f"sep={show(sep)}, ") + place(maker, draft, name, made)


def changed(maker, draft, name):
    """The arguments that name a field and the result, which is of the same kind."""
    return place(maker, draft, name, draft.fields[name])


def has_unicode(draft):
    """Texts that may be more than ASCII must not be cut between their bytes."""
    return "jsonl(" in draft.text or not draft.text.isascii()


def one_hot(maker, draft):
    name = pick(maker, draft, "int", "vector")
    if name is None:
        return False
    depth = maker.random.choice([1, 3, 10])
    words = maker.random.choice(["", "on=5, off=-2, ", "dtype=int16, ", "on=0.5, dtype=float64, "])
    draft.then(f"one_hot({depth}, {words}{place(maker, draft, name, 'narrow')})")
    return True


def pad(maker, draft):
    """Lists of up to 5 values fit, unless there may be bad rows."""
    name = pick(maker, draft, "ragged")
    if name is None:
        return False
    size = maker.random.choice([1, 2, 4]) if maker.bad_one_in else 5
    words = maker.random.choice(["", "value=-7, "])
    draft.is_constant = False
    cut = "" if maker.bad_one_in else f"slice(0, 5, field={name})."
    draft.then(f"{cut}pad([{size}], {words}{place(maker, draft, name, 'vector')})")
    return True


def ensure_shape(maker, draft):
    """Vectors become lists; lists may have to have a length where there may be bad rows."""
    name = pick(maker, draft, "ragged", "vector")
    if name is None:
        return False
    if draft.fields[name] == "ragged" and maker.bad_one_in and maker.random.random() < 0.3:
        draft.then(f"ensure_shape([3], field={name})")
        draft.fields[name] = "vector"
        draft.is_constant = False
    else:
        draft.then(f"ensure_shape([none], {name}, ragged=true)")
        draft.fields[name] = "ragged"
    return True


def slice_(maker, draft):
    """Of vectors only what is never empty, of texts what is ASCII."""
    name = pick(maker, draft, "vector", "ragged", "list", *["bytes"][has_unicode(draft) :])
    if name is None:
        return False
    words = ["step=-1", "none, none, 2", "-1", "0, 1", "0, none, 3", "-1, none, -2"]
    if draft.fields[name] != "vector":
        words += ["1", "1, 3", "-3, -1", "10, 2, -3", "5, 2", "none, -1"]
    kind = draft.fields[name]
    draft.then(f"slice({maker.random.choice(words)}, {place(maker, draft, name, kind)})")
    return True


def concat_fields(maker, draft):
    """Numbers and vectors give vectors; a list among them gives a list."""
    names = draft.of_kind("int", "vector", "ragged")
    if not names:
        return False
    names = [maker.random.choice(names) for _ in range(maker.random.randint(1, 4))]
    is_list = any(draft.fields[name] == "ragged" for name in names)
    into = maker.random.choice([names[0], maker.name()])
    draft.fields[into] = "ragged" if is_list else "vector"
    draft.then(f"concat_fields([{', '.join(names)}], {into})")
    return True


def lookup_numbers(maker, draft):
    """Terms of a list; the others get a default or a bucket, or are bad where rows may be."""
    name = pick(maker, draft, "int", "vector", *["ragged"][draft.is_batched :])
    if name is None:
        return False
    terms = maker.random.sample(range(-9, 100), maker.random.randint(1, 60))
    kind = draft.fields[name]
    words = unknown(maker, draft)
    draft.then(f"lookup({show(terms)}, {words}{place(maker, draft, name, kind)})")
    return True


# ---- texts ----


def unknown(maker, draft):
    words = ["", "default=7, ", "oov=1, ", "oov=5, "]
    if maker.bad_one_in:
        draft.is_constant = False
        words.append("default=none, ")
    return maker.random.choice(words)


def case(maker, draft):
    op = maker.random.choice(["text_lower", "text_upper"])
    words = maker.random.choice(["", "encoding='utf-8', "])
    draft.then(f"{op}({words}{changed(maker, draft, pick(maker, draft, *NUMBERED))})")
    return True


def strip(maker, draft):
    words = maker.random.choice(["", "'abc', ", "'lent ', "])
    draft.then(f"text_strip({words}{changed(maker, draft, pick(maker, draft, *NUMBERED))})")
    return True


def split(maker, draft):
    """Into so many pieces as there can be, unless there may be bad rows; or into a list."""
    name, names = pick(maker, draft, "bytes"), [maker.name() for _ in range(3)]
    sep = maker.random.choice([" ", "", "e", "nt", "aa"])
    if maker.random.random() < 0.3:
        draft.fields[name] = "texts"
        draft.then(f"text_split('{sep}', maxsplit={maker.random.choice([-1, 2])}, field={name})")
        return True
    words = "maxsplit=2, missing='?'"
    if maker.bad_one_in:
        draft.is_constant = False
        words = maker.random.choice([words, "maxsplit=2", "missing='none'"])
    draft.then(f"text_split('{sep}', [{', '.join(names)}], {words}, field={name})")
    draft.fields.update(dict.fromkeys(names, "bytes"))
    return True


def join(maker, draft):
    names = [pick(maker, draft, "bytes", "texts") for _ in range(maker.random.randint(1, 3))]
    into = maker.random.choice([names[0], maker.name()])
    draft.fields[into] = "bytes"
    sep = maker.random.choice(["", ", sep='-'", ", sep=', '"])
    draft.then(f"text_join([{', '.join(names)}]{sep}, into={into})")
    return True


def regex(maker, draft):
    name = pick(maker, draft, *NUMBERED)
    pattern = maker.random.choice(["a+", "[a-d]", "(l)(i|x)", "x*", "n.?t", "b|", "^.", ".$"])
    if maker.random.random() < 0.3:
        text = f"text_regex_full_match({show('(' + pattern + '|.e)*')}"
        kind = {"bytes": "bool", "texts": "list", "pair": "narrow"}[draft.fields[name]]
        draft.then(f"{text}, {place(maker, draft, name, kind)})")
        return True
    rewrite = maker.random.choice(["", "<\\0>", "\\\\", "q"])
    once = maker.random.choice(["", "replace_global=false, "])
    words = f"{show(pattern)}, {show(rewrite)}, {once}{changed(maker, draft, name)}"
    draft.then(f"text_regex_replace({words})")
    return True


def to_number(maker, draft):
    """Digits are what is left of a text, or its pieces; empty ones are bad where rows may be."""
    name, sep = pick(maker, draft, "bytes"), maker.random.choice([None, "", " "])
    if not maker.bad_one_in and sep != "" or has_unicode(draft):
        return False
    digits = maker.random.choice(["1", "17 ", " -3", "0.25 ", "9"] if sep != " " else ["5", "1e3"])
    dtypes = ["float32", "float64"]
    if "." not in digits and "e" not in digits:
        dtypes += ["int64", "uint8"] if "-" not in digits and sep is None else ["int64"]
    dtype = maker.random.choice(dtypes)
    if not maker.bad_one_in and dtype == "int64":
        digits = "8 "
    draft.is_constant = False
    cut = f"slice(0, 6, field={name}).text_regex_replace('.', {show(digits)}, field={name})"
    words = dtype if sep is None else f"{dtype}, sep={show(sep)}"
    kind = "narrow" if sep is None else "list"
    draft.then(f"{cut}.text_to_number({words}, {place(maker, draft, name, kind)})")
    return True


def hash_bucket(maker, draft):
    n_buckets = maker.random.choice([1, 3, 1000, 2**62])
    draft.then(f"text_to_hash_bucket({n_buckets}, {numbered(maker, draft)})")
    return True


def lookup_texts(maker, draft):
    terms = [" ", "line", "content", "a", "b", "bb", "", "plain", "x", "3"]
    terms = maker.random.sample(terms, maker.random.randint(1, len(terms)))
    draft.then(f"lookup({show(terms)}, {unknown(maker, draft)}{numbered(maker, draft)})")
    return True

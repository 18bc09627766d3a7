# SPDX-License-Identifier: Apache-2.0
"""Random chains of ops that number, draw, choose and remember, against the model. STOKER_CHAINS
sets how many, as in test_model.py.
"""

import random
import struct

import pytest
from model import damage
from model.random_chain import Maker, Options, write_files
from test_model import N_CHAINS, check


class CombiningMaker(Maker):
    """Chains that begin with one of these ops, and go on with them more often."""

    def source(self):
        return getattr(self, self.random.choice(self.SOURCES))()

    def grow(self, draft):
        if self.random.random() < 0.5:
            self.combine(draft)
        else:
            super().grow(draft)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("combining")
    write_files(path)
    return path


@pytest.mark.parametrize("number", range(N_CHAINS))
def test_chain(stoker, folder, number):
    check(stoker, *CombiningMaker(number + 10**6, folder).make())


@pytest.mark.parametrize("text", [
    "sample_from([range(40).map('y = 10 // (x % 5)').batch(2)]).take(3).repeat(2)",  # of one input
    "sample_from([range(9).batch(2), range(20).filter('x % 2 == 0').batch(3)]).shuffle(2)",
    "sample_from([range(9), range(0)]).repeat().take(30).batch(4)",
    "sample_from([range(0), range(0)]).repeat().batch(4)",
    "sample_from([range(4).filter('x > 9'), range(4).filter('x > 9')]).repeat().batch(4)",
    "sample_from([range(5).shuffle(2), sample_from([range(3), range(4)])], [1, 2]).batch(4)",
    "sample_from([range(30).shard(), range(7).shuffle()]).shard(2, 1).enumerate().batch(4)",
    "range(9).map('x % 3').choose_from([range(4).batch(2), range(4).batch(3)]).take(3).repeat(2)",
    "range(9).map('x % 2').choose_from([range(4).repeat(2), range(9, 0, -1).shuffle()]).batch(4)",
    # numbers that come again and again, beside inputs that end and some that do not
    "range(3).repeat().choose_from([range(7), range(10, 13), range(20, 30)], stop_on_empty=false).batch(4)",
    "range(3).repeat().choose_from([range(2).repeat(), range(9), range(4)], stop_on_empty=false).take(50).batch(4)",
    "values({c: [0, 0, 1]}).repeat().choose_from([range(7).repeat(), range(9)]).shuffle().batch(4)",
    "values({c: [1, 0, 1, 1]}).repeat().choose_from([range(0), range(9)], stop_on_empty=false).batch(4)",
    "values({c: [0, 1]}).repeat().choose_from([range(7).repeat(), range(9).repeat()]).skip(5).take(20).batch(4)",
    "range(0).repeat().choose_from([range(7), range(9)]).batch(4)",
    # as many numbers as the inputs have elements, and inputs that differ between ranks
    "counter().map('x % 2').choose_from([range(7), range(9)]).batch(4)",
    "range(2).repeat().choose_from([range(30).shard(), range(7).shuffle()]).enumerate().batch(4)",
    "range(9).repeat(4).map('x % 2').choose_from([range(30).shard(), range(7)], stop_on_empty=false).batch(4)",
    "range(20).shard().map('x % 2').choose_from([range(7), range(9)]).batch(4)",
    "range(20).shuffle().map('x % 2').choose_from([range(7), range(9)]).batch(4)",
    "range(20).map('x % 2').choose_from([range(7), range(9)]).map('y = 8 // (x - 2)').shuffle().shard().batch(4)",
    "range(8).map('x % 2').choose_from([range(3), range(4)]).flat_map(element().repeat(2)).shuffle(3).batch(4)",
    "range(4).flat_map(range(2).repeat().choose_from([element(), range(3)])).batch(4)",
    # what is drawn first in a chain that is opened is drawn for its element
    "range(9).flat_map(sample_from([range(2), element()])).batch(4)",
    "range(9).interleave(sample_from([range(5).filter('x > 1'), element(), range(2)]), 3).repeat(2).batch(7)",
    # elements that are drawn, and not looked at
    "random(seed=1).take(3).flat_map(range(5).shuffle(3)).batch(4)",
    "random().take(9).filter('x % 2 == 0').interleave(range(5).filter('x > 0'), 2).batch(4)",
    # what a chain that is opened has seen, or lets wait
    "range(3).flat_map(range(70).map('x % 9').unique()).batch(4)",
    "range(30).interleave(concatenate(element(), range(30)).map('k = x % 3').group_by_window(k, 4), 20).take(50)",
    # bad elements pass beside what is made of the others: more come than are counted
    "range(7).map('y = 10 // (x % 3)').reduce({f: 0}, 'f = f + y').take(1)",
    "range(7).map('y = 10 // (x % 3)').reduce({f: 0}, 'f = f + y').repeat(2).take(3)",
    "range(7).map('y = 10 // (x % 3)').reduce({f: 0}, 'f = f + y').shuffle(9)",
    "range(7).map('y = 10 // (x % 3)').reduce({f: 0}, 'f = f + y').repeat(2).shuffle(9).batch(2)",
    "range(50).map('y = 10 // (x % 7)').batch(4, true).shuffle(30).batch(2)",
    "range(50).map('y = 10 // (x % 7)').window(4, 2, drop_remainder=true).take(30).shuffle(30).batch(2)",
    # no pass ends in none
    "range(4).reduce({s: 0}, 's = s + x').repeat(0)",
    "range(4).reduce({s: 0}, 's = s + x').shuffle(3).repeat(2).repeat(0).batch(2).repeat(2)",
    "range(4).repeat(0).reduce({s: 7}, 's = s + x').repeat(2)",
])
def test_rare_chain(stoker, text):
    for on_error, max_errors in [("fail", None), ("skip", None), ("skip", 2), ("skip", 0.05)]:
        check(stoker, text, Options(seed=7, epochs=3, on_error=on_error, max_errors=max_errors))
    check(stoker, text, Options(seed=8, epochs=2, rank=1, world=3))


@pytest.mark.parametrize("seed", range(8))
def test_a_replacement_fits_the_batch(stoker, seed):
    """What takes a bad element's place may be bad itself, and then one that is too large."""
    lists = [[n] * (n * 7 % 5) for n in range(30)]
    text = f"values({{g: {lists}}}).enumerate().map('y = 100 // (index % 3)').padded_batch(2, {{g: [3]}})"
    check(stoker, text, Options(seed=seed, epochs=3, on_error="replace"))


@pytest.mark.parametrize("rest", ["", ".shuffle(3)", ".enumerate()"])
def test_files_are_read_for_the_input_that_was_chosen(stoker, folder, rest):
    names = [[f"{folder}/{name}.txt" for name in part] for part in ([3, 1, 4], ["none", 5, 9, 26])]
    one, two = (f"files({part}).read()" for part in names)
    for text in (
        f"sample_from([{one}, {two}], weights=[1, 2]){rest}.batch(2)",
        f"range(6).map('x % 2').choose_from([{one}, {two}]){rest}.batch(2)",
    ):
        for on_error in ("fail", "skip"):
            check(stoker, text, Options(seed=3, epochs=2, on_error=on_error))


N_ROWS = 150  # of a file: many groups of rows, and several tickets
NO_DAMAGE = damage.Damager(random.Random(0), 0)


def one_file(folder, kind):
    """A chain over a file of N_ROWS elements that differ."""
    texts = [b"%d" % i for i in range(N_ROWS)]
    path = folder / f"same.{kind}"
    content, rest = {
        "csv": lambda: (damage.csv(NO_DAMAGE, [(i, "s", 0.5) for i in range(N_ROWS)]), ", {i: int64}"),
        "tfrecord": lambda: (damage.tfrecord(NO_DAMAGE, texts), ""),
        "tar": lambda: (damage.tar(NO_DAMAGE, [{"txt": text} for text in texts]), ", {t: 'txt'}"),
        "fixed_length": lambda: (b"".join(b"%4d" % i for i in range(N_ROWS)), ", 4"),
        "npy": lambda: (damage.npy("<i8", [N_ROWS], struct.pack(f"<{N_ROWS}q", *range(N_ROWS))), ""),
        "hdf5": lambda: (damage.hdf5(NO_DAMAGE, [[i, -i] for i in range(N_ROWS)], 8), ", hold=0"),
        "lines": lambda: (b"\n".join(texts), ""),
        "jsonl": lambda: (damage.jsonl(NO_DAMAGE, [{"i": i} for i in range(N_ROWS)]), ", {i: int64}"),
    }[kind]()
    path.write_bytes(content)
    return f"{kind}('{path}'{rest})"


@pytest.mark.parametrize(
    "kind", ["csv", "tfrecord", "tar", "fixed_length", "npy", "hdf5", "lines", "jsonl"])
def test_one_file_in_several_inputs(stoker, folder, kind):
    one = one_file(folder, kind)
    for text in (
        f"sample_from([{one}, {one}]).batch(64)",
        f"range(300).map('x % 2').choose_from([{one}, {one}]).batch(64)",
        f"concatenate({one}, {one}).shuffle(40).batch(64)",
        f"sample_from([{one}.repeat(2), {one}.skip(3)], weights=[1, 3]).batch(64)",
    ):
        check(stoker, text, Options(seed=5, epochs=2))

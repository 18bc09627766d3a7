# SPDX-License-Identifier: Apache-2.0
"""interleave, flat_map and element: what they refuse, what plans and counts say of them, files of
any format, and their behaviour beside damage, ends and epochs. The order is the model's business.
"""

import gzip
import json
import random
import resource

import pytest
from model import damage
from places import GOLDEN
from rows_of import elements, origins, values
from test_combining import nodes, refusal

NO_DAMAGE = damage.Damager(random.Random(0), 0)
SIZES = {"a": 3, "b": 0, "c": 5, "d": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of a few records each, in every format; b has none."""
    path = tmp_path_factory.mktemp("nested")
    for name, n in SIZES.items():
        texts = [f"{name}{i}" for i in range(n)]
        (path / f"{name}.csv").write_text("t,i\n" + "".join(f"{t},{t[1:]}\n" for t in texts))
        (path / f"{name}.bin").write_bytes("".join(texts).encode())
        records = damage.tfrecord(NO_DAMAGE, [text.encode() for text in texts])
        (path / f"{name}.tfrecord").write_bytes(records)
        (path / f"{name}.tfrecord.gz").write_bytes(gzip.compress(records))
        members = [{"txt": text.encode()} for text in texts]
        (path / f"{name}.tar").write_bytes(damage.tar(NO_DAMAGE, members))
        (path / f"{name}.npy").write_bytes(damage.npy("|S2", [n], "".join(texts).encode()))
    (path / "one.tfrecord").write_bytes(damage.tfrecord(NO_DAMAGE, [b"x"]))
    return path


def listed(folder, ending):
    return "files([" + ", ".join(f"'{folder}/{name}.{ending}'" for name in SIZES) + "])"


IN_TURN = ["a0", "a1", "c0", "a2", "c1", "c2", "d0", "c3", "c4"]


@pytest.mark.parametrize("ending, source, field", [
    ("csv", "csv(path, {t: text})", "t"),
    ("bin", "fixed_length(path, 2)", "record"),
    ("tfrecord", "tfrecord(path)", "record"),
    ("tfrecord", "tfrecord(file=path, index=none)", "record"),
    ("tar", "tar(path, {t: 'txt'})", "t"),
    ("npy", "npy(path, field=t)", "t"),
])
def test_files_of_any_format(stoker, folder, ending, source, field):
    """b has no elements: its place loses a turn."""
    chain = f"{listed(folder, ending)}.interleave({source}, cycle_length=2)"
    assert values(stoker, chain, field) == IN_TURN
    one_by_one = f"{listed(folder, ending)}.flat_map({source})"
    assert values(stoker, one_by_one, field) == sorted(IN_TURN)


def test_paths_that_are_computed(stoker, folder):
    names = f"values({{p: ['{folder}/c.bin ', ' {folder}/a.bin']}}).text_strip().repeat(2).skip(1)"
    chain = f"{names}.flat_map(fixed_length(p, 2).take(1))"
    assert values(stoker, chain, "record") == ["a0", "c0", "a0"]


def test_elements_of_several_inputs(stoker, folder):
    parts = [f"files('{folder}/{name}.bin')" for name in "ca"]
    chain = f"concatenate({', '.join(parts)}).repeat(2).interleave(fixed_length(path, 2).take(2), 2)"
    assert values(stoker, chain, "record") == ["c0", "a0", "c1", "a1"] * 2
    chain = f"zip({parts[0]}, range(5)).flat_map(fixed_length(path, 2).take(2))"
    assert values(stoker, chain, "record") == ["c0", "c1"]
    chain = "zip(range(3).shuffle(), range(5).rename({x: y})).flat_map(element().repeat(2))"
    got = elements(stoker, chain)
    assert [e["y"] for e in got] == [0, 0, 1, 1, 2, 2] and got[::2] == got[1::2]


def test_ops_in_the_chain_work_within_each_file(stoker, folder):
    files = listed(folder, "csv")
    chain = f"{files}.flat_map(csv(path).skip(1).take(2).map('j = i * 10').repeat(2))"
    got = [(e["t"], e["j"]) for e in elements(stoker, chain)]
    assert got == [("a1", 10), ("a2", 20)] * 2 + [("c1", 10), ("c2", 20)] * 2
    every_other = f"{files}.flat_map(csv(path).shard(2, 1))"
    assert values(stoker, every_other, "t") == ["a1", "c1", "c3"]


def test_a_shuffle_in_the_chain_is_another_one_for_each_file_and_epoch(stoker, folder):
    files = f"files(['{folder}/c.bin']).repeat(4)"
    chain = f"{files}.flat_map(fixed_length(path, 2).shuffle())"
    got = values(stoker, f"{chain}.repeat(3)", "record")
    runs = [tuple(got[i : i + 5]) for i in range(0, 60, 5)]
    assert all(sorted(run) == ["c0", "c1", "c2", "c3", "c4"] for run in runs)
    assert len(set(runs)) > 6


def test_files_come_in_another_order_in_every_epoch(stoker, folder):
    files = listed(folder, "bin")
    chain = f"{files}.shuffle().flat_map(fixed_length(path, 2).take(1)).repeat(20)"
    got = values(stoker, chain, "record")
    epochs = {tuple(got[i : i + 3]) for i in range(0, 60, 3)}
    assert len(epochs) > 1 and all(sorted(epoch) == ["a0", "c0", "d0"] for epoch in epochs)


def test_random_ops_behind_a_repeat_of_the_element_draw_anew(stoker):
    chain = "range(40).flat_map(element().repeat(50)).rejection_resample(x, {}, initial={})"
    halves = "[" + ", ".join(["1"] * 20 + ["0.5"] * 20) + "]"
    got = values(stoker, chain.format(halves, "[" + ", ".join(["1"] * 40) + "]"), "x")
    counts = [got.count(x) for x in range(40)]
    assert counts[:20] == [50] * 20 and all(5 < n < 45 for n in counts[20:])


def test_what_was_drawn_before_belongs_to_the_element(stoker):
    got = values(stoker, "random().take(5).flat_map(element().repeat(3))", "x")
    assert got == [x for x in values(stoker, "random().take(5)", "x") for _ in range(3)]


# ---- plans and counts ----


def test_the_plan_shows_what_is_taken_in_turn(stoker, folder):
    chain = f"{listed(folder, 'csv')}.shuffle().interleave(csv(path).take(2).map('j = i')).batch(2)"
    found, kinds, plan = nodes(stoker, chain)
    assert found["interleave"][:2] == ("addressed", "takes positions of indexed data in turn")
    assert kinds == ["nesting", "segment"] and plan["count"] == 3
    assert {"take", "shuffle", "files"} <= {node["op"] for node in plan["stages"][0]["nodes"]}
    assert {"map", "csv"} == {node["op"] for node in plan["stages"][1]["nodes"]}
    text = stoker("plan", chain).stdout
    assert text.count("interleave(csv(path).take(2).map('j = i'))  [addressed") == 1


def test_an_element_is_made_with_its_chain(stoker):
    _, kinds, plan = nodes(stoker, "range(9).shuffle().flat_map(element().repeat(2).map('x + 1'))")
    assert kinds == ["nesting", "segment"]
    assert [node["op"] for node in plan["stages"][0]["nodes"]] == ["flat_map", "repeat"]
    assert [node["op"] for node in plan["stages"][1]["nodes"]] == ["map", "element", "shuffle", "range"]


@pytest.mark.parametrize("rest, count", [
    ("flat_map(csv(path))", 9),
    ("shuffle().repeat(3).interleave(csv(path))", 27),
    ("take(2).flat_map(csv(path))", 3),
    ("skip(2).repeat(2).flat_map(csv(path).take(2))", 6),
    ("shuffle().take(2).flat_map(csv(path))", -2),
    ("shuffle().take(2).flat_map(csv(path).take(0))", 0),
    ("repeat().flat_map(csv(path))", -1),
    ("flat_map(csv(path).repeat())", -1),
    ("flat_map(element().repeat(3))", 12),
    ("flat_map(range(7).skip(2))", 20),
    ("take(0).flat_map(csv(path).repeat())", 0),
])
def test_counts(stoker, folder, rest, count):
    chain = f"{listed(folder, 'csv')}.{rest}"
    plan = nodes(stoker, chain)[2]
    assert plan["count"] == count
    if count >= 0:
        assert len(elements(stoker, chain)) == count


def test_a_shard_of_the_run_counts_its_own(stoker, folder):
    for rank, count in [(0, 8), (1, 1)]:
        words = ["--rank", rank, "--world", 2]
        chain = f"{listed(folder, 'csv')}.shard().interleave(csv(path))"
        done = stoker("plan", chain, *words)
        assert done.stdout.splitlines()[0].endswith(f"elements an epoch: {count}")
        assert len(elements(stoker, chain, *words)) == count


def test_the_word_stays_a_word(stoker, folder):
    chain = f"files('{folder}/*.csv').interleave(csv(path, index='none'), 2)"
    done = stoker("plan", chain, "--json")
    call = json.loads(done.stdout)["stages"][0]["nodes"][0]["call"]
    assert "csv@1(file=path," in call


@pytest.mark.parametrize("rest", [
    "interleave(csv(path).map('j = i').skip(0), 2).select(t)",
    "take(9).interleave(csv(path).take(99).prefetch(), 2).map('j = i').select(t)",
    "skip(0).interleave(csv(path), 2).map('j = i').map('k = j').select(t)",
    "shard(1, 0).repeat(1).interleave(csv(path), 2).select(t)",
])
def test_rewrites_leave_the_order_alone(stoker, folder, rest):
    assert values(stoker, f"{listed(folder, 'csv')}.{rest}", "t") == IN_TURN


def test_fields_that_nobody_uses_are_not_read(stoker, folder):
    chain = f"{listed(folder, 'csv')}.shuffle().interleave(csv(path).shuffle()).select(t)"
    assert "csv does without 'i'" in stoker("plan", chain, "--explain").stdout
    both = f"{listed(folder, 'csv')}.shuffle().interleave(csv(path).shuffle())"
    whole = [{"t": e["t"]} for e in elements(stoker, both)]
    assert elements(stoker, chain) == whole


# ---- ends ----


def test_an_endless_chain_never_gives_its_place_away(stoker):
    chain = "range(3).interleave(element().repeat(), cycle_length=2).take(7)"
    assert values(stoker, chain, "x") == [0, 1, 0, 1, 0, 1, 0]


def test_endless_elements(stoker):
    chain = "counter().interleave(element().repeat(2), cycle_length=2, block_length=2).take(9)"
    assert values(stoker, chain, "x") == [0, 0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("chain", [
    "counter().flat_map(element().skip(1))",
    "range(0).interleave(element().repeat())",
    "range(5).repeat().interleave(element().take(0), cycle_length=3).repeat()",
])
def test_elements_that_give_nothing(stoker, chain):
    assert elements(stoker, chain) == []


def test_an_endless_search_for_an_element_is_given_up(stoker, folder):
    """Only the file without elements is ever opened."""
    chain = f"{listed(folder, 'csv')}.skip(1).take(1).repeat().flat_map(csv(path))"
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 1 and "one after the other gave nothing" in done.stderr


# ---- bad elements ----


def test_a_damaged_record_costs_itself(stoker, tmp_path):
    for name in "ab":
        data = damage.tfrecord(NO_DAMAGE, [f"{name}{i}".encode() for i in range(3)])
        (tmp_path / name).write_bytes(damage.flipped(data, 18 + 13) if name == "a" else data)
    chain = f"files('{tmp_path}/*').interleave(tfrecord(path), cycle_length=2)"
    got = [e["record"] for e in elements(stoker, chain, "--on-error", "skip")]
    assert got == ["a0", "b0", "b1", "a2", "b2"]
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 1 and f"{tmp_path}/a, record 1 at byte 18" in done.stderr


def test_a_bad_element_is_bad_as_often_as_it_is_repeated(stoker):
    chain = "range(4).map('6 // (x - 2)').flat_map(element().repeat(2))"
    got = [e["x"] for e in elements(stoker, chain, "--on-error", "skip")]
    assert got == [-3, -3, -6, -6, 6, 6]
    done = stoker("run", chain, "--on-error", "skip", "--max-errors", 1, "--dump", "--quiet")
    assert done.returncode == 1 and "range, element 2" in done.stderr


def test_nothing_is_chosen_again(stoker):
    done = stoker("run", "range(4).flat_map(element()).batch(2)", "--on-error", "replace")
    assert done.returncode == 2 and "cannot choose again" in done.stderr


# ---- what is refused ----


@pytest.mark.parametrize("rest, part, place", [
    ("interleave(csv(pth))", "no field 'pth'; the name of a file is written in quotes", "csv"),
    ("flat_map(csv(path, {i: int64}).split([0.5, 0.5]).filter('i > 1'))", "of unknown length", "split"),
    ("filter('true').flat_map(csv(path, {i: int64}).shuffle())", "give buffer_size", "shuffle"),
    ("flat_map(lines(path).cache())", "put it behind flat_map(…)", "cache"),
    ("batch(2).unbatch().flat_map(npy(path))", "name them by files(…) or values(…)", "npy"),
    ("flat_map(zip(element(), element().rename({path: p})))", "in one place only", "element"),
    ("flat_map(csv(path).batch(2))", "say columns={…}", "csv"),
    ("batch(2).unbatch().flat_map(csv(path, {t: text}))", "header=['a', 'b']", "csv"),
    ("flat_map(csv(path, {t: category}).batch(2))", "wants its texts listed", "csv"),
    ("flat_map(element(), element())", "takes at most 1 argument", "element()"),
    ("flat_map([element(), element()])", "takes one chain", "flat_map"),
    ("flat_map(path)", "takes chains", "path"),
    ("interleave(element(), cycle_length=0)", "cycle_length", "0"),
    ("interleave(element(), block_length=0)", "block_length", "0"),
    ("flat_map(element().repeat().shuffle())", "needs an input of known length", "shuffle"),
])
def test_refused(stoker, folder, rest, part, place):
    message, shown = refusal(stoker, f"files('{folder}/*.csv').{rest}")
    assert part in message and shown == place


def test_a_field_that_is_no_path(stoker):
    message, place = refusal(stoker, "range(3).flat_map(tfrecord(x))")
    assert "field 'x' is no text" in message and place == "tfrecord"


def test_files_must_be_there(stoker, folder):
    message, _ = refusal(stoker, f"values({{p: ['{folder}/nobody.csv']}}).flat_map(csv(p))")
    assert "nobody.csv" in message


@pytest.mark.parametrize("value", ["", "a\\x00b"])
def test_a_value_that_names_nothing(stoker, value):
    message, _ = refusal(stoker, f"values({{p: ['{value}']}}).flat_map(csv(p))")
    assert "a value of 'p' is empty or has a NUL byte" in message


def test_element_stands_in_a_chain_only(stoker):
    message, place = refusal(stoker, "element().repeat(2)")
    assert "begins the chain of interleave or flat_map" in message and place == "element"
    message, place = refusal(stoker, "range(3).element()")
    assert "begins a chain" in message and place == "element"


# ---- chains that are opened as elements come ----


@pytest.mark.parametrize("ending, before, source, field", [
    ("tfrecord.gz", "", "tfrecord(path)", "record"),
    ("tfrecord", ".shuffle(1)", "tfrecord(path)", "record"),
    ("tfrecord", "", "tfrecord(path).filter('len(record) > 0')", "record"),
    ("csv", ".filter('len(path) > 0')", "csv(path, {t: text})", "t"),
    ("csv", "", "csv(path, {t: text}).batch(2).unbatch()", "t"),
    ("csv", "", "lines(path).skip(1).shuffle(1).map('n = 1').select(n)", None),
    ("bin", "", "fixed_length(path, 2).shuffle(1)", "record"),
    ("tar", ".take_while('true')", "tar(path, {t: 'txt'})", "t"),
    ("npy", ".shuffle(1)", "npy(path, field=t)", "t"),
    ("npy", "", "npy(path, field=t).batch(2).unbatch()", "t"),
])
def test_streams_of_any_format(stoker, folder, ending, before, source, field):
    """The same order as from positions."""
    chain = f"{listed(folder, ending)}{before}.interleave({source}, cycle_length=2)"
    found, kinds, _ = nodes(stoker, chain)
    assert found["interleave"][0] == "stream" and "weaving stage" in kinds
    if field:
        assert values(stoker, chain, field) == IN_TURN
        assert values(stoker, f"{listed(folder, ending)}{before}.flat_map({source})",
                      field) == sorted(IN_TURN)
    else:
        assert len(elements(stoker, chain)) == len(IN_TURN)


def test_files_that_a_stream_names(stoker, folder, tmp_path):
    """Which they are shows only as they come."""
    (tmp_path / "list").write_text("".join(f"{folder}/{name}.tfrecord\n" for name in SIZES))
    chain = f"lines('{tmp_path}/list').interleave(tfrecord(text), cycle_length=2)"
    assert values(stoker, chain, "record") == IN_TURN
    assert origins(stoker, chain)[2] == [f"{folder}/c.tfrecord, record 0"]


ARRAYS = GOLDEN / "arrays"


@pytest.mark.parametrize("name, call", [
    ("little_f4.npy", "npy(p)"),
    ("big_i4.npy", "npy(p)"),
    ("big_unicode.npy", "npy(p)"),
    ("empty.npy", "npy(p)"),
    ("stored.npz", "npz(p)"),
    ("deflated.npz", "npz(p)"),
    ("chunks.h5", "hdf5(p)"),
    ("latest.h5", "hdf5(p)"),
    ("layouts.h5", "hdf5(p)"),
    ("types.h5", "hdf5(p)"),
    ("types.h5", "hdf5(p, hold=0)"),
    ("volume.h5", "hdf5(p, {v: gzip}, patch=[4, 6, 5], stride=[2, 3, 5])"),
    ("volume.h5", "hdf5(p, {v: contiguous, w: gzip}, patch=[4, 6, 5])"),
])
def test_arrays_as_elements_come(stoker, name, call):
    """The rows that positions give, in the same order, for any number of workers."""
    files = f"values({{p: ['{ARRAYS}/{name}', '{ARRAYS}/{name}']}})"
    expected = elements(stoker, f"{files}.skip(0).interleave({call}, 2, 3)")
    assert expected or name == "empty.npy"
    for workers in (0, 1, 4):
        woven = f"{files}.shuffle(1).interleave({call}, 2, 3)"
        assert elements(stoker, woven, "--workers", workers) == expected
    assert origins(stoker, f"{files}.shuffle(1).flat_map({call})") == origins(
        stoker, f"{files}.skip(0).flat_map({call})")


def told(stoker, chain, name):
    """What is delivered, and the messages of bad elements of a file."""
    done = stoker("run", chain, "--dump", "--errors", "--on-error", "skip")
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    rows = [line for line in lines if line.startswith('{"epoch"')]
    return done.returncode, rows, [line for line in lines if name in line and line not in rows]


@pytest.mark.parametrize("field", ["gzip_part", "all_row", "check_part", "lzf_all_part"])
def test_damaged_arrays_cost_their_elements_as_elements_come(stoker, tmp_path, field):
    """Which rows are bad, and why, is the same as from positions."""
    whole = (ARRAYS / "chunks.h5").read_bytes()
    n_bad = 0
    for first in range(6):
        data = bytearray(whole)
        for at in range(len(data) // 3 + 53 * first, len(data), 409):
            data[at] ^= 0x55
        (tmp_path / "bad.h5").write_bytes(data)
        files = f"values({{p: ['{tmp_path}/bad.h5']}})"
        outcomes = []
        for before in ("skip(0)", "shuffle(1)"):
            chain = f"{files}.{before}.flat_map(hdf5(p, {{x: {field}}})).take(20)"
            outcomes.append(told(stoker, chain, "bad.h5"))
        if outcomes[0][0] == 0:
            assert outcomes[0] == outcomes[1]
            n_bad += len(outcomes[0][2])
        else:  # not even its description is sound
            assert outcomes[1][0] != 0
    assert n_bad


def test_arrays_that_cannot_be_opened_are_one_bad_element(stoker, folder, tmp_path):
    names = [f"{folder}/a.npy", f"{tmp_path}/torn.npy", f"{tmp_path}/other.npy", f"{folder}/d.npy"]
    (tmp_path / "torn.npy").write_bytes((folder / "a.npy").read_bytes()[:-1])
    (tmp_path / "other.npy").write_bytes(damage.npy("<i4", [2], bytes(8)))
    chain = f"values({{p: {names}}}).shuffle(1).interleave(npy(p, field=t), 2)"
    got = values(stoker, chain, "t", "--on-error", "skip")
    assert got == ["a0", "a1", "a2", "d0"]
    assert len(told(stoker, chain, "torn.npy")[2]) == 1
    assert "but the files before have {" in told(stoker, chain, "other.npy")[2][0]


def test_as_many_arrays_are_open_as_take_turns(stoker, folder, tmp_path):
    """However many files there are."""
    for i in range(120):
        (tmp_path / f"{i:03}.npy").write_bytes(damage.npy("<i4", [3], bytes(12)))
    chain = f"files('{tmp_path}/*.npy').shuffle(1).interleave(npy(path), 4).repeat(2).batch(60)"
    limits = (60, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    try:
        done = stoker("run", chain, "--quiet", "--json", "--workers", 2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["elements"] == 720


def test_a_pattern_of_arrays(stoker, folder):
    chain = f"values({{p: ['{folder}/[ac].npy']}}).shuffle(1).flat_map(npy(p, field=t))"
    assert values(stoker, chain, "t") == ["a0", "a1", "a2", "c0", "c1", "c2", "c3", "c4"]


def test_a_pattern_stands_for_its_files(stoker, folder):
    assert values(stoker, f"values({{p: ['{folder}/[ac].csv']}}).flat_map(csv(p, {{t: text}}))", "t") == [
        "a0", "a1", "a2", "c0", "c1", "c2", "c3", "c4"]


def test_chains_in_chains(stoker):
    chain = "range(3).flat_map(range(4).batch(2).interleave(element().unbatch(), 2))"
    assert values(stoker, chain, "x") == [0, 2, 1, 3] * 3


def test_a_chain_of_several_inputs(stoker):
    chain = "range(3).flat_map(zip(element().repeat(2).rename({x: y}), range(9)))"
    got = [(e["y"], e["x"]) for e in elements(stoker, chain)]
    assert got == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_endless_chains_are_left(stoker):
    chain = "range(9).interleave(element().repeat().filter('x >= 0'), cycle_length=2).take(5)"
    assert values(stoker, chain + ".repeat(2)", "x", "--workers", 3) == [0, 1, 0, 1, 0] * 2


def test_the_chains_of_a_missing_file_go_on(stoker, folder, tmp_path):
    names = [f"{folder}/a.csv", f"{tmp_path}/nobody", f"{folder}/d.csv"]
    (tmp_path / "list").write_text("\n".join(names))
    chain = f"lines('{tmp_path}/list').flat_map(lines(text).skip(1))"
    assert values(stoker, chain, "text", "--on-error", "skip") == ["a0,0", "a1,1", "a2,2", "d0,0"]
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 1 and "cannot read" in done.stderr and "list, line 2" in done.stderr


@pytest.mark.parametrize("ending, source, field", [
    ("csv", "csv(path, {t: text})", "t"),
    ("csv", "lines(path).skip(1).text_regex_replace(',.*', '')", "text"),
    ("bin", "fixed_length(path, 2)", "record"),
    ("tfrecord", "tfrecord(path)", "record"),
    ("tar", "tar(path, {t: 'txt'})", "t"),
    ("npy", "npy(path, field=t)", "t"),
])  # fmt: skip
@pytest.mark.parametrize("missing", ["c", "ad"])
def test_a_missing_file_of_a_known_list_is_one_bad_element(stoker, folder, tmp_path, ending, source, field, missing):
    """Whatever chain is opened, whether or not the elements before can be read at random; also after a resume."""
    place = dict.fromkeys(SIZES, folder) | dict.fromkeys(missing, tmp_path / "nowhere")
    names = "values({path: [" + ", ".join(f"'{place[name]}/{name}.{ending}'" for name in SIZES) + "]})"
    kept = [text for text in IN_TURN if text[0] not in missing]
    for before in ["", ".shuffle(1)"]:
        chain = f"{names}{before}.interleave({source}, cycle_length=2)"
        assert sorted(values(stoker, chain, field, "--on-error", "skip", "--workers", 3)) == sorted(kept)
        assert len(told(stoker, chain, "nowhere")[2]) == len(missing)
        limited = stoker("run", chain, "--quiet", "--on-error", "skip", "--max-errors", len(missing) - 1)
        assert limited.returncode == 1 and "too many bad elements" in limited.stderr
        failed = stoker("run", chain, "--quiet")
        assert failed.returncode == 1 and "cannot read" in failed.stderr and "element" in failed.stderr
        state = ["--on-error", "skip", "--checkpoint", tmp_path / f"{before}.state"]
        first = values(stoker, chain, field, *state, "--take", 2)
        assert sorted(first + values(stoker, chain, field, *state, "--resume")) == sorted(kept)


def test_a_list_of_which_no_file_is_sound(stoker, tmp_path):
    for ending in ["npz", "npy", "tar", "h5"]:
        (tmp_path / f"bad.{ending}").write_bytes(b"PK\x05\x06" + bytes(60))
    for source in ["npz(path, {t: a})", "npy(path)", "hdf5(path)"]:
        ending = {"hdf5": "h5"}.get(source[:4], source[:3])
        done = stoker("run", f"files(['{tmp_path}/bad.{ending}']).interleave({source})", "--on-error", "skip")
        assert done.returncode in (1, 2) and f"bad.{ending}" in done.stderr


def test_a_missing_file_is_the_reason_that_is_told(stoker, folder):
    files = f"files(['{folder}/a.bin', '{folder}/nobody.bin'])"
    chain = f"{files}.flat_map(fixed_length(path, 2))"
    assert "nobody.bin': No such file" in stoker("plan", chain).stdout
    assert "nobody.bin': No such file" in refusal(stoker, chain + ".shuffle()")[0]
    replaced = stoker("run", chain, "--on-error", "replace")
    assert replaced.returncode == 2 and "nobody.bin': No such file" in replaced.stderr
    assert "cannot read" in refusal(stoker, f"{files}.flat_map(csv(path))")[0]
    assert "cannot read" in refusal(stoker, "files(['no', 'nobody']).flat_map(npy(path))")[0]
    assert "no pipeline call named nothing" in refusal(stoker, f"{files}.flat_map(lines(path).nothing())")[0]


def test_a_file_that_breaks_costs_its_rest(stoker, folder, tmp_path):
    for name, data in [("a", b"1\n2\n"), ("b", b"3\n4\n5\n")]:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data)[: None if name == "b" else -9])
    chain = f"files('{tmp_path}/*.gz').interleave(lines(path), cycle_length=2)"
    got = values(stoker, chain, "text", "--on-error", "skip")
    assert [text for text in got if text in "345"] == ["3", "4", "5"]
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 1 and f"{tmp_path}/a.gz" in done.stderr


def test_a_bad_name_of_a_file(stoker, folder):
    chain = (f"values({{p: ['{folder}/a.bin', '{folder}/d.bin'], n: [0, 1]}}).map('m = 1 // n')"
             ".flat_map(fixed_length(p, 2).filter('len(record) > 0'))")
    assert values(stoker, chain, "record", "--on-error", "skip") == ["d0"]


def test_the_budget_counts_open_chains(stoker):
    chain = "range(9).interleave(element().filter('x > 1'), cycle_length=9)"
    done = stoker("run", chain, "--memory", "100000", "--quiet")
    assert done.returncode == 2 and "interleave keeps" in done.stderr


def test_ops_at_the_end_of_a_chain_run_on_all_workers(stoker, folder):
    chain = f"{listed(folder, 'tfrecord.gz')}.interleave(tfrecord(path).map('n = len(record)'))"
    _, kinds, plan = nodes(stoker, chain)
    assert kinds == ["segment", "weaving stage", "segment"]
    assert [node["op"] for node in plan["stages"][2]["nodes"]] == ["map"]
    assert [s["kind"] for s in plan["stages"][1]["stages"]] == ["stream source"]
    assert plan["stages"][1]["ahead"] and plan["stages"][1]["open"] == 4


def test_an_endless_stream_that_gives_nothing_is_given_up(stoker):
    chain = "counter().shuffle(2).flat_map(element().filter('x < 0'))"
    done = stoker("run", chain, "--quiet")
    assert done.returncode == 1 and "one after the other gave nothing" in done.stderr

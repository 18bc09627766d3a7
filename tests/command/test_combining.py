# SPDX-License-Identifier: Apache-2.0
"""Ops that number, draw, choose and remember: what they refuse, what plans say of them, and their
behaviour beside bad elements, ends and epochs. What they yield is the model's business.
"""

import gzip
import json

import pytest
from places import GOLDEN



def dumped(stoker, chain, *words):
    """The fields of what is delivered, and how the run ended."""
    done = stoker("run", chain, "--dump", "--quiet", *words)
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()], done


def nodes(stoker, chain):
    """(class, why, count) by op, and the kinds of stages."""
    done = stoker("plan", chain, "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    every = [node for stage in plan["stages"] for node in stage["nodes"]]
    found = {node["op"]: (node["class"], node["why"], node["count"]) for node in every}
    return found, [stage["kind"] for stage in plan["stages"]], plan


def refusal(stoker, chain):
    """The message of a chain that cannot be built, with the word under the caret."""
    done = stoker("plan", chain)
    assert done.returncode in (1, 2), done.stdout
    message, text, carets = done.stderr.splitlines()[:3]
    at = carets.index("^")
    return message, text[at : at + len(carets.strip())]


@pytest.mark.parametrize("chain, count", [
    ("range(10).batch(3)", 4),
    ("range(10).filter('x > 3')", -2),
    ("counter().batch(3)", -1),
    ("counter().take(7)", 7),
    ("random().enumerate()", -1),
    ("range(10).shuffle(3).enumerate()", 10),
    ("range(10).ignore_errors()", -2),
])
def test_the_plan_says_how_many_elements_an_epoch_has(stoker, chain, count):
    assert nodes(stoker, chain)[2]["count"] == count
    word = {-1: "endless", -2: "unknown"}.get(count, str(count))
    assert stoker("plan", chain).stdout.splitlines()[0].endswith(f" an epoch: {word}")


def test_a_shard_of_the_run_counts_its_own(stoker):
    done = stoker("plan", "range(10).shard()", "--rank", 1, "--world", 3)
    assert done.stdout.splitlines()[0].endswith("elements an epoch: 3")


# ---- enumerate ----


def test_enumerate_of_an_indexed_input_is_indexed(stoker):
    found, kinds, _ = nodes(stoker, "range(10).shuffle().enumerate().batch(2)")
    assert found["enumerate"][0] == "indexed" and kinds == ["segment"]


def test_enumerate_of_a_stream_counts_as_it_comes(stoker):
    found, kinds, _ = nodes(stoker, "range(10).filter('x > 3').enumerate()")
    assert found["enumerate"][0] == "stream" and "zipping stage" in kinds


def test_a_bad_element_spends_its_number(stoker):
    chain = "range(5).map('y = 6 // (x - 2)').enumerate().select(index)"
    good, _ = dumped(stoker, chain, "--on-error", "skip")
    assert [element["index"] for element in good] == [0, 1, 3, 4]


def test_enumerate_refuses_a_second_index(stoker):
    message, place = refusal(stoker, "range(3).enumerate().enumerate()")
    assert "there is a field 'index' already" in message and place == "enumerate"


# ---- random ----


def test_random_differs_by_seed_epoch_and_place(stoker):
    def values(chain, *words):
        return [element["x"] for element in dumped(stoker, chain, *words)[0]]

    ours = values("random().take(50)", "--epochs", 2)
    assert values("random().take(50)", "--epochs", 2) == ours and ours[:50] != ours[50:]
    assert values("random(seed=1).take(50)") != ours[:50]
    assert values("random().take(50)", "--seed", 1) != ours[:50]
    assert all(0 <= x < 2**32 for x in ours) and max(ours) > 2**31 > min(ours)


def test_a_division_by_random_values_is_refused(stoker):
    message, _ = refusal(stoker, "random().take(10).split([0.5, 0.5], by=x)")
    assert "field 'x' is random" in message


@pytest.mark.parametrize("chain", ["counter().shuffle()", "random().split([1])"])
def test_endless_sources_are_refused_where_an_end_is_needed(stoker, chain):
    assert "endless" in refusal(stoker, chain)[0]


# ---- ignore_errors ----


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_ignored_errors_are_none(stoker, policy):
    chain = "range(6).map('y = 6 // (x % 3)').ignore_errors().select(x).take(3).batch(2)"
    got, done = dumped(stoker, chain, "--on-error", policy, "--max-errors", 0)
    assert done.returncode == 0 and got == [{"x": [1, 2]}, {"x": [4]}]


def test_errors_behind_it_count(stoker):
    chain = "range(6).map('y = 6 // (x % 3)').ignore_errors().map('z = 6 // (x - 4)')"
    got, done = dumped(stoker, chain)
    assert len(got) == 2 and done.returncode == 1 and "division by zero" in done.stderr


def test_what_it_leaves_out_does_not_depend_on_who_uses_the_rest(stoker, tmp_path):
    """An image that nobody uses need not be decoded, but here it decides."""
    (tmp_path / "0.jpg").write_bytes((GOLDEN / "decode" / "gray.jpg").read_bytes())
    (tmp_path / "1.jpg").write_text("no picture")
    names = [str(tmp_path / name) for name in ("0.jpg", "1.jpg")]
    chain = f"files({names}, labels=[5, 6]).decode().ignore_errors().select(label)"
    assert dumped(stoker, chain)[0] == [{"label": 5}]


# ---- sample_from ----


def test_sampling_of_indexed_inputs_moves_positions_only(stoker):
    found, kinds, plan = nodes(stoker, "sample_from([range(5), range(7)]).map('x + 1').batch(2)")
    assert found["sample_from"] == (
        "addressed", "chooses positions of indexed inputs, one after the other", 12,
    )
    assert kinds == ["choosing", "segment"] and plan["direct"]


def test_sampling_of_a_stream_mixes_rows(stoker):
    found, kinds, _ = nodes(stoker, "sample_from([range(5), range(7).filter('x > 1')])")
    assert found["sample_from"][:2] == ("stream", "an input is not indexed")
    assert "mixing stage" in kinds


@pytest.mark.parametrize("args, count", [
    ("", 12), (", weights=[0, 1]", 7), (", stop_on_empty=true", -2),
])
def test_what_is_known_of_the_length_of_a_mixture(stoker, args, count):
    found, _, _ = nodes(stoker, f"sample_from([range(5), range(7)]{args})")
    assert found["sample_from"][2] == count


def test_weights_are_kept_and_epochs_differ(stoker):
    chain = "sample_from([range(0, 9000), range(10000, 19000)], weights=[3, 1])"
    (one, two), _ = dumped(stoker, chain + ".take(4000).batch(4000)", "--epochs", 2)
    low = sum(x < 10000 for x in one["x"])
    assert 2880 < low < 3120 and one != two  # 3000, with a deviation of 27
    assert sorted(x for x in one["x"] if x < 10000) == list(range(low))


def test_whether_an_end_is_known_makes_no_difference(stoker):
    inputs = ["range(20)", "range(100, 140)", "range(200, 205)"]
    streams = [f"{text}.filter('x >= 0')" for text in inputs]
    for rest in ("", ", [1, 2, 0.5], stop_on_empty=true"):
        known, _ = dumped(stoker, f"sample_from([{', '.join(inputs)}]{rest})")
        unknown, _ = dumped(stoker, f"sample_from([{', '.join(streams)}]{rest})")
        assert known == unknown and len(known) > 5


def test_an_input_of_weight_0_is_not_read(stoker):
    chain = "sample_from([range(3), range(3).map('x // (x - x)')], weights=[1, 0])"
    got, done = dumped(stoker, chain)
    assert done.returncode == 0 and [element["x"] for element in got] == [0, 1, 2]


@pytest.mark.parametrize("call, part", [
    ("sample_from([])", "a source such as"),
    ("sample_from([range(3), range(3)], weights=[1])", "weights has 1 numbers for 2 inputs"),
    ("sample_from([range(3), range(3)], weights=[1, -1])", "weight 2 is -1"),
    ("sample_from([range(3), range(3)], weights=[0, 0])", "the weights add up to 0"),
    ("sample_from([range(3), range(3).rename({x: y})])", "input 2 has {y: int64[]}"),
    ("sample_from([range(3), range(3)]).shuffle()", "needs an input that can be read at random"),
    ("sample_from([range(3), range(3)]).split([0.5, 0.5])", "must come before sample_from"),
])
def test_sample_from_refuses(stoker, call, part):
    message, place = refusal(stoker, call)
    assert part in message and place in call


def test_no_replacement_for_what_was_chosen(stoker):
    _, done = dumped(stoker, "sample_from([range(3), range(3)])", "--on-error", "replace")
    assert done.returncode == 2 and "cannot choose again" in done.stderr


# ---- choose_from ----


def test_a_number_without_an_input_is_a_bad_element_in_its_place(stoker):
    chain = "values({c: [0, 2, 1, -1, 0]}).choose_from([range(5), range(10, 15)])"
    got, done = dumped(stoker, chain, "--on-error", "skip")
    assert [element["x"] for element in got] == [0, 10, 1] and done.returncode == 0
    got, done = dumped(stoker, chain)
    assert [element["x"] for element in got] == [0] and done.returncode == 1
    assert "values, element 1" in done.stderr and "field 'c' is 2" in done.stderr


def test_a_bad_number_and_a_bad_element_cost_one_place_each(stoker):
    choice = "range(6).map('x = 1 // (x - 1)').map('x % 2')"  # -1, bad, 1, 0, 0, 0
    chain = f"{choice}.choose_from([range(4).map('8 // (x - 1)'), range(10, 15)])"
    got, done = dumped(stoker, chain, "--on-error", "skip")
    assert done.returncode == 0 and [element["x"] for element in got] == [10, 11, -8, 8]


@pytest.mark.parametrize("chain, count", [
    ("range(9).map('x % 3').choose_from([range(5), range(10, 15), range(2)])", 8),
    ("range(9).map('x % 3').choose_from([range(5), range(10, 15), range(2)], stop_on_empty=false)", 8),
    ("range(9).map('x % 3').choose_from([range(1), range(10, 15), range(2)], stop_on_empty=false)", 6),
    ("range(2).repeat().choose_from([range(5), range(10, 14)])", 9),
    ("range(2).repeat().choose_from([range(5).repeat(), range(10, 14)])", 9),
    ("range(2).repeat().choose_from([range(5).repeat(), range(9).repeat()])", -1),
    ("range(2).repeat().choose_from([range(5).repeat(), range(9)], stop_on_empty=false)", -1),
    ("counter().map('x % 2').choose_from([range(5), range(10, 14)])", 9),
    ("range(1000000000000).map('x % 2').choose_from([range(5), range(10, 14)])", 9),
    ("range(2).repeat().choose_from([range(1125899906842624), range(2251799813685248)])", 2**51),
])
def test_choices_that_are_known_are_positions(stoker, chain, count):
    found, kinds, plan = nodes(stoker, chain)
    assert found["choose_from"][0] == "indexed" and "looked at beforehand" in found["choose_from"][1]
    assert kinds == ["segment"] and plan["count"] == count


@pytest.mark.parametrize("chain, why", [
    ("values({c: [0, 2]}).choose_from([range(5), range(9)])", "a number that chooses means no input"),
    ("range(2).map('1 // x').choose_from([range(5), range(9)])", "a number that chooses could not be made"),
    ("range(9).shuffle().map('x % 2').choose_from([range(5), range(9)])", "differ between passes"),
    ("random().map('x % 2').choose_from([range(5), range(9)])", "differ between passes"),
    ("range(9).shard().map('x % 2').choose_from([range(5), range(9)])", "differ between ranks"),
    ("range(9).map('x % 2').choose_from([range(5).shard(), range(9)], stop_on_empty=false)", "on other ranks"),
    ("counter().map('x % 2').choose_from([range(5), range(9)], stop_on_empty=false)", "the selector is infinite"),
    ("range(2).repeat().choose_from([range(1099511627776), range(9)], stop_on_empty=false)", "too long to be listed"),
    ("range(1000000000000).map('x % 2').choose_from([range(5).repeat(), range(9)])", "too many"),
    ("range(2).choose_from([range(5).filter('x > 1'), range(9)])", "an input is not indexed"),
    ("range(5).filter('x < 2').choose_from([range(5), range(9)])", "an input is not indexed"),
])
def test_the_plan_says_why_choices_are_a_stream(stoker, chain, why):
    found, kinds, _ = nodes(stoker, f"{chain}.take(20)")
    assert found["choose_from"][0] == "stream" and why in found["choose_from"][1]
    assert "mixing stage" in kinds


def test_numbers_in_files_are_read_as_they_come(stoker, tmp_path):
    (tmp_path / "numbers.csv").write_text("c\n1\n0\n1\n")
    chain = f"csv('{tmp_path}/numbers.csv', {{c: int64}}).choose_from([range(5), range(10, 15)])"
    assert "only after reading files" in nodes(stoker, chain)[0]["choose_from"][1]
    assert [element["x"] for element in dumped(stoker, chain)[0]] == [10, 0, 11]


@pytest.mark.parametrize("call, part", [
    ("choose_from([range(3), range(3)])", "needs numbers before it"),
    ("range(3).choose_from([])", "needs numbers before it"),
    ("range(3).cast(float32).choose_from([range(3)])", "needs an int64 or int32 number"),
    ("range(3).choose_from([range(3)], field=y)", "there is no field 'y'"),
    ("range(3).choose_from([range(3), lines('/dev/null')])", "input 2 has {text: text}"),
])
def test_choose_from_refuses(stoker, call, part):
    message, place = refusal(stoker, call)
    assert part in message and place in call


# ---- balance ----

SKEWED = "range(70).map('y = where(x < 60, 0, where(x < 68, 1, 2))')"


def test_balanced_classes_take_turns_and_miss_nobody(stoker):
    chain = f"{SKEWED}.balance(y).batch(3)"
    first, second = [], []
    for element in dumped(stoker, chain, "--epochs", 2)[0]:
        assert element["y"] == [0, 1, 2]
        (first if len(first) < 60 else second).append(element["x"])
    for epoch in (first, second):
        large, middle, small = zip(*epoch)
        assert sorted(large) == list(range(60))
        assert all(sorted(middle[i : i + 8]) == list(range(60, 68)) for i in range(0, 56, 8))
        assert all(sorted(small[i : i + 2]) == [68, 69] for i in range(0, 60, 2))
    assert first != second


def test_a_balanced_chain_is_indexed(stoker):
    found, kinds, _ = nodes(stoker, f"{SKEWED}.balance(y).shuffle().batch(3)")
    assert found["balance"] == ("indexed", "a function of positions over indexed inputs", 180)
    assert found["shuffle"][0] == "indexed" and kinds == ["segment"]


def test_copies_of_an_element_draw_their_own_numbers(stoker):
    chain = "range(65).map('x // 64').balance(x).rejection_resample(x, [1, 0.5], initial=[1, 1])"
    got, _ = dumped(stoker, chain)
    assert 16 < sum(element["x"] for element in got) < 48  # of 64 copies of the last


@pytest.mark.parametrize("chain, part", [
    ("range(10).balance(y)", "there is no field 'y'"),
    ("range(10).shuffle().balance(x)", "must come before shuffle"),
    ("range(10).filter('x > 3').balance(x)", "of unknown length"),
    ("counter().balance(x)", "endless"),
    ("random().take(9).balance(x)", "field 'x' is random"),
    ("range(9).shuffle(3).batch(1).balance(x)", "must come before shuffle"),
    ("range(9).batch(2).map('x + 1').balance(x)", "batch makes a stream; put it before batch"),
    ("range(9).map('y = 1 // (x - 4)').balance(y)", "could not be evaluated for every row"),
])
def test_balance_refuses(stoker, chain, part):
    message, place = refusal(stoker, chain)
    assert part in message and place == "balance"


# ---- rejection_resample ----


@pytest.mark.parametrize("rest", ["", ", initial=[0.9, 0.1]"])
def test_classes_come_as_often_as_wanted(stoker, rest):
    chain = "range(20000).map('y = where(x % 10 == 0, 1, 0)')"
    got, _ = dumped(stoker, f"{chain}.rejection_resample(y, [0.5, 0.5]{rest}).batch(20000)")
    ones = sum(got[0]["y"])
    assert ones == 2000 and abs(len(got[0]["y"]) - 4000) < 220  # 2000 of 18000: deviation 42


def test_a_class_that_is_not_in_the_target_is_a_bad_element(stoker):
    chain = "range(6).map('y = x % 3').rejection_resample(y, [1, 1], initial=[1, 1])"
    got, _ = dumped(stoker, chain, "--on-error", "skip")
    assert [element["x"] for element in got] == [0, 1, 3, 4]
    _, done = dumped(stoker, chain)
    assert done.returncode == 1 and "field 'y' is 2, but target has 2 classes" in done.stderr


@pytest.mark.parametrize("args, part", [
    ("x, [1, -1]", "target of class 1 is -1"),
    ("x, [0, 0]", "target adds up to 0"),
    ("x, [1, 1], initial=[1]", "target has 2 classes, but initial has 1"),
    ("x, [1, 1], initial=[1, 0]", "class 1 is wanted, but no element has it"),
    ("x, [" + "1, " * 10 + "1]", "class 10 is wanted, but no element has it"),
    ("y, [1]", "there is no field 'y'"),
])
def test_rejection_resample_refuses(stoker, args, part):
    message, place = refusal(stoker, f"range(10).rejection_resample({args})")
    assert part in message and place == "rejection_resample"


def test_classes_of_a_stream_cannot_be_counted(stoker):
    chain = "range(10).filter('x > 2').rejection_resample(x, [1])"
    assert "must look at 'x' of all elements beforehand" in refusal(stoker, chain)[0]


# ---- unique ----


def test_unique_compares_values_of_any_kind(stoker):
    columns = "s: ['a', 'b', 'a', ''], v: [[1, 2], [1, 2], [1, 3], [1, 2]], g: [[], [1], [1], []]"
    table = f"values({{{columns}}})"
    for field, first in [("s", [0, 1, 3]), ("v", [0, 2]), ("g", [0, 1])]:
        got, _ = dumped(stoker, f"{table}.enumerate().unique({field}).select(index)")
        assert [element["index"] for element in got] == first
    got, _ = dumped(stoker, f"{table}.concatenate({table}).unique()")
    assert len(got) == 4


def test_every_epoch_and_pass_begins_anew(stoker):
    chain = "values({x: [1, 2, 1]}).unique().repeat(2)"
    got, _ = dumped(stoker, chain, "--epochs", 2)
    assert [element["x"] for element in got] == [1, 2] * 4


@pytest.mark.parametrize("end, on_error", [("", "fail"), ("", "skip"), (".ignore_errors()", "fail")])
def test_values_that_do_not_fit_end_the_run(stoker, end, on_error):
    """Whatever is to be done with bad elements: none is left out because memory is short. The same for any
    number of workers: what may be kept does not depend on what others hold."""
    chain = f"range(200000).unique(){end}.batch(1000)"
    outputs = set()
    for workers in (0, 3):
        words = ["--memory", "4M", "--workers", workers, "--on-error", on_error]
        done = stoker("run", chain, "--dump", "--quiet", *words)
        assert done.returncode == 1 and "memory= gives it more" in done.stderr
        outputs.add((done.stdout, done.stderr))
    assert len(outputs) == 1


@pytest.mark.parametrize("chain, n", [
    ("range(300).map('x % 100').unique().batch(99)", 2),
    ("range(90).map('x % 9').group_by_window(x, 7)", 18),
    ("range(90).map('k = x % 9').window(10, by=k)", 9),
])
def test_the_least_memory_is_enough_for_some_values(stoker, chain, n):
    plan = json.loads(stoker("plan", chain, "--json", "--workers", 3).stdout)
    few, done = dumped(stoker, chain, "--workers", 3, "--memory", plan["minimum_bytes"])
    assert done.returncode == 0 and len(few) == n, done.stderr


def test_few_values_need_little_memory(stoker):
    few, done = dumped(stoker, "range(200000).map('x % 100').unique().batch(99)", "--memory", "4M")
    assert done.returncode == 0 and len(few) == 2


# ---- take_while ----


def test_take_while_asks_for_no_more(stoker):
    """It ends endless inputs, and errors behind its end are nobody's."""
    got, done = dumped(stoker, "counter().map('y = 8 // (x - 5)').take_while('x < 4').select(x)")
    assert done.returncode == 0 and [element["x"] for element in got] == [0, 1, 2, 3]


def test_a_condition_without_an_answer_is_a_bad_element(stoker):
    chain = "range(6).take_while('8 // (x - 2) < 8')"
    got, _ = dumped(stoker, chain, "--on-error", "skip")
    assert [element["x"] for element in got] == [0, 1]
    _, done = dumped(stoker, chain)
    assert "take_while: range, element 2" in done.stderr and "division by zero" in done.stderr


# ---- scan and reduce ----


def test_what_fails_is_not_remembered(stoker):
    chain = "range(5).scan({sum: 0}, 'sum = sum + 6 // (x - 2)').select(sum)"
    got, _ = dumped(stoker, chain, "--on-error", "skip")
    assert [element["sum"] for element in got] == [-3, -9, -3, 0]


def test_a_scan_begins_anew_in_every_epoch(stoker):
    got, _ = dumped(stoker, "range(3).scan({n: 10}, 'n = n + 1').repeat(2)", "--epochs", 2)
    assert [element["n"] for element in got] == [11, 12, 13] * 4


def test_a_scan_over_batches_and_texts(stoker):
    chain = "range(4).batch(2).scan({all: 0}, 'all = all + sum(x)')"
    assert [element["all"] for element in dumped(stoker, chain)[0]] == [1, 6]
    chain = "values({s: ['a', 'bcd', '']}).scan({n: 0}, 'n = n + len(s)')"
    got, _ = dumped(stoker, chain)
    assert got == [{"s": "a", "n": 1}, {"s": "bcd", "n": 4}, {"s": "", "n": 4}]


def test_a_reduce_of_nothing_is_its_beginning(stoker):
    got, _ = dumped(stoker, "range(0).reduce({n: 3, ok: true}, 'n = n + x')", "--epochs", 2)
    assert got == [{"n": 3, "ok": True}] * 2


def test_a_stream_that_breaks_has_no_result(stoker, tmp_path):
    packed = gzip.compress(b"line\n" * 10000, mtime=0)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    got, done = dumped(stoker, f"lines('{tmp_path}/cut.gz').reduce({{n: 0}}, 'n = n + 1')")
    assert got == [] and done.returncode == 1 and done.stderr


@pytest.mark.parametrize("call, part", [
    ("scan({}, 'y = x')", "wants a map from names to values"),
    ("scan(3, 'y = x')", "wants a map from names to values"),
    ("scan({x: 0}, 'x = x')", "'x' cannot be the state"),
    ("scan({s: 'a'}, 'y = x')", "the state 's' must be a number"),
    ("scan({s: 0}, 's = x / 2')", "'s' is int64[], but would become float32[]"),
    ("scan({s: 0}, 'x = float32(x)')", "'x' is int64[], but would become float32[]"),
    ("scan({s: 0}, 's = y')", "y"),
    ("take_while('x')", "bool"),
    ("unique(y)", "there is no field 'y'"),
    ("repeat().reduce({n: 0}, 'n = n + 1')", "endless"),
])
def test_ops_that_remember_refuse(stoker, call, part):
    message, _ = refusal(stoker, f"range(3).{call}")
    assert part in message


@pytest.mark.parametrize("call", [
    "unique()", "take_while('x < 2')", "scan({s: 0}, 's = x')", "reduce({s: 0}, 's = x')",
])
def test_plans_say_why_they_are_streams(stoker, call):
    name = call.split("(")[0]
    found, kinds, _ = nodes(stoker, f"range(9).{call}")
    assert found[name][:2] == ("stream", "looks at one element after the other")
    assert kinds == ["segment", "serial stage"]
    found, _, _ = nodes(stoker, f"range(9).filter('x > 1').{call}")
    assert found[name][:2] == ("stream", "its input is a stream")


@pytest.mark.parametrize("rest, batches", [
    ("batch(2).ignore_errors()", [[1, 2], [3, 4]]),
    ("padded_batch(2).ignore_errors()", [[1, 2], [3, 4]]),
    ("window(2).ignore_errors()", [[1, 2], [3, 4]]),
    ("batch(2).rebatch(3).ignore_errors()", [[1, 2, 3], [4]]),
    ("batch(2).unbatch().ignore_errors()", [1, 2, 3, 4]),
    ("batch(2).take(2).ignore_errors()", [[1, 2]]),  # the bad element is one of the two
    ("batch(2).map('z = 6 // (x - 3)').ignore_errors()", [[1, 2]]),  # a batch that became bad
])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_errors_are_ignored_behind_batches(stoker, rest, batches, on_error):
    chain = f"values({{x: [1, 0, 2, 3, 4]}}).map('y = 10 // x').{rest}"
    done = stoker("run", chain, "--dump", "--quiet", "--on-error", on_error)
    assert [json.loads(line)["fields"]["x"] for line in done.stdout.splitlines()] == batches


# ---- inputs of different shapes ----

TWO = "values({v: [[1, 2], [3, 4]]})"
THREE = "values({v: [[5, 6, 7]]})"
LISTS = "values({v: [[8], [9, 9]]})"
ROWS = [[1, 2], [3, 4], [5, 6, 7]]


def type_of(stoker, chain):
    done = stoker("plan", chain, "--json")
    assert done.returncode == 0, done.stderr
    every = [node for stage in json.loads(done.stdout)["stages"] for node in stage["nodes"]]
    return next(node["type"] for node in every if node["op"] in ("concatenate", "sample_from", "choose_from"))


@pytest.mark.parametrize("chain, shape", [
    (f"{TWO}.concatenate({TWO})", "int64[2]"),
    (f"{TWO}.concatenate({THREE})", "int64[?]"),
    (f"sample_from([{TWO}, {THREE}])", "int64[?]"),
    (f"range(2).choose_from([{TWO}, {THREE}])", "int64[?]"),
    (f"{TWO}.concatenate({LISTS})", "ragged int64[?]"),
    (f"{LISTS}.concatenate({TWO})", "ragged int64[?]"),
    (f"{TWO}.concatenate({LISTS}.ensure_shape([none]))", "int64[?]"),
    ("range(6).batch(3, true).rename({x: v}).concatenate(range(6).batch(2, true).rename({x: v}))", "int64[?]"),
    ("values({v: [[[1, 2]]]}).concatenate(values({v: [[[1, 2], [3, 4]]]}))", "int64[?, 2]"),
    ("values({v: [['a', 'b']]}).concatenate(values({v: [['c']]}))", "list of text"),
])
def test_only_dimensions_that_differ_are_unknown(stoker, chain, shape):
    assert type_of(stoker, chain) == f"{{v: {shape}}}"


@pytest.mark.parametrize("rest", ["", ".filter('true')", ".cache()", ".cache().repeat(2).take(3)", ".shuffle(1)",
                                  ".ragged_batch(3).unbatch()"])
@pytest.mark.parametrize("workers", [0, 3])
def test_rows_keep_their_shapes(stoker, rest, workers):
    chain = f"{TWO}.concatenate({THREE}){rest}"
    good, done = dumped(stoker, chain, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert [element["v"] for element in good] == ROWS


def test_they_are_batched_with_padding_only(stoker):
    good, _ = dumped(stoker, f"{TWO}.concatenate({THREE}).padded_batch(3)")
    assert good == [{"v": [[1, 2, 0], [3, 4, 0], [5, 6, 7]]}]
    _, done = dumped(stoker, f"{TWO}.concatenate({THREE}).batch(3)")
    assert done.returncode == 1 and "differ in shape" in done.stderr and "use padded_batch" in done.stderr


def test_they_can_be_packed(stoker, tmp_path):
    done = stoker("pack", f"{TWO}.concatenate({THREE})", "--out", tmp_path / "rows-{shard}.tfrecord")
    assert done.returncode == 0, done.stderr
    good, done = dumped(stoker, f"tfrecord('{tmp_path}/*.tfrecord').parse_example({{v: varlen(int64)}})")
    assert [element["v"] for element in good] == ROWS, done.stderr


@pytest.mark.parametrize("one, other", [
    ("range(3)", "range(4).batch(2)"),
    ("range(3)", "range(3).cast(int32)"),
    ("values({x: ['a']})", "range(3)"),
    ("values({x: [['a']]})", "values({x: ['a']})"),
    ("values({x: [[1], []]}).batch(2)", "values({x: [[1, 2]]}).batch(2)"),
])
def test_other_differences_are_refused(stoker, one, other):
    message, place = refusal(stoker, f"{one}.concatenate({other})")
    assert place == "concatenate" and message.endswith("to make them the same: only dimensions may differ")


def test_a_wrong_shape_is_one_bad_element(stoker):
    chain = f"{LISTS}.concatenate({TWO}).ensure_shape([2])"
    good, done = dumped(stoker, chain, "--on-error", "skip")
    assert [element["v"] for element in good] == [[9, 9], [1, 2], [3, 4]]
    _, done = dumped(stoker, chain)
    assert "ensure_shape" in done.stderr and "'v' is [1] here, but int64[2] is wanted" in done.stderr


@pytest.mark.parametrize("shape, why", [
    ("[3]", "which is never int64[3]"), ("[2, 2]", "is a list of 1"), ("['a']", "whole numbers"),
    ("2", "is a list of 1"), ("[2], ragged=true", "has none first"),
])
def test_shapes_that_cannot_be(stoker, shape, why):
    assert why in refusal(stoker, f"{TWO}.ensure_shape({shape})")[0]

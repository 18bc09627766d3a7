# SPDX-License-Identifier: Apache-2.0
"""Iterator.metrics."""

import threading

import pytest

import stoker


def test_a_dict_at_any_time():
    with stoker.range(1000).map('x + 1').batch(10).iterate(workers=2) as it:
        assert it.metrics()['batches'] == 0
        for _ in range(5):
            next(it)
        assert it.metrics()['batches'] == 5
        rest = list(it)
        metrics = it.metrics()
    assert len(rest) == 95
    assert [op['op'] for op in metrics['ops']] == ['range', 'map', 'batch']
    assert all(op['rows_out'] == 1000 for op in metrics['ops'])


def test_text_for_prometheus():
    with stoker.range(10).batch(5).iterate() as it:
        assert len(list(it)) == 2
        assert 'stoker_batches_total 2\n' in it.metrics('prometheus')
        with pytest.raises(ValueError, match='json or prometheus'):
            it.metrics('xml')


def test_a_closed_iterator_has_none():
    it = stoker.range(10).batch(5).iterate()
    it.close()
    with pytest.raises(stoker.Error, match='closed'):
        it.metrics()


def test_from_another_thread_while_it_runs():
    seen, is_over = [], threading.Event()
    with stoker.range(200_000).map('x + 1').shuffle().batch(100).iterate(workers=2) as it:

        def watch():
            while not is_over.is_set():
                seen.append(it.metrics()['elements'])

        thread = threading.Thread(target=watch)
        thread.start()
        n = sum(1 for _ in it)
        is_over.set()
        thread.join()
    assert n == 2000 and seen == sorted(seen)


def test_a_trace():
    with stoker.range(1000).map('x + 1').batch(10).iterate(workers=0) as it:
        with pytest.raises(stoker.Error, match='not started'):
            it.trace()
        next(it)
        it.trace_start(50)
        with pytest.raises(stoker.Error, match='recorded already'):
            it.trace_start()
        rest = sum(1 for _ in it)
        trace = it.trace()
    kinds = {e.get('cat') for e in trace['traceEvents']}
    assert rest == 99 and {'run', 'op', 'next'} <= kinds
    assert trace['otherData']['dropped'] > 0
    assert sum(e['ph'] == 'X' for e in trace['traceEvents']) == 50


def test_a_trace_of_nothing():
    with stoker.range(10).batch(5).iterate() as it:
        with pytest.raises(ValueError, match='1 to'):
            it.trace_start(0)


@pytest.mark.parametrize(
    "name, line, source",
    [
        ("a.csv", "{},0.5\n", "csv('{}', {{c0: int64, c1: float64}}, header=false)"),
        ("a.jsonl", '{{"a": {}}}\n', "jsonl('{}', {{a: int64}})"),
        ("a.txt", "row {}\n", "lines('{}')"),
    ],
)
@pytest.mark.parametrize("io", ["threads", "uring"])
def test_bytes_of_a_group_count_once(tmp_path, name, line, source, io):
    """Many rows lie in one group of lines, which is read once for all of them."""
    path = tmp_path / name
    path.write_text("".join(line.format(i) for i in range(20000)))
    with stoker.parse(source.format(path) + ".batch(64)").iterate(io=io) as it:
        assert sum(1 for _ in it) == 313
        assert path.stat().st_size * 0.9 <= it.stats().bytes_read <= path.stat().st_size * 1.3

# SPDX-License-Identifier: Apache-2.0
"""cache(): what it keeps, for whom, and that nothing else shows."""

import threading

import numpy as np
import pytest
import stoker


def to_list(value):
    value = value.numpy() if hasattr(value, "numpy") else value
    if isinstance(value, (list, tuple)):
        return [to_list(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def loop(dataset, **options):
    """The batches of one loop, and what was counted."""
    with dataset.iterate(**options) as it:
        batches = [{name: to_list(value) for name, value in batch.items()} for batch in it]
        return batches, it.stats()


class Counted:
    """A source, or a function, that counts how often it is asked."""

    def __init__(self, n=6):
        self.n, self.calls, self.passes = n, 0, 0

    def __iter__(self):
        self.passes += 1
        for x in range(self.n):
            self.calls += 1
            yield {"x": np.int64(x)}

    def __call__(self, element):
        self.calls += 1
        return {"x": element["x"] * 10}

    def after(self, dataset):
        """Maps a dataset, and begins to count: what is called to find the types does not."""
        dataset = dataset.map(self)
        self.calls = self.passes = 0
        return dataset


def test_a_loop_is_served_by_the_one_before():
    function = Counted()
    ds = function.after(stoker.range(6)).cache().batch(4)
    first, filled = loop(ds)
    second, served = loop(ds)
    assert first == second and function.calls == 6
    assert (filled.cache_hits, filled.cache_misses) == (0, 6)
    assert (served.cache_hits, served.cache_misses) == (6, 0)
    assert served.cache_rows == 6 and served.cache_bytes > 0


def test_what_a_loop_made_stays_when_it_is_left():
    function = Counted(100)
    ds = function.after(stoker.range(100)).cache().batch(10)
    with ds.iterate(workers=0) as it:
        next(it)
    made = function.calls
    assert 10 <= made
    loop(ds, workers=0)
    assert function.calls == 100


def test_a_stream_that_is_left_goes_on_where_it_was():
    source, function = Counted(400), Counted()
    ds = function.after(stoker.from_generator(lambda: iter(source), {"x": "int64"})).cache().batch(10)
    source.passes = 0
    with ds.iterate(workers=0, window=1) as it:
        next(it)
        kept = it.stats().cache_rows
    made = function.calls
    assert 10 <= kept <= made < 400
    batches, stats = loop(ds, workers=0)
    assert sum(len(batch["x"]) for batch in batches) == 400
    assert stats.cache_hits >= kept and function.calls <= made + 400 - kept
    calls, passes = function.calls, source.passes
    again, stats = loop(ds, workers=0)
    assert again == batches and stats.cache_hits == 400 and stats.cache_misses == 0
    assert (function.calls, source.passes) == (calls, passes)  # nobody asked it


def test_datasets_that_are_built_on_it_share_it():
    function = Counted()
    base = function.after(stoker.range(6)).cache()
    loop(base.batch(2))
    loop(base.shuffle().batch(3))
    loop(base)
    assert function.calls == 6


def test_a_chain_of_its_own_has_a_cache_of_its_own():
    for _ in range(2):
        function = Counted()
        loop(function.after(stoker.range(6)).cache())
        assert function.calls == 6


def test_what_is_before_sees_one_epoch_and_what_is_behind_all():
    chain = "random().take(8).{}"
    before = stoker.parse(chain.format("cache()"))
    assert loop(before, epoch=0)[0] == loop(before, epoch=5)[0]
    shuffled = stoker.parse("range(50).shuffle().cache()")
    assert loop(shuffled, epoch=0)[0] == loop(shuffled, epoch=3)[0]
    behind = stoker.parse("range(50).cache().shuffle()")
    assert loop(behind, epoch=0)[0] != loop(behind, epoch=3)[0]


def test_random_ops_behind_draw_anew(pictures):
    text = f"image_folder('{pictures}').decode(channels=3).resize(8, 8).cache()"
    ds = stoker.parse(text + ".gaussian_noise(sigma=9).batch(6)")
    epochs = [loop(ds, epoch=e)[0] for e in (0, 1, 0)]
    assert epochs[0] == epochs[2] != epochs[1]
    fresh = stoker.parse(text + ".gaussian_noise(sigma=9).batch(6)")
    assert loop(fresh, epoch=1)[0] == epochs[1]  # of a cache that was empty


def test_another_seed_is_another_cache():
    ds = stoker.parse("range(50).shuffle().cache()")
    assert loop(ds, seed=1)[0] != loop(ds, seed=2)[0]
    assert loop(ds, seed=1)[0] == loop(stoker.parse("range(50).shuffle().cache()"), seed=1)[0]


def test_bad_elements_are_kept_as_such():
    ds = stoker.parse("range(6).map('y = 12 // (x % 3)').cache().batch(2)")
    errors = []
    for _ in range(3):
        with ds.iterate(on_error="skip", epoch=0) as it:
            rows = [list(batch["y"]) for batch in it]
            errors.append(([str(error) for error in it.errors()], rows))
            assert it.stats().errors == 2
    assert errors[0] == errors[1] == errors[2] and "divi" in errors[0][0][0]


@pytest.mark.parametrize("chain", [
    "range(4000).map('y = x * x').cache().shuffle().batch(50)",
    "range(4000).filter('x % 7 != 0').cache().batch(50)",
    "range(4000).shuffle(100).cache().shuffle(30).batch(50)",
])
@pytest.mark.parametrize("workers", [0, 3])
def test_half_of_it_fits(chain, workers):
    """Whatever the budget, what is delivered is the same."""
    everything, stats = loop(stoker.parse(chain))
    assert stats.cache_rows > 3000
    least = stoker.parse(chain).plan(workers=workers).json["minimum_bytes"]
    seen = set()
    for more in (*range(0, 1300, 50), 4000):
        ds = stoker.parse(chain)
        memory = least + more * 1024
        for _ in range(3):
            batches, stats = loop(ds, workers=workers, memory=memory, epoch=0)
            assert batches == everything
            assert stats.peak_bytes <= memory and stats.cache_hits <= stats.elements
        seen.add(stats.cache_hits)
    assert len(seen) > 2 and 0 in seen


def test_nothing_is_read_for_what_is_there(tmp_path):
    for i in range(20):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]) * 1000)
    ds = stoker.files(str(tmp_path / "*.bin")).read().cache().shuffle().batch(4)
    assert loop(ds)[1].bytes_read == 20000  # of the files, not of the buffers they are in
    assert loop(ds)[1].bytes_read == 0
    (tmp_path / "7.bin").unlink()
    assert len(loop(ds)[0]) == 5


def test_several_iterators_fill_one_cache():
    function = Counted()
    ds = function.after(stoker.range(500)).cache().shuffle().batch(20)
    expected = loop(stoker.range(500).map("x * 10").cache().shuffle().batch(20), epoch=0)[0]
    results = [None] * 4

    def work(i):
        results[i] = loop(ds, workers=2, epoch=0)[0]

    threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == expected for result in results)


@pytest.mark.parametrize("chain", [
    "range(40).shuffle().cache().shuffle().batch(4)",
    "range(40).filter('x % 5 > 0').cache().shuffle(6).batch(4)",
    "range(40).batch(4).cache()",
])
def test_a_run_goes_on_with_or_without_what_was_kept(chain):
    ds = stoker.parse(chain)
    whole = [list(batch["x"]) for batch in ds.iterate(epochs=3, epoch=0)]
    for stop in (1, 5, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        with ds.iterate(epochs=3, epoch=0) as it:
            for _ in range(stop):
                next(it)
            state = it.state_dict()
        for dataset in (ds, stoker.parse(chain)):
            assert [list(batch["x"]) for batch in dataset.resume(state)] == whole[stop:]


def test_batches_outlive_the_cache(pictures):
    ds = stoker.parse(f"files('{pictures}/*/*').read().cache()")
    loop(ds)
    kept = [element["bytes"] for element in ds]
    expected = [bytes(content) for content in kept]
    del ds
    assert [bytes(content) for content in kept] == expected


def test_a_plan_tells():
    ds = stoker.range(10).cache().batch(2)
    assert "it has 0 elements" in str(ds.plan())
    loop(ds)
    assert "it has 10 elements" in str(ds.plan())
    assert ds.plan().json["cached_rows"] == 10


def test_a_crop_behind_does_not_come_before(pictures):
    text = f"image_folder('{pictures}').decode(channels=3).cache().center_crop(4, 4).batch(3)"
    assert stoker.parse(text).plan().chain.index("cache") < text.index("center_crop")
    assert not [r for r in stoker.parse(text).plan().rewrites if "center_crop" in r.text and r.is_done]
    ds = stoker.parse(text)
    assert loop(ds)[0] == loop(ds)[0]


# ---- on disk ----


def keys_in(directory):
    return sorted(path.name for path in directory.iterdir())


CHAINS = [
    "range(60).map('y = x * x').cache({}).shuffle().batch(7)",
    "values({{a: [[1, 2], [3], []], s: ['x', '', 'zz']}}).repeat(4).cache({}).batch(5)",
    "range(60).filter('x % 3 > 0').cache({}).shuffle(9).batch(7)",
    "range(60).map('y = 100 // (x % 7)').cache({}).batch(4)",
    "range(60).batch(4).cache({}).unbatch().batch(5)",
]


@pytest.mark.parametrize("extra", ["", ", zstd"])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_new_dataset_finds_what_is_on_disk(tmp_path, chain, extra):
    options = {"on_error": "skip", "epoch": 0}
    expected = loop(stoker.parse(chain.format("")), **options)[0]
    ds = stoker.parse(chain.format(f"'{tmp_path}/c'{extra}"))
    first, filled = loop(ds, **options)
    assert first == expected and filled.cache_hits == 0 and filled.cache_disk_bytes > 0
    assert loop(ds, **options)[0] == expected
    del ds
    again, served = loop(stoker.parse(chain.format(f"'{tmp_path}/c'{extra}")), **options)
    assert again == expected and served.cache_misses == 0 and served.cache_hits > 0
    assert len(keys_in(tmp_path / "c")) == 1 and served.cache_trouble == ""


def test_a_changed_chain_has_another_place(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("a\nb\n")
    home = tmp_path / "c"

    def words(before="", **options):
        return loop(stoker.parse(f"lines('{file}'){before}.cache('{home}')"), **options)[0]

    assert [row["text"] for row in words()] == [b"a", b"b"]
    assert len(words(".take(1)")) == 1
    assert len(keys_in(home)) == 2
    file.write_text("c\nd\ne\n")
    assert [row["text"] for row in words()] == [b"c", b"d", b"e"]
    assert len(keys_in(home)) == 3
    words(seed=5)  # nothing before it draws
    assert len(keys_in(home)) == 3
    words(".shuffle(2)", seed=5), words(".shuffle(2)", seed=6)
    assert len(keys_in(home)) == 5


def test_what_comes_behind_makes_no_difference(tmp_path):
    for behind in ("", ".shuffle()", ".map('y = x + 1').batch(3)", ".repeat(2)"):
        loop(stoker.parse(f"range(9).cache('{tmp_path}/c'){behind}"))
    assert len(keys_in(tmp_path / "c")) == 1


def test_functions_want_a_key(tmp_path):
    function = Counted()
    ds = function.after(stoker.range(6)).cache(str(tmp_path))
    with pytest.raises(stoker.Error, match="key="):
        loop(ds)
    loop(function.after(stoker.range(6)).cache(str(tmp_path), key="v1"))
    again = Counted()
    loop(again.after(stoker.range(6)).cache(str(tmp_path), key="v1"))
    assert again.calls == 0
    loop(again.after(stoker.range(6)).cache(str(tmp_path), key="v2"))
    assert again.calls == 6


def test_files_that_data_names_want_a_key(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"x")
    chain = f"values({{path: ['{tmp_path}/x.bin']}}).read(path).cache('{tmp_path}/c'%s)"
    with pytest.raises(stoker.Error, match="key="):
        loop(stoker.parse(chain % ""))
    assert loop(stoker.parse(chain % ", key=one"))[0]


def test_damage_is_made_again(tmp_path):
    """Also where files must be read for what is gone, in a run that counted on it."""
    for i in range(30):
        (tmp_path / f"{i:02}.bin").write_bytes(bytes([i]) * 900)
    chain = f"files('{tmp_path}/*.bin').read().cache('{tmp_path}/c').shuffle().batch(4)"
    expected = loop(stoker.parse(chain), epoch=0)[0]
    [rows] = (tmp_path / "c").glob("*/rows")
    data = bytearray(rows.read_bytes())
    for at in range(500, len(data), 3000):
        data[at] ^= 1
    ds = stoker.parse(chain)
    assert loop(ds, epoch=0)[1].cache_misses == 0
    with rows.open("r+b") as file:
        file.write(data)
    for workers in (0, 2):
        batches, stats = loop(ds, epoch=0, workers=workers)
        assert batches == expected
    with rows.open("r+b") as file:
        file.truncate(2000)
    assert loop(ds, epoch=0)[0] == expected
    rows.unlink()
    assert loop(ds, epoch=0)[0] == expected
    assert loop(stoker.parse(chain), epoch=0)[0] == expected


def test_a_stream_that_lost_something_stops(tmp_path):
    chain = f"range(90).filter('x > 3').cache('{tmp_path}/c').batch(4)"
    expected = loop(stoker.parse(chain))[0]
    [rows] = (tmp_path / "c").glob("*/rows")
    ds = stoker.parse(chain)
    data = bytearray(rows.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    with rows.open("r+b") as file:
        file.write(data)
    with pytest.raises(stoker.Error, match="run again"):
        loop(ds)
    assert loop(ds)[0] == expected
    assert loop(ds)[1].cache_misses == 0
    del ds
    batches, stats = loop(stoker.parse(chain))
    assert batches == expected and stats.cache_misses == 0


def test_no_room_on_disk(run_python, tmp_path):
    done = run_python(
        """
        import resource, signal, stoker
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        ds = stoker.parse("range(4000).map('y = x').cache('c').batch(100)")
        resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))
        for _ in range(2):
            with ds.iterate() as it:
                assert sum(int(batch.y.numpy().sum()) for batch in it) == sum(range(4000))
                print(it.stats().cache_rows, it.stats().cache_hits, it.stats().cache_trouble)
        """
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    kept = int(first.split()[0])
    assert 100 < kept < 4000 and "cannot write" in first
    assert second.split()[:2] == [str(kept), str(kept)]


def test_two_processes(run_python, tmp_path):
    """One writes; the other reads what is there and makes the rest."""
    chain = f"range(50).map('y = x').cache('{tmp_path}/c').batch(5)"
    ds = stoker.parse(chain)
    with ds.iterate() as it:
        next(it)
        done = run_python(
            f"""
            import stoker
            ds = stoker.parse("{chain}")
            with ds.iterate() as it:
                print(sum(int(batch.y.numpy().sum()) for batch in it), it.stats().cache_trouble)
            """
        )
        trouble = "another run writes it; this one reads what was there when it began"
        assert done.stdout == f"{sum(range(50))} {trouble}\n", done.stderr
    assert loop(ds)[0] == loop(stoker.parse(chain), epoch=0)[0]


@pytest.mark.parametrize("behind", ["", ".filter('len(bytes) < 4')"])
def test_what_could_not_be_read_is_read_again(tmp_path, behind):
    """Also by the same dataset, whose cache is in memory: the file was away, and is back."""
    for i in range(6):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]) * (1 + i % 4))
    dataset = stoker.parse(f"files('{tmp_path}/*.bin').read(){behind}.cache().batch(2)")
    (tmp_path / "2.bin").rename(tmp_path / "away")
    with pytest.raises(stoker.StorageError, match="2.bin"):
        loop(dataset)
    (tmp_path / "away").rename(tmp_path / "2.bin")
    fresh = stoker.parse(f"files('{tmp_path}/*.bin').read(){behind}.batch(2)")
    assert loop(dataset)[0] == loop(fresh)[0]
    assert loop(dataset)[0] == loop(fresh)[0]


@pytest.mark.parametrize("kept", ["", "directory"])
def test_what_comes_back_moves_nothing(tmp_path, kept):
    """The file was away while a loop that ended early filled the cache; a filter drops it now that it is there."""
    files = tmp_path / "files"
    files.mkdir()
    for i in range(2000):
        (files / f"{i:04}").write_bytes(i.to_bytes(2, "big") * (i % 7))
    text = f"files('{files}/*').read().filter('len(bytes) // 2 % 3 != 1')"
    place = f"'{tmp_path}/kept'" if kept else ""
    dataset = stoker.parse(f"{text}.cache({place})")
    expected = [bytes(row.bytes) for row in stoker.parse(text).iterate()]
    (files / "0004").rename(tmp_path / "away")
    with dataset.iterate(on_error="skip") as rows:
        for _ in range(12):
            next(rows)
    (tmp_path / "away").rename(files / "0004")
    for _ in range(2):
        with dataset.iterate(on_error="skip") as rows:
            assert [bytes(row.bytes) for row in rows] == expected


def test_directories_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(stoker.Error, match="cache: .*is a file|Not a directory"):
        loop(stoker.parse(f"range(3).cache('{tmp_path}/file')"))
    with pytest.raises(stoker.Error, match="cache"):
        stoker.parse("range(3).cache('')")


def cache_decision(it):
    return next(d for d in it.tuning() if d["knob"] == "cache")


def test_auto_goes_where_it_saves_most(pictures):
    """Floats that do not fit, made of bytes of which four times as many do."""
    text = f"image_folder('{pictures}').repeat(20).decode().resize(64, 64, dtype=uint8).cast(float32)%s.shuffle().batch(8)"
    options = {"memory": "8M", "workers": 1, "window": 2, "io_depth": 1, "epoch": 0, "epochs": 2}
    placed, plain = stoker.parse(text % ".cache(auto)"), stoker.parse(text % ".cache()")
    with placed.iterate(**options) as it:
        batches = [np.array(batch.image) for batch in it]
        decision = cache_decision(it)
        assert decision["reason"] in [d["reason"] for d in it.metrics()["tuning"]]
    assert decision["to"] < decision["from"] and "fit in" in decision["reason"]
    expected = [np.array(batch.image) for batch in plain.iterate(**options)]
    assert len(batches) == 30 and all(np.array_equal(a, b) for a, b in zip(batches, expected))
    with placed.iterate(**options) as it:  # it is measured once
        assert cache_decision(it)["reason"] == decision["reason"]


def test_auto_takes_nothing_from_what_is_read_once():
    source = Counted(20)
    ds = stoker.from_generator(lambda: iter(source), {"x": "int64"}).map("x = x + 1").cache("auto").batch(5)
    source.calls = source.passes = 0
    batches, _ = loop(ds, memory="2M")
    assert source.passes == 1 and [b["x"] for b in batches][0] == [1, 2, 3, 4, 5]


def test_what_auto_measured_with_goes_back(run_python, tmp_path):
    """Pictures that take 12 MB each while they are decoded leave next to nothing."""
    from PIL import Image

    pixels = np.arange(2048 * 2048 * 3, dtype=np.uint32).reshape(2048, 2048, 3).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "large.jpg", quality=50)
    done = run_python(
        """
        import stoker

        def resident():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))

        def explain(times):
            calls = "decode().resize(256, 256, dtype=uint8).cast(float32).cache(auto).batch(4)"
            ds = stoker.parse(f"files('large.jpg').repeat({times}).{calls}")
            before = resident()
            rewrites = ds.plan(memory="64M", window=2).rewrites
            return resident() - before, rewrites

        explain(2000)  # what is there once and for all
        grown, text = explain(3000)
        print(grown)
        print(text)
        """
    )
    assert done.returncode == 0, done.stderr
    grown, text = done.stdout.split("\n", 1)
    assert int(grown) < 2048, text
    assert "a byte saves" in text

# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run as text: JSON, and Prometheus' format, which is read here by its rules."""

import json
import math
import re
import subprocess

import pytest
from places import STOKER


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
TYPES = {"counter", "gauge", "summary"}


def read_value(text):
    assert re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?|NaN|[-+]Inf", text), text
    return float(text)


def family_of(name, families):
    for suffix in ("_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and families.get(base) == "summary":
            return base
    return name


def parse(text):
    """{(name, labels): value} of a text in the format 0.0.4; asserts whatever the format asks for."""
    assert text.endswith("\n")
    families, samples, helped, current, closed = {}, {}, set(), None, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, words = re.fullmatch(rf"# HELP ({NAME}) (.+)", line).groups()
            assert name not in helped and re.fullmatch(r"(?:[^\\]|\\\\|\\n)*", words)
            helped.add(name)
            continue
        if line.startswith("# TYPE "):
            name, kind = re.fullmatch(rf"# TYPE ({NAME}) (\w+)", line).groups()
            assert name not in families and kind in TYPES and name in helped
            families[name] = kind
            closed.add(current)
            current = name
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match[1], match[2] or "", read_value(match[match.lastindex])
        family = family_of(name, families)
        assert family == current and family not in closed, f"{name} is not with its family"
        pairs = tuple(sorted(re.findall(LABEL, labels)))
        assert len({key for key, _ in pairs}) == len(pairs) and (name, pairs) not in samples
        if families[family] == "counter":
            assert name.endswith("_total") and value >= 0
        samples[name, pairs] = value
    return samples


def run(chain, tmp_path, *options):
    out, prom = tmp_path / "m.json", tmp_path / "m.prom"
    command = [STOKER, "run", chain, "--quiet", "--metrics", out, "--prometheus", prom, *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    return result, json.loads(out.read_text()), parse(prom.read_text())


def test_the_two_texts_say_the_same(tmp_path):
    chain = "range(3000).filter('x % 3 == 0').map('x * 2').shuffle(100).batch(8)"
    result, data, prom = run(chain, tmp_path, "--workers", "2", "--epochs", "2")
    assert result.returncode == 0, result.stderr
    assert data["elements"] == prom["stoker_elements_total", ()] == 2000
    assert data["batches"] == prom["stoker_batches_total", ()] == 250
    names = [op["op"] for op in data["ops"]]
    assert names == ["range", "filter", "map", "shuffle", "batch"]
    for i, op in enumerate(data["ops"]):
        labels = (("number", str(i)), ("op", op["op"]), ("stage", str(op["stage"])))
        assert prom["stoker_op_rows_in_total", labels] == op["rows_in"]
        assert prom["stoker_op_rows_out_total", labels] == op["rows_out"]
        assert prom["stoker_op_bytes_out_total", labels] == op["bytes_out"]
        assert prom["stoker_op_seconds_total", labels] >= prom["stoker_op_cpu_seconds_total", labels]
    assert [op["rows_out"] for op in data["ops"]] == [6000, 2000, 2000, 2000, 2000]
    assert prom["stoker_next_seconds_count", ()] == 250
    assert prom["stoker_step_seconds_count", ()] == 249
    assert not any(math.isnan(value) for value in prom.values())


def test_percentiles_rise(tmp_path):
    _, data, prom = run("range(10000).batch(10)", tmp_path)
    for times in (data["consumer"]["next"], data["consumer"]["step"]):
        assert 0 < times["p50"] <= times["p90"] <= times["p99"] <= times["max"]
    quantiles = [prom["stoker_next_seconds", (("quantile", q),)] for q in ("0.5", "0.9", "0.99", "1")]
    assert quantiles == sorted(quantiles)


def test_memory_by_owner(tmp_path):
    _, data, prom = run("range(5000).filter('x > 9').shuffle(64).batch(8)", tmp_path)
    memory = data["memory"]
    assert sum(a["bytes"] for a in memory["accounts"] if a["charged"]) == memory["used"]
    assert {a["owner"] for a in memory["accounts"]} == {"chunks", "state", "batches", "scratch", "pool"}
    assert prom["stoker_memory_used_bytes", ()] <= prom["stoker_memory_peak_bytes", ()]


def test_errors_are_escaped(tmp_path):
    lines = ["12", 'say "x"', "back\\slash", "7"]
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    chain = "lines('in.txt').text_to_number().batch(1)"
    result, data, prom = run(chain, tmp_path, "--on-error", "skip")
    assert result.returncode == 0, result.stderr
    assert data["errors"] == 2 == sum(cause["count"] for cause in data["causes"])
    counted = {key: value for key, value in prom.items() if key[0] == "stoker_errors_total"}
    assert sum(counted.values()) == 2
    assert all(dict(labels)["op"] == "text_to_number" for _, labels in counted)


def test_what_ended_in_an_error_is_told_too(tmp_path):
    (tmp_path / "in.txt").write_text("1\n2\nnone\n")
    result, data, _ = run("lines('in.txt').text_to_number().batch(1)", tmp_path)
    assert result.returncode == 1 and "text_to_number" in result.stderr
    assert data["batches"] == 2 and data["causes"][0]["count"] == 1


@pytest.mark.parametrize("option", ["--metrics", "--prometheus"])
def test_a_file_that_cannot_be_written(tmp_path, option):
    path = tmp_path / "nowhere" / "m"
    result = subprocess.run([STOKER, "run", "range(10).batch(2)", "--quiet", option, path],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert str(path) in result.stderr and "cannot be written" in result.stderr


def test_nothing_is_left_beside_the_file(tmp_path):
    run("range(10).batch(2)", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.json", "m.prom"]


def of_cache(samples):
    return {name.removeprefix("stoker_cache_") + "".join(" " + value for _, value in labels): value
            for (name, labels), value in samples.items() if name.startswith("stoker_cache_")}


def test_a_cache_in_memory(tmp_path):
    _, metrics, samples = run("range(100).map('y = x').cache().batch(10)", tmp_path, "--epochs", "3", "--workers", "0")
    cache = metrics["cache"]
    assert (cache["caches"], cache["hits"], cache["misses"], cache["rows"]) == (1, 200, 100, 100)
    assert 0 < cache["bytes"] <= cache["limit"] and cache["disk_bytes"] == 0
    assert (cache["full"], cache["trouble"], cache["lost"]) == (False, "", 0)
    told = of_cache(samples)
    accounts = {a["owner"]: a["bytes"] for a in metrics["memory"]["accounts"] if a["charged"]}
    assert accounts["cache"] == cache["bytes"] and sum(accounts.values()) == metrics["memory"]["used"]
    assert told == {"hits_total": 200, "misses_total": 100, "rows": 100, "bytes memory": cache["bytes"],
                    "bytes disk": 0, "limit_bytes": cache["limit"], "lost_total": 0, "full": 0}


def test_a_cache_on_disk(tmp_path):
    chain = f"range(100).map('y = x').cache('{tmp_path}/kept').batch(10)"
    cache = run(chain, tmp_path, "--epochs", "2", "--workers", "0")[1]["cache"]
    assert (cache["hits"], cache["misses"], cache["rows"]) == (100, 100, 100)
    assert cache["disk_bytes"] > 1600
    _, metrics, samples = run(chain, tmp_path)
    assert metrics["cache"]["hits"] == 100 and metrics["cache"]["misses"] == 0
    assert of_cache(samples)["bytes disk"] == cache["disk_bytes"]


def test_a_cache_that_is_full(tmp_path):
    chain = "range(40000).map('y = x').cache().batch(50)"
    plan = subprocess.run([STOKER, "plan", chain, "--workers", "1", "--json"], capture_output=True, text=True, check=True)
    memory = str(json.loads(plan.stdout)["minimum_bytes"] + 300000)
    _, metrics, samples = run(chain, tmp_path, "--workers", "1", "--memory", memory)
    assert 0 < metrics["cache"]["rows"] < 40000 and metrics["cache"]["full"] is True
    assert of_cache(samples)["full"] == 1


@pytest.mark.parametrize("io", ["uring", "threads"])
def test_who_reads(tmp_path, io):
    for i in range(40):
        (tmp_path / f"{i}.txt").write_text(f"{i}\n" * 10)
    _, metrics, samples = run(f"files('{tmp_path}/*.txt').read().batch(4)", tmp_path, "--io", io)
    reads = metrics["reads"]
    assert sum(reads["by"].values()) == reads["count"] > 0
    assert set(reads["by"]) == {"caller", "threads", "ring"}
    assert reads["by"]["ring"] == 0 or io == "uring"
    assert reads["depth"] >= 1 and reads["width"] >= 0
    for by, n in reads["by"].items():
        assert samples["stoker_reads_total", (("by", by),)] == n

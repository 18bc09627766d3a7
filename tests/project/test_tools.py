# SPDX-License-Identifier: Apache-2.0
"""The tools of `make test` and `make test-all`: what they count, why tests were skipped, the page of what was verified."""

import importlib.util
import subprocess
import sys

import pytest
from places import TREE

REPORT = """<testsuite>
<testcase classname="test_thing" name="test_thing"><system-out>
[ RUN      ] first
no oneDNN here
[       OK ] first
[ RUN      ] second
there is no
folder
[  SKIPPED ] second
[ RUN      ] third
[  SKIPPED ] third
</system-out></testcase>
<testcase classname="a" name="b"><skipped message="Skipped: no valgrind"/></testcase>
<testcase classname="a" name="c"><skipped message="Skipped: no valgrind"/></testcase>
<testcase classname="a" name="d"><failure/></testcase>
<testcase classname="a" name="e"/>
</testsuite>"""


def count(*words):
    command = [sys.executable, TREE / "tools" / "count_tests.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_counts_and_skips_with_reasons(tmp_path):
    report = tmp_path / "suite.xml"
    report.write_text(REPORT)
    assert count(report) == "2 1\n"
    assert count("--skips", report).splitlines() == [
        "skipped: suite: test_thing: second: there is no folder",
        "skipped: suite: test_thing: third: no reason is given",
        "skipped: suite: a.b and 1 more: no valgrind",
    ]


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("test_all", TREE / "tools" / "test_all.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_part_enters_its_row_alone(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    entered = tool.enter(page, "soak", ["today", "abc", "held: 3 | 4"])
    changed = [line for line in entered.splitlines() if line not in page.splitlines()]
    assert changed == ["| soak | today | abc | held: 3 \\| 4 |"]
    assert len(entered.splitlines()) == len(page.splitlines())


def test_the_page_has_a_row_for_every_part(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    for part in tool.PARTS:
        tool.enter(page, part, [""])
    with pytest.raises(ValueError, match="no row for dust"):
        tool.enter(page, "dust", [""])

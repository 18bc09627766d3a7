# SPDX-License-Identifier: Apache-2.0
"""tools/check_names.py: what is there twice."""

import sys
from pathlib import Path

from places import TREE

sys.path.insert(0, str(TREE / "tools"))
import check_names


def found(check, tmp_path, **texts):
    """What a check finds in headers of these rooms: room → text."""
    files = [Path("src", room, f"{room}.h") for room in texts]
    for path, text in zip(files, texts.values(), strict=True):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return list(check_names.twice(check(tmp_path, files)))


def test_function_of_two_rooms(tmp_path):
    assert found(
        check_names.declared,
        tmp_path,
        lang="int stk__find(const char *name);\nint stk__find_all(void);\n",
        io="struct stk__place *stk__find(\n    int file);\n",
    ) == ["stk__find"]


def test_variable_of_two_rooms(tmp_path):
    text = "extern const char *const stk__words[];\nstruct stk__later;\n"
    assert found(check_names.declared, tmp_path, lang=text, io=text) == ["stk__words"]


def test_function_named_as_a_type_elsewhere(tmp_path):
    lang = "struct stk__mix {\n    int n;\n};\nstruct stk__call stk__call(void);\nstruct stk__call {\n};\n"
    base = "static inline uint64_t stk__mix(uint64_t a)\n{\n    return stk__call(a);\n}\n"
    assert found(check_names.named_as_a_type, tmp_path, lang=lang, base=base) == ["stk__mix"]

# SPDX-License-Identifier: Apache-2.0
"""tools/check_calls.py: which uses of a symbol go the wrong way."""

import sys

import pytest
from places import TREE

sys.path.insert(0, str(TREE / "tools"))
import check_calls

GRAPH = ("infer.c.o", "graph", ["stk__up"], [])
API = ("iterator.c.o", "api", ["stk_pack"], [])


def found(*, room, needs):
    return list(check_calls.faults([GRAPH, API, ("tar.c.o", room, [], needs)], {"stk_pack"}))


def test_upward_use_is_named():
    assert found(room="op", needs=["stk__up"]) == ["tar.c.o: op may not use stk__up of graph"]


@pytest.mark.parametrize("room", ["graph", "rewrite", "api"])
def test_downward_use(room):
    assert found(room=room, needs=["stk__up", "malloc"]) == []


def test_public_names_are_for_clients_of_api():
    assert found(room="train", needs=["stk_pack"]) == []
    assert found(room="exec", needs=["stk_pack"]) == ["tar.c.o: exec may not use stk_pack of api"]
    assert found(room="train", needs=["stk__up"]) != []


def test_public_names_are_read_from_the_headers():
    names = check_calls.public_names(TREE)
    assert {"stk_version", "stk_iterator_next"} <= names
    assert "stk_rows_alloc" not in names

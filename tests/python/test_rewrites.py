# SPDX-License-Identifier: Apache-2.0
"""What a chain becomes before it runs, from Python."""

import stoker


def test_rewrites_are_listed():
    plan = stoker.range(10).skip(0).map("x + 1").map("y = x * 2").batch(2).skip(1).plan()
    assert plan.chain == "range(10).map('x = (x + 1); y = x * 2').batch(2).skip(1)"
    assert [(r.rule, r.is_done) for r in plan.rewrites] == [
        ("drop_nothing", True),
        ("move_choice", False),
        ("fuse_maps", True),
    ]
    assert str(plan.rewrites[0]) == "skip(0) is left out: all elements pass, in their order"
    assert str(plan.rewrites[1]).startswith("not done: skip(1) stays behind batch(2): ")
    assert plan.json["rewrites"][2]["text"] == plan.rewrites[2].text


def test_a_chain_that_goes_on_has_what_it_needs():
    """What a dataset left out is there for one that is built on it."""
    ds = stoker.range(10).map("y = x + 1")
    assert "map" not in ds.select("x").plan().chain
    assert [int(e["y"]) for e in ds.take(3)] == [1, 2, 3]
    assert [int(e["z"]) for e in ds.map("z = y * 2").select("z").take(3)] == [2, 4, 6]


def test_resume_of_a_rewritten_chain():
    ds = stoker.parse(
        "range(40).batch(1).unbatch().map('x + 1').map('y = x * 2').skip(3).shard(2, 1).batch(3)"
    )
    whole = [b["y"].tolist() for b in ds.iterate(epoch=0)]
    for cut in range(len(whole)):
        it = ds.iterate(epoch=0)
        for _ in range(cut):
            next(it)
        state = it.state_dict()
        again = stoker.parse(str(ds))
        again.load_state_dict(state)
        assert [b["y"].tolist() for b in again] == whole[cut:]

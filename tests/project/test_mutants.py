# SPDX-License-Identifier: Apache-2.0
"""The mutants of tests/project/mutate.py, which take minutes to run, still apply to the code."""

import mutate


def test_every_mutant_has_one_place():
    assert mutate.check_patterns()
    assert len({mutant.name for mutant in mutate.MUTANTS}) == len(mutate.MUTANTS)

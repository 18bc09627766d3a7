# SPDX-License-Identifier: Apache-2.0
"""Random chains of ops that make fields of others, as test_model.py has those of all ops."""

import pytest
from model.field_chain import FieldMaker
from model.random_chain import write_files
from test_model import N_CHAINS, check


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("chains")
    write_files(path)
    return path


@pytest.mark.parametrize("number", range(N_CHAINS))
def test_chain(stoker, folder, number):
    check(stoker, *FieldMaker(number, folder).make())

"""The testbed's names beside upstream's own code: our inputs, and what upstream gave for them.

`tools/guest_fixtures_testbed.py` made the file. Upstream's rule is chosen, since ours is another one in places.
"""

import json
from pathlib import Path

import pytest
import testbed_cases

from assay.dialects import protocol
from assay.dialects.guest import Guest
from assay.dialects.testbed import data_registry
from assay.dialects.testbed.claims import NAMES

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("datasets")

CASES = testbed_cases.cases()
EXPECTED = json.loads(
    (Path(__file__).parent / "upstream" / "cases.json").read_text(encoding="utf-8")
)["cases"]


@pytest.fixture
def load(tmp_path):
    before = (
        dict(data_registry.DATASET_RETRIEVER_MAPPING),
        dict(data_registry.POSTPROCESS_MAPPING),
    )
    data_registry.register()
    protocol.choose("testbed", protocol.UPSTREAM)
    yield Guest("testbed", NAMES, tmp_path, force=True).module
    protocol.choose("testbed", protocol.OURS)
    for table, entries in zip(
        (data_registry.DATASET_RETRIEVER_MAPPING, data_registry.POSTPROCESS_MAPPING),
        before,
        strict=True,
    ):
        table.clear()
        table.update(entries)


@pytest.mark.parametrize("name", CASES)
def test_upstream_gives_the_same(load, name):
    made = testbed_cases.digest(testbed_cases.outcome(CASES[name], load))

    assert made == testbed_cases.repaired(name, EXPECTED[name])

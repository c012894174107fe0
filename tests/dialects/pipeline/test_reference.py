"""The pipeline's names beside rwkv-benchmark's own code: our inputs, and what each of its eras gave for them.

`tools/guest_fixtures_pipeline.py` made the files. Upstream's rule is chosen, since ours is another one in places.
Without a checkout the newest era is followed, and instruction sentences are ours; what differs for that is left out.
"""

import contextlib
import io
import json
from pathlib import Path

import pipeline_cases
import pytest
from stub_model import StubModel

from assay.cli.main import main
from assay.dialects import protocol
from assay.dialects.guest import Guest
from assay.dialects.pipeline.claims import NAMES

pytest.importorskip("torch")
pytest.importorskip("datasets")

CASES = pipeline_cases.cases()
ERAS = {
    file.stem: json.loads(file.read_text(encoding="utf-8"))["cases"]
    for file in (Path(__file__).parent / "upstream").glob("*.json")
}
NEWEST = "0acbdca"
LATER = (
    "cli.",
    "pipeline.",
    "generation",
    "engine.speed",
    "engine.generate_batch",
    "registry.datasets",
)
"""What the earlier eras do otherwise: no speeds beside the numbers, and 256 rows of LAMBADA at a time."""


class Ours:
    """Our names over the little model."""

    def __init__(self, folder, arity):
        self.arity = arity
        self._guest = Guest("pipeline", NAMES, folder, force=True)

    def load(self, name):
        return self._guest.module(name)

    def engine(self):
        return self.load("batch_engine").RWKVInferenceEngine(StubModel())

    def model(self):
        return StubModel()

    def command(self, *arguments):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            main(
                [
                    "pipeline",
                    "--upstream",
                    "--model",
                    f"{Path(__file__).parent / 'stub_model.py'}:StubModel",
                    *arguments,
                ]
            )
        return told.getvalue()


@pytest.fixture
def upstream():
    protocol.choose("pipeline", protocol.UPSTREAM)
    yield
    protocol.choose("pipeline", protocol.OURS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("era", sorted(ERAS))
def test_upstream_gives_the_same(upstream, tmp_path, era, name):
    if pipeline_cases.is_worded(name, era) or (
        era != NEWEST and name.startswith(LATER)
    ):
        pytest.skip("needs that era's checkout")

    made = pipeline_cases.outcome(
        CASES[name], Ours(tmp_path, 3 if era == NEWEST else 2)
    )

    assert made == ERAS[era][name]

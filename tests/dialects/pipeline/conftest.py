"""What the tests of the pipeline dialect share: registries as they were, and a folder of a user."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay.dialects.pipeline.dataset_registry import DatasetRegistry
from assay.dialects.pipeline.evaluator_registry import EvaluatorRegistry


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Leaves the registries as they were."""
    before = dict(DatasetRegistry._registry), dict(EvaluatorRegistry._registry)
    yield
    for registry, entries in zip(
        (DatasetRegistry, EvaluatorRegistry), before, strict=True
    ):
        registry._registry.clear()
        registry._registry.update(entries)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

"""Fixtures: write a file, read a dataset."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Not a package of tests: one called `datasets` would stand before the library of that name.
sys.path.insert(0, str(Path(__file__).parent))

from dataset_rows import Read


@pytest.fixture
def read() -> type[Read]:
    return Read


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, list[bytes] | bytes], Path]:
    def make(name: str, content: list[bytes] | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
        return path

    return make

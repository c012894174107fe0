"""The fault plan: the tests that the table of docs/development/promises.md names, beside those that read its counts."""

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Neither of the two that look at the clock: a machine with other work is slow, and no test may fail for that.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "faults"), str(HERE / "shared")]
# Runs are signed with a key in the user's config folder: tests have one of their own.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="assay-config-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)


COSTLY = pytest.mark.skip(reason="costly; runs where CI is set: make test-all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the fault plan, so that `-m faults` takes them all; skips what is left to CI."""
    page = (HERE.parent / "docs" / "development" / "promises.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py::test_\w+)`", page))
    for item in items:
        name = f"{item.path.relative_to(HERE).as_posix()}::{getattr(item, 'originalname', item.name)}"
        if item.path.is_relative_to(HERE) and name in named:
            item.add_marker("faults")
        if not os.environ.get("CI") and item.get_closest_marker("costly"):
            item.add_marker(COSTLY)


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests() -> None:
    """What one test was given is searched for in what the next one writes, unless it is forgotten."""
    from assay.core.secrets import forget

    forget()


@pytest.fixture(autouse=True)
def no_folders_of_other_tests() -> Iterator[None]:
    """A file that is loaded leaves its folder importable; thousands of such folders make every later import slow."""
    before = list(sys.path)
    yield
    if sys.path != before:
        sys.path[:] = before

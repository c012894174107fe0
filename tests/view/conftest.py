"""One browser for all tests of the viewer that need one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser, Viewer, skip_reason


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    if reason := skip_reason():
        pytest.skip(reason)
    opened = Browser()
    yield opened
    opened.driver.quit()


@pytest.fixture
def viewer() -> Iterator[Callable[[Path], Viewer]]:
    started: list[Viewer] = []

    def start(root: Path) -> Viewer:
        started.append(Viewer(root))
        return started[-1]

    yield start
    for one in started:
        one.close()

"""Helpers are modules beside the tests."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def heeded_hangup():
    """A hang-up is heeded, also where the tests themselves were started with `nohup`, which runs respect."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)

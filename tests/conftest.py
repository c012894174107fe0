"""What all tests share: how often things are tried, no waiting for clocks and disks, what belongs to faults or CI."""

import atexit
import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pytest import CollectReport

gc.disable()  # until all is collected: what collection makes stays, and would be searched for garbage many times
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "faults"), str(HERE / "shared")]

from fault_counts import COUNTS  # noqa: E402 - the path is new

# Neither of the two that look at the clock: a machine with other work is slow, and no test may fail for that.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=COUNTS.examples,
)
settings.load_profile("any machine")
# Runs are signed with a key in the user's config folder, and results of other tools are converted in the data folder:
# tests have folders of their own.
for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
    os.environ[name] = tempfile.mkdtemp(prefix=f"assay-{name[4:-5].lower()}-")
    atexit.register(shutil.rmtree, os.environ[name], ignore_errors=True)
# Test modules as pytest rewrites them are kept: the next collection takes half as long. Files that tests write are not,
# here and in processes they start: one that is edited within a second would be taken for the one before.
sys.dont_write_bytecode = False
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# pytest-xdist passes the width of its terminal on to its workers: tables would be folded to it.
os.environ.pop("COLUMNS", None)
# Some virtual machines announce AMX instructions and then refuse them: half precision in torch would end the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


def check_handle(handle: int) -> None:
    """Stands for `fsync` in the processes of the tests: none of them cuts the power, and each would wait for the disk.

    Tests of what is synced, and when, watch the calls; runs in processes of their own sync for real.
    """
    os.fstat(handle)


os.fsync = os.fdatasync = check_handle
COSTLY = pytest.mark.skip(reason="costly; runs where CI is set: make test-all")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, CollectReport, CollectReport]:
    """Every second worker reads the files from the last to the first: each finds what the other has compiled."""
    report = yield
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2 and isinstance(
        collector, pytest.Directory
    ):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders the tests; marks those of the fault plan, so that `-m faults` takes them all; skips what is for CI.

    Groups that one worker takes come first: no other waits at the end until a long one is done.
    """
    items.sort(
        key=lambda item: (item.get_closest_marker("xdist_group") is None, item.path)
    )
    page = (HERE.parent / "docs" / "development" / "promises.md").read_text(
        encoding="utf-8"
    )
    named = {
        (str(HERE / path), name)
        for path, name in re.findall(r"`([\w/]+\.py)::(test_\w+)`", page)
    }
    for item in items:
        if (str(item.path), getattr(item, "originalname", item.name)) in named:
            item.add_marker("faults")
        if not os.environ.get("CI") and item.get_closest_marker("costly"):
            item.add_marker(COSTLY)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """From here on nothing is compiled for later; what is there is never searched for garbage, the rest rarely."""
    sys.dont_write_bytecode = True
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def git_state_of_this_checkout() -> Iterator[None]:
    """Asks git once about this checkout, not in each of thousands of runs; about other folders as often as they do."""
    from assay.runner.resume import manifest

    ask_git, once = manifest._git_state, cache(manifest._git_state)

    def git_state() -> dict[str, object] | None:
        try:
            return once() if Path.cwd() == HERE.parent else ask_git()
        except OSError:  # the folder is gone
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_git_state", git_state)
        yield


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

"""The pages that programs write are what these programs write now: `make pages` brings them up to date."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
PYTHON_OF_THE_PAGES = (3, 11)
"""argparse prints help in another form since 3.13."""


@pytest.mark.parametrize(
    "name", ["list_benchmarks", "list_commands", "list_python", "list_pages"]
)
def test_the_page_is_current(name: str, monkeypatch: pytest.MonkeyPatch):
    if name == "list_commands" and sys.version_info[:2] != PYTHON_OF_THE_PAGES:
        pytest.skip("the page shows what argparse of Python 3.11 prints")
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), (
        f"run `python tools/{name}.py`, or `make pages`"
    )

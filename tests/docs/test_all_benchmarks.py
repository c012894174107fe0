"""The page that lists every benchmark is what the tasks say of themselves."""

import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "list_benchmarks.py"


def test_the_page_is_current():
    spec = importlib.util.spec_from_file_location("list_benchmarks", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/list_benchmarks.py"

"""Writes docs/all-benchmarks.md from what the tasks say of themselves: `python tools/list_benchmarks.py`."""

from pathlib import Path

from assay.catalogue import BENCHMARKS
from assay.core import DataSource, Suite, Task
from assay.registry import tasks

PAGE = Path(__file__).parent.parent / "docs" / "all-benchmarks.md"
HEAD = """# All benchmarks

Written by `tools/list_benchmarks.py` from what each task says of itself; a test keeps it current. *Data*: where rows
come from besides `--data PATH`; `mini` is a tiny set of our own that ships (`--data mini`). Official code each scorer
is held against: `assay conformance`. Text benchmarks in more words: [benchmarks.md](benchmarks.md).

| name | protocol | what | metrics | data | licence |
| --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The page as text."""
    rows = []
    for name in sorted(BENCHMARKS):
        thing = tasks.get(name)
        thing = thing() if callable(thing) else thing
        if isinstance(thing, Suite):
            rows.append(f"| `{name}` | suite | {BENCHMARKS[name][1]} | | {len(thing.tasks)} tasks | |")
        elif isinstance(thing, Task):
            rows.append(row(name, thing))
    return HEAD + "\n".join(rows) + "\n"


def row(name: str, task: Task) -> str:
    """One line of the table."""
    scorers = ", ".join(f"`{_name(scorer)}`" for scorer in task.scorers)
    cells = [f"`{name}`", f"`{task.protocol}`", BENCHMARKS[name][1], scorers, data(task), task.licence]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def data(task: Task) -> str:
    """Where the rows come from."""
    source = task.dataset
    if not isinstance(source, DataSource):
        return ""
    found = [f"`{source.hub}`" if source.hub else "", f"`{source.local[0]}`" if source.local else ""]
    found += ["mini" if source.mini else "", "ships" if source.package else ""]
    return ", ".join(part for part in found if part)


def _name(scorer: object) -> str:
    if isinstance(scorer, str):
        return scorer
    if isinstance(scorer, dict):
        return str(scorer.get("label") or scorer.get("name") or next(iter(scorer)))
    return str(getattr(scorer, "__name__", None) or getattr(scorer, "name", None) or type(scorer).__name__)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Writes docs/all-benchmarks.md from what the tasks say of themselves: `python tools/list_benchmarks.py`."""

from pathlib import Path

from assay.catalogue import BENCHMARKS, SCORERS
from assay.conformance import select
from assay.core import DataSource, Spec, Suite, Task, UsageError
from assay.registry import tasks
from assay.runner.plan.planning import build_scorer

FIXTURES = [fixture for fixture in select(None) if fixture.name != "choice@corpus"]
"""Those of official code or a published definition; letters are read by rules of our own."""
MOST = 2
"""Sources in one cell."""
REGISTERED = {place.partition(":")[2]: name for name, (place, _) in SCORERS.items()}
PAGE = Path(__file__).parent.parent / "docs" / "all-benchmarks.md"
HEAD = """# All benchmarks

Every benchmark that ships, in one line each. *Data*: where rows
come from besides `--data PATH`; `mini` is a tiny set of our own that ships (`--data mini`). *Matches*: the official
code or definition the scorer is held against, number by number, by `assay conformance`
([conformance.md](conformance.md)); `own rules` where there is none, as for a judge with our wording. Text benchmarks in
more words: [benchmarks.md](benchmarks.md).

| name | protocol | what | metrics | matches | data | licence |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Return the page as text."""
    rows = []
    for name in sorted(BENCHMARKS):
        thing = tasks.get(name)
        thing = thing() if callable(thing) else thing
        if isinstance(thing, Suite):
            rows.append(
                f"| `{name}` | suite | {BENCHMARKS[name][1]} | | | {len(thing.tasks)} tasks | |"
            )
        elif isinstance(thing, Task):
            rows.append(row(name, thing))
    return HEAD + "\n".join(rows) + "\n"


def row(name: str, task: Task) -> str:
    """One line of the table."""
    scorers = ", ".join(f"`{_name(scorer)}`" for scorer in task.scorers)
    cells = [
        f"`{name}`",
        f"`{task.protocol}`",
        BENCHMARKS[name][1],
        scorers,
        matches(task),
        data(task),
        task.licence,
    ]
    return (
        "| "
        + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
        + " |"
    )


def matches(task: Task) -> str:
    """Return the official code that scorers are compared with, read from the fixtures of the same options."""
    found: dict[str, None] = {}
    for scorer in task.scorers:
        inner = _built(scorer)
        asked = task.summarizers or getattr(inner, "summarizers", ("mean",))
        used = {_summarizer(one) for one in asked}
        for fixture in FIXTURES:
            if fixture.function:
                fits = fixture.subject in {_name(scorer), *used}
            else:
                fits = _built(fixture.scorer) == inner
            over = {_summarizer(entry["summarizer"]) for entry in fixture.corpus}
            if fits and (not over or over & used):
                found[fixture.source] = None
    return "; ".join([*found][:MOST]) or "own rules"


def data(task: Task) -> str:
    """Where the rows come from."""
    source = task.dataset
    if not isinstance(source, DataSource):
        return ""
    found = [
        f"`{source.hub}`" if source.hub else "",
        f"`{source.local[0]}`" if source.local else "",
    ]
    found += ["mini" if source.mini else "", "ships" if source.package else ""]
    return ", ".join(part for part in found if part)


def _built(scorer: object) -> object:
    """Return the scorer with its options.

    It is the inner one if a specialist's reply is scored, and `None` if it needs a file.
    """
    try:
        _, built = build_scorer(scorer, "list")
    except UsageError:
        return None
    return getattr(built, "scorer", built)


def _summarizer(thing: object) -> str:
    return Spec.of(thing).name if isinstance(thing, (str, dict, Spec)) else _name(thing)


def _name(scorer: object) -> str:
    if isinstance(scorer, str):
        return scorer
    if isinstance(scorer, dict):
        return str(scorer.get("label") or scorer.get("name") or next(iter(scorer)))
    named = getattr(scorer, "__name__", None) or getattr(scorer, "name", None)
    return str(named or REGISTERED.get(type(scorer).__name__, type(scorer).__name__))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

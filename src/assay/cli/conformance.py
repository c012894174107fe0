"""`assay conformance`: compare scorers with stored results of the official code."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..code.userfiles import is_reference
from ..conformance import Verdict, check, select
from ..core import UsageError
from ..report.grid import write_lines
from ..runner.tasks.components import build_scorer
from .arguments import Parser

SHOWN = 3
"""The number of differences printed for each fixture. `--json` has all of them."""


def command(arguments: Sequence[str]) -> int:
    """Compare all fixtures, and print a line for each. Return 1 if one differs."""
    p = Parser(
        prog="assay conformance",
        description="Compare scorers, or your own metric, with the values of official code.",
    )
    p.add_argument(
        "name",
        nargs="?",
        default=None,
        help="a scorer, a protocol (scorer@protocol), or FILE.py:METRIC",
    )
    p.add_argument(
        "--against",
        default=None,
        metavar="FILE|SCORER",
        help="the cases to compare your own metric with",
    )
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    verdicts = _verdicts(options.name, options.against)
    if options.json:
        sys.stdout.write(
            json.dumps(
                [_plain(verdict) for verdict in verdicts],
                ensure_ascii=False,
                default=str,
            )
            + "\n"
        )
    else:
        write_lines(_lines(verdicts), sys.stdout)
    if any(verdict.differences for verdict in verdicts):
        return 1
    return 0


def _verdicts(
    name: str | None,
    against: str | None,
) -> list[Verdict]:
    if name is not None and is_reference(name):
        if against is None:
            raise UsageError(
                "there are no cases to compare it with",
                where=name,
                fix="--against SCORER, or a JSON file of cases",
            )
        _, metric = build_scorer(name, name)
        fixtures = [fixture for fixture in select(against) if not fixture.function]
        if not fixtures:
            raise UsageError(
                "has no cases for a metric of samples and outputs", where=against
            )
        return [check(fixture, metric) for fixture in fixtures]
    if against is not None:
        raise UsageError(
            "--against is for a metric of your own",
            where=name,
            fix="assay conformance my.py:metric --against SCORER",
        )
    return [check(fixture) for fixture in select(name)]


def _lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each fixture followed by its first differences, and at the end
    the number of equal fixtures.
    """
    width = max(len(verdict.fixture.name) for verdict in verdicts)
    for verdict in verdicts:
        yield _verdict_line(verdict, width)
        yield from _difference_lines(verdict, indent=" " * (width + 4))
    words = [verdict.word for verdict in verdicts]
    equal = words.count("equal")
    different = words.count("differs")
    not_run = words.count("not run")
    yield f"{equal} equal, {different} differ, {not_run} not run"


def _verdict_line(verdict: Verdict, width: int) -> str:
    """Return one line per fixture: its name, the verdict, the number of equal cases, and its source."""
    fixture = verdict.fixture
    differing = {difference.case for difference in verdict.differences}
    cases = verdict.equal + len(differing)
    counts = verdict.not_run or f"{verdict.equal}/{cases}"
    return f"{fixture.name:<{width}}  {verdict.word:<7}  {counts:>9}  {fixture.source}"


def _difference_lines(verdict: Verdict, indent: str) -> Iterator[str]:
    """Yield a line for each of a fixture's first differences. If there are more, yield a line with their number."""
    for difference in verdict.differences[:SHOWN]:
        yield f"{indent}{difference}"
    more = len(verdict.differences) - SHOWN
    if more > 0:
        yield f"{indent}and {more} more (--json)"


def _plain(verdict: Verdict) -> dict[str, Any]:
    fixture = verdict.fixture
    return {
        "name": fixture.name,
        "verdict": verdict.word,
        "equal": verdict.equal,
        "not_run": verdict.not_run,
        "source": fixture.source,
        "made_by": fixture.made_by,
        "differences": [
            {
                "case": d.case,
                "what": d.number_name,
                "official": d.official,
                "ours": d.ours,
            }
            for d in verdict.differences
        ],
    }

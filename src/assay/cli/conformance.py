"""`assay conformance`: whether scorers say what official code says, on frozen fixtures."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from ..code.userfiles import is_reference
from ..conformance import Verdict, check, select
from ..core import UsageError
from ..runner.tasks.components import build_scorer
from .arguments import Parser

SHOWN = 3
"""Differences printed of each fixture; `--json` has all."""


def command(arguments: Sequence[str]) -> int:
    """Prints a line for each fixture; 1 if one differs."""
    p = Parser(
        prog="assay conformance",
        description="Scorers, or your own metric, against what official code says.",
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
        help="the cases your own metric is held against",
    )
    p.add_argument(
        "--json", action="store_true", help="exactly one JSON document on stdout"
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
        _print(verdicts)
    return 1 if any(verdict.differences for verdict in verdicts) else 0


def _verdicts(name: str | None, against: str | None) -> list[Verdict]:
    if name is not None and is_reference(name):
        if against is None:
            raise UsageError(
                "nothing to hold it against",
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


def _print(verdicts: Sequence[Verdict]) -> None:
    width = max(len(verdict.fixture.name) for verdict in verdicts)
    for verdict in verdicts:
        cases = verdict.equal + len(
            {difference.case for difference in verdict.differences}
        )
        counts = verdict.not_run or f"{verdict.equal}/{cases}"
        print(
            f"{verdict.fixture.name:<{width}}  {verdict.word:<7}  {counts:>9}  {verdict.fixture.source}"
        )
        for difference in verdict.differences[:SHOWN]:
            print(f"{'':<{width}}    {difference}")
        if len(verdict.differences) > SHOWN:
            print(
                f"{'':<{width}}    and {len(verdict.differences) - SHOWN} more (--json)"
            )
    words = [verdict.word for verdict in verdicts]
    print(
        f"{words.count('equal')} equal, {words.count('differs')} differ, {words.count('not run')} not run"
    )


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
            {"case": d.case, "what": d.what, "official": d.official, "ours": d.ours}
            for d in verdict.differences
        ],
    }

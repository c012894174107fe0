"""`assay score`: a run scored again from its journal; the model is not asked."""

import shlex
from collections.abc import Sequence
from typing import Any

from ..core import StoreError
from .arguments import Parser, judge_entry, key_values
from .run import stdout_for_people


def _other_fix(error: StoreError, run: str) -> str | None:
    """The remedy of an error about the run folder; scores go where the answers are, so there is no other with -o."""
    if error.fix is None or "-o" not in error.fix.split():
        return error.fix
    return f"score a copy of it: cp -r {shlex.quote(run)} COPY, then `assay score COPY`"


def command(arguments: Sequence[str]) -> int:
    """Scores, prints the table or one JSON document, and returns the exit code."""
    p = Parser(prog="assay score", description="Score a run again without asking the model.")
    p.add_argument("run", help="a run folder")
    p.add_argument("--scorer", "--scorers", action="append", default=None, help="in place of the task's own")
    p.add_argument("--data", default=None, help="where the data lies now")
    p.add_argument("--judge", action="append", default=None, metavar="[ROLE=]MODEL")
    p.add_argument("--judge_args", action="append", default=None, metavar="K=V,…")
    p.add_argument("--scorer_seconds", type=float, default=None, help="CPU time a scorer may take for one answer")
    p.add_argument("--trust_pickle", action="store_true", help="guests' evaluations may read pickles of other runs")
    p.add_argument("--trust_code", action="store_true", help="run the code that a run.json of somebody else names")
    p.add_argument("--json", action="store_true", help="exactly one JSON document on stdout")
    p.add_argument("--debug", action="store_true")
    given = p.parse(arguments)
    with stdout_for_people(given.json) as stdout:
        from ..runner.run import score
        from .display import finish, watcher

        settings: dict[str, Any] = {}
        if given.scorer:
            settings["scorers"] = tuple(given.scorer)
        if given.data:
            settings["data"] = given.data
        if given.judge:
            settings["judges"] = dict(judge_entry(entry) for entry in given.judge)
        if given.judge_args:
            settings["judge_args"] = key_values(given.judge_args, option="--judge_args")
        if given.scorer_seconds is not None:
            settings["scorer_seconds"] = given.scorer_seconds
        for name in ("trust_pickle", "trust_code"):
            if getattr(given, name):
                settings[name] = True
        watching = watcher(given.json)
        try:
            result = score(given.run, watcher=watching, **settings)
        except StoreError as error:
            error.fix = _other_fix(error, given.run)
            raise
        finish(result, stdout, given.json, watching=watching)
        return result.exit_code

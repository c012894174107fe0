"""`assay score`: score the answers in a run's journal again, without calling the model."""

import shlex
from collections.abc import Sequence

from ..core import StoreError
from .arguments import Parser
from .run import stdout_for_people
from .run_flags import add_some, settings_of

OPTIONS = (
    "scorers",
    "data",
    "judges",
    "judge_args",
    "scorer_seconds",
    "trust_pickle",
    "trust_code",
)


def _other_fix(error: StoreError, run: str) -> str | None:
    """Return the fix to print for an error about the run folder.

    Scores must be written next to the answers, so advice to name another folder (`-o`)
    is replaced.
    """
    if error.fix is None or "-o" not in error.fix.split():
        return error.fix
    return f"score a copy of it: cp -r {shlex.quote(run)} COPY, then `assay score COPY`"


def command(arguments: Sequence[str]) -> int:
    """Score the run again, print the table or one JSON document, and return the exit code."""
    p = Parser(
        prog="assay score",
        description="Score a run again without asking the model.",
    )
    p.add_argument("run", help="a run folder")
    add_some(p, *OPTIONS, data="path of the data, if it has moved")
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    with stdout_for_people(options.json) as stdout:
        from ..runner.run import score
        from .display import finish, watcher

        watching = watcher(options.json)
        try:
            result = score(
                options.run,
                watcher=watching,
                **settings_of(options, *OPTIONS),
            )
        except StoreError as error:
            error.fix = _other_fix(error, options.run)
            raise
        finish(result, stdout, options.json, watching=watching)
        return result.exit_code

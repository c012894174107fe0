"""`assay vlmeval`: VLMEvalKit's command line, run by assay."""

import sys
from collections.abc import Sequence


def command(arguments: Sequence[str]) -> int:
    """Run every model on every dataset and return the worst exit code.

    `circular FILE` instead writes a table with all rotations of each question's
    options.
    """
    if arguments[:1] == ["circular"]:
        return _circular(arguments[1:])
    from ..dialects.vlmeval.vlmeval_command import evaluate, idle_flags
    from .display import finish_all, watcher
    from .run import stdout_for_people

    is_json = "--json" in arguments
    with stdout_for_people(is_json) as stdout:
        idle = idle_flags(arguments)
        if idle:
            print(
                f"note: {', '.join(idle)}: assay decides this itself",
                file=sys.stderr,
            )
        codes = finish_all(evaluate(arguments, watcher(is_json)), stdout, is_json)
    return next((code for code in (130, 1, 2, 3) if code in codes), max(codes))


def _circular(arguments: Sequence[str]) -> int:
    """Write x_circular.tsv, as `vlmutil circular x.tsv` does: every question once for each rotation of its options."""
    from pathlib import Path

    from ..core.errors import UsageError
    from ..dialects.vlmeval.rotating import write_circular

    if len(arguments) != 1:
        raise UsageError(
            "which table is to be rotated?", fix="assay vlmeval circular FILE.tsv"
        )
    target, before, after = write_circular(Path(arguments[0]).expanduser())
    print(f"{target}: {after} rows of {before} questions")
    return 0

"""`assay verify`: check that a run folder is unchanged and that its table agrees with its journal."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError
from ..report import printable
from ..report.grid import write_lines
from ..store import RunReader
from .arguments import Parser
from .run_flags import add_some, settings_of

VERIFIED, NOT_VERIFIED = 0, 3
OPTIONS = ("scorers", "data", "trust_code")


def command(arguments: Sequence[str]) -> int:
    """Check a run folder, and print a line for each check. Return 0 only if everything was checked and is correct."""
    p = Parser(
        prog="assay verify",
        description="Check each line of the journal, the media of answers, and summary.json against\n"
        "their digests, and rebuild the table from the journal. Nothing is asked, scored\n"
        "or written.\n"
        "Exit codes: 0 nothing was changed; 3 something is damaged, differs, or\n"
        "could not be checked.",
    )
    p.add_argument("run", help="a run folder")
    add_some(
        p,
        *OPTIONS,
        scorers="the scorers of the last scoring",
        data="path of the data, if it has moved",
    )
    options = p.parse(arguments)
    reader = RunReader(Path(options.run).expanduser())
    verdict = "verified"
    for kind, line in _checks(reader, settings_of(options, *OPTIONS)):
        write_lines([printable(f"{kind}: {line}")], sys.stdout)
        if kind in ("damaged", "not checked"):
            if "damaged" in (kind, verdict):
                verdict = "damaged"
            else:
                verdict = "unverified"
    write_lines([printable(f"{verdict}: {reader.layout.folder}")], sys.stdout)
    return VERIFIED if verdict == "verified" else NOT_VERIFIED


def _checks(
    reader: RunReader,
    settings: dict[str, Any],
) -> Iterator[tuple[str, str]]:
    """Yield the state of each part of a run, with a line about it.

    States are `ok`, `damaged`, `not checked` and `made again`.
    """
    for line in reader.damage:
        yield "damaged", line
    if reader.index.damage and reader.index.damage not in reader.damage:
        yield _known_damage(reader)
    elif not reader.index.damage:
        answers = sum(len(cell.answers) for cell in reader.index.cells.values())
        verdicts = sum(
            len(scored)
            for cell in reader.index.cells.values()
            for scored in cell.scores.values()
        )
        yield (
            "ok",
            f"every line of the journal is whole: {answers} answers, {verdicts} verdicts",
        )
    media = sum(bool(places) for places in reader.index.media.values())
    if media and not any(line.startswith("media:") for line in reader.damage):
        yield "ok", f"every medium has the bytes of its name: {media}"
    if reader.is_unverified:
        yield (
            "not checked",
            "the run was written by the first version, which noted no digests",
        )
    elif not reader.is_finished:
        yield (
            "not checked",
            "the run is not finished: the same `assay run` continues it",
        )
        return
    elif not any(
        line.startswith(("records.jsonl", "summary.json")) for line in reader.damage
    ):
        yield "ok", "journal and summary have the digests that the run noted"
    yield from _table(reader, settings)


def _known_damage(reader: RunReader) -> tuple[str, str]:
    """Return the state of a run whose journal is damaged, and a line about the lost or replaced answers."""
    lost = reader.lost_answers()
    if lost:
        if lost == 1:
            answers = "1 answer is"
        else:
            answers = f"{lost:,} answers are"
        return (
            "damaged",
            f"{reader.index.damage}: {answers} lost; the same `assay run` asks again",
        )
    if reader.summary.get("status") == "partial":
        return (
            "damaged",
            f"{reader.index.damage}, and the run is not complete; the same `assay run` continues it",
        )
    return "ok", f"{reader.index.damage}; its samples were asked or scored again"


def _table(
    reader: RunReader,
    settings: dict[str, Any],
) -> Iterator[tuple[str, str]]:
    from ..runner.summary.verifying import recompute

    try:
        table = recompute(reader, **settings)
    except AssayError as error:
        if isinstance(error, UsageError) and settings.get("scorers"):
            raise  # the scorers that the user named, not those of the run
        yield (
            "not checked",
            f"the table could not be made again: {' '.join(str(error).split())}",
        )
        return
    for line in table.unchecked:
        yield "not checked", line
    if reader.summary:
        differences = list(table.differences(reader.summary))
        yield from (("damaged", line) for line in differences)
        left_out = len(table.left_out(reader.summary))
        if left_out:
            yield (
                "not checked",
                "the run was interrupted before its numbers were computed: the same `assay run` continues it",
            )
        elif table.results and not differences:
            yield (
                "ok",
                f"the journal gives the {len(table.results)} numbers of the table",
            )
        return
    for result in table.results:
        yield (
            "made again",
            f"{result.task} · {result.model} · {result.metric}: {result.value} (n {result.n})",
        )

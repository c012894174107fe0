"""The spending of earlier runs in a folder: time, and the tokens and cost of every answer in the journal."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ...core import Usage
from ...store import RunWriter
from ...store.journal import read_lines
from ..counts.spending import COUNTED, Unit, spent_of
from ..options import RunOptions

SECONDS = "spent_seconds"
"""The key in `run.json` for the total time of all runs in the folder."""
NOT_ASKED = ("cached", "copied_from")
"""If an answer's details have one of these keys, the answer was copied and no model was called for it."""
CANARY = "canary"
TOKENS = ("input_tokens", "output_tokens")


class _Answer(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Line(msgspec.Struct):
    task: str = ""
    output: _Answer = msgspec.field(default_factory=_Answer)
    details: dict[str, Any] = msgspec.field(default_factory=dict)


def spent_before(
    writer: RunWriter,
    manifest: Mapping[str, Any],
    options: RunOptions,
) -> dict[Unit, float]:
    """Return the spending of the earlier runs in the folder: dollars, tokens and seconds."""
    spent: dict[Unit, float] = {
        "usd": 0.0,
        "tokens": 0.0,
        "seconds": seconds_before(writer, manifest),
    }
    journal = writer.layout.journal
    if not journal.exists():
        return spent
    for task, counts in _counts_of_answers(journal):
        amounts: dict[str, Any] = dict(counts)
        tokens, cost = spent_of(Usage(**amounts), _prices(task, options))
        spent["tokens"] += tokens or 0.0
        spent["usd"] += cost or 0.0
    return spent


def seconds_before(
    writer: RunWriter,
    manifest: Mapping[str, Any],
) -> float:
    """Return the duration of the earlier runs in seconds. A killed run is assumed to have
    ended at its last journal line.
    """
    noted = manifest.get(SECONDS)
    if isinstance(noted, (int, float)):
        before = float(noted)
    else:
        before = 0.0
    if manifest.get("status") != "running" or not writer.layout.journal.exists():
        return before
    try:
        started = datetime.strptime(
            str(manifest.get("started", "")), "%Y-%m-%dT%H:%M:%S%z"
        ).timestamp()
    except (ValueError, OverflowError):
        return before
    return before + max(0.0, writer.layout.journal.stat().st_mtime - started)


def tokens_in_journal(journal: Path) -> dict[str, float]:
    """Return the total tokens of all model answers in the journal, by kind such as input and output."""
    totals: dict[str, float] = {}
    for _, counts in _counts_of_answers(journal):
        for name in TOKENS:
            if name in counts:
                totals[name] = totals.get(name, 0) + counts[name]
    return totals


def _counts_of_answers(journal: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the task name, and the tokens and cost, of each answer in the journal that came from a model."""
    decoder = msgspec.json.Decoder(_Line)
    for _, line in read_lines(journal):
        if line is None or not line.startswith(b'{"kind":"output"'):
            continue
        answer = decoder.decode(line)
        usage = answer.output.usage
        if usage is None or any(name in answer.details for name in NOT_ASKED):
            continue
        counts = {}
        for name in COUNTED:
            count = usage.get(name)
            if isinstance(count, (int, float)):
                counts[name] = count
        yield answer.task, counts


def _prices(task: str, options: RunOptions) -> Mapping[str, Any]:
    """Return the prices of the model that answered under a task name. For `TASK#ROLE`, that is the helper model."""
    role = task.rpartition("#")[2] if "#" in task else ""
    if role:
        return options.judge_args_of(role_of_canary(role))
    return options.model_args


def canary_role(role: str) -> str:
    """Return the role name under which canary calls of a judge are stored: `judge -> canary`.

    A canary is a made-up answer that asks for the top grade, to test the judge. Other
    roles are a suffix: `grader -> canary-grader`.
    """
    if role == "judge":
        return CANARY
    return f"{CANARY}-{role}"


def role_of_canary(role: str) -> str:
    """Return the judge's role for the role name of its canary calls. Return any other role unchanged."""
    if role == CANARY:
        return "judge"
    return role.removeprefix(f"{CANARY}-")

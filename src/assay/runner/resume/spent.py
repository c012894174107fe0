"""The spending of earlier runs in a folder: tokens and cost of every answer in the journal, and time."""

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
"""Keys in the details of answers that did not come from a model."""
CANARY = "canary"
TOKENS = ("input_tokens", "output_tokens")


class _Answer(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Line(msgspec.Struct):
    kind: str = ""
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
    if not writer.layout.journal.exists():
        return spent
    decoder = msgspec.json.Decoder(_Line)
    for _, line in read_lines(writer.layout.journal):
        if line is None or not line.startswith(b'{"kind":"output"'):
            continue
        answer = decoder.decode(line)
        if answer.output.usage is None or any(
            name in answer.details for name in NOT_ASKED
        ):
            continue
        counts: dict[str, Any] = {
            name: answer.output.usage.get(name) for name in COUNTED
        }
        amounts: dict[str, Any] = {
            name: count
            for name, count in counts.items()
            if isinstance(count, (int, float))
        }
        usage = Usage(**amounts)
        tokens, cost = spent_of(usage, _prices(answer.task, options))
        spent["tokens"] += tokens or 0.0
        spent["usd"] += cost or 0.0
    return spent


def tokens_in_journal(journal: Path) -> dict[str, float]:
    """Return the total tokens of all model answers in the journal, by kind such as input and output."""
    totals: dict[str, float] = {}
    for usage in _usages(journal):
        for name in TOKENS:
            count = usage.get(name)
            if isinstance(count, (int, float)):
                totals[name] = totals.get(name, 0) + count
    return totals


def _usages(journal: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the token usage of each model answer in the journal."""
    decoder = msgspec.json.Decoder(_Line)
    for _, line in read_lines(journal):
        if line is None or not line.startswith(b'{"kind":"output"'):
            continue
        answer = decoder.decode(line)
        was_asked = not any(name in answer.details for name in NOT_ASKED)
        if answer.output.usage is not None and was_asked:
            yield answer.output.usage


def _prices(task: str, options: RunOptions) -> Mapping[str, Any]:
    """Return the prices of the model that answers the requests of a task name. Helper
    models have names `TASK#ROLE`.
    """
    role = task.rpartition("#")[2] if "#" in task else ""
    if role:
        return options.judge_args_of(role_of_canary(role))
    return options.model_args


def canary_role(role: str) -> str:
    """Return the role name under which a judge's canary calls are stored."""
    if role == "judge":
        return CANARY
    return f"{CANARY}-{role}"


def role_of_canary(role: str) -> str:
    """Return the judge's role for the role name of its canary calls. Return any other role unchanged."""
    if role == CANARY:
        return "judge"
    return role.removeprefix(f"{CANARY}-")


def seconds_before(
    writer: RunWriter,
    manifest: Mapping[str, Any],
) -> float:
    """Return the duration of the earlier runs in seconds. For a killed run, its last
    journal line counts as its end.
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

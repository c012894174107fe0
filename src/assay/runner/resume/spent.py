"""What earlier runs in a folder have spent: the tokens and the cost of every answer in the journal, and the time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ...core import Usage
from ...store import RunWriter
from ...store.journal import read_lines
from ..counts.spending import COUNTED
from ..counts.spending_limit import Unit, spent_of
from ..options import RunOptions

SECONDS = "spent_seconds"
"""The member of `run.json` that holds the time of all runs in the folder."""
NOT_ASKED = ("cached", "copied_from")
"""Details of answers that nobody was asked for."""
CANARY = "canary"


class _Answer(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Line(msgspec.Struct):
    kind: str = ""
    task: str = ""
    output: _Answer = msgspec.field(default_factory=_Answer)
    details: dict[str, Any] = msgspec.field(default_factory=dict)


def spent_before(
    writer: RunWriter, manifest: Mapping[str, Any], options: RunOptions
) -> dict[Unit, float]:
    """By unit: what the folder's earlier runs spent."""
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
        found = decoder.decode(line)
        if found.output.usage is None or any(
            name in found.details for name in NOT_ASKED
        ):
            continue
        counts: dict[str, Any] = {
            name: found.output.usage.get(name) for name in COUNTED
        }
        amounts: dict[str, Any] = {
            name: count
            for name, count in counts.items()
            if isinstance(count, (int, float))
        }
        usage = Usage(**amounts)
        tokens, cost = spent_of(usage, _prices(found.task, options))
        spent["tokens"] += tokens or 0.0
        spent["usd"] += cost or 0.0
    return spent


def _prices(task: str, options: RunOptions) -> Mapping[str, Any]:
    """The prices of whoever answered: a helper's calls stand under `TASK#ROLE`."""
    role = task.rpartition("#")[2] if "#" in task else ""
    return (
        options.judge_args_of("judge" if role == CANARY else role)
        if role
        else options.model_args
    )


def seconds_before(writer: RunWriter, manifest: Mapping[str, Any]) -> float:
    """What the last run noted at its end; of one that was killed, from its start to the last line it wrote."""
    noted = manifest.get(SECONDS)
    before = float(noted) if isinstance(noted, (int, float)) else 0.0
    if manifest.get("status") != "running" or not writer.layout.journal.exists():
        return before
    try:
        started = datetime.strptime(
            str(manifest.get("started", "")), "%Y-%m-%dT%H:%M:%S%z"
        ).timestamp()
    except (ValueError, OverflowError):
        return before
    return before + max(0.0, writer.layout.journal.stat().st_mtime - started)

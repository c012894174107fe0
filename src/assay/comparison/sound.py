"""Runs that a decision may rest on: whole, finished, and measured on the same samples by the same scorers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import UNRESOLVED, UsageError
from ..store import RunReader
from .policy import Policy


def sound_run(folder: str | Path, policy: Policy) -> RunReader:
    """A run that is finished and whole."""
    reader = RunReader(Path(folder).expanduser())
    where = str(folder)
    again = "run the same command again, then the gate"
    if reader.damage:
        raise UsageError(f"the run is damaged: {reader.damage[0]}", where=where, fix=again)
    status = str(reader.manifest.get("status"))
    if not reader.is_finished or status not in ("complete", "partial"):
        raise UsageError(f"the run is not finished: {status}", where=where, fix=again)
    for result in reader.results:
        lost = sum(result.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED)
        lost = max(lost, (result.n_expected or 0) - result.n)
        total = max(result.n_expected or 0, result.n + lost, 1)
        if lost > policy.max_unresolved * total:
            raise UsageError(
                f"{result.task}.{result.metric}: {lost} of {total} samples have no verdict",
                where=where,
                fix=f"{again}; or let the policy allow it: max_unresolved: {_up(lost / total)}",
            )
    return reader


def _up(share: float) -> str:
    return f"{-(-share * 1000 // 1) / 1000:g}"


def refuse_changed(policy: Policy, before: RunReader, after: RunReader, tasks: set[str], baseline: str) -> None:
    """Raises where the two runs did not judge the same samples by the same scorers: their difference is no drop."""
    earlier = {cell["task"]: cell for cell in before.manifest.get("cells", ())}
    for cell in after.manifest.get("cells", ()):
        known = earlier.get(cell["task"])
        if known is None or cell["task"] not in tasks:
            continue
        if "data" not in policy.allow_changed and known.get("data_sha256") != cell.get("data_sha256"):
            fix = "run both on the same data; or let the policy allow it: allow_changed: [data]"
            raise UsageError(f"task {cell['task']!r} has other data than here", where=baseline, fix=fix)
        changed = _other_scorers(known.get("scorers", {}), cell.get("scorers", {}))
        if changed and "scorer" not in policy.allow_changed:
            fix = f"`assay score {baseline}` scores it as this run was; or allow_changed: [scorer]"
            what = f"scorer {changed[0]!r} of task {cell['task']!r} has changed since"
            raise UsageError(what, where=baseline, fix=fix)


def _other_scorers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name, digest in after.items() if name in before and before[name] != digest]

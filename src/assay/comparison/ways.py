"""What else differs between two runs, and could be mistaken for a difference of models."""

from collections.abc import Mapping
from typing import Any

from ..runner.resume.recorded import way_of

_WAYS = ("template", "to_sample", "shots", "options")
"""Digests of how samples are put to a model; one that differs makes another measurement."""
_OWN = frozenset({"output"})
"""Settings that no two runs share."""
LONGEST_SETTING = 300


def differing_ways(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What else differs between the two runs and could be mistaken for a difference of models."""
    earlier = {(c["task"], c["model"]): c for c in before.get("cells", ())}
    by_task = {task: cell for (task, _), cell in earlier.items()}
    notes = []
    for cell in after.get("cells", ()):
        earlier_cell = earlier.get((cell["task"], cell["model"])) or by_task.get(
            cell["task"]
        )
        if earlier_cell is None:
            continue
        changed = [
            name for name in _WAYS if _digest(earlier_cell, name) != _digest(cell, name)
        ]
        if earlier_cell.get("data_sha256") != cell.get("data_sha256"):
            changed.insert(0, "data")
        changed += changed_scorers(
            earlier_cell.get("scorers", {}), cell.get("scorers", {})
        )
        if not changed and _protocols_differ(earlier_cell, cell):
            changed.append("protocol")
        if changed:
            verb = "differs" if len(changed) == 1 else "differ"
            notes.append(
                f"{cell['task']}: not measured the same way: {', '.join(changed)} {verb}"
            )
    return list(dict.fromkeys(notes))


def _protocols_differ(earlier_cell: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Whether two cells were asked or scored in other ways. Scorers that only one of them has make another id, too, and
    leave what both are scored by the same number."""
    if earlier_cell.get("protocol") == cell.get("protocol"):
        return False
    is_scored_alike = (
        earlier_cell.get("scorers", {}).keys() == cell.get("scorers", {}).keys()
    )
    return is_scored_alike or way_of(earlier_cell) != way_of(cell)


def changed_scorers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The scorers of both runs whose code or options are not the same."""
    return [
        f"scorer {name!r}"
        for name, digest in after.items()
        if name in before and before[name] != digest
    ]


def _digest(cell: Mapping[str, Any], name: str) -> Any:
    return cell.get("digests", {}).get(name)


def differing_settings(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[list[str]]:
    """Name, then the setting in each run, of settings, versions and the platform that are not the same."""
    rows = [
        [name, *pair]
        for name, *pair in _both(before.get("config"), after.get("config"))
        if name not in _OWN
    ]
    rows += [
        [f"version of {name}", *pair]
        for name, *pair in _both(before.get("versions"), after.get("versions"))
    ]
    if before.get("platform") != after.get("platform"):
        rows.append(
            ["platform", _shown(before.get("platform")), _shown(after.get("platform"))]
        )
    return rows


def _both(before: Any, after: Any) -> list[tuple[str, str, str]]:
    older = before if isinstance(before, Mapping) else {}
    newer = after if isinstance(after, Mapping) else {}
    names = dict.fromkeys([*older, *newer])
    return [
        (n, _shown(older.get(n)), _shown(newer.get(n)))
        for n in names
        if older.get(n) != newer.get(n)
    ]


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {inner}" for name, inner in value.items())
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST_SETTING else text[: LONGEST_SETTING - 1] + "…"

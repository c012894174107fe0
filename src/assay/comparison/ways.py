"""Differences between two runs that could be mistaken for a difference of models."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..runner.resume.recorded import way_of

_WAYS = ("template", "to_sample", "shots", "options")
"""Digests of how samples are presented to a model. A different one makes another measurement."""
_OWN = frozenset({"output", "baseline"})
"""Settings that do not affect how a run was made: its folder, and its baseline."""
LONGEST_SETTING = 300
Entry = Mapping[str, Any]
"""One task × model of a `run.json`."""


def differing_ways(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a line for each task that the two runs measured differently."""
    by_model = {}
    by_task = {}
    for entry in before.get("cells", ()):
        by_model[entry["task"], entry["model"]] = entry
        by_task[entry["task"]] = entry
    notes: dict[str, None] = {}
    for entry in after.get("cells", ()):
        task = entry["task"]
        earlier = by_model.get((task, entry["model"]))
        earlier = earlier or by_task.get(task)
        changed = _changes(earlier, entry) if earlier else []
        if changed:
            verb = "differs" if len(changed) == 1 else "differ"
            names = ", ".join(changed)
            notes[f"{task}: not measured the same way: {names} {verb}"] = None
    return list(notes)


def _changes(earlier: Entry, entry: Entry) -> list[str]:
    """Return the differences between two entries: data, prompts, options, scorers, or else the protocol."""
    changed = []
    if earlier.get("data_sha256") != entry.get("data_sha256"):
        changed.append("data")
    for name in _WAYS:
        if _digest(earlier, name) != _digest(entry, name):
            changed.append(name)
    changed += changed_scorers(earlier.get("scorers", {}), entry.get("scorers", {}))
    if not changed and _protocols_differ(earlier, entry):
        changed.append("protocol")
    return changed


def _protocols_differ(earlier: Entry, entry: Entry) -> bool:
    """Return True if two entries were asked or scored differently.

    A scorer that only one of them has changes the protocol's id, but does not affect the numbers of the others.
    """
    if earlier.get("protocol") == entry.get("protocol"):
        return False
    names = earlier.get("scorers", {}).keys()
    if names == entry.get("scorers", {}).keys():
        return True
    return way_of(earlier) != way_of(entry)


def changed_scorers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the scorers of both runs whose code or options differ."""
    changed = []
    for name, digest in after.items():
        if name in before and before[name] != digest:
            changed.append(f"scorer {name!r}")
    return changed


def _digest(entry: Entry, name: str) -> object:
    return entry.get("digests", {}).get(name)


def differing_settings(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> list[list[str]]:
    """Return name, earlier and later value of each setting, version or platform that differs."""
    rows = []
    for name, *pair in _differences(before.get("config"), after.get("config")):
        if name not in _OWN:
            rows.append([name, *pair])
    versions = before.get("versions"), after.get("versions")
    for name, *pair in _differences(*versions):
        rows.append([f"version of {name}", *pair])
    earlier = before.get("platform")
    later = after.get("platform")
    if earlier != later:
        rows.append(["platform", _setting_text(earlier), _setting_text(later)])
    return rows


def _differences(before: object, after: object) -> Iterator[tuple[str, str, str]]:
    """Yield name, earlier and later value of the members in which two mappings differ."""
    older = before if isinstance(before, Mapping) else {}
    newer = after if isinstance(after, Mapping) else {}
    names = dict.fromkeys([*older, *newer])
    for name in names:
        earlier = older.get(name)
        later = newer.get(name)
        if earlier == later:
            continue
        yield name, _setting_text(earlier), _setting_text(later)


def _setting_text(value: object) -> str:
    """Return a setting as text of limited length."""
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {inner}" for name, inner in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(str, value))
    else:
        text = str(value)
    if len(text) <= LONGEST_SETTING:
        return text
    return text[: LONGEST_SETTING - 1] + "…"

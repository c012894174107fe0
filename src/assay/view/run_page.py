"""One run for a page: its numbers, how they were measured, its faults, and the command that repeats it."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import AssayError
from ..report.methods import methods_paragraph
from .run_folders import listed, metric_domains, result_row
from .run_view import RunView

MOST_GROUPS = 300


def run_page(
    run: RunView,
    domains: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Return the numbers of a run with their groups, its settings, and its methods in words.

    `domains` are the axes of the metrics over all shown runs; by default over this run.
    """
    plain = listed(run)
    if "error" in plain:
        return plain
    manifest, summary = run.documents()
    results = [row for row in summary.get("results", ()) if isinstance(row, Mapping)]
    folder = str(run.layout.folder)
    return {
        **plain,
        "results": [_result(row) for row in results],
        "domains": metric_domains([run]) if domains is None else domains,
        "notes": [str(note) for note in summary.get("notes", ())],
        "usage_by_cell": summary.get("usage", {}),
        "methods": methods_paragraph(manifest, summary),
        "again": f"assay run --config {shlex.quote(f'{folder}/run.json')} -o NEW",
        "config": manifest.get("config", {}),
        "described": [
            _described(cell)
            for cell in manifest.get("cells", ())
            if isinstance(cell, Mapping)
        ],
        "versions": manifest.get("versions", {}),
        "platform": manifest.get("platform"),
        "git": manifest.get("git"),
    }


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = result_row(row)
    plain |= {name: row.get(name) for name in ("stderr", "parsed_value", "clusters")}
    details = row.get("details")
    if isinstance(details, Mapping):
        plain["epochs"] = details.get("epochs")
    groups: dict[str, list[dict[str, Any]]] = {}
    for tag, values in (row.get("groups") or {}).items():
        if isinstance(values, Mapping):
            rows = [
                {
                    "name": name,
                    **{
                        k: group.get(k)
                        for k in ("value", "ci", "n", "interval", "outcomes")
                    },
                }
                for name, group in values.items()
                if isinstance(group, Mapping)
            ]
            groups[tag] = rows[:MOST_GROUPS]
    return {**plain, "groups": groups}


def _described(cell: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "task",
        "protocol",
        "measure",
        "model",
        "options",
        "epochs",
        "num_fewshot",
        "data",
        "scorers",
        "identity",
        "citation",
        "licence",
        "n_expected",
        "data_sha256",
    )
    return {name: cell.get(name) for name in names}


def damage_of(run: RunView) -> list[str]:
    """Return how a run differs from its state when it ended; a run that is still running has no damage.

    This reads every line and every medium again, so a page requests it when everything else is there.
    """
    if run.is_live:
        return []
    try:
        return list(run.reader().damage)
    except AssayError as error:
        return [str(error)]

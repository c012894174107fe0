"""The leaderboard of the runs in a folder, from the same code as `assay leaderboard`."""

from collections.abc import Sequence
from typing import Any

from ..comparison.leaderboard import make_leaderboard
from ..core import AssayError
from .run_folders import metric_domains
from .run_view import RunView


def leaderboard_page(runs: Sequence[RunView]) -> dict[str, Any]:
    """Return models, columns, values and ranks. Each value names its run by id."""
    readers = []
    notes = []
    for run in runs:
        try:
            if run.documents()[1].get("results"):
                readers.append(run.indexed_reader())
        except AssayError as error:
            notes.append(f"{run.name} is left out: {error.what}")
    page = make_leaderboard(readers).to_plain()
    ids = {str(run.layout.folder): run.id for run in runs}
    for model in page["models"]:
        for cell in model["cells"]:
            if cell is not None:
                cell["run"] = ids.get(cell["run"])
    page["notes"] += notes
    page["domains"] = metric_domains(runs)
    return page

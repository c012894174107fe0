"""The tables VLMEvalKit writes beside its predictions for MM-Vet: grades, means by capability and by combination."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core import ScoreRecord
from .era import upstreams_rule
from .formats import evaluation_format, prediction_format
from .frames import put_frame
from .reports import capability_tables


def mmvet_files(folder: Path, stem: str, judge: str, records: Sequence[ScoreRecord], frame: Any) -> list[str]:
    """Every prediction with its grade and what the judge said; means by capability and by combination."""
    graded = {record.id: record for record in records}
    own = [graded.get(str(index)) for index in frame["index"]]
    table = frame.copy()
    table["score"] = [None if record is None else record.value for record in own]
    table["log"] = ["" if r is None else "\n".join(map(str, r.details.get("replies", ()))) for r in own]
    names = [put_frame(folder / f"{stem}_{judge}.{prediction_format()}", table)]
    known = [(str(r.tags.get("category", "")), r.value) for r in own if r is not None and r.value is not None]
    if known:
        tables = capability_tables(known, counts_twice=upstreams_rule())
        for kind, means in zip(("score", "score_fine"), tables, strict=True):
            names.append(put_frame(folder / f"{stem}_{judge}_{kind}.{evaluation_format()}", means))
    return names

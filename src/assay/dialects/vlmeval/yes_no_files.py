"""Files of yes-or-no benchmarks: what was read off each answer, with the judge's help, and the ratings made of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import ScoreRecord
from ..kits.smp.result_files import get_eval_file_format, get_pred_file_format
from .frames import put_frame
from .kinds import is_mme
from .ratings import (
    amber_rating,
    default_rating,
    hallusion_rating,
    mme_rating,
    one_row,
    pope_rating,
    vsr_rating,
)
from .samples import image_of_mme

SAID = {"yes": "Yes", "no": "No"}


def read_word(record: ScoreRecord | None) -> str:
    """What an answer says, as files have it."""
    return SAID.get(str(record.answer) if record is not None else "", "Unknown")


def yes_no_frame(
    frame: Any, records: Sequence[ScoreRecord], *, documented: bool
) -> Any:
    """The predictions with what was read off them and whether it is right.

    The documented revision puts the word in the place of `prediction` and keeps the text as `raw_prediction`; the
    newest has it in `extracted`.
    """
    by_id = {record.id: record for record in records}
    row_records = [by_id.get(str(index)) for index in frame["index"]]
    table = frame.copy()
    words = [read_word(record) for record in row_records]
    if documented:
        table["raw_prediction"] = table["prediction"]
        table["prediction"] = words
    else:
        table["extracted"] = words
    table["score"] = [
        record is not None and record.value == 1.0 for record in row_records
    ]
    return table


def yes_no_files(
    folder: Path,
    stem: str,
    name: str,
    records: Sequence[ScoreRecord],
    frame: Any,
    *,
    documented: bool,
) -> list[str]:
    """`_auxmatch` and `_score`."""
    table = yes_no_frame(frame, records, documented=documented)
    score = rating_of(
        name, table.rename(columns={"prediction": "extracted"}) if documented else table
    )
    if score is None:
        return []
    suffix = "xlsx" if documented else get_pred_file_format()
    return [
        put_frame(folder / f"{stem}_auxmatch.{suffix}", table),
        put_frame(folder / f"{stem}_score.{get_eval_file_format()}", score),
    ]


def rating_of(name: str, table: Any) -> Any:
    """The rating that a benchmark of this name has; `None` where its columns are missing."""
    rows: list[Mapping[str, Any]] = table.to_dict(orient="records")
    if not rows or ("category" not in table and ("POPE" in name or "AMBER" in name)):
        return None
    if is_mme(name):
        named = (
            (str(row.get("category", "all")), image_of_mme(row) or "", row["score"])
            for row in rows
        )
        return one_row(mme_rating(named))
    if "Hallusion" in name and all(
        len(str(row["index"]).split("_")) > 5 for row in rows
    ):
        return hallusion_rating(table)
    if "POPE" in name:
        return pope_rating(table)
    if "AMBER" in name:
        return one_row(amber_rating(table))
    return one_row(
        vsr_rating(table) if "VSR-zeroshot" in name else default_rating(table)
    )


def prefetch_rating(folder: Path, stem: str, name: str, table: Any) -> list[str]:
    """The rating before any judge was asked, as the documented revision leaves it after inference."""
    score = rating_of(name, table)
    return [] if score is None else [put_frame(folder / f"{stem}_prefetch.xlsx", score)]

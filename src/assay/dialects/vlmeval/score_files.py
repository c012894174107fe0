"""Write score files in VLMEvalKit's formats: results of multiple choice and of yes or no, and tables of accuracy."""

import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import EMPTY, UNRESOLVED, Output, Sample, ScoreRecord
from ...store.file_ledger import FileLedger
from ..kits.smp.file import get_eval_file_format, get_pred_file_format
from ..kits.suffix_files import dump_by_suffix, frame_of, write_table
from ..shapes import Fields
from .dataset_facts import ROTATION, is_mme, whole_index
from .matched_choice import NO_JUDGE, judged_rotations, prefetched
from .rules import chosen_rules
from .vlmeval_ratings import (
    accuracy_table,
    amber_rating,
    category_rating,
    hallusion_rating,
    mme_rating,
    one_row,
    pope_rating,
    prefetch_table,
    vsr_rating,
)
from .vlmeval_samples import image_of_mme
from .vlmeval_scoring import ExactMatching

if TYPE_CHECKING:
    from pandas import DataFrame

LETTERS = frozenset(string.ascii_uppercase)


def put_table(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> None:
    """Write a table. Raise if this would overwrite a file that assay did not write."""
    write_table(FileLedger(path.parent).claim(path), columns, rows)


def put_frame(path: Path, frame: object) -> str:
    """Write a data frame, or a dictionary or list, in the format of the file's suffix. Return the file's name."""
    dump_by_suffix(frame, FileLedger(path.parent).claim(path))
    return path.name


def prediction_frame(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> "DataFrame":
    """Return the rows of a prediction file, sorted by index, as a data frame with typed columns."""
    entries = [dict(zip(columns, row, strict=True)) for row in rows]
    frame = frame_of(entries, list(columns))
    if not entries:
        frame = frame.reindex(columns=list(columns))
    if "index" in frame:
        return frame.sort_values(by="index", kind="stable").reset_index(drop=True)
    return frame


def with_lower_names(frame: "DataFrame") -> "DataFrame":
    """Return the frame with its column names in lower case, except the option letters (`A`, `B` …)."""
    return frame.rename(
        columns={
            name: name if name in LETTERS else name.lower() for name in frame.columns
        }
    )


NONE = "Z"


def choice_files(
    folder: Path,
    stem: str,
    label: str,
    records: Sequence[ScoreRecord],
    frame: "DataFrame",
    *,
    is_judged: bool,
    documented: bool,
) -> list[str]:
    """Write the result and accuracy files of a multiple-choice benchmark, and return their names.

    They are `_<label>_result`, once as a table and once by question, and `_acc`.
    `label` is the judge, or `exact_matching`. Accuracy by rules and by judge goes to
    files with different names; VLMEvalKit writes only one.
    """
    named = stem
    if is_judged and not chosen_rules().replaces_accuracy:
        named = f"{stem}_{label}"
    result = f"{stem}_{label}_result"
    table = result_table(frame, records, documented=documented)
    decided = table[table["hit"].notna()]
    accuracy = accuracy_table(decided, documented=documented)
    verdicts = {}
    for index, hit, log in zip(
        *(decided[c] for c in ("index", "hit", "log")), strict=True
    ):
        verdicts[index] = {"hit": int(hit), "log": log}
    return [
        put_frame(folder / f"{named}_acc.{get_eval_file_format()}", accuracy),
        put_frame(folder / f"{result}.{get_pred_file_format()}", table),
        put_frame(folder / f"{result}.pkl", verdicts),
    ]


def result_table(
    frame: "DataFrame",
    records: Sequence[ScoreRecord],
    *,
    documented: bool,
) -> "DataFrame":
    """Return the predictions with `hit` (1 or 0) and `log`; for rotated questions only the first rotation.

    `hit` is empty if it is unknown whether a question is correct, such as after a judge
    error.
    """
    import numpy as np

    rows = {str(row["index"]): row for row in frame.to_dict(orient="records")}
    order = {index: number for number, index in enumerate(rows)}
    groups: dict[str, list[ScoreRecord]] = {}
    for record in sorted(records, key=lambda record: order.get(record.id, 0)):
        if record.group is None:
            group = record.id
        else:
            group = record.group
        groups.setdefault(group, []).append(record)
    rotations = {members[0].id: members for members in groups.values()}
    is_rotated = any(len(members) > 1 for members in groups.values())
    is_first = [str(index) in rotations for index in frame["index"]]
    # An empty list would select columns.
    chosen = np.array(is_first, dtype=bool)
    table = with_lower_names(frame)[chosen].reset_index(drop=True)
    as_group = documented or is_rotated
    verdicts = []
    for index in table["index"]:
        verdicts.append(_verdict(rotations[str(index)], rows, as_group=as_group))
    if is_rotated and not documented and "g_index" not in table:
        table["g_index"] = [_group(index) for index in table["index"]]
    # Keep numbers even if no row has a verdict: pandas would make a column of objects.
    hits = [np.nan if hit is None else hit for hit, _ in verdicts]
    table["hit"] = np.array(hits, dtype=float)
    table["log"] = [log for _, log in verdicts]
    return table


def _verdict(
    rotations: Sequence[ScoreRecord],
    rows: Mapping[str, Fields],
    *,
    as_group: bool,
) -> tuple[float | None, str]:
    """Return 1.0 for a correct question, 0.0 for a wrong one, None if unknown, and a log in VLMEvalKit's format.

    `rotations` has the scores of the question, and `rows` the predictions by index.
    With `as_group`, the question is correct only if all its rotations are.
    """
    if any(r.outcome in UNRESOLVED or r.value is None for r in rotations):
        return None, "; ".join(f"{r.id}: {r.outcome}" for r in rotations)
    texts = [rows.get(r.id, EMPTY).get("prediction", "") for r in rotations]
    if not as_group:
        record = rotations[0]
        if record.answer is None:
            unread = NO_JUDGE
        else:
            unread = texts[0]
        log = f"Match Log: {record.details.get('reply', unread)}. "
        return float(record.value == 1.0), log
    targets, judged = [], []
    by_rule: list[object] = []
    for record in rotations:
        details = record.details
        if record.value == 1.0:
            right_answer = record.answer
        else:
            right_answer = ""
        row = rows.get(record.id, EMPTY)
        targets.append(row.get("answer", right_answer))
        if details.get("rule") == "judge":
            by_rule.append(False)
        else:
            by_rule.append(record.answer)
        log = details.get("reply", details.get("rule", ""))
        judged.append({"opt": record.answer or NONE, "log": log})
    verdict = prefetched(targets, by_rule, texts)
    if verdict is None and not any("reply" in r.details for r in rotations):
        return 0.0, NO_JUDGE
    if verdict is None:
        verdict = judged_rotations(targets, by_rule, texts, judged.__getitem__)
    return float(verdict["hit"]), verdict["log"]


def prefetch_files(
    folder: Path,
    stem: str,
    answered: Iterable[tuple[Sample, str]],
) -> list[str]:
    """Write `_prefetch.xlsx` and return its name.

    The file contains the number of answers in which the rules find a letter. Its `acc`
    is the percentage of correct ones among these answers.
    """
    rows = []
    for sample, text in answered:
        if sample.target is not None:
            score = ExactMatching()(sample, Output.of(text))
            if score.value == 1.0:
                right = score.answer
            else:
                right = None
            rows.append((str(sample.tags.get("category", "")), score.answer, right))
    if not rows:
        return []
    table = prefetch_table(rows)
    return [put_frame(folder / f"{stem}_prefetch.xlsx", table[table["Category"] != ""])]


def _group(index: object) -> object:
    number = whole_index(index)
    if number is None:
        return index
    return number % ROTATION


SAID = {"yes": "Yes", "no": "No"}


def read_word(record: ScoreRecord | None) -> str:
    """Return the word that was read from an answer (`Yes`, `No` …), as spelled in VLMEvalKit's files."""
    return SAID.get(str(record.answer) if record is not None else "", "Unknown")


def yes_no_frame(
    frame: "DataFrame",
    records: Sequence[ScoreRecord],
    *,
    documented: bool,
) -> "DataFrame":
    """Return the predictions with the words read from them, and whether they are correct.

    The documented revision replaces `prediction` by the word and keeps the text as
    `raw_prediction`; the newest puts the word in `extracted`.
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
    frame: object,
    *,
    documented: bool,
) -> list[str]:
    """Write the words read from answers (`_auxmatch`) and the benchmark's rating (`_score`). Return the file names."""
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


def rating_of(name: str, table: "DataFrame") -> "DataFrame | None":
    """Return the rating of a yes-or-no benchmark, such as MME's sums; None if a required column is missing."""
    rows: list[Fields] = table.to_dict(orient="records")
    if not rows or ("category" not in table and ("POPE" in name or "AMBER" in name)):
        return None
    if is_mme(name):
        verdicts = []
        for row in rows:
            category = str(row.get("category", "all"))
            verdicts.append((category, image_of_mme(row) or "", row["score"]))
        return one_row(mme_rating(verdicts))
    has_figures = all(len(str(row["index"]).split("_")) > 5 for row in rows)
    if "Hallusion" in name and has_figures:
        return hallusion_rating(table)
    if "POPE" in name:
        return pope_rating(table)
    if "AMBER" in name:
        return one_row(amber_rating(table))
    return one_row(
        vsr_rating(table) if "VSR-zeroshot" in name else category_rating(table)
    )


def prefetch_rating(
    folder: Path,
    stem: str,
    name: str,
    table: object,
) -> list[str]:
    """Write the rating by rules alone to `_prefetch.xlsx`, as VLMEvalKit's documented revision does after inference."""
    score = rating_of(name, table)
    if score is None:
        return []
    return [put_frame(folder / f"{stem}_prefetch.xlsx", score)]

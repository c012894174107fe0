"""Files of multiple choice: what was read off each answer, accuracy by split and category, what the rules can match."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import UNRESOLVED, Output, Sample, ScoreRecord
from ..kits.smp.result_files import get_eval_file_format, get_pred_file_format
from .era import upstreams_rule
from .frames import put_frame, with_lower_names
from .kinds import ROTATION, whole_index
from .matched_choice import NO_JUDGE, judged_rotations, prefetched
from .reports import accuracy_table, prefetch_table
from .scoring import ExactMatching

NONE = "Z"


def choice_files(
    folder: Path,
    stem: str,
    label: str,
    records: Sequence[ScoreRecord],
    frame: Any,
    *,
    is_judged: bool,
    documented: bool,
) -> list[str]:
    """`_<label>_result` as a table and by question, and the accuracy; `label` is the judge's, or `exact_matching`.

    Beside the judge's accuracy that of the rules stays, under the name it has by itself; upstream has one of the two.
    """
    named = f"{stem}_{label}" if is_judged and not upstreams_rule() else stem
    result = f"{stem}_{label}_result"
    table = result_table(frame, records, documented=documented)
    accuracy = accuracy_table(table[table["hit"].notna()], documented=documented)
    verdicts = {
        index: {"hit": int(hit), "log": log}
        for index, hit, log in zip(
            table["index"], table["hit"], table["log"], strict=True
        )
        if hit == hit
    }
    return [
        put_frame(folder / f"{named}_acc.{get_eval_file_format()}", accuracy),
        put_frame(folder / f"{result}.{get_pred_file_format()}", table),
        put_frame(folder / f"{result}.pkl", verdicts),
    ]


def result_table(
    frame: Any, records: Sequence[ScoreRecord], *, documented: bool
) -> Any:
    """The predictions, of rotated questions the first alone, with `hit` and `log`; `hit` is empty where unresolved."""
    groups: dict[str, list[ScoreRecord]] = {}
    for record in records:
        groups.setdefault(
            record.id if record.group is None else record.group, []
        ).append(record)
    group_of = {record.id: key for key, members in groups.items() for record in members}
    predictions = {
        str(index): text
        for index, text in zip(frame["index"], frame["prediction"], strict=True)
    }
    answers = (
        dict(zip(predictions, frame["answer"], strict=True))
        if "answer" in frame
        else {}
    )
    order = {str(index): place for place, index in enumerate(frame["index"])}
    is_rotated = any(len(members) > 1 for members in groups.values())
    first = {
        key: min((r.id for r in members), key=lambda id_: order.get(id_, 0))
        for key, members in groups.items()
    }
    is_first = [
        str(index) in group_of and first[group_of[str(index)]] == str(index)
        for index in frame["index"]
    ]
    table = with_lower_names(frame)[is_first].reset_index(drop=True)
    verdicts = [
        _verdict(
            groups[group_of[str(index)]],
            order,
            predictions,
            answers,
            as_group=documented or is_rotated,
        )
        for index in table["index"]
    ]
    if is_rotated and not documented and "g_index" not in table:
        table["g_index"] = [_group(index) for index in table["index"]]
    table["hit"] = [hit for hit, _ in verdicts]
    table["log"] = [log for _, log in verdicts]
    return table


def _verdict(
    members: Sequence[ScoreRecord],
    order: Mapping[str, int],
    predictions: Mapping[str, str],
    answers: Mapping[str, Any],
    *,
    as_group: bool,
) -> tuple[float | None, str]:
    """Whether a question is right under every rotation, and the log of it."""
    rows = sorted(members, key=lambda record: order.get(record.id, 0))
    if any(record.outcome in UNRESOLVED or record.value is None for record in rows):
        return None, "; ".join(f"{record.id}: {record.outcome}" for record in rows)
    if not as_group:
        (only, *_) = rows
        unread = predictions.get(only.id, "") if only.answer is not None else NO_JUDGE
        return float(
            only.value == 1.0
        ), f"Match Log: {only.details.get('reply', unread)}. "
    texts = [predictions.get(record.id, "") for record in rows]
    targets = [
        answers.get(record.id, record.answer if record.value == 1.0 else "")
        for record in rows
    ]
    by_rule = [
        record.answer if record.details.get("rule") != "judge" else False
        for record in rows
    ]
    verdict = prefetched(targets, by_rule, texts)
    if verdict is None and not any("reply" in record.details for record in rows):
        verdict = {"hit": 0, "log": NO_JUDGE}
    if verdict is None:
        replies = [
            {
                "opt": record.answer or NONE,
                "log": record.details.get("reply", record.details.get("rule", "")),
            }
            for record in rows
        ]
        verdict = judged_rotations(
            targets, by_rule, texts, lambda place: replies[place]
        )
    return float(verdict["hit"]), verdict["log"]


def prefetch_files(
    folder: Path, stem: str, answered: Iterable[tuple[Sample, str]]
) -> list[str]:
    """How many answers the rules can read, and how many of *those* are right: `acc` is of the matched alone."""
    rows = []
    for sample, text in answered:
        if sample.target is not None:
            score = ExactMatching()(sample, Output.of(text))
            category = str(sample.tags.get("category", ""))
            rows.append(
                (category, score.answer, score.answer if score.value == 1.0 else None)
            )
    if not rows:
        return []
    table = prefetch_table(rows)
    return [put_frame(folder / f"{stem}_prefetch.xlsx", table[table["Category"] != ""])]


def _group(index: Any) -> Any:
    number = whole_index(index)
    return index if number is None else number % ROTATION

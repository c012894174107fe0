"""`vlmeval.eval.multiple_choice`: letters of the documented revision, rotations as one question, accuracy by split."""

import os
import string
from collections.abc import Mapping, Sequence
from typing import Any

from .....datasets.tsv_images import is_blank
from ...era import note_documented
from ...kinds import ROTATION
from ...matched_choice import (
    judged_letter,
    judged_rotations,
    prefetched_rotations,
    which_option,
)
from ...reports import accuracy_table
from ..chat_api import OpenAIWrapper
from ..smp.documented import build_options
from ..smp.file import dump, load
from ..utils.data_util import TSVDataset
from ..utils.matching_util import can_infer
from ..utils.mp_util import track_progress_rich

STANDS_IN = True
__all__ = [
    "build_choices",
    "build_prompt",
    "build_prompt_cn",
    "can_infer",
    "eval_data_groups",
    "eval_sub_data",
    "extract_answer_from_item",
    "extract_options",
    "multiple_choice_eval",
    "prefetch_answer",
    "prefetch_sub_data",
    "report_acc",
]

LETTERS = "ABCD"
NONE = "E"

note_documented()


def report_acc(df: Any) -> Any:
    """Accuracy in the rows full, dev and test, or in the one row dev where nothing is split."""
    return accuracy_table(df, documented=True)


def extract_options(item: Mapping[str, Any]) -> list[Any]:
    """The options of a row up to the first that is empty."""
    options = []
    for letter in LETTERS:
        if letter not in item or _is_nan(item[letter]):
            break
        options.append(item[letter])
    return options


def build_choices(item: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a row by their letters."""
    return {letter: item[letter] for letter in LETTERS if not _is_nan(item[letter])}


def build_prompt(question: Any, options: str, prediction: Any) -> str:
    """What the judge is asked, in our words."""
    return which_option(question, options, prediction, NONE)


build_prompt_cn = build_prompt


def prefetch_answer(item: Mapping[str, Any]) -> Any:
    """The letter of a row's prediction, by rule alone; `False` if there is none."""
    return can_infer(item["prediction"], build_choices(item))


def extract_answer_from_item(model: Any, item: Mapping[str, Any]) -> dict[str, Any]:
    """`opt` and `log` of a row: by rule, else by the judge."""
    choices = build_choices(item)
    prompt = build_prompt(
        item["question"], build_options(extract_options(item)), item["prediction"]
    )
    letters = string.ascii_uppercase[: sum(letter in item for letter in LETTERS)]
    return judged_letter(
        model,
        prompt,
        item["prediction"],
        lambda text: can_infer(text, choices),
        letters,
        NONE,
    )


def prefetch_sub_data(
    sub_data: Any, answer_map: Mapping[Any, Any], verbose: bool = False
) -> Any:
    """The verdict on one question's rotations by rule alone; with `verbose`, answers and letters too."""
    answers, read, predictions, _ = _group(sub_data, answer_map)
    return prefetched_rotations(answers, read, predictions, verbose)


def eval_sub_data(
    model: Any, sub_data: Any, answer_map: Mapping[Any, Any]
) -> dict[str, Any]:
    """The verdict on one question's rotations, by rule and then by the judge."""
    answers, read, predictions, rows = _group(sub_data, answer_map)
    return judged_rotations(
        answers,
        read,
        predictions,
        lambda place: extract_answer_from_item(model, rows[place]),
    )


def eval_data_groups(
    model: Any,
    data_groups: Sequence[Any],
    answer_map: Mapping[Any, Any],
    result: dict[Any, Any],
    result_file: str,
    nproc: int = 16,
) -> None:
    """Adds the verdict on each question to `result`, and writes it down."""
    groups = [(model, group, answer_map) for group in data_groups]
    keys = [int(group.iloc[0]["index"]) % ROTATION for group in data_groups]
    result.update(
        zip(keys, track_progress_rich(eval_sub_data, groups, nproc=nproc), strict=True)
    )
    dump(result, result_file)


def multiple_choice_eval(
    eval_file: str,
    dataset: str | None = None,
    model: str = "chatgpt-0613",
    nproc: int = 4,
    verbose: bool = False,
) -> Any:
    """Accuracy by split and category, with `_<judge>_result` and `_acc.csv` beside the predictions."""
    if dataset is None:
        raise ValueError("multiple_choice_eval needs the name of its dataset")
    stem, suffix = os.path.splitext(eval_file)
    name = "openai" if model == "chatgpt-0613" else model
    judge = (
        None
        if model == "exact_matching"
        else OpenAIWrapper("gpt-3.5-turbo-0613", verbose=verbose)
    )
    result_file = f"{stem}_{name}_result.pkl"
    result: dict[Any, Any] = load(result_file) if os.path.exists(result_file) else {}
    data = load(eval_file).sort_values(by="index")
    data["prediction"] = [str(text) for text in data["prediction"]]
    data.columns = [str(k) if k in LETTERS else str(k).lower() for k in data.columns]
    meta = TSVDataset(dataset).data
    answers = dict(zip(meta["index"], meta["answer"], strict=True))
    data = data[data["index"].isin(answers)]
    main = data[data["index"] < ROTATION].reset_index(drop=True)
    groups = [
        data[data["index"] % ROTATION == index]
        for index in main["index"]
        if index not in result
    ]
    eval_data_groups(judge, groups, answers, result, result_file, int(nproc))
    main["hit"] = [result[index]["hit"] for index in main["index"]]
    main["log"] = [result[index]["log"] for index in main["index"]]
    for column in ("category", "l2-category", "split"):
        if column in meta:
            cells = dict(zip(meta["index"], meta[column], strict=True))
            main[column] = [cells[index] for index in main["index"]]
    dump(main, f"{stem}_{name}_result{suffix}")
    accuracy = report_acc(load(f"{stem}_{name}_result{suffix}"))
    dump(accuracy, f"{stem}_acc.csv")
    return accuracy


def _group(
    frame: Any, answer_map: Mapping[Any, Any]
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Answers, letters read by rule, predictions and rows of one question's rotations."""
    rows = [frame.iloc[place] for place in range(len(frame))]
    read = [prefetch_answer(row) for row in rows]
    return (
        [answer_map[row["index"]] for row in rows],
        read,
        [row["prediction"] for row in rows],
        rows,
    )


def _is_nan(cell: Any) -> bool:
    return cell != "" and is_blank(cell)

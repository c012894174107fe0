"""`vlmeval.dataset.utils.multiple_choice`: letters by rule and by a judge, rotations as one question, accuracy."""

import os
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from ......datasets.tsv_images import is_blank
from ....era import of_documented
from ....kinds import ROTATION
from ....matched_choice import (
    NO_JUDGE,
    judged_letter,
    judged_rotations,
    prefetched_rotations,
    which_option,
)
from ....reports import ABBREVIATIONS as MMB_abbrs
from ....reports import accuracy_table
from ...smp.file import dump, load
from ...smp.vlm import build_option_str
from ...utils.matching_util import can_infer, can_infer_lego
from ...utils.mp_util import track_progress_rich
from .choice_reports import (
    MMT_abbrs,
    get_dimension_rating,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
    report_topviewrs_acc,
)

STANDS_IN = True
__all__ = [
    "MMB_abbrs",
    "MMMU_preproc",
    "MMT_abbrs",
    "build_choices",
    "build_option_str",
    "build_prompt",
    "build_prompt_LEGO",
    "build_prompt_blink",
    "build_prompt_cn",
    "build_prompt_wemath",
    "can_infer",
    "can_infer_lego",
    "eval_circular_group",
    "eval_vanilla",
    "extract_answer_from_item",
    "extract_characters_regex",
    "get_dimension_rating",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_answer",
    "prefetch_circular_group",
    "report_acc",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
    "report_topviewrs_acc",
]

NONE = "Z"
_LEADS = (
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option is",
    "The correct option is",
    "Best answer:",
    "Best option:",
)
_WORDS_OF_AN_ANSWER = 10


def report_acc(df: Any) -> Any:
    """One row for each split: `split`, `Overall`, then a column for each l2-category and each category."""
    return accuracy_table(df, documented=of_documented())


def build_choices(item: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a row by their letters."""
    return {
        c: item[c]
        for c in string.ascii_uppercase
        if c in item and (item[c] == "" or not is_blank(item[c]))
    }


def build_prompt(question: Any, options: str, prediction: Any) -> str:
    """What the judge is asked, in our words."""
    return which_option(question, options, prediction, NONE)


build_prompt_cn = build_prompt_wemath = build_prompt_blink = build_prompt


def build_prompt_LEGO(
    question: Any, options: str, prediction: Any, question_type: str
) -> str:
    """What the judge is asked of a question that may ask for an order."""
    if question_type != "sort":
        return build_prompt(question, options, prediction)
    return (
        "Somebody put four options into an order, in free words. Reply with the order alone, as four letters like BADC."
        f"\n\nQuestion: {question}\nOptions: {options}\nAnswer: {prediction}\nOrder:"
    )


def prefetch_answer(item: Mapping[str, Any]) -> Any:
    """The letter of a row's prediction, by rule alone; `False` if there is none."""
    return can_infer(item["prediction"], build_choices(item))


def extract_answer_from_item(
    model: Any, item: Mapping[str, Any], dataset_name: str | None = None
) -> dict[str, Any]:
    """`opt` and `log` of a row: by rule, else by the judge; without a judge `Z`."""
    choices = build_choices(item)
    options = build_option_str(choices)
    if dataset_name is not None and "LEGO" in dataset_name:
        kind = item["question_type"]
        prompt = build_prompt_LEGO(item["question"], options, item["prediction"], kind)
        return judged_letter(
            model,
            prompt,
            item["prediction"],
            lambda text: can_infer_lego(text, kind, choices),
            list(choices),
            NONE,
        )
    prompt = build_prompt(item["question"], options, item["prediction"])
    return judged_letter(
        model,
        prompt,
        item["prediction"],
        lambda text: can_infer(text, choices),
        list(choices),
        NONE,
    )


def prefetch_circular_group(sub_data: Any, verbose: bool = False) -> Any:
    """The verdict on one question's rotations by rule alone; with `verbose`, answers and letters too."""
    answers, read, predictions, _ = _group(sub_data)
    return prefetched_rotations(answers, read, predictions, verbose)


def eval_circular_group(
    model: Any, sub_data: Any, dataset_name: str | None = None
) -> dict[str, Any]:
    """The verdict on one question's rotations, by rule and then by the judge."""
    answers, read, predictions, rows = _group(sub_data)
    return judged_rotations(
        answers,
        read,
        predictions,
        lambda place: extract_answer_from_item(model, rows[place], dataset_name),
    )


def eval_vanilla(
    model: Any, item: Mapping[str, Any], dataset_name: str | None = None
) -> dict[str, Any]:
    """The verdict on one row."""
    found = extract_answer_from_item(model, item, dataset_name=dataset_name)
    return {
        "hit": int(found["opt"] == item["GT"]),
        "log": f"Match Log: {found['log']}. ",
    }


def mcq_vanilla_eval(
    model: Any,
    data: Any,
    meta: Any,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> Any:
    """The rows of `data` with `hit` and `log`; verdicts by index are kept in `result_file`."""
    result: dict[Any, Any] = load(result_file) if os.path.exists(result_file) else {}
    answers = dict(zip(meta["index"], meta["answer"], strict=True))
    if dataset_name is not None and "MMMU" in dataset_name:
        data = MMMU_preproc(data)
        answers = {
            index: a if a in list(string.ascii_uppercase) else "A"
            for index, a in answers.items()
        }
    data = data[data["index"].isin(answers)].copy()
    data["GT"] = [answers[index] for index in data["index"]]
    rows = [
        row
        for place in range(len(data))
        if (row := data.iloc[place])["index"] not in result
    ]
    jobs = [{"model": model, "item": row, "dataset_name": dataset_name} for row in rows]
    if jobs:
        track_progress_rich(
            eval_vanilla,
            jobs,
            nproc=nproc,
            save=result_file,
            keys=[row["index"] for row in rows],
        )
        result = load(result_file)
    return _with_verdicts(data, result)


def mcq_circular_eval(
    model: Any,
    data: Any,
    meta: Any,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> Any:
    """The first rows of all questions with `hit` and `log`: a question is right if it is under every rotation."""
    result: dict[Any, Any] = load(result_file) if os.path.exists(result_file) else {}
    answers = dict(zip(meta["index"], meta["answer"], strict=True))
    if "g_index" not in data:
        data["g_index"] = [int(index % ROTATION) for index in data["index"]]
    data = data[data["index"].isin(answers)].copy()
    data["GT"] = [answers[index] for index in data["index"]]
    first = data[data["index"] == data["g_index"]].copy()
    groups = [
        (index, data[data["g_index"] == index])
        for index in first["index"]
        if index not in result
    ]
    settled = {index: prefetch_circular_group(group) for index, group in groups}
    result.update(
        {index: verdict for index, verdict in settled.items() if verdict is not None}
    )
    left = [(index, group) for index, group in groups if settled[index] is None]
    dump(
        result, result_file
    )  # without what only a judge could settle: a later one is asked about it
    if model is None:
        result.update({index: {"hit": 0, "log": NO_JUDGE} for index, _ in left})
    if left and model is not None:
        jobs = [
            {"model": model, "sub_data": group, "dataset_name": dataset_name}
            for _, group in left
        ]
        keys = [index for index, _ in left]
        track_progress_rich(
            eval_circular_group, jobs, nproc=nproc, save=result_file, keys=keys
        )
        result = load(result_file)
    return _with_verdicts(first.reset_index(drop=True), result)


def MMMU_preproc(data: Any) -> Any:
    """Open questions as multiple choice: the answer, or another one."""
    is_open = [is_blank(cell) for cell in data["A"]]
    answers = zip(data["A"], data["answer"], is_open, strict=True)
    data["A"] = [answer if blank else cell for cell, answer, blank in answers]
    data["B"] = [
        "Other Answers" if blank else cell
        for cell, blank in zip(data["B"], is_open, strict=True)
    ]
    return data


def extract_characters_regex(
    s: Any, choices: Sequence[str] = ("(A)", "(B)", "(C)", "(D)", "(E)")
) -> str:
    """The first letter from A to E after the words that lead to an answer; an option that the words are part of."""
    text = "" if isinstance(s, dict) else s.strip()
    for lead in _LEADS:
        text = text.replace(lead, "")
    found = re.search(r"[ABCDE]", text)
    if found is not None:
        return found[0]
    if len(text.split()) > _WORDS_OF_AN_ANSWER:
        return ""
    return next((choice[1] for choice in choices if text.lower() in choice.lower()), "")


def _group(sub_data: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Answers, letters read by rule, predictions and rows of one question's rotations; the first wrong one ends it."""
    rows = [sub_data.iloc[place] for place in range(len(sub_data))]
    return (
        [r["GT"] for r in rows],
        [prefetch_answer(r) for r in rows],
        [r["prediction"] for r in rows],
        rows,
    )


def _with_verdicts(data: Any, result: Mapping[Any, Any]) -> Any:
    data["hit"] = [result[index]["hit"] for index in data["index"]]
    data["log"] = [result[index]["log"] for index in data["index"]]
    data.pop("GT")
    return data

"""Score multiple choice as VLMEvalKit does: by rules first, then by a judge, with all rotations as one question.

This module also has the functions of `vlmeval.dataset.utils.multiple_choice`. Logs are
in VLMEvalKit's format. If the judge cannot match an answer to an option, the answer
counts as none of the options. Only VLMEvalKit's rules draw a random letter instead.
"""

import os
import random
import string
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...datasets.tsv_images import is_blank
from ..kits.many_calls import track_progress_rich
from ..kits.smp.file import dump, load
from ..kits.smp.images import build_option_str
from ..shapes import Fields, Record
from .dataset_facts import ROTATION
from .letters import LETTER_RULES, Letter
from .rules import ASSAY, NEWEST, chosen_rules
from .vlmeval_judging import DEBUG_MESSAGE as DEBUG_MESSAGE
from .vlmeval_judging import build_judge as build_judge
from .vlmeval_ratings import ABBREVIATIONS, accuracy_table

if TYPE_CHECKING:
    from pandas import DataFrame

STANDS_IN = True
"""Marks this module as a fallback: VLMEvalKit's own file takes precedence if it exists."""

MMB_abbrs = ABBREVIATIONS
FAILED = "Failed to obtain answer via API"
TRIES = 3
NO_JUDGE = (
    "Failed in Prefetch, no GPT-based answer matching under `exact_matching` policy."
)

Reader = Callable[[Any], Any]
"""A function that reads the chosen letter from an answer; it returns a false value if there is none."""


def judged_letter(
    model: Any,
    prompt: str,
    prediction: object,
    read: Reader,
    letters: Sequence[str],
    none: str,
) -> Record:
    """Return the letter `opt` that an answer chooses, and the `log`.

    Rules are tried first, then a judge up to three times. If both fail, `opt` is
    `none`, or a random letter under VLMEvalKit's rules.
    """
    letter = read(prediction)
    if letter:
        return {"opt": letter, "log": prediction}
    if model is None:
        return {"opt": none, "log": NO_JUDGE}
    for _ in range(TRIES):
        reply = model.generate(prompt)
        if FAILED not in reply:
            letter = read(reply)
        else:
            letter = None
        if letter:
            return {"opt": letter, "log": reply}
    if chosen_rules().draws_letters:
        return {
            "opt": random.choice([*letters, none]),
            "log": "Failed to predict, thus randomly generate one. ",
        }
    return {"opt": none, "log": "the judge named no option"}


def prefetched(
    answers: Sequence[Any],
    read: Sequence[Any],
    predictions: Sequence[Any],
) -> Record | None:
    """Return `hit` and `log` of a question if no judge is needed to decide it, otherwise None.

    Each argument has an entry for each rotation. One wrong letter makes the question
    wrong. If the rules find the correct letter in every rotation, it is correct.
    """
    for number, (answer, letter, prediction) in enumerate(
        zip(answers, read, predictions, strict=True)
    ):
        if letter and letter != answer:
            log = (
                f"Failed in Prefetching Rolling {number}: Answer is {answer}, Prediction is {prediction}, "
                f"Pre-fetched is {letter}. "
            )
            return {"hit": 0, "log": log}
    if list(answers) == list(read):
        return {"hit": 1, "log": "Succeed During Pre-fetching"}
    return None


def judged_rotations(
    answers: Sequence[Any],
    read: Sequence[Any],
    predictions: Sequence[Any],
    ask: Callable[[int], Fields],
) -> Record:
    """Return `hit` and `log` of a question with rotations. `ask` asks the judge about one rotation.

    The judge is asked only if the rules cannot decide. Each argument has an entry for
    each rotation. The first wrong rotation makes the question wrong.
    """
    verdict_by_rule = prefetched(answers, read, predictions)
    if verdict_by_rule is not None:
        return verdict_by_rule
    log = ""
    for number, (answer, letter, prediction) in enumerate(
        zip(answers, read, predictions, strict=True)
    ):
        if letter:
            log += f"Rolling {number} Matched.\n"
            continue
        judged = ask(number)
        if judged["opt"] != answer:
            log += (
                f"Failed in Rolling {number}: Answer is {answer}; Prediction is {prediction}; "
                f"Pre-fetched is {judged['opt']}; Match Log is {judged['log']}.\n"
            )
            return {"hit": 0, "log": log}
        log += f"Rolling {number}: Answer is {answer}, Prediction is {prediction}, Pre-fetched is {judged['opt']}.\n"
    return {"hit": 1, "log": log}


def prefetched_rotations(
    answers: list[Any],
    read: list[Any],
    predictions: list[Any],
    verbose: bool,
) -> object:
    """Return `hit` and `log` of a question with rotations if no judge is needed to decide it, otherwise None.

    With `verbose`, also return the correct letters and the letters that the rules
    found, unless the question is wrong.
    """
    verdict = prefetched(answers, read, predictions)
    if not verbose or (verdict is not None and not verdict["hit"]):
        return verdict
    return verdict, answers, read


def which_option(
    question: object,
    options: str,
    prediction: object,
    none: str,
) -> str:
    """Return the prompt, in assay's wording, that asks a judge which option an answer means."""
    return (
        "Somebody answered a multiple-choice question in free words. Which option is closest in meaning to the answer? "
        f"Reply with its letter alone; reply {none} if the answer means none of the options.\n\n"
        f"Question: {question}?\nOptions: {options}\nAnswer: {prediction}\nLetter: "
    )


NONE = "Z"


def can_infer(answer: object, choices: Fields) -> Letter:
    """Return the letter of the option that an answer chooses; `False` if there is none.

    Under VLMEvalKit's rules, those of the newest revision apply.
    """
    if chosen_rules() is ASSAY:
        rules = ASSAY
    else:
        rules = NEWEST
    texts = {letter: str(text) for letter, text in choices.items()}
    return LETTER_RULES[rules.name].either(str(answer), texts)


def report_acc(df: object) -> "DataFrame":
    """Return a table of accuracy with one row for each split.

    The columns are `split`, `Overall`, then one for each l2-category and each category.
    """
    return accuracy_table(df, documented=False)


def build_choices(item: Fields) -> Record:
    """Return the option texts of a row by letter."""
    return {
        c: item[c]
        for c in string.ascii_uppercase
        if c in item and (item[c] == "" or not is_blank(item[c]))
    }


def build_prompt(
    question: object,
    options: str,
    prediction: object,
) -> str:
    """Return the prompt, in assay's wording, that asks a judge which option an answer means."""
    return which_option(question, options, prediction, NONE)


build_prompt_cn = build_prompt_wemath = build_prompt_blink = build_prompt


def prefetch_answer(item: Fields) -> object:
    """Return the letter that the rules read from a row's prediction, or `False` if there is none."""
    return can_infer(item["prediction"], build_choices(item))


def extract_answer_from_item(
    model: object,
    item: Fields,
    dataset_name: str | None = None,
) -> Record:
    """Return the chosen letter `opt` and the `log` of a row. Rules are tried first, then the judge.

    If no letter can be read, `opt` is `Z`.
    """
    choices = build_choices(item)
    options = build_option_str(choices)
    prompt = build_prompt(item["question"], options, item["prediction"])
    return judged_letter(
        model,
        prompt,
        item["prediction"],
        lambda text: can_infer(text, choices),
        list(choices),
        NONE,
    )


def prefetch_circular_group(sub_data: object, verbose: bool = False) -> object:
    """Return `hit` and `log` of a question by rule alone, or None; `sub_data` has a row for each rotation.

    With `verbose`, also return the correct letters and the letters that were read,
    unless the question is wrong.
    """
    answers, read, predictions, _ = _group(sub_data)
    return prefetched_rotations(answers, read, predictions, verbose)


def eval_circular_group(
    model: object,
    sub_data: object,
    dataset_name: str | None = None,
) -> Record:
    """Return `hit` and `log` of a question, by rule and then by the judge; `sub_data` has a row for each rotation."""
    answers, read, predictions, rows = _group(sub_data)
    return judged_rotations(
        answers,
        read,
        predictions,
        lambda place: extract_answer_from_item(model, rows[place], dataset_name),
    )


def eval_vanilla(
    model: object,
    item: Fields,
    dataset_name: str | None = None,
) -> Record:
    """Return `hit` and `log` of one row, by rule and then by the judge."""
    extracted = extract_answer_from_item(model, item, dataset_name=dataset_name)
    return {
        "hit": int(extracted["opt"] == item["GT"]),
        "log": f"Match Log: {extracted['log']}. ",
    }


def mcq_vanilla_eval(
    model: object,
    data: "DataFrame",
    meta: "DataFrame",
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> "DataFrame":
    """Return the rows of `data` with `hit` and `log`, judged one by one.

    `meta` has the correct answers. `result_file` stores the results by index, so that
    an interrupted call can continue.
    """
    data = _with_answers(data, meta)
    result = _earlier_verdicts(result_file)
    all_rows = [data.iloc[number] for number in range(len(data))]
    rows = {row["index"]: row for row in all_rows if row["index"] not in result}
    if rows:
        jobs = [
            {"model": model, "item": row, "dataset_name": dataset_name}
            for row in rows.values()
        ]
        track_progress_rich(
            eval_vanilla,
            jobs,
            nproc=nproc,
            save=result_file,
            keys=list(rows),
        )
        result = load(result_file)
    return _with_verdicts(data, result)


def mcq_circular_eval(
    model: object,
    data: "DataFrame",
    meta: "DataFrame",
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> "DataFrame":
    """Return the unrotated row of each question with `hit` and `log`. All rotations must be correct for a hit.

    `meta` has the correct answers. `result_file` stores the results by index, so that
    an interrupted call can continue.
    """
    if "g_index" not in data:
        data["g_index"] = [int(index % ROTATION) for index in data["index"]]
    data = _with_answers(data, meta)
    result = _earlier_verdicts(result_file)
    first = data[data["index"] == data["g_index"]].copy()
    undecided = {}
    for index in first["index"]:
        if index in result:
            continue
        group = data[data["g_index"] == index]
        verdict = prefetch_circular_group(group)
        if verdict is None:
            undecided[index] = group
        else:
            result[index] = verdict
    # Leave out questions that need a judge, so that a judge can decide them in a later call.
    dump(result, result_file)
    if model is None:
        result.update({index: {"hit": 0, "log": NO_JUDGE} for index in undecided})
    elif undecided:
        jobs = [
            {"model": model, "sub_data": group, "dataset_name": dataset_name}
            for group in undecided.values()
        ]
        track_progress_rich(
            eval_circular_group,
            jobs,
            nproc=nproc,
            save=result_file,
            keys=list(undecided),
        )
        result = load(result_file)
    return _with_verdicts(first.reset_index(drop=True), result)


def _earlier_verdicts(result_file: str) -> dict[Any, Any]:
    return load(result_file) if os.path.exists(result_file) else {}


def _with_answers(data: "DataFrame", meta: "DataFrame") -> "DataFrame":
    """Add the correct answers as the column `GT`. Drop rows of `data` whose index `meta` does not have."""
    answers = dict(zip(meta["index"], meta["answer"], strict=True))
    rows = data[data["index"].isin(answers)].copy()
    rows["GT"] = [answers[index] for index in rows["index"]]
    return rows


def _group(sub_data: "DataFrame") -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return four lists with an entry for each rotation: correct letter, letter found by rules, prediction, row."""
    rows = [sub_data.iloc[number] for number in range(len(sub_data))]
    return (
        [r["GT"] for r in rows],
        [prefetch_answer(r) for r in rows],
        [r["prediction"] for r in rows],
        rows,
    )


def _with_verdicts(
    data: "DataFrame",
    result: Mapping[Any, Any],
) -> "DataFrame":
    data["hit"] = [result[index]["hit"] for index in data["index"]]
    data["log"] = [result[index]["log"] for index in data["index"]]
    data.pop("GT")
    return data

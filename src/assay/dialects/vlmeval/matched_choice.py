"""Multiple choice as both revisions of VLMEvalKit evaluate it: letters by rule, the rest by a judge, rotations as one.

Which rule reads a letter is the caller's; what is written into logs is upstream's format. No letter is ever drawn by
chance unless upstream's way was chosen: an answer that the judge cannot settle means none of the options.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .era import upstreams_rule

FAILED = "Failed to obtain answer via API"
TRIES = 3
NO_JUDGE = (
    "Failed in Prefetch, no GPT-based answer matching under `exact_matching` policy."
)

Reader = Callable[[Any], Any]
"""The letter of an answer; anything false if there is none."""


def judged_letter(
    model: Any,
    prompt: str,
    prediction: Any,
    read: Reader,
    letters: Sequence[str],
    none: str,
) -> dict[str, Any]:
    """`opt` and `log` of one answer: by rule, by the judge in three tries, else none of the options."""
    found = read(prediction)
    if found:
        return {"opt": found, "log": prediction}
    if model is None:
        return {"opt": none, "log": NO_JUDGE}
    for _ in range(TRIES):
        reply = model.generate(prompt)
        found = read(reply) if FAILED not in reply else None
        if found:
            return {"opt": found, "log": reply}
    if upstreams_rule():
        return {
            "opt": random.choice([*letters, none]),
            "log": "Failed to predict, thus randomly generate one. ",
        }
    return {"opt": none, "log": "the judge named no option"}


def prefetched(
    answers: Sequence[Any], read: Sequence[Any], predictions: Sequence[Any]
) -> dict[str, Any] | None:
    """The verdict on a question whose rotations settle it by rule alone; `None` where a judge is needed.

    One rotation that is read and wrong ends it.
    """
    for place, (answer, letter, prediction) in enumerate(
        zip(answers, read, predictions, strict=True)
    ):
        if letter and letter != answer:
            log = (
                f"Failed in Prefetching Rolling {place}: Answer is {answer}, Prediction is {prediction}, "
                f"Pre-fetched is {letter}. "
            )
            return {"hit": 0, "log": log}
    return (
        {"hit": 1, "log": "Succeed During Pre-fetching"}
        if list(answers) == list(read)
        else None
    )


def judged_rotations(
    answers: Sequence[Any],
    read: Sequence[Any],
    predictions: Sequence[Any],
    ask: Callable[[int], Mapping[str, Any]],
) -> dict[str, Any]:
    """The verdict on one question's rotations, by rule and then by the judge; the first wrong one ends it."""
    settled = prefetched(answers, read, predictions)
    if settled is not None:
        return settled
    log = ""
    for place, (answer, letter, prediction) in enumerate(
        zip(answers, read, predictions, strict=True)
    ):
        if letter:
            log += f"Rolling {place} Matched.\n"
            continue
        found = ask(place)
        if found["opt"] != answer:
            log += (
                f"Failed in Rolling {place}: Answer is {answer}; Prediction is {prediction}; "
                f"Pre-fetched is {found['opt']}; Match Log is {found['log']}.\n"
            )
            return {"hit": 0, "log": log}
        log += f"Rolling {place}: Answer is {answer}, Prediction is {prediction}, Pre-fetched is {found['opt']}.\n"
    return {"hit": 1, "log": log}


def prefetched_rotations(
    answers: list[Any], read: list[Any], predictions: list[Any], verbose: bool
) -> Any:
    """The verdict on one question's rotations by rule alone; with `verbose`, answers and letters too."""
    verdict = prefetched(answers, read, predictions)
    if not verbose or (verdict is not None and not verdict["hit"]):
        return verdict
    return verdict, answers, read


def which_option(question: Any, options: str, prediction: Any, none: str) -> str:
    """What the judge is asked, in our words."""
    return (
        "Somebody answered a multiple-choice question in free words. Which option is closest in meaning to the answer? "
        f"Reply with its letter alone; reply {none} if the answer means none of the options.\n\n"
        f"Question: {question}?\nOptions: {options}\nAnswer: {prediction}\nLetter: "
    )

"""What the scripted model and the scripted judge answer: texts that depend on the request alone, in several styles."""

import contextlib
import json
from collections.abc import Iterator

from made_up_rows import number_of

MODEL_STYLES = (
    "sentence",
    "letter",
    "number",
    "json",
    "list",
    "tagged",
    "lines",
    "yes",
)
JUDGE_STYLES = ("digit", "json", "list", "sentence", "yes", "score lines")
USUAL = ("sentence", "digit")
KEYS = (
    "score",
    "answer",
    "reason",
    "reasoning",
    "explanation",
    "pred",
    "correct",
    "rating",
    "result",
    "judgement",
    "label",
)
_chosen = list(USUAL)


def styles() -> Iterator[tuple[str, str]]:
    """Yield pairs of styles, of the model and of the judge, that differ from the usual one."""
    for style in MODEL_STYLES[1:]:
        yield style, USUAL[1]
    for style in JUDGE_STYLES[1:]:
        yield USUAL[0], style
    for style in MODEL_STYLES[1:]:
        yield style, "json"


def choose(style: tuple[str, str]) -> None:
    """Answer in this style from now on."""
    _chosen[:] = style


def chosen() -> tuple[str, str]:
    """Return the styles of now."""
    return _chosen[0], _chosen[1]


@contextlib.contextmanager
def answering(style: tuple[str, str]) -> Iterator[None]:
    """Answer in a style for a while."""
    before = chosen()
    choose(style)
    try:
        yield
    finally:
        choose(before)


def said(request: str) -> str:
    """Return what the scripted model generates."""
    return _text(_chosen[0], number_of(request))


def judged(request: str) -> str:
    """Return what the scripted judge answers."""
    return _text(_chosen[1], number_of(request))


def _text(style: str, number: int) -> str:
    letter = "ABCD"[number % 4]
    if style == "letter":
        return letter
    if style == "digit":
        return str(number % 2)
    if style == "number":
        return str(number % 50)
    if style == "json":
        entries: dict[str, object] = dict.fromkeys(KEYS, number % 2)
        entries["pred"] = ("yes", "no")[number % 2]
        return json.dumps(entries)
    if style == "list":
        return f"[{number % 3}, {number % 5}, 1, 2]"
    if style == "tagged":
        return f"<think>so</think><answer>{letter}</answer>\\boxed{{{number % 50}}}"
    if style == "lines":
        return f"Reasoning: it is so\nAnswer: {letter}\nScore: {number % 5}"
    if style == "score lines":
        return f"Score: {number % 5}\nRating: [[{number % 5}]]\n[[{letter}]]"
    if style == "yes":
        return ("yes", "no")[number % 2]
    return f"The answer is ({letter}). #### {number % 50}"

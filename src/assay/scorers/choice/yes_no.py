"""Score yes-or-no questions, by the words of the answer or by the probability of yes.

`details["confusion"]` puts each answer into one of six cases: true yes, false yes,
false no, true no, unreadable with target yes, or unreadable with target no. Precision,
recall and similar metrics are computed from the counts of these cases.

The scorer `yes_probability` also returns the probability of yes, for metrics that rank
answers. It comes from the first token of the answer, if the backend reports
alternatives for that token. Otherwise it is 1 for yes and 0 for no.
"""

import math
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from ...core import Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, data_error, no_answer, no_target
from ..scorer_options import check_option
from ..text.normalize_text import strip_marks

Rule = Literal["words", "substring", "pope_official", "mme_official", "lmms_eval"]
Verdict = Literal["yes", "no"]

_GOLDS: dict[str, Verdict] = {
    "yes": "yes",
    "true": "yes",
    "1": "yes",
    "no": "no",
    "false": "no",
    "0": "no",
}


@scorers.register("yes_no")
@dataclass(frozen=True)
class YesNo:
    """1 if the answer agrees with the target, yes or no; `unparsed` if it is neither."""

    rule: Rule = "words"
    """The rule that reads the answer.

    - `words`: exactly one of the two words occurs (MME and POPE in VLMEvalKit).
    - `substring`: one of them occurs, perhaps inside a word: `Nothing` is no
      (VLMEvalKit in 2023).
    - `pope_official`: no if the first sentence has no, No or not, otherwise always yes.
    - `mme_official`: one of the words is in the first four letters.
    - `lmms_eval`: the answer is only that word, as in lmms-eval's POPE.
    """
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __post_init__(self) -> None:
        check_option("yes_no", "rule", self.rule, get_args(Rule))

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        gold = _GOLDS.get(targets[0].strip().rstrip(".").lower())
        if gold is None:
            return data_error(f"target {targets[0]!r} is neither yes nor no")
        silence = no_answer(output)
        # The official rule of POPE reads an empty answer as yes, but not one that was truncated.
        if silence:
            answer = None
        else:
            answer = _READERS[self.rule](output.text)
        details = {
            "rule": self.rule,
            "gold": gold,
            "confusion": confusion(gold, answer),
        }
        if answer is None:
            return Score(
                0.0,
                silence.outcome if silence else Outcome.UNPARSED,
                details=details,
            )
        return Score(
            float(answer == gold),
            answer=answer,
            details=details,
        )


def confusion(
    gold: Verdict,
    answer: Verdict | None,
) -> list[int]:
    """Return a list with one 1: true yes, false yes, false no, true no, unread with
    target yes, unread with target no.
    """
    hit = {
        ("yes", "yes"): 0,
        ("no", "yes"): 1,
        ("yes", "no"): 2,
        ("no", "no"): 3,
        ("yes", None): 4,
        ("no", None): 5,
    }[gold, answer]
    return [int(index == hit) for index in range(6)]


def read_words(text: str) -> Verdict | None:
    """Return yes or no if exactly one of them is among the words."""
    return _only_one(strip_marks(text.lower(), as_vlmeval=True).split())


def read_substring(text: str) -> Verdict | None:
    """Return yes or no if exactly one of them occurs in the text, as a word or inside a word."""
    return _only_one(text.lower())


def read_pope(text: str) -> Verdict:
    """Return no if the first sentence has "no", "No" or "not", and yes for every other answer."""
    words = text.partition(".")[0].replace(",", "").split(" ")
    if any(word in words for word in ("No", "not", "no")):
        return "no"
    return "yes"


def read_mme(text: str) -> Verdict | None:
    """Return yes or no if it occurs in the first four letters, as in MME's script: `None of them` is no."""
    start = text.lower()[:4]
    if "yes" in start:
        return "yes"
    return "no" if "no" in start else None


def read_exact(text: str) -> Verdict | None:
    """Return yes or no if the answer consists of that word. `Yes.` is neither, because of its period."""
    return _only_one([text.strip().lower()])


def _only_one(words: Container[str]) -> Verdict | None:
    has_yes = "yes" in words
    has_no = "no" in words
    if has_yes == has_no:
        return None
    return "yes" if has_yes else "no"


_READERS: dict[str, Callable[[str], Verdict | None]] = {
    "words": read_words,
    "substring": read_substring,
    "pope_official": read_pope,
    "mme_official": read_mme,
    "lmms_eval": read_exact,
}


@scorers.register("yes_probability")
@dataclass(frozen=True)
class YesProbability(YesNo):
    """1 if the answer agrees with the target, yes or no. `details["score"]` is the probability of yes."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "auroc")

    def __call__(self, sample: Sample, output: Output) -> Score:
        verdict = super().__call__(sample, output)
        probability = probability_of_yes(output)
        if probability is None:
            return verdict
        return replace(verdict, details={**verdict.details, "score": probability})


def probability_of_yes(output: Output) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) at the first token; None if neither was reported."""
    if output.candidates:
        tokens = output.candidates[0].answer_tokens
    else:
        tokens = ()
    if not tokens:
        return None
    first = tokens[0]
    weights = {"yes": 0.0, "no": 0.0}
    # Backends differ in whether the token that was taken is among its alternatives.
    for text, logprob in dict([(first.text, first.logprob), *first.top]).items():
        word = text.strip().lower()
        if word in weights:
            weights[word] += math.exp(logprob)
    total = weights["yes"] + weights["no"]
    if total:
        return weights["yes"] / total
    return None

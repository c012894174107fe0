"""Token F1: the overlap of the answer's words with the target's words, counted as multisets.

`no no no` against `no` scores 0.5: every occurrence of a word counts. The best target counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Score
from ...registry import scorers
from ..answers import AgainstTargets
from ..scorer_options import check_option
from .normalize_text import (
    cjk_words,
    cjk_words_of_target,
    squad_words,
    squad_words_of_target,
)


@scorers.register("f1")
@dataclass(frozen=True)
class TokenF1(AgainstTargets):
    """F1 of the answer's words against the best target, normalized as in SQuAD."""

    compares_text: ClassVar[bool] = True
    tokens: str = "words"
    """`words` is SQuAD's normalizer; `cjk` takes each CJK character as a token and strips all Unicode punctuation."""

    def __post_init__(self) -> None:
        check_option("f1", "tokens", self.tokens, ("words", "cjk"))

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """Return the score of an answer against the best target."""
        is_cjk = self.tokens == "cjk"
        if is_cjk:
            words = cjk_words(output.text)
        else:
            words = squad_words(output.text)
        expected = cjk_words_of_target if is_cjk else squad_words_of_target
        return Score(
            max(token_f1(words, expected(target)) for target in targets),
            answer=" ".join(words),
        )


def token_f1(answer: Sequence[str], target: Sequence[str]) -> float:
    """Return the F1 of two multisets of words; 1 if both are empty, 0 if one is."""
    if not answer or not target:
        return float(not answer and not target)
    if len(answer) == 1 or len(target) == 1:
        if answer[0] in target if len(answer) == 1 else target[0] in answer:
            shared = 1
        else:
            shared = 0
    else:
        # A plain dict: the checks inside `Counter` cost more than the counting of short answers.
        left: dict[str, int] = {}
        for word in target:
            left[word] = left.get(word, 0) + 1
        shared = 0
        for word in answer:
            if left.get(word, 0) > 0:
                left[word] -= 1
                shared += 1
    return 2 * shared / (len(answer) + len(target))

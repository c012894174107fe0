"""`src.evaluator.base`: the base of evaluators, and the two that match text.

They judge by assay's own scorers, or by TELEVAL's own rules where upstream's were chosen.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .....core import Outcome, Output, Sample, Score
from .....scorers.choice.single_choice_zh import SingleChoiceZh
from .....scorers.speech.exists_match import ExistsMatch, spoken_tokens
from ....protocol import is_upstream
from ...eras import SEED, era_here
from ...references import as_reference, as_target
from ..utils import parallel_batch
from .process import OptionExtractor, SimpleTokenizer


class Evaluator:
    """What a user's evaluator is built on: `evaluate` gives a dict with `key` and `score` for each prediction."""

    def evaluate(
        self, preds: Any, refs: Any, pred_info_list: Any, **kwargs: Any
    ) -> Any:
        """To be written by the user, for lists or, with `@parallel_batch`, for one prediction."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluate")


class BuiltInEvaluator(Evaluator):
    """An evaluator that judges by a scorer of assay."""

    scorer: Any

    def score(self, pred: Any, ref: Any, pred_info: dict[str, Any]) -> Score:
        """The verdict of the scorer on one prediction."""
        sample = Sample(
            str(pred_info.get("key", "")),
            str(pred_info.get("query") or ""),
            as_target(ref),
        )
        score: Score = self.scorer(sample, Output.of("" if pred is None else str(pred)))
        return score

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The verdict in the guest's words."""
        return self.judged(pred, ref, pred_info)

    def judged(self, pred: Any, ref: Any, pred_info: dict[str, Any]) -> dict[str, Any]:
        """The verdict of the scorer on one prediction, in the guest's words."""
        return {
            "key": pred_info.get("key"),
            "pred": pred,
            "ref": ref,
            "score": self.score(pred, ref, pred_info).value,
        }

    @staticmethod
    def result_of(
        line: Mapping[str, Any], score: Any, details: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What `evaluate` of TELEVAL returns for a score that a scorer of assay gave."""
        return {"key": line["key"], "score": score}


def set_workers(evaluator: Any, max_workers: int | None) -> None:
    """The attribute is there only where it was given, so that the default of `@parallel_batch` counts elsewhere."""
    if max_workers is not None:
        evaluator.max_workers = max_workers


@dataclass(frozen=True)
class WithPunctuation:
    """As exists-match, with punctuation as tokens of their own that must be there too."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = ExistsMatch()(sample, output)
        if score.outcome is not Outcome.SCORED or not score.value:
            return score
        is_there = _holds(as_reference(sample.target), _with_marks(output.text))
        return (
            score if is_there else Score(0.0, details={"rule": "punctuation differs"})
        )


def _holds(wanted: Any, tokens_there: list[str]) -> bool:
    if isinstance(wanted, (list, tuple)):
        return (all if isinstance(wanted, tuple) else any)(
            _holds(one, tokens_there) for one in wanted
        )
    tokens = _with_marks(str(wanted))
    return any(
        tokens_there[n : n + len(tokens)] == tokens
        for n in range(len(tokens_there) - len(tokens) + 1)
    )


def _with_marks(text: str) -> list[str]:
    """Words, single characters, and each mark by itself."""
    tokens: list[str] = []
    word = ""
    for char in unicodedata.normalize("NFKC", text):
        if unicodedata.category(char)[0] == "P":
            tokens += [*spoken_tokens(word), char]
            word = ""
        else:
            word += char
    return [*tokens, *spoken_tokens(word)]


class ExistMatch(BuiltInEvaluator):
    """1 if a reference occurs in the answer: any of a list, all of a tuple."""

    def __init__(self, keep_punc: bool = False, max_workers: int | None = None) -> None:
        self.keep_punc = keep_punc
        set_workers(self, max_workers)
        self.scorer = WithPunctuation() if keep_punc else ExistsMatch()

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The verdict; TELEVAL's own rule refuses references that are no list."""
        if not is_upstream("televal"):
            return self.judged(pred, ref, pred_info)
        if isinstance(ref, str) and era_here() != SEED:
            ref = [ref]
        if not isinstance(ref, list):
            raise ValueError(
                f"ExistMatch needs a list of references, not a {type(ref).__name__}"
            )
        found = SimpleTokenizer.has_answer(ref, str(pred), keep_punc=self.keep_punc)
        return {"key": pred_info["key"], "pred": pred, "ref": ref, "score": int(found)}


class SingleOptionMatch(BuiltInEvaluator):
    """`cover`: an option could be read from the answer; `correct`: it is the right one."""

    def __init__(self, max_workers: int | None = None, cushion: bool = False) -> None:
        self.cushion = cushion
        set_workers(self, max_workers)
        self.scorer = SingleChoiceZh(cushion=cushion)

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The verdict; TELEVAL's own rule needs the question's text, and one letter as reference."""
        if not is_upstream("televal"):
            return self.judged(pred, ref, pred_info)
        if isinstance(ref, list):
            if len(ref) != 1:
                raise AssertionError(
                    f"SingleOptionMatch needs one reference, not {len(ref)}"
                )
            ref = ref[0]
        verdict = OptionExtractor.has_answer(
            ref, str(pred), pred_info.get("query"), cushion=self.cushion
        )  # type: ignore[arg-type]
        return {"key": pred_info["key"], "pred": pred, "ref": ref, "score": verdict}

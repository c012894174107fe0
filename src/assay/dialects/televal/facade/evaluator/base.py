"""`src.evaluator.base`: the base of evaluators, and the two that match text; they judge by assay's own scorers."""

from dataclasses import dataclass
from typing import Any

from .....core import Output, Sample, Score
from .....scorers.choice.single_choice_zh import SingleChoiceZh
from .....scorers.speech.exists_match import ExistsMatch
from ...references import as_target
from ..utils import parallel_batch


class Evaluator:
    """What a user's evaluator is built on: `evaluate` gives a dict with `key` and `score` for each prediction."""

    def evaluate(self, preds: Any, refs: Any, pred_info_list: Any, **kwargs: Any) -> Any:
        """To be written by the user, for lists or, with `@parallel_batch`, for one prediction."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluate")


class BuiltInEvaluator(Evaluator):
    """An evaluator that judges by a scorer of assay."""

    scorer: Any
    max_workers: int | None = None

    def score(self, pred: Any, ref: Any, pred_info: dict[str, Any]) -> Score:
        """The verdict of the scorer on one prediction."""
        sample = Sample(str(pred_info.get("key", "")), str(pred_info.get("query") or ""), as_target(ref))
        made: Score = self.scorer(sample, Output.of(str(pred)))
        return made

    @parallel_batch(default_workers=4)
    def evaluate(self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """The verdict in the guest's words."""
        return {"key": pred_info.get("key"), "pred": pred, "ref": ref, "score": self.score(pred, ref, pred_info).value}


@dataclass(frozen=True)
class _WithPunctuation:
    """As exists-match, and the reference must stand in the answer letter by letter."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = ExistsMatch()(sample, output)
        found = (score.answer or "").lower().split(" … ")
        is_there = all(part in output.text.lower() for part in found)
        return score if is_there else Score(0.0, details={"rule": "punctuation differs"})


class ExistMatch(BuiltInEvaluator):
    """1 if a reference occurs in the answer: any of a list, all of a tuple."""

    def __init__(self, keep_punc: bool = False, max_workers: int | None = None) -> None:
        self.keep_punc = keep_punc
        self.max_workers = max_workers
        self.scorer = _WithPunctuation() if keep_punc else ExistsMatch()


class SingleOptionMatch(BuiltInEvaluator):
    """`cover`: an option could be read from the answer; `correct`: it is the right one."""

    def __init__(self, max_workers: int | None = None, cushion: bool = False) -> None:
        self.cushion = cushion
        self.max_workers = max_workers
        self.scorer = SingleChoiceZh(cushion=cushion)

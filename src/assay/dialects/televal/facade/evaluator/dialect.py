"""`src.evaluator.dialect`: which dialect does a model speak? Heard by a model given as `--judge dialect=…`.

That model answers a clip with JSON: probabilities by label, TELEVAL's codes or names; the most probable one is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....core import EMPTY, Output, Sample, Score, UsageError
from ..utils import parallel_batch
from .base import BuiltInEvaluator, set_workers
from .emo2vec import listen

NAMES = {
    "ct": "粤语",
    "zhs": "河南话",
    "zhc": "四川话",
    "zhd": "东北话",
    "wuy": "上海话",
    "mand": "普通话",
}
"""Codes of TELEVAL's classifier, and what references call them."""


@dataclass(frozen=True)
class HeardDialect:
    """1 if the dialect that is heard is the one that was wanted."""

    models: Mapping[str, Any] = field(
        default_factory=lambda: EMPTY, compare=False, repr=False
    )
    needs: ClassVar[tuple[str, ...]] = ("dialect",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        heard = await listen(self.models, "dialect", output)
        if isinstance(heard, Score):
            return heard
        label = str(max(heard, key=lambda name: float(heard[name]))) if heard else ""
        wanted = {str(target).lower() for target in sample.targets}
        return Score(
            float(bool({label.lower(), NAMES.get(label, label).lower()} & wanted)),
            answer=label,
        )


class DialectClassify(BuiltInEvaluator):
    """The dialect of the audio a model made."""

    def __init__(
        self, model: str | None = None, max_workers: int | None = None
    ) -> None:
        set_workers(self, max_workers)
        self.model = model
        self.dialect_mapping = dict(NAMES)
        self.onnx_sess: Any = None
        """An object with `classify(path)`, where the audio is heard here."""
        self.scorer = HeardDialect()

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The dialect that `onnx_sess` hears in the audio."""
        audio = pred_info["pred_audio"]
        if self.onnx_sess is None:
            raise UsageError(
                "nothing listens to dialects here", fix="--judge dialect=MODEL"
            )
        name = self.dialect_mapping.get(self.onnx_sess.classify(audio))
        return {"key": pred_info["key"], "score": int(name == ref) if name else 0}

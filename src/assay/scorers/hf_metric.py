"""Use a metric written for Hugging Face `evaluate`, from a file on this machine.

By naming the file, the user agrees to run it. Nothing is looked up on the hub: a name
that is not a local path is an error before the run. The metric scores the whole set at
once, so its result has no interval.
"""

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from ..code.userfiles import load_file
from ..core import EMPTY, Output, Requirement, Sample, ScorerError, UsageError
from ..registry import scorers
from .scorer_options import check_option

if TYPE_CHECKING:
    from evaluate import Metric


_EVALUATE = Requirement("evaluate", "evaluate", "assay[hf]")
_CASTS: Mapping[str, Callable[[str], Any]] = {"text": str, "int": int, "float": float}


@scorers.register("hf_metric")
@dataclass(frozen=True)
class HfMetric:
    """The values that an `evaluate` metric computes for all answers and targets together."""

    path: str
    """The metric's Python file, or a folder with a file of the same name: `rouge` for `rouge/rouge.py`."""
    cast: str = "text"
    """The type to which answers and targets are converted: `text`, `int` or `float`."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Keyword arguments of the metric's `compute`, such as `average: macro`."""
    reads: ClassVar[tuple[str, ...]] = ("text",)
    bounds: ClassVar[tuple[float, float] | None] = None
    requires: ClassVar[tuple[Requirement, ...]] = (_EVALUATE,)

    def __post_init__(self) -> None:
        check_option("hf_metric", "cast", self.cast, _CASTS)
        if not self._file().is_file():
            raise UsageError(
                "no such metric file; metrics are not fetched from a hub",
                where=f"scorer 'hf_metric', path {self.path!r}",
                fix="give the path of the metric's .py file",
            )

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> dict[str, float]:
        """Compute the metric, and return all of its results that are numbers."""
        predictions = [self._cast(output.text, sample) for sample, output in rows]
        references = [self._reference(sample) for sample, _ in rows]
        with TemporaryDirectory() as folder:
            metric = self._metric_class()(keep_in_memory=True, cache_dir=folder)
            metric.download_and_prepare()
            computed = metric.compute(
                predictions=predictions,
                references=references,
                **self.options,
            )
        scores = {}
        for name, value in (computed or {}).items():
            if _is_number(value):
                scores[str(name)] = float(value)
        return scores

    def _metric_class(self) -> "type[Metric]":
        """Return the metric class in the file. It is imported here, because
        `evaluate.load` would first copy the file to a cache.
        """
        evaluate = _EVALUATE.library("evaluate", "scorer 'hf_metric'")
        module = load_file(self._file())
        candidates = []
        for member in vars(module).values():
            if not inspect.isclass(member) or member.__module__ != module.__name__:
                continue
            if issubclass(member, evaluate.EvaluationModule):
                candidates.append(member)
        if len(candidates) != 1:
            raise UsageError(
                f"expected one class derived from evaluate.Metric, found {len(candidates)}",
                where=str(self._file()),
            )
        return candidates[0]

    def _file(self) -> Path:
        """Return the Python file of the metric."""
        path = Path(self.path).expanduser()
        if path.is_dir():
            return path / f"{path.name}.py"
        return path

    def _reference(self, sample: Sample) -> object:
        """Return the reference of a sample, or the list of its references."""
        # Two spellings of the same number are one reference.
        targets = list(
            dict.fromkeys(self._cast(str(target), sample) for target in sample.targets)
        )
        if len(targets) == 1:
            return targets[0]
        return targets

    def _cast(self, text: str, sample: Sample) -> object:
        try:
            return _CASTS[self.cast](text)
        except ValueError as error:
            raise ScorerError(
                f"cannot read {text[:40]!r} as {self.cast}",
                where=f"hf_metric, sample {sample.id!r}",
                fix="cast: text, or extract the value before",
            ) from error


def _is_number(value: object) -> bool:
    """Return True for a Python number, and for an array with a single number."""
    if isinstance(value, numbers.Real):
        return True
    return hasattr(value, "item") and getattr(value, "size", 0) == 1

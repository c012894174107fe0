"""Metrics by name: those in users' folders, and those of the package `evaluate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from ...core import Output, Sample, ScorerError, library
from ...core.sample import REFERENCE_COLUMNS
from ..returned import checked_metrics
from ..shapes import Record
from .testbed_loading import bases, guest_for, only_class
from .testbed_rows import Reading

REFERENCE_LISTS = (*REFERENCE_COLUMNS, "sentences_raw", "captions")
"""Columns in which a row may have several references."""
METRIC_FOLDERS = (
    "testbed/evaluate",
    "testbed/evaluate/metrics",
    "evaluate",
    "evaluate/metrics",
)
"""Folders of a tree that are searched for metrics. Inside them, each metric has a separate folder."""


def _metric_file(name: str, near: Sequence[Path]) -> Path | None:
    """Return the file of a metric, which is given by its path or name. Names are searched below the folders `near`."""
    path = Path(name).expanduser()
    if "/" in name or path.suffix == ".py":
        file = path
        if path.is_dir():
            file = path / f"{path.name}.py"
        if file.is_file():
            return file
        return None
    for tree in near:
        for folder in METRIC_FOLDERS:
            file = tree / folder / name / f"{name}.py"
            if file.is_file():
                return file
    return None


def find_metric(
    name: str,
    near: Sequence[Path],
    reading: Reading,
) -> "FolderMetric | None":
    """Return a user's metric, given by its path or name, or None.

    Names are searched below the folders in `near`.
    """
    file = _metric_file(name, near)
    return None if file is None else FolderMetric(str(file), reading)


def load(path: str, *args: object, **kwargs: object) -> object:
    """Return a metric by path or name, as `evaluate.load` does.

    For a metric that upstream published, the version in the tree around the script
    takes precedence.
    """
    import evaluate

    name = path.removeprefix("Kamichanw/")
    if name != path:
        file = _metric_file(name, bases())
        if file is not None:
            path = str(file.parent)
    return evaluate.load(path, *args, **kwargs)


NAMES = {"load": load}


@dataclass(frozen=True)
class FolderMetric:
    """A metric in a user's folder.

    It receives the inputs that it declares: predictions, references, or columns of the
    rows.
    """

    path: str
    reading: Reading
    bounds: ClassVar[tuple[float, float] | None] = None

    @property
    def name(self) -> str:
        """The name of the metric's file."""
        return Path(self.path).stem

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> Record:
        """Compute the metric over all samples and outputs, and return its dictionary.

        Values that are not numbers do not appear in the table of results.
        """
        evaluate = library(
            "evaluate",
            "evaluate",
            "'assay[hf]'",
            where=f"metric {self.name!r}",
        )
        kind = only_class(
            guest_for(Path(self.path)).load(self.path),
            evaluate.EvaluationModule,
            "evaluate.Metric",
            self.path,
        )
        returned: list[Any] = []

        with TemporaryDirectory() as folder:
            metric = kind(keep_in_memory=True, cache_dir=folder)
            metric.download_and_prepare()
            compute = metric._compute

            def keep(**inputs: object) -> object:
                returned.append(compute(**inputs))
                return {}

            metric._compute = keep  # `evaluate` itself only accepts a dictionary.
            features = metric.features
            if isinstance(features, list):
                features = features[0]
            columns = {
                name: [self._cell(name, shape, *row) for row in rows]
                for name, shape in features.items()
            }
            metric.compute(**columns)
        [metrics] = returned
        return dict(checked_metrics(metrics, kind._compute, f"metric {self.name!r}"))

    def _cell(
        self,
        name: str,
        shape: object,
        sample: Sample,
        output: Output,
    ) -> object:
        if name == "predictions":
            return cast(self.reading(output.text), shape)
        if name == "references":
            return cast(self._reference(sample, shape), shape)
        column = next(
            (c for c in (name, name.removesuffix("s")) if c in sample.fields), None
        )
        if column is None:
            raise ScorerError(
                f"needs a column {name!r}",
                where=f"metric {self.name!r}, sample {sample.id!r}",
                fix=f"add {name!r}",
            )
        return cast(sample.fields[column], shape)

    def _reference(self, sample: Sample, shape: object) -> object:
        """Return the reference of a sample in the form that the metric declares.

        If the metric declares a list, return all references. Otherwise return the
        target, which is cut and post-processed like a prediction.
        """
        if is_list(shape):
            several = _several(sample)
            if several is not None:
                return several
        if sample.target is None:
            raise ScorerError(
                "no reference", where=f"metric {self.name!r}, sample {sample.id!r}"
            )
        if isinstance(sample.target, str) and not is_list(shape):
            return self.reading(sample.target)
        return sample.target


def _several(sample: Sample) -> list[Any] | None:
    """Return the list of references of a row: its targets, the annotators' answers, or the captions.

    Return None if the row has no such list.
    """
    cells = [sample.target]
    for column in REFERENCE_LISTS:
        cells.append(sample.fields.get(column))
    for cell in cells:
        if isinstance(cell, (list, tuple)) and cell:
            return [
                entry["answer"] if isinstance(entry, Mapping) else entry
                for entry in cell
            ]
    return None


def is_list(shape: object) -> bool:
    """Return True if a metric declares one of its inputs as a list."""
    lists = ("list", "Sequence", "List", "LargeList")
    return type(shape).__name__ in lists


def cast(value: Any, shape: Any) -> object:
    """Convert a value to the type that the metric declares for an input."""
    if is_list(shape):
        if isinstance(shape, list):
            inner = shape[0]
        else:
            inner = shape.feature
        several = value
        if not isinstance(value, (list, tuple)):
            several = [value]
        return [cast(entry, inner) for entry in several]
    encode = getattr(shape, "encode_example", None)
    if encode is None:
        return value
    return encode(value)

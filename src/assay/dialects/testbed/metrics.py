"""Metrics of users' files and of the library `evaluate`, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from ...core import Output, Sample, ScorerError, library
from ...core.sample import REFERENCE_COLUMNS
from ..returned import checked_metrics
from ..shapes import Record
from .nearby import bases
from .testbed_loading import guest_for, only_class
from .testbed_rows import Reading

REFERENCE_LISTS = (*REFERENCE_COLUMNS, "sentences_raw", "captions")
"""Columns in which a row may hold several references."""
SPELLINGS = (
    "testbed/evaluate",
    "testbed/evaluate/metrics",
    "evaluate",
    "evaluate/metrics",
)


def find_metric(
    name: str,
    near: Sequence[Path],
    reading: Reading,
) -> "FolderMetric | None":
    """Return the metric at a path, or the first one with that name below the folders in `near`."""
    path = Path(name).expanduser()
    if "/" in name or path.suffix == ".py":
        if path.is_dir():
            file = path / f"{path.name}.py"
        else:
            file = path
        if file.is_file():
            return FolderMetric(str(file), reading)
        return None
    for folder in near:
        for spelling in SPELLINGS:
            file = folder / spelling / name / f"{name}.py"
            if file.is_file():
                return FolderMetric(str(file), reading)
    return None


@dataclass(frozen=True)
class FolderMetric:
    """A user's metric, computed from all predictions, the references and the other columns that it names."""

    path: str
    reading: Reading
    bounds: ClassVar[tuple[float, float] | None] = None

    @property
    def name(self) -> str:
        """The metric's own name."""
        return Path(self.path).stem

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> Record:
        """Return the metric's dictionary. Values that are not numbers are left out of the table."""
        kind = self._metric_class()
        with TemporaryDirectory() as folder:
            metric = kind(keep_in_memory=True, cache_dir=folder)
            metric.download_and_prepare()
            if isinstance(metric.features, list):
                features = metric.features[0]
            else:
                features = metric.features
            columns = {
                name: [self._cell(name, shape, *row) for row in rows]
                for name, shape in features.items()
            }
            returned = self._compute(metric, columns)
        return dict(checked_metrics(returned, kind._compute, f"metric {self.name!r}"))

    def _compute(
        self,
        metric: Any,
        columns: Mapping[str, Sequence[Any]],
    ) -> Any:
        """Return the result of the user's `_compute`; `evaluate` itself only accepts a dictionary."""
        returned: list[Any] = []
        original = metric._compute

        def keeping(**inputs: object) -> Any:
            returned.append(original(**inputs))
            if isinstance(returned[-1], Mapping):
                return returned[-1]
            return {}

        metric._compute = keeping
        computed = metric.compute(**columns)
        if returned and not isinstance(returned[-1], Mapping):
            return returned[-1]
        return computed

    def _metric_class(self) -> Any:
        evaluate = library(
            "evaluate",
            "evaluate",
            "'assay[hf]'",
            where=f"metric {self.name!r}",
        )
        module = guest_for(Path(self.path)).load(self.path)
        return only_class(
            module,
            evaluate.EvaluationModule,
            "evaluate.Metric",
            self.path,
        )

    def _cell(
        self,
        name: str,
        shape: object,
        sample: Sample,
        output: Output,
    ) -> Any:
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

    def _reference(self, sample: Sample, shape: object) -> Any:
        """Return all references if the metric accepts several; otherwise the target, read like a prediction."""
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
    """Return all references of a row: a list of targets, the annotators' answers, or all captions of the image."""
    cells = [sample.target, *(sample.fields.get(column) for column in REFERENCE_LISTS)]
    annotations = next(
        (value for value in cells if isinstance(value, (list, tuple)) and value), None
    )
    if annotations is None:
        return None
    return [
        entry["answer"] if isinstance(entry, Mapping) else entry
        for entry in annotations
    ]


def is_list(shape: object) -> bool:
    """Return True if a metric declares that a feature is a list."""
    return isinstance(shape, list) or type(shape).__name__ in (
        "Sequence",
        "List",
        "LargeList",
    )


def cast(value: Any, shape: Any) -> Any:
    """Convert a value to the type that a feature of the metric declares."""
    if is_list(shape):
        if isinstance(shape, list):
            inner = shape[0]
        else:
            inner = shape.feature
        if isinstance(value, (list, tuple)):
            several = value
        else:
            several = [value]
        return [cast(entry, inner) for entry in several]
    dtype = str(getattr(shape, "dtype", ""))
    if dtype.startswith(("int", "uint")):
        return int(value)
    if dtype.startswith("float"):
        return float(value)
    if dtype in ("string", "large_string"):
        return str(value)
    return value


OWNER = "Kamichanw/"


def load(
    path: str,
    *args: object,
    **kwargs: object,
) -> Any:
    """Return a metric by path or name.

    A metric that upstream published is taken from the tree around the script, if it is there.
    """
    import evaluate

    name = path.removeprefix(OWNER)
    if name != path:
        near = [base / spelling / name for base in bases() for spelling in SPELLINGS]
    else:
        near = []
    folder = next(
        (folder for folder in near if (folder / f"{name}.py").is_file()), None
    )
    return evaluate.load(path if folder is None else str(folder), *args, **kwargs)


NAMES = {"load": load}

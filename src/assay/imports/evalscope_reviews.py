"""Results of evalscope: `reviews/MODEL/DATASET_SUBSET.jsonl`, with the metrics in `reports/` if they are there."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import Outcome
from .chat_turns import split_answer
from .documents import mapping, number_of, read_document, read_objects
from .results import (
    ForeignNumber,
    ForeignRun,
    ForeignSample,
    ForeignScore,
    ForeignTask,
)

TOOL = "evalscope"
REVIEWS, REPORTS = "reviews", "reports"
SUBSET = "subset"
Cell = tuple[str, str]
"""Identifies the results of one model on one dataset: (dataset, model)."""
GOOD_STATUS = ("success", "scored", "")


def is_evalscope(path: Path) -> bool:
    """Return True for a folder `reviews`, the folder of a run that contains one, or a file in it."""
    return bool(files_of(path))


def files_of(path: Path) -> list[Path]:
    """Return the review files, followed by the reports."""
    if path.is_file():
        is_review = path.suffix == ".jsonl" and path.parent.parent.name == REVIEWS
        return [path] if is_review else []
    if path.name == REVIEWS:
        reviews = path
    else:
        reviews = path / REVIEWS
    files = sorted(reviews.glob("*/*.jsonl"))
    if files:
        reports = reviews.parent / REPORTS
        files += sorted(reports.glob("*/*.json"))
    return files


def read_evalscope(path: Path) -> ForeignRun:
    """Read the reviews of all models and datasets of a run. The subsets of one dataset are one task."""
    numbers: dict[Cell, tuple[ForeignNumber, ...]] = {}
    reviews: list[Path] = []
    for file in files_of(path):
        if file.suffix == ".jsonl":
            reviews.append(file)
        else:
            report = read_document(file)
            numbers[file.stem, file.parent.name] = tuple(_numbers(report))

    tasks = []
    groups = _group_files(reviews, list(numbers))
    for (dataset, model), members in groups.items():
        stated = numbers.get((dataset, model), ())
        directions = {number.metric: number.higher_is_better for number in stated}
        samples = _Reviews(members)
        tasks.append(ForeignTask(dataset, model, samples, stated, directions))
    return ForeignRun(TOOL, "", tuple(tasks))


def _group_files(
    reviews: list[Path],
    reported: list[Cell],
) -> dict[Cell, list[tuple[Path, str]]]:
    """Return the review files of each dataset and model, each file with its subset."""
    groups: dict[Cell, list[tuple[Path, str]]] = {}
    for file in reviews:
        model = file.parent.name
        datasets = []
        for dataset, owner in reported:
            if owner == model:
                datasets.append(dataset)
        dataset, subset = _split_name(file.stem, datasets)
        members = groups.setdefault((dataset, model), [])
        members.append((file, subset))
    return groups


def _split_name(
    stem: str,
    datasets: list[str],
) -> tuple[str, str]:
    """Return the dataset and the subset in a name `DATASET_SUBSET`. `datasets` are the datasets with a report."""
    for dataset in sorted(datasets, key=len, reverse=True):
        if stem.startswith(f"{dataset}_"):
            return dataset, stem.removeprefix(f"{dataset}_")
    dataset, _, subset = stem.rpartition("_")
    if dataset:
        return (dataset, subset)
    return (stem, "")


def _numbers(report: Mapping[str, Any]) -> Iterator[ForeignNumber]:
    """Yield the metrics of a report. A metric is named `name`, or `name.aggregation`
    unless it is a mean.

    Older reports write `mean_name`.
    """
    for entry in report.get("metrics") or ():
        metric = mapping(entry)
        identity = mapping(metric.get("identity"))
        name = str(identity.get("name") or metric.get("name") or "")
        name = name.removeprefix("mean_")
        aggregation = str(identity.get("aggregation") or "mean")
        direction = mapping(metric.get("semantics")).get("direction")
        yield ForeignNumber(
            name if aggregation == "mean" else f"{name}.{aggregation}",
            number_of(metric.get("score")),
            higher_is_better=direction != "lower_is_better",
        )


class _Reviews:
    """A function that yields the samples of one dataset, one subset after another."""

    def __init__(self, files: list[tuple[Path, str]]) -> None:
        self._files = files

    def __call__(self) -> Iterator[ForeignSample]:
        is_divided = len(self._files) > 1
        for file, subset in self._files:
            for _, row in read_objects(file):
                yield _sample(row, subset, is_divided)


def _sample(
    row: Mapping[str, Any],
    subset: str,
    is_divided: bool,
) -> ForeignSample:
    """Convert one review to a sample. Repeats of a sample share a group id, which becomes the sample id."""
    verdict = mapping(row.get("sample_score"))
    epoch = number_of(verdict.get("generation_index"))
    if epoch is not None:
        id = verdict.get("group_id")
    else:
        id = row.get("index")
    if id is None:
        id = row.get("index")
    turns = row.get("messages") or ()
    if not turns and isinstance(row.get("input"), str):
        turns = [{"role": "user", "content": row["input"]}]
    prompt, output = split_answer(turns)
    targets = row.get("target")
    if isinstance(targets, list) and len(targets) == 1:
        targets = targets[0]
    return ForeignSample(
        f"{subset}/{id}" if is_divided else str(id),
        output,
        prompt,
        targets,
        tuple(_scores(mapping(verdict.get("score")))),
        0 if epoch is None else int(epoch),
        {SUBSET: subset} if subset else {},
    )


def _scores(score: Mapping[str, Any]) -> Iterator[ForeignScore]:
    """Yield the values of one review. A review that could not be scored has no value."""
    extracted = score.get("extracted_prediction")
    if extracted is None:
        answer = None
    else:
        answer = str(extracted)
    details = {}
    if score.get("explanation"):
        details["explanation"] = score["explanation"]
    status = str(score.get("status") or "")
    is_usable = status.lower() in GOOD_STATUS
    for name, value in mapping(score.get("value")).items():
        number = number_of(value) if is_usable else None
        if number is None:
            yield ForeignScore(name, {}, Outcome.JUDGE_ERROR, answer, details)
        else:
            values = {name: number}
            yield ForeignScore(
                name,
                values,
                answer=answer,
                details=details,
            )

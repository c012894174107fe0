"""Benchmarks that score groups of questions: MME (by image) and HallusionBench (variants of a question or figure).

MME: a category scores 100 acc + 100 acc+, where acc+ is the share of images with both
questions right. Perception is the sum of ten categories, cognition the sum of four. The
image is the sample's group, or else its cluster.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..core import Result, ScoreRecord, SummarizerError, SummaryContext
from ..registry import summarizers
from .mean import reducer_of
from .statistics.estimate import Floats
from .strata import Counting, Heading, Row, expected_of, grouped_result, mean_of_rows
from .units import one_value, reducer_flags

PERCEPTION = (
    *("existence", "count", "position", "color"),
    *("posters", "celebrity", "scene", "landmark", "artwork", "ocr"),
)
COGNITION = (
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
    "code_reasoning",
)


@summarizers.register("mme")
@dataclass(frozen=True, slots=True)
class Mme:
    """Accuracy, acc+ and their sum for each category. Perception and cognition are the sums over their categories."""

    category: str = "category"
    """The tag that names the category."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        rows, flags = self._by_image(
            records,
            Counting.of(records, context),
            reducer_of(context),
        )
        flags = [*_reduced_flags(records, context), *flags]
        present = {group for group, _, _ in rows}
        scores = {
            name: self._of_category(name, rows, records, context)
            for name in sorted(present)
        }
        for metric, names in (("perception", PERCEPTION), ("cognition", COGNITION)):
            part_rows = [row for row in rows if row[0] in names]
            absent = [name for name in names if name not in present]
            if not part_rows:
                continue
            if absent:
                marks = [*flags, f"without {', '.join(absent)}"]
            else:
                marks = flags
            groups = {
                self.category: {name: scores[name] for name in names if name in scores}
            }
            members = self._members(records, names)
            heading = Heading(metric, groups, marks)
            result = grouped_result(
                part_rows,
                sum_of_scores,
                members,
                context,
                heading,
                ends=_ends(part_rows),
            )
            yield replace(result, n_expected=expected_of(members, records, context))
        other = [row for row in rows if row[0] not in (*PERCEPTION, *COGNITION)]
        if other or not rows:
            strange = sorted({group for group, _, _ in other})
            groups = {self.category: {name: scores[name] for name in strange}}
            if rows:
                members = self._members(records, strange)
            else:
                members = list(records)
            heading = Heading("mme", groups, flags)
            result = grouped_result(
                other,
                sum_of_scores,
                members,
                context,
                heading,
                ends=_ends(other),
            )
            yield replace(result, n_expected=expected_of(members, records, context))

    def _members(
        self,
        records: Sequence[ScoreRecord],
        names: Sequence[str],
    ) -> list[ScoreRecord]:
        return [
            record for record in records if _category(record, self.category) in names
        ]

    def _of_category(
        self,
        name: str,
        rows: Sequence[Row],
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Result:
        part = [row for row in rows if row[0] == name]
        members = self._members(records, (name,))
        right, questions, both, images = (
            math.fsum(column) for column in zip(*(row[2] for row in part), strict=True)
        )
        details = {
            "acc": 100 * right / questions,
            "acc_plus": 100 * both / images if images else None,
            "pictures": int(images),
        }
        heading = Heading("mme", details=details)
        result = grouped_result(
            part,
            sum_of_scores,
            members,
            context,
            heading,
            ends=_ends(part),
        )
        return replace(result, n_expected=None)

    def _by_image(
        self,
        records: Sequence[ScoreRecord],
        counted: Counting,
        reducer: str,
    ) -> tuple[list[Row], list[str]]:
        """Return one row for each image, and flags.

        A row has the number of right questions, the number of questions, 1 if all are
        right (else 0), and 1.
        """
        images: dict[tuple[str, str], list[ScoreRecord]] = {}
        for record in records:
            image = record.group if record.group is not None else record.cluster
            if image is None:
                raise SummarizerError(
                    f"sample {record.id!r} has no image",
                    where="summarizer 'mme'",
                    fix="let the dataset name the column of the image as group",
                )
            images.setdefault((_category(record, self.category), image), []).append(
                record
            )
        rows: list[Row] = []
        alone = torn = 0
        for (category, image), members in images.items():
            right = _reduce(_group_values(members, counted, by_sample=True), reducer)
            if len({record.id for record in members}) == 1:
                alone += 1
                both = None
            else:
                (both,) = _reduce(
                    [_all_right(_group_values(members, counted))], reducer
                )
                torn += both is None
            numbers = [value for value in right if value is not None]
            if numbers:
                if both is None:
                    pair = (0.0, 0.0)
                else:
                    pair = (both, 1.0)
                rows.append(
                    (category, image, (math.fsum(numbers), len(numbers), *pair))
                )
        if alone:
            flags = [f"{alone} images with a single question left out of acc+"]
        else:
            flags = []
        if torn:
            flags.append(f"{torn} images with an unresolved question left out of acc+")
        return rows, flags


def _group_values(
    records: Sequence[ScoreRecord],
    counted: Counting,
    *,
    by_sample: bool = False,
) -> list[list[float | None]]:
    """Return the values in lists by attempt: all first answers, then all second ones.

    With `by_sample`, return one list for each sample.
    """
    values_by_unit: dict[str | int, list[float | None]] = {}
    for record in records:
        values_by_unit.setdefault(record.id if by_sample else record.epoch, []).append(
            counted(record)
        )
    return list(values_by_unit.values())


def _all_right(attempts: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return 1 for each attempt whose answers are all right, and 0 for the others; None if a value is missing."""
    verdicts = []
    for values in attempts:
        if None in values:
            verdict = None
        else:
            verdict = float(all(value == 1 for value in values))
        verdicts.append(verdict)
    return verdicts


def _reduce(
    units: Sequence[Sequence[float | None]],
    reducer: str,
) -> list[float | None]:
    """Reduce the values of each unit to one value; None if missing values leave it undefined."""
    result = []
    for values in units:
        numbers = [value for value in values if value is not None]
        reduced = one_value(numbers, len(values) - len(numbers), reducer)
        result.append(None if reduced is None else reduced.value)
    return result


def _reduced_flags(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> tuple[str, ...]:
    return reducer_flags(
        reducer_of(context),
        repeated=len({record.id for record in records}) < len(records),
    )


def sum_of_scores(sums: Mapping[str, "Floats"]) -> "Floats":
    """Return MME's score, the sum of 100 acc + 100 acc+ over the categories, for each row of sums."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            sum(
                100 * s[:, 0] / s[:, 1] + 100 * s[:, 2] / s[:, 3] for s in sums.values()
            ),
            float,
        )


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the lowest and the highest score: a category has at most 200 points."""
    return 0.0, 200.0 * len({group for group, _, _ in rows})


def _category(record: ScoreRecord, tag: str) -> str:
    return record.tags.get(tag, "all").lower()


@summarizers.register("hallusionbench")
@dataclass(frozen=True, slots=True)
class HallusionBench:
    """HallusionBench's accuracies: of questions (aAcc), of questions over all their
    figures (qAcc), and of figures (fAcc).

    The samples have tags for the set, the figure and the question. Samples of one set
    are resampled together.
    """

    set: tuple[str, ...] = ("l2-category", "set_id")
    figure: str = "figure_id"
    question: str = "question_id"
    figureless: tuple[str, str] | None = None
    """The category and the figure number that mark questions without a figure.

    They are left out of fAcc, as in the official script; VLMEvalKit counts them as a
    figure.
    """
    category: str = "category"

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        unit = tuple(self.set)
        yield _share_all_right(
            records,
            context,
            "aAcc",
            by=None,
            unit=unit,
        )
        yield _share_all_right(
            records,
            context,
            "qAcc",
            by=(*unit, self.question),
            unit=unit,
        )
        with_figure = [record for record in records if not self._shows_none(record)]
        result = _share_all_right(
            with_figure,
            context,
            "fAcc",
            by=(*unit, self.figure),
            unit=unit,
        )
        yield replace(result, n_expected=expected_of(with_figure, records, context))

    def _shows_none(self, record: ScoreRecord) -> bool:
        return (record.tags.get(self.category), record.tags.get(self.figure)) == tuple(
            self.figureless or ()
        )


def _share_all_right(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    metric: str,
    *,
    by: tuple[str, ...] | None,
    unit: tuple[str, ...],
) -> Result:
    """Return the share of groups whose samples are all right.

    `by` are the tags that identify a group; with None each sample is a group. `unit`
    are the tags that identify what is resampled as a whole.
    """
    members: dict[tuple[str, ...], list[ScoreRecord]] = {}
    for record in records:
        members.setdefault(
            (record.id,) if by is None else _tags(record, by, metric), []
        ).append(record)
    counted = Counting.of(records, context)
    rows: list[Row] = []
    torn = 0
    for group in members.values():
        (all_right,) = _reduce(
            [_all_right(_group_values(group, counted))], reducer_of(context)
        )
        if all_right is None:
            torn += 1
        else:
            rows.append(("", _tags(group[0], unit, metric), (all_right, 1.0)))
    flags = [*_reduced_flags(records, context)]
    if torn and by is not None:
        flags.append(f"{torn} groups with an unresolved sample left out")
    return grouped_result(
        rows,
        _share,
        records,
        context,
        Heading(
            metric,
            flags=flags,
            details={"groups": len(rows)},
        ),
        estimator=lambda rows: mean_of_rows(rows, (0.0, 1.0)),
    )


def _share(sums: Mapping[str, "Floats"]) -> "Floats":
    (only,) = sums.values()
    return only[:, 0] / only[:, 1]


def _tags(
    record: ScoreRecord,
    names: tuple[str, ...],
    metric: str,
) -> tuple[str, ...]:
    missing = [name for name in names if name not in record.tags]
    if missing:
        raise SummarizerError(
            f"sample {record.id!r} has no tag {missing[0]!r}",
            where=f"metric {metric!r}",
            fix="let the dataset name that column as a tag",
        )
    return tuple(record.tags[name] for name in names)

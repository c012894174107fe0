"""Questions that count together: MME's two of a picture, HallusionBench's variants of a question and of a figure.

MME: a category scores 100 acc + 100 acc+, where acc+ is the share of pictures with both questions right; perception is
the sum of ten categories, cognition of four. The picture is the sample's group, else its cluster.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core import Result, ScoreRecord, SummarizerError, SummaryContext
from ..registry import summarizers
from .strata import Row, counted_value, grouped_result, unit_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PERCEPTION = (
    *("existence", "count", "position", "color"),
    *("posters", "celebrity", "scene", "landmark", "artwork", "ocr"),
)
COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")


@summarizers.register("mme")
@dataclass(frozen=True, slots=True)
class Mme:
    """Acc, acc+ and their sum for each category; perception and cognition as the sums over their categories."""

    category: str = "category"
    """The tag that names the category."""

    def __call__(self, records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
        rows, flags = self._pictures(records)
        present = {group for group, _, _ in rows}
        scores = {name: _category_score([row for group, _, row in rows if group == name]) for name in sorted(present)}
        for metric, names in (("perception", PERCEPTION), ("cognition", COGNITION)):
            own = [row for row in rows if row[0] in names]
            absent = [name for name in names if name not in present]
            if not own:
                continue
            marks = [*flags, f"without {', '.join(absent)}"] if absent else flags
            groups = {self.category: {name: scores[name] for name in names if name in scores}}
            yield grouped_result(own, sum_of_scores, records, context, metric, groups=groups, flags=marks)
        other = [row for row in rows if row[0] not in (*PERCEPTION, *COGNITION)]
        if other or not rows:
            groups = {self.category: {name: scores[name] for name in sorted({group for group, _, _ in other})}}
            yield grouped_result(other, sum_of_scores, records, context, "mme", groups=groups, flags=flags)

    def _pictures(self, records: Sequence[ScoreRecord]) -> tuple[list[Row], list[str]]:
        """For each picture: questions right, questions, pictures with all right, pictures; in fractions of 1."""
        pictures: dict[tuple[str, str, int], list[float | None]] = {}
        for record in records:
            picture = record.group if record.group is not None else record.cluster
            if picture is None:
                raise SummarizerError(
                    f"sample {record.id!r} has no picture to be counted with",
                    where="summarizer 'mme'",
                    fix="let the dataset name the column of the picture as group",
                )
            category = record.tags.get(self.category, "all").lower()
            pictures.setdefault((category, picture, record.epoch), []).append(counted_value(record))
        rows: list[Row] = []
        alone = torn = 0
        for (category, picture, _), values in pictures.items():
            known = [value for value in values if value is not None]
            is_whole = len(values) > 1 and len(known) == len(values)
            alone += len(values) == 1
            torn += len(values) > 1 and not is_whole
            both = float(is_whole and all(value == 1 for value in known))
            if known:
                rows.append((category, picture, (math.fsum(known), len(known), both, float(is_whole))))
        flags = [f"{alone} pictures with a single question left out of acc+"] if alone else []
        if torn:
            flags.append(f"{torn} pictures with an unresolved question left out of acc+")
        return rows, flags


def sum_of_scores(sums: Mapping[str, "Floats"]) -> "Floats":
    """100 acc + 100 acc+, added up over the categories."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sum(100 * s[:, 0] / s[:, 1] + 100 * s[:, 2] / s[:, 3] for s in sums.values()), float)


def _category_score(rows: Sequence[Sequence[float]]) -> dict[str, Any]:
    right, questions, both, pictures = (math.fsum(column) for column in zip(*rows, strict=True))
    acc = 100 * right / questions
    plus = 100 * both / pictures if pictures else None
    return {
        "value": None if plus is None else acc + plus,
        "acc": acc,
        "acc_plus": plus,
        "n": int(questions),
        "pictures": int(pictures),
    }


@summarizers.register("all_right")
@dataclass(frozen=True, slots=True)
class AllRight:
    """The share of groups all of whose samples are right."""

    by: tuple[str, ...] = ()
    """Tags that together name a group; left out, it is the sample's own group."""
    name: str = "all_right"

    def __call__(self, records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
        yield _share_all_right(records, context, tuple(self.by), self.name, unit=())


@summarizers.register("hallusionbench")
@dataclass(frozen=True, slots=True)
class HallusionBench:
    """aAcc of single questions, qAcc of questions with all their figures, fAcc of figures with all their questions.

    The samples carry tags that name the set, the figure and the question. What belongs to one set is drawn together.
    """

    set: tuple[str, ...] = ("l2-category", "set_id")
    figure: str = "figure_id"
    question: str = "question_id"

    def __call__(self, records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
        unit = tuple(self.set)
        yield _share_all_right(records, context, None, "aAcc", unit=unit)
        yield _share_all_right(records, context, (*unit, self.question), "qAcc", unit=unit)
        yield _share_all_right(records, context, (*unit, self.figure), "fAcc", unit=unit)


def _share_all_right(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    by: tuple[str, ...] | None,
    metric: str,
    *,
    unit: tuple[str, ...],
) -> Result:
    """`by` names the group by tags: none of them means the sample's own group, `None` each sample by itself."""
    members: dict[tuple[str, ...], list[ScoreRecord]] = {}
    for record in records:
        members.setdefault((*_group_of(record, by, metric), str(record.epoch)), []).append(record)
    rows: list[Row] = []
    torn = 0
    for group in members.values():
        values = [counted_value(record) for record in group]
        if None in values:
            torn += 1
            continue
        drawn = _tags(group[0], unit, metric) if unit else (unit_of(group[0]),)
        rows.append(("", drawn, (float(all(value == 1 for value in values)), 1.0)))
    flags = [f"{torn} groups with an unresolved sample left out"] if torn and by is not None else []
    return grouped_result(rows, _share, records, context, metric, flags=flags, details={"groups": len(rows)})


def _share(sums: Mapping[str, "Floats"]) -> "Floats":
    (only,) = sums.values()
    return only[:, 0] / only[:, 1]


def _group_of(record: ScoreRecord, by: tuple[str, ...] | None, metric: str) -> tuple[str, ...]:
    if by is None:
        return (record.id,)
    if by:
        return _tags(record, by, metric)
    return (record.group if record.group is not None else record.id,)


def _tags(record: ScoreRecord, names: tuple[str, ...], metric: str) -> tuple[str, ...]:
    missing = [name for name in names if name not in record.tags]
    if missing:
        raise SummarizerError(
            f"sample {record.id!r} has no tag {missing[0]!r}",
            where=f"metric {metric!r}",
            fix="let the dataset name that column as a tag",
        )
    return tuple(record.tags[name] for name in names)

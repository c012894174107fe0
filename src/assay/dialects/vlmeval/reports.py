"""Tables of accuracy in VLMEvalKit's formats: by split and category, matched shares, by capability."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...summarizers.benchmark_tables import CAPABILITIES

if TYPE_CHECKING:
    from pandas import DataFrame

ABBREVIATIONS = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
OVERALL = "Overall"


def accuracy_table(frame: "DataFrame", *, documented: bool) -> "DataFrame":
    """Return `split`, `Overall`, then a column for each l2-category and each category; `hit` has the verdicts.

    The documented revision has the rows full, dev and test if there are splits, else the single row dev. The newest
    has one row for each split; without splits, its only row is called none.
    """
    import pandas

    parts: list[tuple[Any, Any]]
    if "split" not in frame:
        parts = [("dev" if documented else "none", None)]
    elif documented:
        parts = [("full", None), ("dev", "dev"), ("test", "test")]
    else:
        parts = [(split, split) for split in sorted(set(frame["split"]), key=str)]
    columns: dict[str, list[Any]] = {
        "split": [name for name, _ in parts],
        OVERALL: _means(frame, parts),
    }
    for column in ("l2-category", "category"):
        if column in frame:
            for value in sorted(
                {cell for cell in frame[column] if cell == cell}, key=str
            ):
                columns[ABBREVIATIONS.get(value, value)] = _means(
                    frame[frame[column] == value], parts
                )
    return pandas.DataFrame(columns)


def _means(
    frame: "DataFrame",
    parts: Sequence[tuple[Any, Any]],
) -> list[float]:
    return [
        float(
            (frame if split is None else frame[frame["split"] == split])["hit"].mean()
        )
        for _, split in parts
    ]


def prefetch_table(rows: Sequence[tuple[Any, Any, Any]]) -> "DataFrame":
    """Count matched answers and how many of them are right; rows are category, letter read, answer."""
    import pandas

    matches = [
        (category, bool(read), read == answer) for category, read, answer in rows
    ]
    table = pandas.DataFrame(matches, columns=["Category", "match", "right"])
    table["hit"] = table["match"] & table["right"]
    groups = [(OVERALL, table), *table.groupby("Category", sort=False)]
    cells = []
    for name, group in groups:
        total, match, hit = (
            len(group),
            int(group["match"].sum()),
            int(group["hit"].sum()),
        )
        share = hit / match * 100 if match else 0
        cells.append([name, total, match, hit, match / total * 100, share])
    return pandas.DataFrame(
        cells, columns=["Category", "tot", "match", "hit", "match_rate", "acc"]
    )


def capability_tables(
    graded: Sequence[tuple[str, Any]],
    *,
    counts_twice: bool = False,
) -> tuple[Any, Any]:
    """Return means in percent by capability and by combination (`ocr_math`), each with its overall mean last.

    A capability without items is left out; upstream divides by zero there. Items of a single capability occur once
    in each table. Upstream keeps one count for a capability and a combination of the same name, so that such items
    are counted twice in both tables. `counts_twice` does the same.
    """
    of_capabilities: dict[str, list[float]] = {name: [] for name in CAPABILITIES}
    of_combinations = of_capabilities if counts_twice else {}
    everything: list[float] = []
    combinations: dict[str, list[float]] = {}
    for category, grade in graded:
        combination = category.replace(",", "_")
        everything.append(float(grade))
        for name in CAPABILITIES:
            if name in category:
                of_capabilities[name].append(float(grade))
        combinations[combination] = of_combinations.setdefault(combination, [])
        combinations[combination].append(float(grade))
    by_capability = {name: of_capabilities[name] for name in CAPABILITIES}
    return (
        _mean_table({**by_capability, OVERALL: everything}),
        _mean_table({**combinations, OVERALL: everything}),
    )


def _mean_table(groups: Mapping[str, Sequence[float]]) -> "DataFrame":
    import pandas

    cells = [
        [name, len(values), sum(values) / len(values) * 100]
        for name, values in groups.items()
        if values
    ]
    return pandas.DataFrame(cells, columns=["Category", "tot", "acc"])

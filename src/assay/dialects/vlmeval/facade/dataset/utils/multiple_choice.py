"""`vlmeval.dataset.utils.multiple_choice`: accuracy by split, by l2-category and by category."""

from typing import Any

__all__ = ["report_acc"]

ABBREVIATIONS = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}


def report_acc(df: Any) -> Any:
    """One row for each split: `split`, `Overall`, then a column for each l2-category and each category."""
    import pandas

    if "split" in df:
        splits = [(str(name), part) for name, part in df.groupby("split", sort=True)]
    else:
        splits = [("none", df)]
    rows = []
    for name, part in splits:
        row: dict[str, Any] = {"split": name, "Overall": float(part["hit"].mean())}
        for column in ("l2-category", "category"):
            if column in part:
                for value, own in part.groupby(column, sort=True):
                    row[ABBREVIATIONS.get(str(value), str(value))] = float(own["hit"].mean())
        rows.append(row)
    return pandas.DataFrame(rows)

"""The two comparisons IFEval knows: `less than` and `at least`."""

RELATIONS = ("less than", "at least")


def holds(count: int, relation: str, threshold: int) -> bool:
    """Whether `count` stands in `relation` to `threshold`; an unknown relation is a fault of the data."""
    if relation == "less than":
        return count < threshold
    if relation == "at least":
        return count >= threshold
    raise ValueError(
        f"unknown relation {relation!r}: IFEval has only {' and '.join(map(repr, RELATIONS))}"
    )

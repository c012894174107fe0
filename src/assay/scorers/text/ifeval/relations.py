"""The two relations of IFEval: `less than` and `at least`."""

RELATIONS = ("less than", "at least")


def holds(count: int, relation: str, threshold: int) -> bool:
    """Return True if `count` has the relation to `threshold`.

    Raise `ValueError` for a relation that IFEval does not have.
    """
    if relation == "less than":
        return count < threshold
    if relation == "at least":
        return count >= threshold
    raise ValueError(
        f"unknown relation {relation!r}: IFEval has only {' and '.join(map(repr, RELATIONS))}"
    )

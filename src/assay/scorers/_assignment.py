"""The assignment problem: pair rows with columns so that the sum of their weights is largest (Hungarian method).

Written here because it is short, and scipy, which has it, is not part of the base install.
"""

from collections.abc import Sequence


def best_pairs(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return (row, column) of each pair, sorted by row. There are as many pairs as the shorter side has items."""
    if not weights or not weights[0]:
        return []
    if len(weights) <= len(weights[0]):
        return sorted(_pair_all_rows(weights))
    turned = list(zip(*weights, strict=True))
    pairs = []
    for column, row in _pair_all_rows(turned):
        pairs.append((row, column))
    return sorted(pairs)


def _pair_all_rows(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the best pairs by shortest augmenting paths with potentials.

    Rows and columns count from 1 here. Row 0 and column 0 are auxiliary.
    """
    n_rows = len(weights)
    n_columns = len(weights[0])
    row_price = [0.0] * (n_rows + 1)
    column_price = [0.0] * (n_columns + 1)
    row_of = [0] * (n_columns + 1)
    for row in range(1, n_rows + 1):
        row_of[0] = row
        column = 0
        least = [float("inf")] * (n_columns + 1)
        came_from = [0] * (n_columns + 1)
        done = [False] * (n_columns + 1)
        while row_of[column]:
            done[column] = True
            current = row_of[column]
            step = float("inf")
            following = 0
            for other in range(1, n_columns + 1):
                if done[other]:
                    continue
                weight = weights[current - 1][other - 1]
                cost = -weight - row_price[current] - column_price[other]
                if cost < least[other]:
                    least[other] = cost
                    came_from[other] = column
                if least[other] < step:
                    step = least[other]
                    following = other
            for other in range(n_columns + 1):
                if done[other]:
                    row_price[row_of[other]] += step
                    column_price[other] -= step
                else:
                    least[other] -= step
            column = following
        while column:
            previous = came_from[column]
            row_of[column] = row_of[previous]
            column = previous
    pairs = []
    for column in range(1, n_columns + 1):
        row = row_of[column]
        if row:
            pairs.append((row - 1, column - 1))
    return pairs

"""A continuation with its context, as token ids."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A continuation to score after its context: the tokens of both, and the index where the continuation starts."""

    tokens: tuple[int, ...]
    start: int

    @property
    def computed(self) -> tuple[int, ...]:
        """The tokens that the model gets as input: all except the last, which is only predicted."""
        return self.tokens[:-1]


def windows(
    tokens: Sequence[int],
    first: int,
    longest: int,
) -> list[Pair]:
    """Split a long text into windows to score. Each token is scored once, after as much earlier text as fits.

    The first window begins after the token `first`. Only the last window overlaps the
    previous one.
    """
    pairs: list[Pair] = []
    done = 0
    while done < len(tokens):
        size = min(longest, len(tokens) - done)
        if done == 0:
            pairs.append(Pair((first, *tokens[:size]), 1))
        else:
            stop = done + size
            start = max(0, stop - longest - 1)
            pairs.append(Pair(tuple(tokens[start:stop]), done - start))
        done += size
    return pairs

"""Drafts: what a row may write next, taken from what stands in it already; checked by the model, never believed.

An answer often repeats its prompt: names, a format, the lines of an example. What followed the last time the same few
tokens stood there goes through the model together with the row's last token. The model's own choices say how much of
it was right, so the answer is the one it would write token by token, in fewer passes.
"""

from collections.abc import Sequence

from ...core import GenerateOptions
from .sampling import has_penalties, is_greedy

LONGEST_ENDING = 3
"""Tokens that must have stood there before; where these did not, fewer."""
LONGEST_DRAFT = 4
REMEMBERED = 8192
"""Tokens of a prompt that are looked through, its last ones."""
FORGIVEN = 2
"""Drafts in a row that may be wrong from their first token on without a pause after them."""
LONGEST_PAUSE = 16
"""Steps without a draft, in the end, where drafts go on being wrong."""


def can_draft(options: GenerateOptions) -> bool:
    """Whether the choice of a token depends on the logits alone: what is drawn or penalised depends on the row."""
    return is_greedy(options) and not has_penalties(options)


class Drafter:
    """Drafts for one row, more of them while they are right."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = list(tokens[-REMEMBERED:])
        self._after: dict[tuple[int, ...], int] = {}
        """Where what follows an ending stands; of several places the last."""
        self._size, self._wrong, self._wait = LONGEST_DRAFT, 0, 0
        for size in range(1, LONGEST_ENDING + 1):
            endings = zip(*(self._tokens[at:] for at in range(size)), strict=False)
            self._after.update(
                zip(endings, range(size, len(self._tokens)), strict=False)
            )

    def add(self, token: int) -> None:
        """The row's next token."""
        at = len(self._tokens)
        for size in range(1, min(LONGEST_ENDING, at) + 1):
            self._after[tuple(self._tokens[at - size :])] = at
        self._tokens.append(token)

    def draft(self, most: int) -> list[int]:
        """Up to `most` tokens; none where nothing like the row's end stood before, or drafts were wrong of late."""
        if self._wait:
            self._wait -= 1
            return []
        for size in range(min(LONGEST_ENDING, len(self._tokens)), 0, -1):
            at = self._after.get(tuple(self._tokens[-size:]))
            if at is not None:
                found = self._tokens[at : at + min(most, self._size)]
                # What goes round in a circle goes on with itself.
                while found and len(found) < min(most, self._size):
                    found.append(found[at + len(found) - len(self._tokens)])
                return found
        return []

    def learn(self, tokens: Sequence[int], drafted: int) -> None:
        """What was written instead of a draft: as much of it as was right, and one token more."""
        for token in tokens:
            self.add(token)
        right = len(tokens) - 1
        if not drafted:
            return
        if right:
            self._size, self._wrong = min(LONGEST_DRAFT, 2 * right), 0
            return
        self._size = 1
        self._wrong += 1
        if self._wrong > FORGIVEN:
            self._wait = min(LONGEST_PAUSE, 2 ** (self._wrong - FORGIVEN) - 1)

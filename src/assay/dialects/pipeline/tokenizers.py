"""Token ids for evaluators that need them. If the model has no tokenizer, private ids are assigned.

A private id stands for a piece of text: a word with the spaces before it, or a token
that the model reported. Decoding returns exactly the text. 0 is the end of the text and
pads short rows.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

from ...core import Candidate, Model
from ..parameters import accepted_by

_PIECES = re.compile(r"\s*\S+|\s+")


class Tokenizer(Protocol):
    """The methods of a tokenizer that evaluators call, and the conversion of an answer to ids."""

    @property
    def end(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(
        self,
        tokens: Iterable[int],
        utf8_errors: str = "ignore",
    ) -> str: ...
    def row(self, candidate: Candidate, limit: int) -> list[int]: ...


class PrivateTokenizer:
    """Assigns ids to pieces of text in order of first use. The ids are valid only in this process."""

    end = 0

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: list[str] = [""]

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Return one id for each word, which includes the spaces before it."""
        return [self._id(piece) for piece in _PIECES.findall(text)]

    def decode(
        self,
        tokens: Iterable[int],
        utf8_errors: str = "ignore",
    ) -> str:
        """Return the text of the ids. The end-of-text id 0 adds no characters."""
        pieces = self._pieces
        return "".join([pieces[token] for token in _plain(tokens) if token])

    def row(self, candidate: Candidate, limit: int) -> list[int]:
        """Return at most `limit` ids for an answer.

        If there are more pieces, the last id stands for the rest of the text.
        """
        text = candidate.text
        pieces = [token.text for token in candidate.tokens]
        if not pieces or "".join(pieces) != text:
            pieces = _PIECES.findall(text)

        if len(pieces) > limit:
            pieces[limit - 1 :] = ["".join(pieces[limit - 1 :])]
        return [self._id(piece) for piece in pieces]

    def _id(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]


class ModelTokenizer:
    """The tokenizer of a model that has one; the model is loaded on first use."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @cached_property
    def _own(self) -> Any:
        return self._model.tokenizer

    @cached_property
    def end(self) -> int:
        """The end-of-text id, which also pads short rows."""
        return int(getattr(self._own, "eos_token_id", None) or 0)

    def encode(self, text: str) -> list[int]:
        """Return the model's token ids, without special tokens at the beginning or the end."""
        encode = self._own.encode
        options = accepted_by(encode, {"add_special_tokens": False})
        return [int(token) for token in encode(text, **options)]

    def decode(
        self,
        tokens: Iterable[int],
        utf8_errors: str = "ignore",
    ) -> str:
        """Return the text of the ids, without the padding and without an incomplete last character."""
        ids = _plain(tokens)
        while ids and ids[-1] == self.end:
            ids.pop()
        wished = {"utf8_errors": utf8_errors, "skip_special_tokens": False}
        options = accepted_by(self._own.decode, wished)
        text = str(self._own.decode(ids, **options))
        if utf8_errors == "ignore":
            return text.rstrip("\ufffd")
        return text

    def row(self, candidate: Candidate, limit: int) -> list[int]:
        """Return the token ids that the model reported for an answer. If it reported none, encode the text."""
        return list(candidate.token_ids or self.encode(candidate.text))[:limit]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)


def tokenizer_of(model: Model) -> Tokenizer:
    """Return a tokenizer with the model's own ids. If the model has no tokenizer, return one with private ids."""
    # Check without reading the attribute: reading it may load the model.
    attributes = getattr(model, "__dict__", ())
    has_one = hasattr(type(model), "tokenizer") or "tokenizer" in attributes
    if model.abilities.tokens and has_one:
        return ModelTokenizer(model)
    return PrivateTokenizer()


def _plain(tokens: Any) -> list[int]:
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    if isinstance(tokens, (Sequence, Iterable)):
        return list(tokens)
    return [tokens]

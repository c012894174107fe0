"""Token ids for evaluators that want them: the model's own where it has any, else private ones.

A private id stands for a piece of text that was seen: a word with the blanks before it, or a token as the model
reported it. Decoding gives back exactly the text. 0 is the end of the text and fills short rows.
"""

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

from ...core import Candidate, Model

END_OF_TEXT = 0
_PIECES = re.compile(r"\s*\S+|\s+")


class Tokenizer(Protocol):
    """What evaluators call, and how an answer becomes a row of ids."""

    @property
    def end(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: Iterable[int], utf8_errors: str = "ignore") -> str: ...
    def row(self, candidate: Candidate, most: int) -> list[int]: ...


class PrivateTokenizer:
    """Ids of this process alone, given out as texts come."""

    end = END_OF_TEXT

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: list[str] = [""]

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """One id for each word, with the blanks before it."""
        return [self._id(piece) for piece in _PIECES.findall(text)]

    def decode(self, tokens: Iterable[int], utf8_errors: str = "ignore") -> str:
        """The text of the ids; the end of the text writes nothing."""
        pieces = self._pieces
        return "".join([pieces[token] for token in _plain(tokens) if token])

    def row(self, candidate: Candidate, most: int) -> list[int]:
        """At most `most` ids for one answer; what is left over belongs to the last piece, so that no text is lost."""
        text = candidate.text
        pieces = [token.text for token in candidate.tokens]
        if not pieces or "".join(pieces) != text:
            pieces = _PIECES.findall(text)
        if len(pieces) > most:
            pieces[most - 1 :] = ["".join(pieces[most - 1 :])]
        return [self._id(piece) for piece in pieces]

    def _id(self, piece: str) -> int:
        found = self._ids.get(piece)
        if found is None:
            found = self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return found


class ModelTokenizer:
    """The tokenizer of a model that has one; the model is loaded when it is first asked."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @cached_property
    def _own(self) -> Any:
        return self._model.tokenizer

    @cached_property
    def end(self) -> int:
        """What ends a text, and fills short rows."""
        end = getattr(self._own, "eos_token_id", None)
        return END_OF_TEXT if end is None else int(end)

    def encode(self, text: str) -> list[int]:
        """The model's ids, without those that only begin or end a text."""
        return [
            int(token)
            for token in self._own.encode(
                text, **_taken(self._own.encode, add_special_tokens=False)
            )
        ]

    def decode(self, tokens: Iterable[int], utf8_errors: str = "ignore") -> str:
        """The text of the ids, without the end that fills a row; of a character that is cut in two, nothing."""
        ids = _plain(tokens)
        while ids and ids[-1] == self.end:
            ids.pop()
        options = _taken(
            self._own.decode, utf8_errors=utf8_errors, skip_special_tokens=False
        )
        text = str(self._own.decode(ids, **options))
        return text.rstrip("\ufffd") if utf8_errors == "ignore" else text

    def row(self, candidate: Candidate, most: int) -> list[int]:
        """The ids the model reported; of an answer without ids, those of its text."""
        return list(candidate.token_ids or self.encode(candidate.text))[:most]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)


def _taken(method: Any, **options: Any) -> dict[str, Any]:
    """Those of the options that a method of somebody's tokenizer has parameters for."""
    names = _parameters(getattr(method, "__func__", method))
    return {name: value for name, value in options.items() if name in names}


@lru_cache(maxsize=64)
def _parameters(function: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def tokenizer_of(model: Model) -> Tokenizer:
    """The model's own tokenizer where it declares tokens and has one; else private ids."""
    # Looked for without asking: a model may have to be loaded to give it.
    has_one = hasattr(type(model), "tokenizer") or "tokenizer" in getattr(
        model, "__dict__", ()
    )
    return (
        ModelTokenizer(model)
        if model.abilities.tokens and has_one
        else PrivateTokenizer()
    )


def _plain(tokens: Any) -> list[int]:
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    return list(tokens) if isinstance(tokens, (Sequence, Iterable)) else [tokens]

"""Keep the marks of reasoning and of tool calls in the text of models that run in this process.

Some models enclose their reasoning in special tokens, such as `[THINK]` or
`<|channel|>`, which decoding would drop. Many chat templates put the opening mark into
the prompt, so that the generated text begins inside the reasoning. Both would make
reasoning look like an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..core import Candidate, Output, Request, Text
from ..core.reasoning import begins_with_mark, is_mark, opening_mark_of
from .tool_syntaxes import SYNTAXES

_TOOL_MARKS = frozenset().union(*(syntax.marks for syntax in SYNTAXES.values()))
_TAIL = 48
"""How many tokens at the end of a prompt to search for an opening mark of reasoning."""


class Tokenizer(Protocol):
    """The tokenizer attributes that are needed to read special tokens."""

    def decode(
        self,
        token_ids: Sequence[int],
        *,
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text of tokens."""


def mark_tokens(
    tokenizer: object,
    *,
    with_tools: bool = False,
) -> dict[int, str]:
    """Return the special tokens of a tokenizer that mark reasoning or tool calls, by id."""
    added: Mapping[int, Any] = getattr(tokenizer, "added_tokens_decoder", None) or {}
    marks: dict[int, str] = {}
    for token_id, token in added.items():
        if not getattr(token, "special", False):
            continue
        text = str(token)
        if is_mark(text) or (with_tools and text in _TOOL_MARKS):
            marks[token_id] = text
    return marks


def decode_with_marks(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    marks: Mapping[int, str],
) -> str:
    """Decode an answer without special tokens, except for the marks of reasoning and tool calls."""
    pieces: list[str] = []
    pending: list[int] = []
    for token_id in ids:
        if token_id not in marks:
            pending.append(token_id)
            continue
        pieces.append(tokenizer.decode(pending, skip_special_tokens=True))
        pieces.append(marks[token_id])
        pending = []
    pieces.append(tokenizer.decode(pending, skip_special_tokens=True))
    return "".join(pieces)


def opening_mark(
    tokenizer: Tokenizer,
    prompt: Sequence[int],
) -> str:
    """Return the opening mark at the end of a prompt; empty if there is none."""
    last_tokens = list(prompt[-_TAIL:])
    tail = tokenizer.decode(last_tokens, skip_special_tokens=False)
    return opening_mark_of(tail)


def continue_reasoning(
    output: Output,
    request: Request,
) -> Output:
    """Add the reasoning mark at the end of the prompt to the start of each text, if the model continues it.

    The model continues completion prompts and prefilled assistant turns. It does not
    continue a user turn, even one that ends with a mark.
    """
    if isinstance(request.think_tags, tuple) or request.think_tags is False:
        return output
    if request.messages:
        last = request.messages[-1]
    else:
        last = None
    if last is None or last.role not in ("", "assistant"):
        return output
    mark = opening_mark_of(last.text)
    if not mark:
        return output
    candidates = tuple(_begun_with(mark, each) for each in output.candidates)
    return replace(output, candidates=candidates)


def _begun_with(
    mark: str,
    candidate: Candidate,
) -> Candidate:
    """Return a candidate with the reasoning mark at the start of its text. Add the mark if it is missing."""
    if not candidate.parts:
        return candidate
    first, *others = candidate.parts
    if not isinstance(first, Text):
        return candidate
    if begins_with_mark(first.text):
        return candidate
    begun = replace(first, text=mark + first.text)
    return replace(candidate, parts=(begun, *others))

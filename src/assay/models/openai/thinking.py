"""Reasoning that a server leaves in the text, between `<think>` and `</think>`."""

from dataclasses import replace

from ...core import Candidate, Output, Part, Reasoning, Text

OPEN, CLOSE = "<think>", "</think>"


def split_thinking(output: Output) -> Output:
    """The same output with what was thought kept apart from what was answered."""
    return replace(output, candidates=tuple(_split(candidate) for candidate in output.candidates))


def _split(candidate: Candidate) -> Candidate:
    parts: list[Part] = []
    for part in candidate.parts:
        parts += _pieces(part.text) if isinstance(part, Text) else [part]
    return replace(candidate, parts=tuple(parts))


def _pieces(text: str) -> list[Part]:
    """A tag that is never closed is an answer that never came; one never opened was opened by the prompt."""
    thought, close, answer = text.partition(CLOSE)
    bare = thought.lstrip()
    if not close:
        return [Reasoning(bare.removeprefix(OPEN).strip("\n"))] if bare.startswith(OPEN) else [Text(text)]
    pieces: list[Part] = [Reasoning(bare.removeprefix(OPEN).strip("\n"))]
    return [*pieces, Text(answer.lstrip("\n"))] if answer.strip() else pieces

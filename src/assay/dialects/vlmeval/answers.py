"""What a guest model returned, as an output: text, numbers as text, and the triple of API classes."""

from typing import Any

from ...core import Output, shorten


def read_answer(value: Any, reference: str) -> Output:
    """An output from what a model returned; falsy answers are kept, a wrong shape is an error that names the model."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], int):
        code, answer, log = value
        if code != 0:
            return Output.failed("api", f"{reference} returned code {code}: {shorten(log, 200)}")
        value = answer
    if isinstance(value, str):
        return Output.of(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Output.of(str(value))
    raise TypeError(f"{reference} returned {shorten(value)}; it must return the answer as text")

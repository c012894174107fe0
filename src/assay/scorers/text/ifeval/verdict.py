"""The verdict on one response: which of its instructions it follows, strictly and loosely.

Strictly: the response as it stands. Loosely: any of eight versions of it, so that a polite opening or closing
line and Markdown emphasis do not count against the answer. A version without content never follows.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .checks import check_for


@dataclass(frozen=True, slots=True)
class Verdict:
    """One entry per instruction, in the order asked."""

    strict: tuple[bool, ...]
    loose: tuple[bool, ...]

    @property
    def prompt_strict(self) -> bool:
        """Whether all instructions are followed as they stand."""
        return all(self.strict)

    @property
    def prompt_loose(self) -> bool:
        """Whether each is followed in one of the loose versions."""
        return all(self.loose)


def follows(
    response: str,
    instruction_ids: Sequence[str],
    kwargs_list: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Judge `response` by each instruction with its arguments; arguments that are `None` count as absent.

    Faults of the data (unknown instruction or relation, missing or foreign argument) raise `ValueError`.
    """
    if len(instruction_ids) != len(kwargs_list):
        raise ValueError(
            f"{len(instruction_ids)} instructions but {len(kwargs_list)} sets of arguments: give one each"
        )
    checks = [
        _bound(name, kwargs)
        for name, kwargs in zip(instruction_ids, kwargs_list, strict=True)
    ]
    versions = loose_versions(response)
    strict = tuple(_passes(check, response) for check in checks)
    loose = tuple(
        strictly or any(_passes(check, version) for version in versions[1:])
        for check, strictly in zip(checks, strict, strict=True)
    )
    return Verdict(strict, loose)


def loose_versions(response: str) -> tuple[str, ...]:
    """The response; without its first, last, first and last line; and all four without asterisks.

    The response itself comes first; versions that coincide are given once.
    """
    lines = response.split("\n")
    shortened = [
        "\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])
    ]
    with_marks = [response, *shortened]
    return tuple(
        dict.fromkeys(
            [*with_marks, *(version.replace("*", "") for version in with_marks)]
        )
    )


def _passes(check: Callable[[str], bool], version: str) -> bool:
    return bool(version.strip()) and check(version)


def _bound(instruction_id: str, kwargs: Mapping[str, Any]) -> Callable[[str], bool]:
    check = check_for(instruction_id)
    arguments = {
        name: _whole(value) for name, value in kwargs.items() if value is not None
    }
    try:
        inspect.signature(check).bind("", **arguments)
    except TypeError as fault:
        raise ValueError(
            f"arguments of IFEval instruction {instruction_id!r}: {fault}"
        ) from None
    return partial(check, **arguments)


def _whole(value: Any) -> Any:
    """Tables that hold nulls beside numbers give 3 back as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

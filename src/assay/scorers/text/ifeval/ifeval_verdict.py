"""The verdict on one response: which of its instructions it follows, strictly and loosely.

Strictly means the unchanged response. Loosely means any of eight versions of it, so that a polite first or last
line and Markdown emphasis do not count against the answer. A version without content never follows an instruction.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .ifeval_checks import check_for


@dataclass(frozen=True, slots=True)
class Verdict:
    """One entry per instruction, in the order of the prompt."""

    strict: tuple[bool, ...]
    loose: tuple[bool, ...]

    @property
    def prompt_strict(self) -> bool:
        """True if the unchanged response follows all instructions."""
        return all(self.strict)

    @property
    def prompt_loose(self) -> bool:
        """True if each instruction is followed by one of the loose versions."""
        return all(self.loose)


def follows(
    response: str,
    instruction_ids: Sequence[str],
    kwargs_list: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Check `response` against each instruction with its arguments; arguments that are `None` count as absent.

    Raises `ValueError` for faults of the data: an unknown instruction or relation, a missing or extra argument.
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
    passed = (_passes(check, response) for check in checks)
    strict = tuple(passed)
    loose = tuple(
        strictly or any(_passes(check, version) for version in versions[1:])
        for check, strictly in zip(checks, strict, strict=True)
    )
    return Verdict(strict, loose)


def loose_versions(response: str) -> tuple[str, ...]:
    """Return the response; without its first, last, and first and last line; and all four without asterisks.

    The response itself comes first. Equal versions are given once.
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
    """Return True if a version has content and passes a check."""
    has_text = bool(version.strip())
    return has_text and check(version)


def _bound(instruction_id: str, kwargs: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return a check with its arguments filled in. Raise `ValueError` if they do not fit."""
    check = check_for(instruction_id)
    arguments = {
        name: _whole(value) for name, value in kwargs.items() if value is not None
    }
    try:
        signature = inspect.signature(check)
        signature.bind("", **arguments)
    except TypeError as fault:
        raise ValueError(
            f"arguments of IFEval instruction {instruction_id!r}: {fault}"
        ) from None
    return partial(check, **arguments)


def _whole(value: object) -> object:
    """Return 3 for 3.0, because tables with nulls in a column of integers turn them into floats."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

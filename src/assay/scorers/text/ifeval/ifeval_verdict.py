"""IFEval: the 25 checks, the verdict on one response, and the scorer.

Each of the 25 instructions has a check. A check takes the response and the
instruction's arguments by name, spelled as in the data. It returns True if the response
follows the instruction. Checks accept what the official checker accepts, even where
that is surprising.

The strict verdict is about the unchanged response. The loose verdict accepts any of
eight versions of it, so that a polite first or last line or Markdown emphasis does not
matter. A version without content never follows an instruction.

The scorer has two metrics: whether all instructions of a prompt are followed strictly,
and loosely. `details` has the verdict on each instruction. The accuracy over
instructions is computed from those, because prompts have one to three instructions.
"""

import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from ....core import MissingExtra, Outcome, Output, Sample, Score
from ....registry import scorers
from ...answers import data_error, no_answer
from . import ifeval_layout as layout
from . import lengths, wording

Check = Callable[..., bool]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "change_case:capital_word_frequency": wording.has_capital_words,
        "change_case:english_capital": wording.is_english_capital,
        "change_case:english_lowercase": wording.is_english_lowercase,
        "combination:repeat_prompt": layout.repeats_prompt,
        "combination:two_responses": layout.has_two_responses,
        "detectable_content:number_placeholders": layout.has_placeholders,
        "detectable_content:postscript": layout.has_postscript,
        "detectable_format:constrained_response": layout.is_constrained_response,
        "detectable_format:json_format": layout.is_json,
        "detectable_format:multiple_sections": layout.has_sections,
        "detectable_format:number_bullet_lists": layout.has_bullets,
        "detectable_format:number_highlighted_sections": layout.has_highlights,
        "detectable_format:title": layout.has_title,
        "keywords:existence": wording.has_keywords,
        "keywords:forbidden_words": wording.lacks_words,
        "keywords:frequency": wording.has_keyword_often,
        "keywords:letter_frequency": wording.has_letter_often,
        "language:response_language": wording.is_in_language,
        "length_constraints:nth_paragraph_first_word": lengths.nth_paragraph_starts_with,
        "length_constraints:number_paragraphs": lengths.has_number_of_paragraphs,
        "length_constraints:number_sentences": lengths.has_number_of_sentences,
        "length_constraints:number_words": lengths.has_number_of_words,
        "punctuation:no_comma": wording.has_no_comma,
        "startend:end_checker": layout.ends_with,
        "startend:quotation": layout.is_quoted,
    }
)


def check_for(instruction_id: str) -> Check:
    """Return the check of an instruction. Raise `ValueError` for an unknown name, with the most similar known name."""
    try:
        return CHECKS[instruction_id]
    except KeyError:
        close = get_close_matches(instruction_id, CHECKS, n=1)
        if close:
            hint = f"did you mean {close[0]!r}?"
        else:
            hint = f"IFEval has {len(CHECKS)}: {', '.join(CHECKS)}"
        raise ValueError(
            f"unknown IFEval instruction {instruction_id!r}\n  fix: {hint}"
        ) from None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a response follows each instruction, in the order of the prompt: strictly and loosely."""

    strict: tuple[bool, ...]
    loose: tuple[bool, ...]

    @property
    def prompt_strict(self) -> bool:
        """True if the unchanged response follows all instructions."""
        return all(self.strict)

    @property
    def prompt_loose(self) -> bool:
        """True if for each instruction some loose version follows it."""
        return all(self.loose)


def follows(
    response: str,
    instruction_ids: Sequence[str],
    kwargs_list: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Check whether `response` follows each instruction. Arguments of an instruction that are `None` are ignored.

    Raise `ValueError` for faulty data: an unknown instruction or relation, a missing or
    extra argument.
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
    """Return the versions of a response that the loose verdict checks, without duplicates.

    They are the response itself, without its first line, without its last line, and
    without both; and these four again without asterisks.
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


def _passes(
    check: Callable[[str], bool],
    version: str,
) -> bool:
    """Return True if a version of the response has content and passes a check."""
    has_text = bool(version.strip())
    return has_text and check(version)


def _bound(
    instruction_id: str,
    kwargs: Mapping[str, Any],
) -> Callable[[str], bool]:
    """Return a function that checks a response for one instruction, with the arguments already filled in.

    Raise `ValueError` if the arguments do not fit the instruction.
    """
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
    """Return a whole float as an integer: 3.0 -> 3.

    A table stores integers as floats if their column has nulls.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@scorers.register("ifeval")
@dataclass(frozen=True)
class IfEval:
    """`prompt_strict` and `prompt_loose`: 1 if a response follows all instructions of its prompt."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "instructions")

    def __post_init__(self) -> None:
        # Without the library only some rows could be scored, so that the run is refused before it starts.
        if importlib.util.find_spec("langdetect") is None:
            raise MissingExtra(
                "langdetect, which scorer 'ifeval' tells languages by,",
                "'assay[metrics]'",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        names: Sequence[str] | None = sample.fields.get("instruction_id_list")
        arguments: Sequence[Mapping[str, Any]] | None = sample.fields.get("kwargs")
        if not names or arguments is None:
            return data_error(
                f"sample {sample.id!r} has no instruction_id_list with kwargs"
            )
        try:
            verdict = follows(output.text, names, arguments)
        except ValueError as fault:
            return data_error(str(fault))
        silence = no_answer(output)
        return Score(
            {
                "prompt_strict": float(verdict.prompt_strict),
                "prompt_loose": float(verdict.prompt_loose),
            },
            silence.outcome if silence else Outcome.SCORED,
            details={
                "asked": len(names),
                "strict": sum(verdict.strict),
                "loose": sum(verdict.loose),
                "each_strict": list(zip(names, verdict.strict, strict=True)),
                "each_loose": list(zip(names, verdict.loose, strict=True)),
            },
        )

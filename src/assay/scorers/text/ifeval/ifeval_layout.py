"""IFEval's checks of form: lists, highlights, sections, titles, JSON, the beginning and the end of a response.

Every pattern runs in linear time, even on a megabyte of asterisks or brackets.
"""

import json
import re

_STAR_BULLET = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASH_BULLET = re.compile(r"^[^\S\n]*-", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*([^\n*]*)\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*([^\n*]*)\*\*")
_OPENING_FENCES = ("```json", "```Json", "```JSON", "```")
_CONSTRAINED_RESPONSES = (
    "My answer is yes.",
    "My answer is no.",
    "My answer is maybe.",
)
_POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}


def has_placeholders(response: str, *, num_placeholders: int) -> bool:
    """Return True if there are at least `num_placeholders` placeholders `[...]`, each on one line."""
    return (
        sum(_bracket_pairs(line) for line in response.split("\n")) >= num_placeholders
    )


def has_postscript(response: str, *, postscript_marker: str) -> bool:
    """Return True if the response contains the marker, in any case.

    `P.S.` and `P.P.S` may have a space after a period.
    """
    marker = postscript_marker.strip()
    pattern = _POSTSCRIPTS.get(marker) or re.escape(marker.lower())
    return re.search(pattern, response.lower()) is not None


def has_bullets(response: str, *, num_bullets: int) -> bool:
    """Return True if exactly `num_bullets` lines begin with one `*` or with `-`.

    A `---` rule is counted as a bullet, as in the official checker.
    """
    stars = sum(1 for _ in _STAR_BULLET.finditer(response))
    dashes = sum(1 for _ in _DASH_BULLET.finditer(response))
    return stars + dashes == num_bullets


def is_constrained_response(response: str) -> bool:
    """Return True if the response contains one of the three allowed answers."""
    return any(option in response for option in _CONSTRAINED_RESPONSES)


def has_highlights(response: str, *, num_highlights: int) -> bool:
    """Return True for at least `num_highlights` non-empty `*highlights*` or `**highlights**`, each within one line."""
    count = sum(
        1
        for pattern in (_HIGHLIGHT, _DOUBLE_HIGHLIGHT)
        for match in pattern.finditer(response)
        if match.group(1).strip()
    )
    return count >= num_highlights


def has_sections(
    response: str,
    *,
    section_spliter: str,
    num_sections: int,
) -> bool:
    """Return True if there are at least `num_sections` headings such as `SECTION 1`.

    The parameter with the heading's word is misspelled `section_spliter`, as in the
    data.
    """
    heading = re.compile(rf"{re.escape(section_spliter.strip())}\s?\d+")
    return sum(1 for _ in heading.finditer(response)) >= num_sections


def is_json(response: str) -> bool:
    """Return True if the whole response is one JSON value, with or without a Markdown fence around it."""
    text = response.strip()
    for fence in _OPENING_FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (
        ValueError,
        RecursionError,
    ):  # thousands of open brackets exhaust the parser's stack
        return False
    return True


def has_title(response: str) -> bool:
    """Return True if a line has a title `<<something>>`."""
    return any(_title(line) for line in response.split("\n"))


def has_two_responses(response: str) -> bool:
    """Return True for two different answers separated by `******`.

    The separator may also precede the first answer and follow the last one.
    """
    parts = [part.strip() for part in response.split("******")]
    if not all(parts[1:-1]):
        return False
    answers = [part for part in parts if part]
    return len(answers) == 2 and answers[0] != answers[1]


def repeats_prompt(response: str, *, prompt_to_repeat: str) -> bool:
    """Return True if the response begins with the prompt, word for word, in any case."""
    return response.strip().lower().startswith(prompt_to_repeat.strip().lower())


def ends_with(response: str, *, end_phrase: str) -> bool:
    """Return True if the response ends with the phrase, in any case. Quotation marks may follow it."""
    return response.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def is_quoted(response: str) -> bool:
    """Return True if the whole response is between two double quotation marks."""
    text = response.strip()
    return len(text) > 1 and text.startswith('"') and text.endswith('"')


def _bracket_pairs(line: str) -> int:
    """Return the number of `[...]` on a line."""
    pairs = 0
    position = 0
    while (opening := line.find("[", position)) >= 0 and (
        closing := line.find("]", opening)
    ) >= 0:
        pairs += 1
        position = closing + 1
    return pairs


def _title(line: str) -> str:
    """Return the text between `<<` and `>>` on a line; empty if there is none."""
    opening = line.find("<<")
    closing = line.rfind(">>")
    if opening < 0 or closing < opening:
        return ""
    return line[opening : closing + 2].lstrip("<").rstrip(">").strip()

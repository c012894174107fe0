"""The program in an answer: out of its fence, cut where a completion ends."""

import ast
import re
from typing import Literal

STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""Where the body of a function has ended; HumanEval's own sequences."""

Rule = Literal["fence", "completion", "definition", "text"]
LONGEST_PARSED = 300_000
"""No function is so long, and Python's parser takes seconds for more."""
_MOST_TRIES = 40
_BEGINS = re.compile(r"(?:import|from|def|async\s+def|class|@)\b|@")
_FENCE = re.compile(
    r"^[ \t]*(?:```+|~~~+)[^\n]*\n(.*?)(?:^[ \t]*(?:```+|~~~+)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)


def blocks(text: str) -> list[str]:
    """What stands in fences, each block whole; the last may have lost its end."""
    return [match.group(1) for match in _FENCE.finditer(text)]


def last_block(text: str) -> str:
    """LiveCodeBench's own rule: what stands between the last two lines that hold a fence; empty without them."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


def whole_program(text: str) -> tuple[str, Rule]:
    """The program of an answer: its last fenced block, else all of it."""
    found = [block for block in blocks(text) if block.strip()]
    return (found[-1], "fence") if found else (text, "text")


def completed(prompt: str, text: str, entry: str) -> tuple[str, Rule]:
    """The program of a prompt and its completion.

    A block in a fence that defines the wanted function stands for itself, after the imports and helpers of the prompt;
    any other answer continues the prompt and ends at the official stop sequences. An answer that does not begin with a
    body but has the definition, alone or among prose without a fence, stands for itself too, as with EvalPlus.
    """
    for block in blocks(text):
        if entry and defines(block, entry):
            return f"{prompt_before(prompt, entry)}\n{block}", "fence"
    inner = [block for block in blocks(text) if block.strip()]
    if inner:
        return prompt + cut(inner[0]), "fence"
    # A body is indented; what is not may hold the whole function, which the stop sequences would cut off.
    is_body = text.lstrip("\r\n")[:1].isspace()
    if entry and not is_body and (found := definition_in(text, entry)):
        return f"{prompt_before(prompt, entry)}\n{found}", "definition"
    return prompt + cut(text), "completion"


def definition_in(text: str, entry: str) -> str:
    """The lines around the definition of a function that are Python, from the first that begins some; else nothing."""
    lines = text.split("\n")
    defined = re.compile(rf"(?:async\s+)?def\s+{re.escape(entry)}\b")
    place = next(
        (number for number, line in enumerate(lines) if defined.match(line)), None
    )
    if place is None or len(text) > LONGEST_PARSED:
        return ""
    starts = [
        number for number, line in enumerate(lines[: place + 1]) if _BEGINS.match(line)
    ]
    for start in starts[-_MOST_TRIES:]:
        for end in range(len(lines), place, -1)[:_MOST_TRIES]:
            if is_python(code := "\n".join(lines[start:end])):
                return code
    return ""


def is_python(code: str) -> bool:
    """Whether some code can be parsed; what is too long to be tried counts as Python."""
    if len(code) > LONGEST_PARSED:
        return True
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def prompt_before(prompt: str, entry: str) -> str:
    """What stands in a prompt before the function that is to be completed: imports and helpers."""
    place = re.search(
        rf"^(?:async\s+)?def\s+{re.escape(entry)}\b", prompt, re.MULTILINE
    )
    return prompt[: place.start()] if place else ""


def defines(code: str, name: str) -> bool:
    """Whether some code defines a function or class of that name at its outermost level."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (
            re.search(
                rf"^(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b",
                code,
                re.MULTILINE,
            )
            is not None
        )
    return any(getattr(node, "name", None) == name for node in body)


def cut(text: str) -> str:
    """The completion up to where the body ends, as the stop sequences would have ended it."""
    ends = [place for stop in STOPS if (place := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text

"""Extract the program from an answer: the code in a fenced block, or a completion up to its stop sequence."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""HumanEval's stop sequences, which mark the end of a function's body."""

Rule = Literal["fence", "completion", "definition", "text"]
LONGEST_PARSED = 300_000
"""Maximum length of code that is parsed. Longer code takes Python's parser seconds, and
no real function is so long.
"""
_MOST_TRIES = 40
_BEGINS = re.compile(r"(?:import|from|def|async\s+def|class|@)\b|@")
_MOST_FENCES = 12
_LANGUAGE = re.compile(r"[ \t]*([\w+#-]*)")
# ```python, ~~~, a list entry's indented ```
_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<marks>```+|~~~+)(?P<info>[^`\n]*)$", re.MULTILINE
)
_LANGUAGE_MARKS = {
    "python": ("python", "py", "python3"),
    "python3": ("python", "py", "python3"),
    "bash": ("bash", "sh", "shell"),
    "node": ("javascript", "js", "node"),
    "perl": ("perl", "pl"),
}
"""The languages named after a code fence, such as ```` ```py ````, that each interpreter can run."""
_READS_INPUT = re.compile(r"\binput\b|\bstdin\b|\bopen\(0|\bfileinput\b")
_NAME = re.compile(r"[^\W\d]\w*")
# def f, async def f, class C
_DEFINITION = re.compile(r"^(?:(?:async\s+)?def|class)\s+([^\W\d]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """The content of a fenced block."""

    language: str
    """The first word after the opening fence, in lower case."""
    code: str


def fenced_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks. The last one may lack its closing fence."""
    fences = list(_FENCE.finditer(text))
    position = 0
    for number, opening in enumerate(fences, 1):
        if opening.start() < position:
            continue
        following = fences[number : number + _MOST_FENCES]
        closing = _closing_of(opening, following)
        yield _block(opening, closing)
        if closing is None:
            return
        # A fence with a language closes nothing, so it also opens the next block.
        position = (
            closing.start() if len(closing["info"].split()) == 1 else closing.end()
        )


def _closing_of(
    opening: re.Match[str], following: Sequence[re.Match[str]]
) -> re.Match[str] | None:
    """Return the fence that closes a block; None if the block extends to the end of the text.

    As in CommonMark, a closing fence repeats the character of the opening fence at
    least as often, has no words after it, and is indented by at most 3 columns more. A
    fence inside a docstring would end a Python block too early. So for Python, the
    first fence is taken before which the code can be parsed.
    """
    closing = [fence for fence in following if _closes(opening, fence)]
    candidates = [*closing, *following, None]
    if _language_of(opening) in ("", *_LANGUAGE_MARKS["python"]):
        for fence in candidates:
            if is_python(_block(opening, fence).code):
                return fence
    return closing[0] if closing else None


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    columns = [len(match["indent"].expandtabs(4)) for match in (opening, fence)]
    is_as_long = fence["marks"].startswith(opening["marks"])
    return is_as_long and not fence["info"].strip() and columns[1] <= columns[0] + 3


def _block(opening: re.Match[str], closing: re.Match[str] | None) -> Block:
    """Return the block between two fences. If the fences are indented, as in a list, remove that indentation."""
    text = opening.string
    if closing is None:
        end = len(text)
    else:
        end = closing.start()
    code = text[opening.end() + 1 : end]
    indent = opening["indent"]
    if indent:
        lines = code.splitlines(keepends=True)
        code = "".join(line.removeprefix(indent) for line in lines)
    return Block(_language_of(opening), code)


def _language_of(opening: re.Match[str]) -> str:
    language = _LANGUAGE.match(opening["info"])
    return language[1].lower() if language else ""


def last_block(text: str) -> str:
    """Return the text between the last two lines with a code fence, as in
    LiveCodeBench; empty if there are fewer than two.
    """
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    if len(fences) > 1:
        return "\n".join(lines[fences[-2] + 1 : fences[-1]])
    return ""


def whole_program(
    text: str,
    language: str = "python",
    tests: str = "",
    *,
    reads_input: bool = False,
) -> tuple[str, Rule]:
    """Return the program of an answer: its last suitable fenced block, or the whole text if it has no fenced block.

    Three kinds of blocks are skipped if another block remains: blocks in another
    language, such as an example of the output; blocks that define no function or class
    named in `tests`, such as an example of a call; and, if the program `reads_input`,
    Python blocks that read no input.
    """
    fenced = [block for block in fenced_blocks(text) if block.code.strip()]
    if not fenced:
        return (text, "text")
    marks = _LANGUAGE_MARKS.get(language, (language,))
    marked = [block for block in fenced if block.language in marks]
    programs = [block.code for block in marked or fenced]
    if tests:
        names = set(_NAME.findall(tests))
        tested = [
            code for code in programs if names.intersection(_DEFINITION.findall(code))
        ]
        programs = tested or programs
    if reads_input and language in ("python", "python3"):
        readers = [code for code in programs if _READS_INPUT.search(code)]
        programs = readers or programs
    return (programs[-1], "fence")


def completed(
    prompt: str,
    text: str,
    entry: str,
) -> tuple[str, Rule]:
    """Return the program of a prompt and its completion.

    A fenced block that defines the function replaces the prompt's definition, and keeps the prompt's imports and
    helpers. Any other answer continues the prompt and ends at the official stop sequences. As with EvalPlus, an answer
    that does not begin with a body but has the definition, alone or among prose without a fence, also replaces it.
    """
    blocks = [block.code for block in fenced_blocks(text)]
    for block in blocks:
        if entry and defines(block, entry):
            return f"{prompt_before(prompt, entry)}\n{block}", "fence"
    inner = [block for block in blocks if block.strip()]
    if inner:
        return prompt + cut(inner[0]), "fence"
    # A body is indented. Other text may contain the whole function, which the stop sequences would cut off.
    is_body = text.lstrip("\r\n")[:1].isspace()
    if entry and not is_body and (definition := definition_in(text, entry)):
        return f"{prompt_before(prompt, entry)}\n{definition}", "definition"
    return prompt + cut(text), "completion"


def definition_in(text: str, entry: str) -> str:
    """Return the longest span of Python lines around the definition of a function; empty if there is none."""
    lines = text.split("\n")
    defined = re.compile(rf"(?:async\s+)?def\s+{re.escape(entry)}\b")
    definition_line = next(
        (number for number, line in enumerate(lines) if defined.match(line)), None
    )
    if definition_line is None or len(text) > LONGEST_PARSED:
        return ""
    starts = [
        number
        for number, line in enumerate(lines[: definition_line + 1])
        if _BEGINS.match(line)
    ]
    for start in starts[-_MOST_TRIES:]:
        ends = range(len(lines), definition_line, -1)[:_MOST_TRIES]
        for end in ends:
            if is_python(code := "\n".join(lines[start:end])):
                return code
    return ""


def is_python(code: str) -> bool:
    """Return True if the code can be parsed as Python. Code that is too long to parse is assumed to be Python."""
    if len(code) > LONGEST_PARSED:
        return True
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def prompt_before(prompt: str, entry: str) -> str:
    """Return the part of a prompt before the function that is to be completed: imports and helpers."""
    definition = re.search(
        rf"^(?:async\s+)?def\s+{re.escape(entry)}\b",
        prompt,
        re.MULTILINE,
    )
    if definition:
        return prompt[: definition.start()]
    return ""


def defines(code: str, name: str) -> bool:
    """Return True if the code defines a function or class called `name` at its top level."""
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
    """Return the completion up to the first stop sequence, which ends the function's body."""
    ends = [offset for stop in STOPS if (offset := text.find(stop)) >= 0]
    if ends:
        return text[: min(ends)]
    return text

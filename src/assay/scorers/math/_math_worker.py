"""The process in which mathematics is compared: reads a line of JSON, writes a line of JSON, and may be killed.

Run as a file, not imported by the scorer. The first line in says where libraries are and how much memory may be used;
each line after it is `{"golds": [...], "answer": "..."}`. Nothing here evaluates text: math-verify reads LaTeX with a
grammar, and hands only digits and operators to SymPy's own parser.
"""

import json
import logging
import re
import resource
import signal
import sys
from typing import Any

_ANCHOR = re.compile(r"(?<!\\)\$|\\boxed|\\\(|\\\[")
"""What marks mathematics in a text. `\\$` is a sign of money, and `\\begin{pmatrix}` is mathematics without a mark."""
_ENVIRONMENT = re.compile(r"\\begin\{([a-zA-Z]{1,20}\*?)\}.*?\\end\{\1\}", re.DOTALL)
_COMMAND = re.compile(
    r"\\(?:text|mathrm|textbf|mbox|begin|end)\s?\{[^{}]*\}|\\[a-zA-Z]+|(?<=\\begin\{array\})\{[lcr|]+\}"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_MATHS = re.compile(r"[\d\\^_=+*/<>{}()\[\]%]")
_BARE_CHARS = 500


def main() -> None:
    """Serves until the pipe closes."""
    setup = json.loads(sys.stdin.readline())
    sys.path[:] = setup["path"]
    resource.setrlimit(resource.RLIMIT_AS, (setup["bytes"], setup["bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    try:
        from math_verify import parse, verify
    except ImportError:
        _reply({"ready": False})
        return
    _reply({"ready": True})
    for line in sys.stdin:
        # Should the parent die while a comparison hangs, the default action of this alarm ends the process.
        signal.setitimer(signal.ITIMER_REAL, setup["seconds"] + 2)
        try:
            reply = _compare(json.loads(line), parse, verify)
        except MemoryError:
            reply = {"error": "memory"}
        except Exception as error:  # noqa: BLE001 - the boundary: whatever the libraries raise is told to the parent
            reply = {"error": type(error).__name__}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _reply(reply)


def _compare(request: dict[str, Any], parse: Any, verify: Any) -> dict[str, Any]:
    # The time limit is the parent's: it kills this process, which the library's own alarm cannot promise.
    def read(text: str) -> list[Any]:
        return list(parse(text, parsing_timeout=None, raise_on_error=True))

    answer = _read_expression(request["answer"], read)
    golds = [_read_expression(gold, read) for gold in request["golds"]]
    if not any(golds) and is_same_text(request["golds"], request["answer"]):
        return {
            "equal": True,
            "answer": plain_text(request["answer"])[:200],
            "gold_read": True,
        }
    if not answer or not any(golds):
        return {"equal": None, "answer": _shown(answer), "gold_read": any(golds)}
    equal = any(
        verify(gold, answer, timeout_seconds=None, raise_on_error=True)
        for gold in golds
        if gold
    )
    return {"equal": equal, "answer": _shown(answer), "gold_read": True}


def _read_expression(text: str, read: Any) -> list[Any]:
    """The expression in a text; one that stands bare, as `\\sqrt8`, is marked as mathematics first."""
    if _ANCHOR.search(text):
        return read(text)  # type: ignore[no-any-return]
    if is_bare(text):
        return read(f"${text.strip()}$")  # type: ignore[no-any-return]
    # Unmarked, a matrix in a sentence would be read as the last of its numbers.
    found = read(_ENVIRONMENT.sub(lambda environment: f"${environment[0]}$", text))
    if not found and "\\" in text and len(text) <= _BARE_CHARS:
        found = read(f"${text.strip()}$")
    return found  # type: ignore[no-any-return]


def is_same_text(golds: list[str], answer: str) -> bool:
    """Whether an answer is one of golds that are no mathematics, as `B, C`: marks, blanks and case aside."""
    return bool(plain := plain_text(answer)) and plain in map(plain_text, golds)


def plain_text(text: str) -> str:
    """What stands in the last box, or between marks of mathematics, or the whole of a short text."""
    box = text.rfind("\\boxed{")
    if box >= 0:
        depth, end = 1, box + len("\\boxed{")
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[box + len("\\boxed{") : end - 1]
    elif marked := re.search(
        r"\$([^$]{1,200})\$\s?\.?\s*$|\\\[(.{1,200}?)\\\]\s?\.?\s*$", text[-500:]
    ):
        text = marked[1] or marked[2]
    if len(text) > _BARE_CHARS:
        return ""
    text = re.sub(r"\\(?:text|mathrm|textbf|mbox|mathbf)\s?\{([^{}]*)\}", r"\1", text)
    return re.sub(r"\\[,;! ]|[\s$~]", "", text).rstrip(".").lower()


def is_bare(text: str) -> bool:
    """Whether a text is one expression and nothing else: one short line, no words, something mathematical in it."""
    bare = text.strip()
    if (
        not bare
        or len(bare) > _BARE_CHARS
        or "\n" in _ENVIRONMENT.sub("", bare)
        or not _MATHS.search(bare)
    ):
        return False
    return not _WORD.search(_COMMAND.sub(" ", bare))


def _shown(parsed: list[Any]) -> str | None:
    return str(parsed[-1])[:200] if parsed else None


def _reply(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

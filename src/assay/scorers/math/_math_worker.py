"""A helper process that compares mathematical expressions. It can be killed at any time.

The scorer runs this file as a program and does not import it. They exchange lines of
JSON. The first line contains the import path and the memory limit; each later line is
`{"golds": [...], "answer": "..."}`. No text is evaluated as code: math-verify reads
LaTeX with a grammar, and passes only digits and operators to SymPy's own parser.
"""

import json
import logging
import re
import resource
import signal
import sys
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_ANCHOR = re.compile(r"(?<!\\)\$|\\boxed|\\\(|\\\[")
r"""Marks of mathematics in a text: `$`, `\boxed`, `\(` or `\[`. `\$` is a dollar sign.

An environment such as `\begin{pmatrix}` needs no mark.
"""
# <answer>42</answer>, <final_answer> at the end of a text
_ANSWER_ELEMENT = re.compile(
    r"<(?P<name>(?:final_?)?answer)>"
    r"(?P<inner>(?:(?!</?(?P=name)>).)*)"
    r"</(?P=name)>\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"\\begin\{([a-zA-Z]{1,20}\*?)\}.*?\\end\{\1\}", re.DOTALL)
_COMMAND = re.compile(
    r"\\(?:text|mathrm|textbf|mbox|begin|end)\s?\{[^{}]*\}"  # \text{cm}
    r"|\\[a-zA-Z]+"  # \pi
    r"|(?<=\\begin\{array\})\{[lcr|]+\}"  # the {cc} of \begin{array}{cc}
)
_WORD = re.compile(r"[^\W\d_]{2,}")
# **42**, *42*, __42__, `42`; not the operators of 2*3*4 or 2**3
_EMPHASIS = re.compile(
    r"""
    (?<![\w)\]}\\*_`])
    (?P<mark>\*{1,3}|_{1,3}|`{1,3})
    (?=[^\s*_`])
    (?P<inner>[^*`\n]{1,200}?)
    (?<=[^\s*_`])
    (?P=mark)
    (?![\w(\[{*_`])
    """,
    re.VERBOSE,
)
# `x**2 + 1`
_CODE = re.compile(
    r"(?<![\w`])(`{1,3})(?=[^\s`])([^`\n]{1,200}?)(?<=[^\s`])\1(?![\w`])"
)
# The bullet before a number without other text: "- 42", "* 42", "1. 42". Before other text, "-" may be a minus.
_BULLET = re.compile(r"\A\s*(?:[-*+•]|\d{1,2}[.)])\s+(?=[-−]?\.?\d[\d.,/]*\s*\Z)")
# <b>42</b>, <strong>, <code>
_HTML = re.compile(r"</?(?:b|i|u|em|strong|code|span|p|mark|br)\s?/?>", re.IGNORECASE)
# √2, √(x + 1), sqrt(2)
_ROOT = re.compile(
    r"(?:√|(?<![\\\w])sqrt(?=\())\s?(?:"
    r"\((?P<inner>[^()]{1,100})\)"  # √(x + 1), sqrt(2)
    r"|(?P<short>\d+(?:\.\d+)?|[^\W\d_])"  # √2, √x
    r")"
)
# x², 10⁻³
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁻⁺]+")
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
# ½, 3¾
_VULGAR = re.compile(r"[¼-¾⅐-⅞]")
# "1 1/2", alone
_MIXED = re.compile(r"\A\s*(-?\d{1,9}) (\d{1,4})/(\d{1,4})\s*\Z")
# ln(2), cos x
_FUNCTION = re.compile(
    r"(?<![\\\w])(?=(?:ln|log|exp|sin|cos|tan|cot|arcsin|arccos|arctan)(?:\s?\(|\s[a-z\d]\b))"
)
_SYMBOLS = {
    "∞": r"\infty ",
    "π": r"\pi ",
    "∅": r"\emptyset ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "×": r"\times ",
    "·": r"\cdot ",
}
_NAMED = {"pi": r"\pi", "infinity": r"\infty", "-infinity": r"-\infty"}
"""Words that are accepted as a whole answer, each with its LaTeX form."""
# 5 million, $5$ million, 1.5 \text{ billion}
_SCALED = re.compile(
    r"""
    (?<![\w.,])(?P<number>\d{1,15}(?:,\d{3})*(?:\.\d{1,15})?)
    (?P<mark>\$?)\s?
    (?P<group>\\(?:text|mathrm)\s?\{\s?)?
    (?P<scale>thousand|million|billion|trillion)\b
    (?(group)\s?\})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# "17 or 42" at the end of a text: neither is the answer
_ONE_OF_TWO = re.compile(
    r"(?<![\w.,/])(-?\d[\d.,/]{0,40}?),?\s(?:or|oder|ou)\s(-?\d[\d.,/]{0,40}?)\W*\Z"
)
# "x = 1 or x = 2", "1 and 2"
# "7 \text{ or } 8", "\text{12 cm}"
_WORD_IN_TEXT = re.compile(r"\s*\\text(?:rm)?\s?\{\s*(or|and)\s*\}\s*")
_NUMBER_IN_TEXT = re.compile(r"\\text\s?\{\s*(-?\d[\d.,]{0,20})(\s+[A-Za-z ]{1,20})\}")
_CONJUNCTION = re.compile(r"\s(?:or|and)\s(?=[^\s])")
# 1 000 000
_SPACED_THOUSANDS = re.compile(
    r"\A\s*[-−+]?[1-9]\d{0,2}(?:[ \u00a0\u2009\u202f]\d{3})+(?:\.\d+)?\s*\Z"
)
_QUOTED = re.compile(r"\A[\"'“‘](.*)[\"'”’]\.?\Z", re.DOTALL)
# "–3" with a dash, "minus 3", "negative 3", alone
_SPELLED_SIGN = re.compile(
    r"\A\s*(?:[–—﹣－]\s?|(?:minus|negative)\s+)(?=\.?\d[\d.,/]*\s*\Z)", re.IGNORECASE
)
_ABOUT = re.compile(r"\A\s*(?:[~≈≃≅]|\\approx)\s*")
_UNIT_SYMBOL = (
    r"(?:[kcmdµμnMG]?(?:m|g|s|N|J|W|V|A|K|Pa|Hz|mol|L|l|C|F|T|H|eV|cal|bar)"
    r"|h|min|hr|kg|°C|°F|°|Ω|rad|ft|in|mi|lb|oz|mph)"
)
_UNIT_POWER = r"(?:\^?\{?[-−]?[1-4]\}?|[²³])?"
# "9.8 m/s^2", "5 N·m", "12 V", "25\pi cm^2"
_UNIT = re.compile(
    rf"(?:(?<=[\d}}])|(?<=\\pi))\s+{_UNIT_SYMBOL}{_UNIT_POWER}"
    rf"(?:\s?[/·⋅*]\s?{_UNIT_SYMBOL}{_UNIT_POWER}){{0,3}}\s*\.?\Z"
)
_LETTER = re.compile(r"[^\W\d_]")
# 6.02e23
_E_NOTATION = re.compile(
    r"(?<![\w.\\])(\d{1,15}(?:\.\d{1,15})?)[eE]([-+]?\d{1,3})(?![\w.])"
)
# 0.1\overline{6}
_REPEATING = re.compile(r"(?<![\w.])(\d{0,9})\.(\d{0,9})\\overline\s?\{(\d{1,9})\}")
# 2**10 and x^10: LaTeX needs braces around an exponent of several digits
_POWER = re.compile(r"(?<=[\w)\]}])(?:\*\*|\^)\s?(?P<exponent>-?\d+|[^\W\d_])(?!\w)")
_MATHS = re.compile(r"[\d\\^_=+*/<>{}()\[\]%]")
_BARE_CHARS = 500


def main() -> None:
    """Reply to requests until the pipe is closed."""
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
        # If the parent dies while a comparison hangs, the default action of this alarm ends the process.
        signal.setitimer(signal.ITIMER_REAL, setup["seconds"] + 2)
        try:
            reply = _compare(json.loads(line), parse, verify)
        except MemoryError:
            reply = {"error": "memory"}
        except Exception as error:  # noqa: BLE001 - the boundary: whatever the libraries raise is told to the parent
            reply = {"error": type(error).__name__}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _reply(reply)


def _compare(
    request: dict[str, Any],
    parse: Callable[..., Any],
    verify: Callable[..., Any],
) -> dict[str, Any]:
    """Return whether the answer equals one of the targets, and the expression that was compared."""
    # The parent enforces the time limit by killing this process; the library's own alarm is not reliable.

    def read(text: str) -> list[Any]:
        return list(parse(text, parsing_timeout=None, raise_on_error=True))

    golds = [_read_expression(gold, read) for gold in request["golds"]]
    has_letters = any(
        _LETTER.search(_COMMAND.sub(" ", gold)) for gold in request["golds"]
    )
    answer = _read_expression(request["answer"], read, drops_unit=not has_letters)
    # A formula at the end may be denied ("not $5$"): it is used only if no gold can be read as mathematics.
    if is_same_text(request["golds"], request["answer"], any_formula=not any(golds)):
        return {
            "equal": True,
            "answer": plain_text(request["answer"])[:200],
            "gold_read": True,
        }
    if not answer or not any(golds):
        return {
            "equal": None,
            "answer": _format_parsed(answer),
            "gold_read": any(golds),
        }
    equal = any(
        verify(gold, answer, timeout_seconds=None, raise_on_error=True)
        for gold in golds
        if gold
    )
    return {"equal": equal, "answer": _format_parsed(answer), "gold_read": True}


def _read_expression(
    text: str,
    read: Callable[[str], list[Any]],
    *,
    drops_unit: bool = False,
) -> list[Any]:
    r"""Return the mathematical expression in a text.

    An expression without marks, such as `\\sqrt8`, is first marked as mathematics. With
    `drops_unit`, the unit after a number is removed, because the target has no unit.
    """
    element = _ANSWER_ELEMENT.search(text)
    if element is not None and element["inner"].strip():
        text = element["inner"].strip()
    text = with_scales(text).replace("\\varnothing", "\\emptyset")
    text = _E_NOTATION.sub(r"\1\\times 10^{\2}", text)
    text = _REPEATING.sub(as_repeating_fraction, text)
    text = _NUMBER_IN_TEXT.sub(r"\1\\text{\2}", text)
    if _ANCHOR.search(text):
        return read(text)  # type: ignore[no-any-return]
    text = without_markup(_WORD_IN_TEXT.sub(r" \1 ", text))
    if drops_unit:
        text = _UNIT.sub("", text)
    text = with_lowered_powers(text)
    both = _ONE_OF_TWO.search(text)
    if both is not None:
        return read(f"${both[1]}, {both[2]}$")  # type: ignore[no-any-return]
    listed = _CONJUNCTION.sub(", ", text)
    if is_bare(listed):
        return read(f"${listed.strip()}$")  # type: ignore[no-any-return]
    # Unmarked, a matrix in a sentence would be read as the last of its numbers.
    expression = read(_ENVIRONMENT.sub(lambda environment: f"${environment[0]}$", text))
    if not expression and "\\" in text and len(text) <= _BARE_CHARS:
        expression = read(f"${text.strip()}$")
    return expression  # type: ignore[no-any-return]


def without_markup(text: str) -> str:
    """Return a text without Markdown emphasis, HTML tags, a leading list bullet,
    surrounding quotes or a symbol for "about".
    """

    def braced(power: re.Match[str]) -> str:
        exponent = power["exponent"]
        return f"^{{{exponent}}}"

    def as_fraction(vulgar: re.Match[str]) -> str:
        above, below = unicodedata.normalize("NFKC", vulgar[0]).split("\u2044")
        return f"\\frac{{{above}}}{{{below}}}"

    def as_root(root: re.Match[str]) -> str:
        inner = root["inner"] or root["short"]
        return f"\\sqrt{{{inner}}}"

    plain = _HTML.sub("", with_plain_digits(text))
    plain = _CODE.sub(r"\2", plain)
    plain = _EMPHASIS.sub(r"\g<inner>", plain)
    plain = _ROOT.sub(as_root, plain)
    plain = _VULGAR.sub(as_fraction, plain)
    for symbol, command in _SYMBOLS.items():
        plain = plain.replace(symbol, command)
    plain = _FUNCTION.sub(r"\\", plain)
    plain = _MIXED.sub(r"\1\\frac{\2}{\3}", plain)
    plain = _NAMED.get(plain.strip().lower(), plain)
    if _SPACED_THOUSANDS.match(plain):
        plain = "".join(plain.split())
    plain = _POWER.sub(braced, plain)
    plain = _BULLET.sub("", plain)
    plain = _ABOUT.sub("", plain)
    plain = _SPELLED_SIGN.sub("-", plain)
    quoted = _QUOTED.match(plain.strip())
    if quoted is None:
        return plain
    return quoted[1]


def with_scales(text: str) -> str:
    """Return a text in which scale words are multiplied out: `5 million` -> `5000000`."""

    def scaled(match: re.Match[str]) -> str:
        number = Decimal(match["number"].replace(",", ""))
        value = number * _SCALES[match["scale"].lower()]
        return format(value.normalize(), "f") + match["mark"]

    return _SCALED.sub(scaled, text)


def as_repeating_fraction(decimal: re.Match[str]) -> str:
    r"""Return a repeating decimal as a LaTeX fraction: `0.1\overline{6}` becomes `\frac{15}{90}`."""
    whole, fixed, repeated = decimal.groups()
    digits = int(whole + fixed + repeated) - int((whole + fixed) or "0")
    scale = (10 ** len(repeated) - 1) * 10 ** len(fixed)
    return f"\\frac{{{digits}}}{{{scale}}}"


def with_plain_digits(text: str) -> str:
    """Return a text in which digits of other scripts are ASCII digits: `٣` -> `3`."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(character, character)) for character in text)


def with_lowered_powers(text: str) -> str:
    """Return a text in which superscripts are LaTeX powers: `x²` -> `x^{2}`."""

    def lowered(raised: re.Match[str]) -> str:
        exponent = raised[0].translate(_RAISED_DIGITS)
        return f"^{{{exponent}}}"

    return _RAISED.sub(lowered, text)


def is_same_text(
    golds: list[str],
    answer: str,
    *,
    any_formula: bool,
) -> bool:
    r"""Return True if an answer equals a target except for punctuation marks and spaces: `(B)` and
    `B`, `Evelyn` and `\\text{Evelyn}`.
    """
    plain = plain_text(answer, any_formula=any_formula)
    if not plain:
        return False
    for gold in map(plain_text, golds):
        # m and M are different variables, but "even" and "Even" are the same word.
        is_word = _WORD.search(gold) is not None
        if plain == gold or (is_word and plain.lower() == gold.lower()):
            return True
    return False


def plain_text(text: str, *, any_formula: bool = True) -> str:
    """Return the part of a text to compare: the content of the last box, or the whole text if it has no box.

    With `any_formula`, a formula at the end of a text without a box is used. Several
    boxes on one line give an empty text.
    """
    before, box, behind = text.rpartition("\\boxed{")
    if box:
        last_line = before.rpartition("\n")[2]
        if "\\boxed" in last_line:
            return ""  # "\boxed{6} or \boxed{7}"
        depth = 1
        end = 0
        while end < len(behind) and depth:
            depth += {"{": 1, "}": -1}.get(behind[end], 0)
            end += 1
        text = behind[: end - 1]
    elif any_formula and (
        marked := re.search(
            r"\$([^$]{1,200})\$\s?\.?\s*$|\\\[(.{1,200}?)\\\]\s?\.?\s*$", text[-500:]
        )
    ):
        text = marked[1] or marked[2]
    if len(text) > _BARE_CHARS:
        return ""
    text = re.sub(r"\\(?:text|mathrm|textbf|mbox|mathbf)\s?\{([^{}]*)\}", r"\1", text)
    text = _EMPHASIS.sub(r"\g<inner>", text)
    text = re.sub(r"\\[,;! ]|[\s$~]", "", text).rstrip(".")
    return re.sub(r"\A\(([A-Z])\)\Z", r"\1", text)


def is_bare(text: str) -> bool:
    """Return True if a text is only a mathematical expression: one short line without words."""
    bare = text.strip()
    if (
        not bare
        or len(bare) > _BARE_CHARS
        or "\n" in _ENVIRONMENT.sub("", bare)
        or not _MATHS.search(bare)
    ):
        return False
    return not _WORD.search(_COMMAND.sub(" ", bare))


def _format_parsed(parsed: list[Any]) -> str | None:
    if parsed:
        return str(parsed[-1])[:200]
    return None


def _reply(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

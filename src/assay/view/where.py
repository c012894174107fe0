"""`--where 'score < 0.5 and tag.subject == "law"'`: a language to select samples, parsed here and never run as code.

    expression:  comparison | not E | E and E | E or E | ( E )
    comparison:  NAME (== != < <= > >=) VALUE | NAME ~ "words" | NAME in (VALUE, …) | NAME == none
    NAME:        score, id, epoch, task, model, outcome, seconds, chars, tokens_in, tokens_out, confidence,
                 a metric (`exact_match`, `metric."wer[none]"`), a tag (`tag.subject`, `tag."my tag"`)

A sample without a value matches only `== none`. `~` searches words in a text, ignoring
case.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ..core import UsageError, suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray


LONGEST = 10_000
DEEPEST = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>==|!=|<=|>=|[=<>~(),.])
    |(?P<word>[^\W\d][\w\-\[\]/:@]*(?:\.[^\W\d][\w\-\[\]/:@]*)*))""",
    re.VERBOSE,
)
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NOTHING = ("none", "null")


class Columns(Protocol):
    """The samples to choose from, as columns of values."""

    def names(self) -> Sequence[str]:
        """All names that an expression may use."""

    def numbers(self, name: str) -> "NDArray[Any] | None":
        """Return the column of numbers with this name, with NaN for missing values; None if there is none."""

    def texts(self, name: str) -> "tuple[Sequence[str | None], Any] | None":
        """Return the distinct texts of a column, and for each sample the index of its text.

        Return None if no text column has this name.
        """


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def chosen(expression: str, columns: Columns) -> "NDArray[Any]":
    """Return a boolean array: True for each sample that matches the expression."""
    if len(expression) > LONGEST:
        raise UsageError(
            f"--where has {len(expression)} characters", fix=f"{LONGEST} will do"
        )
    return _Parser(expression, columns).whole()


class _Parser:
    """Parses an expression from left to right, and evaluates it at the same time."""

    def __init__(self, expression: str, columns: Columns) -> None:
        self.expression = expression
        self.columns = columns
        self.tokens: list[_Token] = []
        self.at = self.depth = 0
        self.tokens += self._tokens()

    def whole(self) -> "NDArray[Any]":
        rows = self._either()
        if self._next() is not None:
            self._fail(f"unexpected {self.tokens[self.at].text!r}")
        return rows

    def _tokens(self) -> Iterator[_Token]:
        start = 0
        end = len(self.expression.rstrip())
        while start < end:
            match = _TOKEN.match(self.expression, start)
            if match is None or match.lastgroup is None:
                self._fail(
                    f"cannot read the part that starts with {self.expression[start : start + 20].strip()!r}"
                )
            kind = match.lastgroup
            yield _Token(kind, match[kind], match.start(kind))
            start = match.end()

    def _next(self) -> _Token | None:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return None

    def _take(self, *texts: str) -> bool:
        token = self._next()
        if token is None or token.kind == "text" or token.text.lower() not in texts:
            return False
        self.at += 1
        return True

    def _either(self) -> "NDArray[Any]":
        rows = self._both()
        while self._take("or"):
            rows = rows | self._both()
        return rows

    def _both(self) -> "NDArray[Any]":
        rows = self._single()
        while self._take("and"):
            rows = rows & self._single()
        return rows

    def _single(self) -> "NDArray[Any]":
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"more than {DEEPEST} brackets and `not` within each other")
        if self._take("not"):
            rows = ~self._single()
        elif self._take("("):
            rows = self._either()
            if not self._take(")"):
                self._fail("a bracket is not closed")
        else:
            rows = self._comparison()
        self.depth -= 1
        return rows

    def _comparison(self) -> "NDArray[Any]":
        name = self._name()
        if self._take("in"):
            if not self._take("("):
                self._fail("expected values in brackets after `in`")
            rows = self._compare(name, "==", self._value())
            while self._take(","):
                rows = rows | self._compare(name, "==", self._value())
            if not self._take(")"):
                self._fail("a bracket is not closed")
            return rows
        token = self._next()
        if token is None or token.text not in (*_COMPARE, "~"):
            self._fail(f"expected ==, !=, <, <=, >, >=, ~ or in after {name!r}")
        self.at += 1
        return self._compare(name, token.text, self._value())

    def _name(self) -> str:
        token = self._next()
        if token is None or token.kind != "word":
            self._fail(
                "a name is missing"
                if token is None
                else f"{token.text!r} is not a name"
            )
        self.at += 1
        name = token.text
        if name in ("tag", "metric") and self._take("."):
            quoted = self._next()
            if quoted is None or quoted.kind != "text":
                self._fail(f"expected a quoted name after {name}.")
            self.at += 1
            name = f"{name}.{_unquote(quoted.text)}"
        return name

    def _value(self) -> "float | str | None":
        token = self._next()
        if token is None or token.kind == "sign":
            self._fail("a value is missing")
        self.at += 1
        if token.kind == "number":
            return float(token.text)
        if token.kind == "text":
            return _unquote(token.text)
        if token.text.lower() in NOTHING:
            return None
        return token.text

    def _compare(
        self,
        name: str,
        sign: str,
        value: "float | str | None",
    ) -> "NDArray[Any]":
        import numpy as np

        numbers = self.columns.numbers(name)
        if numbers is not None:
            is_missing: NDArray[Any] = np.isnan(numbers)
            if value is None:
                if sign in ("==", "="):
                    return is_missing
                return ~is_missing
            if not isinstance(value, float) or sign == "~":
                self._fail(
                    f"{name!r} is a number, and cannot be compared with {value!r}"
                )
            with np.errstate(invalid="ignore"):
                is_chosen: NDArray[Any] = _COMPARE[sign](numbers, value) & ~is_missing
            return is_chosen
        texts = self.columns.texts(name)
        if texts is None:
            fix = suggest(name, self.columns.names(), "there are")
            raise UsageError(f"--where: the samples have no {name!r}", fix=fix)
        values, codes = texts
        fits = [self._fits(entry, sign, value) for entry in values]
        chosen_rows: NDArray[Any] = np.array([*fits, False], bool)[codes]
        return chosen_rows

    def _fits(
        self,
        text: "str | None",
        sign: str,
        value: "float | str | None",
    ) -> bool:
        if value is None:
            return (text is None) == (sign in ("==", "="))
        if text is None:
            return False
        if isinstance(value, float):  # a tag whose values are numbers
            try:
                if sign != "~":
                    return bool(_COMPARE[sign](float(text), value))
                return False
            except ValueError:
                return sign == "!="
        if sign == "~":
            return value.lower() in text.lower()
        return bool(_COMPARE[sign](text, value))

    def _fail(self, why: str) -> NoReturn:
        if self.at < len(self.tokens):
            position = self.tokens[self.at].start
        else:
            position = None
        if position is None:
            where = ""
        else:
            where = f" (character {position + 1})"
        raise UsageError(
            f"--where: {why}{where}",
            fix="write it as in --where 'score<0.5 and tag.subject==\"law\"'",
        )


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])

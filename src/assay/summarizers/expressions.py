"""Arithmetic that users write in a task file: `2 * correct / (asked + attempted)`.

Only numbers, names, + - * / **, parentheses and a few functions are allowed; no code is
executed. The same expression works on numbers and on numpy arrays.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ..core import UsageError, suggest

if TYPE_CHECKING:
    import numpy.typing as npt

Lookup = Callable[[str], Any]
"""A function that returns the value of a name: a number, an array, or a list of numbers."""
ROUNDS = "rounds"
"""The name for the list of all values `round_1`, `round_2`, … of a record."""


def _flatten(values: Sequence[Any]) -> list[Any]:
    """Return the arguments of a function as one flat list: `(1, [2, 3])` -> `[1, 2, 3]`."""
    numbers: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            numbers.extend(value)
        else:
            numbers.append(value)
    if not numbers:
        raise ValueError("a function needs at least one number")
    return numbers


def _least(*values: object) -> object:
    import numpy as np

    numbers = _flatten(values)
    return np.minimum.reduce([np.asarray(number, float) for number in numbers])


def _most(*values: object) -> object:
    import numpy as np

    numbers = _flatten(values)
    return np.maximum.reduce([np.asarray(number, float) for number in numbers])


def _average(*values: object) -> object:
    numbers = _flatten(values)
    return sum(numbers) / len(numbers)


def _root(value: "npt.ArrayLike") -> object:
    import numpy as np

    return np.sqrt(value)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": _least,
    "max": _most,
    "mean": _average,
    "sum": lambda *values: sum(_flatten(values)),
    "count": lambda *values: float(len(_flatten(values))),
    "abs": abs,
    "sqrt": _root,
}
ONE_ARGUMENT = ("abs", "sqrt")
"""The functions that take exactly one argument. The others take any number of them."""
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.Div: lambda x, y: x / y,
    ast.Pow: lambda x, y: x**y,
}

_QUOTED_NAME = re.compile(r"`([^`]+)`")
_SIGNS = (ast.USub, ast.UAdd)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed arithmetic expression. `parse` raises an error for anything else."""

    text: str
    tree: ast.expr

    @classmethod
    def parse(cls, text: str, where: str) -> "Expression":
        """Parse a text as an expression. Raise if it is not arithmetic.

        A text in backquotes is one name, whatever its characters: `` `wer[none].S` ``.
        """
        quoted: dict[str, str] = {}

        def stand_in(name: re.Match[str]) -> str:
            quoted[f"quoted_name_{len(quoted)}"] = name[1]
            return f" quoted_name_{len(quoted) - 1} "

        plain = _QUOTED_NAME.sub(stand_in, text)
        try:
            tree = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise UsageError(
                f"{text!r} is not an arithmetic expression",
                where=where,
                fix="as in: 2 * correct / (asked + attempted)",
            ) from error
        _check(tree, text, where)
        _check_constants(tree, text, where)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = quoted.get(node.id, node.id)
        return cls(text, tree)

    def names(self) -> list[str]:
        """Return the names in the expression, in order; `judge.score` is one name."""
        return list(dict.fromkeys(_names(self.tree)))

    def evaluate(self, lookup: Lookup) -> Any:
        """Compute the value of the expression. `lookup` returns the value of each name."""
        return _evaluate(self.tree, lookup)

    def linear_weights(self, names: Sequence[str]) -> list[float] | None:
        """Return the factor of each name if the expression is a weighted sum of names; otherwise None."""
        if not _is_linear(self.tree):
            return None
        if self.evaluate(lambda name: 0.0) != 0.0:
            return None  # a constant is added
        return [float(self.evaluate(_only(name))) for name in names]

    def as_ratio(self) -> "tuple[Expression, Expression] | None":
        """Return numerator and denominator if the expression is a division; otherwise None."""
        if not isinstance(self.tree, ast.BinOp) or not isinstance(
            self.tree.op, ast.Div
        ):
            return None
        parts = (self.tree.left, self.tree.right)
        above, below = (Expression(ast.unparse(part), part) for part in parts)
        return above, below


def _only(name: str) -> Lookup:
    """Return a lookup function with the value 1 for `name` and 0 for every other name."""
    return lambda other: float(other == name)


def _check(
    node: ast.expr,
    text: str,
    where: str,
) -> None:
    """Raise if a node is not a number, a name, an operator or a known function."""
    if _dotted_name(node) is not None:
        return
    children: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        children = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        children = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        _check_function(node, node.func.id, text, where)
        children = node.args
    elif isinstance(node, ast.Constant):
        _check_number(node.value, text, where)
    else:
        part = ast.unparse(node)
        raise UsageError(
            f"{text!r}: {part!r} is not allowed",
            where=where,
            fix="use numbers, names, + - * / **, and " + ", ".join(FUNCTIONS),
        )
    for child in children:
        _check(child, text, where)


def _check_function(
    node: ast.Call,
    name: str,
    text: str,
    where: str,
) -> None:
    """Raise if a function is unknown or has the wrong arguments."""
    if name not in FUNCTIONS:
        fix = suggest(name, list(FUNCTIONS), "known functions:")
        raise UsageError(
            f"{text!r}: no function {name!r}",
            where=where,
            fix=fix,
        )
    if node.keywords:
        raise UsageError(
            f"{text!r}: {name!r} takes no named arguments",
            where=where,
            fix=f"write {name}(x)",
        )
    if not node.args:
        raise UsageError(
            f"{text!r}: {name!r} has no argument",
            where=where,
            fix=f"write {name}(x)",
        )
    if name in ONE_ARGUMENT and len(node.args) > 1:
        raise UsageError(
            f"{text!r}: {name!r} takes one argument, got {len(node.args)}",
            where=where,
            fix=f"write {name}(x)",
        )


def _check_number(
    value: object,
    text: str,
    where: str,
) -> None:
    """Raise for a constant that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{text!r}: {value!r} is not a number", where=where)


def _check_constants(
    tree: ast.expr,
    text: str,
    where: str,
) -> None:
    """Raise if a part without names has no finite value, such as `1 / 0`, or if something is divided by zero."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or isinstance(node, ast.Name):
            continue
        if not _names(node) and not _has_value(node):
            raise UsageError(
                f"{text!r}: {ast.unparse(node)!r} is not a finite number",
                where=where,
                fix="check its divisors and powers",
            )
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        if _is_zero(node.right):
            raise UsageError(
                f"{text!r}: {ast.unparse(node)!r} divides by zero",
                where=where,
                fix="divide by another number",
            )


def _has_value(node: ast.expr) -> bool:
    """Return True if an expression without names has a finite value."""
    try:
        return is_number(_evaluate(node, _no_lookup))
    except ArithmeticError:
        return False


def _is_zero(node: ast.expr) -> bool:
    """Return True if the node has no names and the value 0."""
    return not _names(node) and _has_value(node) and _evaluate(node, _no_lookup) == 0


def _no_lookup(name: str) -> NoReturn:
    raise LookupError(name)


def _dotted_name(node: ast.expr) -> str | None:
    """Return the dotted name in a syntax node, such as `judge.score`; None if the node is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted_name(node.value)
        if before is None:
            return None
        return f"{before}.{node.attr}"
    return None


def _names(node: ast.expr) -> list[str]:
    name = _dotted_name(node)
    if name is not None:
        return [name]
    if isinstance(node, ast.Call):
        children: list[ast.expr] = node.args
    else:
        children = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return [name for child in children for name in _names(child)]


def _evaluate(
    node: ast.expr,
    lookup: Lookup,
) -> Any:
    if isinstance(node, ast.Constant):
        value: Any = node.value
        return float(value)  # powers of large integers would take forever
    if isinstance(node, ast.BinOp):
        left = _evaluate(node.left, lookup)
        right = _evaluate(node.right, lookup)
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        value = _evaluate(node.operand, lookup)
        if isinstance(node.op, ast.USub):
            return -value
        return value
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        values = [_evaluate(argument, lookup) for argument in node.args]
        return FUNCTIONS[node.func.id](*values)
    name = _dotted_name(node)
    assert name is not None
    return lookup(name)


def _is_linear(node: ast.expr) -> bool:
    """Return True if the node is a weighted sum of names and numbers."""
    if not _names(node) or _dotted_name(node) is not None:
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_linear(node.operand)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return _is_linear(node.left) and _is_linear(node.right)
    if isinstance(node.op, ast.Mult):
        has_constant = not _names(node.left) or not _names(node.right)
        return has_constant and _is_linear(node.left) and _is_linear(node.right)
    if isinstance(node.op, ast.Div):
        return not _names(node.right) and _is_linear(node.left)
    return False


def is_number(value: object) -> bool:
    """Return True for a finite number that a float can hold, or a boolean, which counts as 0 or 1."""
    if not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer above the largest float
        return False

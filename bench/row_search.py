"""Search for made-up rows with which a task runs: where its own functions fail, other kinds of values are tried.

An error says in which function of the task it was raised. The columns that this function reads get other values, one
column and one kind at a time. A change is kept if the task then gets further than before.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from column_uses import ELEMENT, PIECE, Function, Use, constant_of
from matching_text import text_matching

CODES = ("json", "literal", "base64", PIECE)
STAGES = {
    "download": 0,
    "process_docs": 0,
    "build_all_requests": 1,
    "construct_requests": 1,
    "generate_until": 2,
    "generate_until_multi_round": 2,
    "loglikelihood": 2,
    "process_results": 3,
    "aggregate_results": 4,
    "calculate_aggregate_metric": 4,
}
"""How far a task has got, by the function of lmms-eval that was running."""
COMMON_FORMS = (
    "number",
    "digits",
    "letter",
    "list of texts",
    "mapping",
    "list of mappings",
    "image",
    "list of images",
    "json list",
    "json mapping",
    "video path",
    "image path",
    "yes or no",
    "list of numbers",
    "pair of numbers",
    "list of lists",
    "one text in a list",
    "list of digits",
    "number list as text",
    "text",
    "words",
    "boolean",
    "empty list",
    "empty text",
    "nothing",
    "base64 image",
    "list of video paths",
    "list of image paths",
    "mapping of lists",
    "audio",
    "time span",
    "lettered lines",
    "image paths as text",
    "lists of image paths as text",
)
FORMS_BY_ERROR = (
    (
        r"indices must be integers|has no attribute '(get|keys|items|values)'",
        ("mapping", "list of mappings", "json mapping", "json list"),
    ),
    (
        r"not iterable|has no len|'append'|not subscriptable",
        ("list of texts", "text", "list of mappings", "mapping"),
    ),
    (
        r"JSON|Expecting|malformed|invalid syntax|unexpected EOF",
        ("json mapping", "json list", "number list as text"),
    ),
    (
        r"could not convert|invalid literal|must be real number|unsupported operand|not supported between",
        ("number", "digits", "list of numbers"),
    ),
    (
        r"No such file|not found|does not exist|missing|Missing|PathLike",
        ("video path", "image path", "list of video paths", "list of image paths"),
    ),
    (
        r"'convert'|'save'|'size'|'resize'|'mode'|cannot identify|'shape'",
        ("image", "list of images", "image path"),
    ),
    (
        r"'(lower|strip|split|upper|replace|startswith)'|expected string|expected str",
        ("text", "letter", "list of texts", "digits"),
    ),
    (r"[Pp]adding|base64", ("base64 image",)),
    (
        r"values to unpack",
        (
            "pair of numbers",
            "list of lists",
            "time span",
            "list of numbers",
            "words",
            "lettered lines",
        ),
    ),
)
MOST_SUSPECTS = 12
MOST_LITERALS = 24
MOST_PATTERNS = 6
LONGEST_LITERAL = 80


@dataclass(frozen=True)
class Failure:
    """Where a task failed, and what its functions read there."""

    progress: tuple[int, ...]
    """The stage, then the lines of the task's own functions, from the outermost inwards."""
    message: str
    names: tuple[str, ...]
    """Texts in the failing functions, the innermost one first. Columns are among them."""
    values: tuple[str, ...]
    """Texts that the innermost function held."""
    tables: tuple[tuple[Any, ...], ...]
    """Keys of the tables and members of the lists that it could look into."""


@dataclass(frozen=True)
class Change:
    """Another kind of value for one column, or for a part of one."""

    path: tuple[str, ...]
    form: str
    literals: tuple[Any, ...] = ()
    keys: tuple[str, ...] = field(default=())
    """For a mapping: the names that the failing functions read."""

    def apply(self, uses: Use) -> None:
        """Make the change."""
        if not self.path:
            return
        use = uses
        for step in self.path:
            use = use.part(step)
        use.form = self.form
        if self.literals:
            use.literals = dict.fromkeys(self.literals)
        below = use
        if self.form in ("list of mappings", "json list of mappings"):
            below = use.part(ELEMENT)
        for key in self.keys:
            below.part(key)


def is_later(new: Failure, old: Failure) -> bool:
    """Return True if a task fails later than before."""
    for later, earlier in zip(new.progress, old.progress, strict=False):
        if later != earlier:
            return later > earlier
    return False


def is_elsewhere(new: Failure, old: Failure, seen: set[tuple[int, ...]]) -> bool:
    """Return True if a task fails in a caller of the function that failed, or in one that this function calls."""
    length = min(len(old.progress), len(new.progress))
    is_same = new.progress[:length] == old.progress[:length]
    return is_same and new.progress not in seen


def texts_of_function(function: Function) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the texts that a function is written with, and the tables of its module that it names."""
    texts: dict[str, None] = {}
    tables = []
    for node in ast.walk(function.node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts[node.value] = None
        elif isinstance(node, ast.Name):
            value = function.module.value(node.id)
            table = None if value is None else constant_of(value)
            if isinstance(table, (Mapping, list, tuple, set)) and table:
                tables.append(tuple(table)[:MOST_LITERALS])
            called = function.module.functions.get(node.id)
            if called is not None and called is not function.node:
                inner = texts_of_function(Function(called, function.module))
                texts |= dict.fromkeys(inner[0])
                tables += inner[1]
    return tuple(texts), tuple(tables)


def failure_of(error: BaseException, root: Path) -> Failure:
    """Return where a task failed."""
    stage, lines = 0, []
    frames: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        stage = max(stage, STAGES.get(code.co_name, 0))
        if root in Path(code.co_filename).parent.parents:
            lines.append(trace.tb_lineno)
            frames.append(trace.tb_frame)
        trace = trace.tb_next
    names: dict[str, None] = {}
    for frame in reversed(frames):
        names |= dict.fromkeys(_texts_of(frame.f_code))
    values: list[str] = []
    tables: list[tuple[Any, ...]] = []
    if frames:
        innermost = frames[-1]
        values = [v for v in innermost.f_locals.values() if isinstance(v, str)]
        tables = list(_tables_of(innermost))
    return Failure(
        (stage, *lines),
        f"{type(error).__name__}: {error}",
        tuple(names),
        tuple(values),
        tuple(tables),
    )


def _texts_of(code: CodeType) -> Iterator[str]:
    """Yield the texts that a function and the functions in it are written with."""
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from (text for text in constant if isinstance(text, str))
        elif isinstance(constant, CodeType):
            yield from _texts_of(constant)


def _tables_of(frame: FrameType) -> Iterator[tuple[Any, ...]]:
    """Yield the labels of each table and list that a function names."""
    code = frame.f_code
    values = {**frame.f_globals, **frame.f_locals}
    for name in (*code.co_names, *code.co_varnames, *code.co_freevars):
        table = values.get(name)
        if not isinstance(table, (Mapping, list, tuple, set, frozenset)):
            continue
        if table and len({type(label) for label in table}) == 1:
            labels = [label for label in table if isinstance(label, (str, int))]
            yield tuple(labels[:MOST_LITERALS])


def changes_for(
    failure: Failure, uses: Use, rows: Sequence[Mapping[str, Any]]
) -> Iterator[Change]:
    """Yield changes that may help, the likeliest first."""
    suspects = _suspects(failure, uses, rows)
    preferred: list[str] = []
    for pattern, forms in FORMS_BY_ERROR:
        if re.search(pattern, failure.message):
            preferred += forms
    keys = tuple(name for name in failure.names if name.isidentifier())
    for path in suspects:
        for labels in filter(None, failure.tables):
            yield Change(path, "", literals=labels)
    for form in dict.fromkeys(preferred):
        for path in suspects:
            yield Change(path, form, keys=_keys_for(form, keys, path))
    patterns = [name for name in failure.names if _is_pattern(name)][:MOST_PATTERNS]
    literals = [name for name in failure.names if _is_label(name)][:MOST_LITERALS]
    for path in suspects:
        for pattern in patterns:
            yield Change(path, "", literals=(text_matching(pattern),))
    for path in suspects:
        labels = tuple(name for name in literals if name not in path)
        if labels:
            yield Change(path, "", literals=labels)
        for form in COMMON_FORMS:
            if form not in preferred:
                yield Change(path, form, keys=_keys_for(form, keys, path))
    for path in suspects[:3]:
        for label in literals:
            yield Change(path, "", literals=(label,))


def _keys_for(form: str, keys: Sequence[str], path: Sequence[str]) -> tuple[str, ...]:
    if "mapping" not in form:
        return ()
    return tuple(key for key in keys if key not in path)


def _is_pattern(text: str) -> bool:
    return (
        len(text) > 2
        and re.search(r"\\[dwsS]|\(\?|\[\^|\.\*|\[A-|\[0-", text) is not None
    )


def _is_label(text: str) -> bool:
    return 0 < len(text) < LONGEST_LITERAL and "{" not in text and not _is_pattern(text)


def _suspects(
    failure: Failure, uses: Use, rows: Sequence[Mapping[str, Any]]
) -> list[tuple[str, ...]]:
    """Return the columns, and parts of columns, that the failing functions read."""
    order = {name: position for position, name in enumerate(failure.names)}
    for column in rows[0]:
        uses.part(column)
    ranks: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in rows:
        for path, value in _paths(uses, row):
            key = next((step for step in reversed(path) if step != ELEMENT), "")
            if _is_held(value, failure):
                rank = (0, 0)
            elif key in order:
                rank = (1, order[key])
            elif any(len(name) > 3 and key.startswith(name) for name in order):
                rank = (2, 0)
            else:
                rank = (3, 0)
            ranks[path] = min(rank, ranks.get(path, rank))
    return sorted(ranks, key=lambda path: ranks[path])[:MOST_SUSPECTS]


def _is_held(value: Any, failure: Failure) -> bool:
    """Return True for a text that the failing function held, or that the error is about."""
    if not isinstance(value, str) or len(value) < 2:
        return False
    return value in failure.message or value in failure.values


def _paths(use: Use, value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of every part of a row that is not inside of an encoded text."""
    for key, part in use.parts.items():
        if key in CODES:
            continue
        inner = None
        if isinstance(value, Mapping):
            inner = value.get(key)
        elif isinstance(value, list) and value and key == ELEMENT:
            inner = value[0]
        else:
            continue
        yield (key,), inner
        for path, below in _paths(part, inner):
            yield (key, *path), below


def copied(use: Use) -> Use:
    """Return a copy that can be changed apart."""
    return Use(
        dict(use.kinds),
        dict(use.literals),
        dict(use.separators),
        {step: copied(part) for step, part in use.parts.items()},
        use.form,
    )

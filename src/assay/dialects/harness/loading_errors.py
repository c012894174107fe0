"""Turn every error that a library raises while it loads a task into a one-line error."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from ...core import AssayError, UsageError, shorten, trust

NO_ROWS = "out of bounds for size 0"
"""The error message of `datasets` if a task reads the first row of an empty table."""
KEYS_READ = frozenset({"doc_to_text", "doc_to_target", "doc_to_choice"})
"""Methods of a task, each of which reads the configuration key of the same name."""
Explain = Callable[[], UsageError | None]
"""A function that returns an error about unknown names in a task's configuration, or None."""


@contextmanager
def translating(where: str, explain: Explain) -> Iterator[None]:
    """Turn any error in the block into a one-line error with file, key and fix. Drop helper modules' output."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), trust.running():
            yield
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        raise _one_line(error, where, explain) from error


def _one_line(
    error: BaseException,
    where: str,
    explain: Explain,
) -> UsageError:
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, AssayError):
            return UsageError(
                cause.what,
                where=cause.where or where,
                fix=cause.fix,
            )
    for cause in chain:
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            if _names_helper(where, cause.name):
                return UsageError(
                    f"names functions of {cause.name!r}, and there is no {cause.name}.py beside it",
                    where=where,
                    fix="check the name after `!function`",
                )
            return UsageError(
                f"needs the package {cause.name.partition('.')[0]!r}, which is not installed",
                where=where,
                fix=f"pip install {_pip_name(cause.name)}",
            )
    text = " ".join(str(error).split()) or type(error).__name__
    missing = _NO_FUNCTION.search(text)
    if missing is not None:
        return UsageError(
            f"unknown function {missing['function']!r} in {missing['module']}",
            where=where,
            fix="check the name after `!function`",
        )
    unknown = explain()
    if unknown is not None:
        return unknown
    if isinstance(error, KeyError) and " " not in str(error.args[:1]):
        column = str(error.args[0]) if error.args else ""
        return UsageError(
            f"a row has no column {column!r}",
            where=where,
            fix="name the columns of --data as the task does (`assay show` prints them)",
        )
    if NO_ROWS in text:
        return UsageError(
            "no rows are left to ask",
            where=where,
            fix="check the data, and what `process_docs` leaves of it",
        )
    kind = type(error).__name__
    if kind == "UndefinedError":
        return UsageError(
            f"a template reads a column that the rows lack: {text}",
            where=where,
            fix="name the columns of --data as the task does",
        )
    if text.endswith("has no attribute 'task_name'"):
        return UsageError(
            "names a class that is not a task",
            where=f"{where}, key `class`",
            fix="name a subclass of the library's `Task`",
        )
    line = _own_line(error, where)
    if isinstance(error, SystemExit):
        return UsageError(
            f"ends Python while it is loaded (`sys.exit`, code {text})",
            where=line or where,
            fix="remove the call",
        )
    return UsageError(
        f"cannot be loaded: {kind}: {shorten(text, 160)}",
        where=line or f"{where}{_key_of(error)}",
        fix="correct this line" if line else None,
    )


def _key_of(error: BaseException) -> str:
    """Return `, key `NAME`` with the configuration key that the library was reading; empty if it is unknown."""
    key = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_name
        if name in KEYS_READ:
            key = f", key `{name}`"
        trace = trace.tb_next
    return key


def _own_line(error: BaseException, where: str) -> str:
    """Return `file:line` of the error in a user's own helper module; empty if it is elsewhere."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    folder = Path(where).parent
    line = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if Path(where).is_file() and folder in file.parents:
            line = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _names_helper(where: str, module: str) -> bool:
    """Return True if a task file refers to a function of this helper module with `!function`."""
    file = Path(where)
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return False
    text = file.read_text(encoding="utf-8", errors="replace")
    return f"!function {module}." in text


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


PIP_NAMES = {
    "sklearn": "scikit-learn",
    "bert_score": "bert-score",
    "rouge_score": "rouge-score",
}


def _pip_name(module: str) -> str:
    top = module.partition(".")[0]
    return PIP_NAMES.get(top, top)


_NO_FUNCTION = re.compile(
    r"Module '(?P<module>[^']+)' has no function '(?P<function>[^']+)'"
)

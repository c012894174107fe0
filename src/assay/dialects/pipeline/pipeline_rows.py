"""Read the rows of a registered dataset with its loader, and build their prompts with its template."""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ...core import AssayError, ComponentError, DataError, UsageError, blamed, shorten
from ...core.errors import TemplateError
from ...datasets.files import format_of, open_files
from ..protocol import is_upstream
from ..returned import defined_at
from ..shapes import Fields, Record


@dataclass(frozen=True, slots=True)
class Usable:
    """A row with its prompt."""

    prompt: str
    reference: object
    raw: Fields

    def as_item(self) -> Record:
        """Return the row as a dictionary with `prompt`, `reference` and `raw`, which evaluators expect."""
        return {"prompt": self.prompt, "reference": self.reference, "raw": self.raw}


@dataclass(frozen=True, slots=True)
class Unusable:
    """A row whose prompt could not be built, with the error."""

    number: int
    """The number of the row, counted from 1."""
    error: str
    traceback: str
    raw: object
    """The row as the loader returned it."""


def read_rows(
    loader: Callable[[str], Any],
    template: Callable[[Any], str],
    path: str,
    limit: int | None = None,
) -> Iterator[Usable | Unusable]:
    """Yield each row with its prompt, or with the reason why the template failed. Other rows are not affected."""
    reference = reference_as_upstream if is_upstream("pipeline") else reference_of
    name = getattr(template, "__name__", "prompt_template")
    for number, raw in enumerate(islice(_loaded(loader, path), limit), start=1):
        try:
            if not isinstance(raw, Mapping):
                raise TypeError(f"expected a dictionary, found {shorten(raw)}")
            prompt = template(raw)
            if not isinstance(prompt, str):
                reason = f"a prompt must be text, not {shorten(prompt)}"
                raise TypeError(f"{reason} ({defined_at(template)})")
            yield Usable(prompt, reference(raw), raw)
        except Exception as error:  # noqa: BLE001 - the boundary to a user's prompt function: a fault of this row
            described = blamed(TemplateError, error, name)
            yield Unusable(number, described.what, _user_frames(error), raw)


def _user_frames(error: Exception) -> str:
    """Format the traceback of an error, starting at the user's own function."""
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace, chain=False))


def reference_of(raw: Fields) -> object:
    """Return a row's `answer` or, if it has none, its `reference`. 0 and `False` count as answers."""
    for name in ("answer", "reference"):
        value = raw.get(name)
        if value is not None:
            return value
    return ""


def reference_as_upstream(raw: Fields) -> object:
    """Return a row's `answer` or, if it is missing, empty, 0 or `False`, the row's `reference`."""
    return raw.get("answer") or raw.get("reference", "")


def _loaded(
    loader: Callable[[str], Any],
    path: str,
) -> Any:
    name = f"loader {getattr(loader, '__name__', 'loader')!r}, {defined_at(loader)}"
    try:
        rows = loader(path)
        if rows is None or isinstance(rows, (str, bytes, Mapping)):
            raise UsageError(
                f"returned {shorten(rows)}",
                where=name,
                fix="return a list of dictionaries",
            )
        return list(rows)
    except FileNotFoundError as error:
        raise UsageError(
            "no such file",
            where=str(error.filename or path),
            fix="check the path",
        ) from error
    except AssayError:
        raise
    except Exception as error:
        raise blamed(ComponentError, error, f"{name}, {path}") from error


def read_file(path: str) -> list[Fields]:
    """Return all rows of a data file in any format that assay reads. For an unreadable row, raise with its location."""
    return _unwrapped(_read(Path(path).expanduser(), None))


def load_jsonl(path: str) -> list[Fields]:
    """Return the rows of a JSONL file with any suffix, or of another file that assay reads.

    Blank lines are skipped, but under upstream's rules they are errors.
    """
    file = Path(path).expanduser()
    if is_upstream("pipeline"):
        with file.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    if format_of(file) is not None or not file.is_file():
        return read_file(path)
    rows = []
    lines_of_file = file.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines_of_file, start=1):
        try:
            if line.strip():
                rows.append(json.loads(line))
        except ValueError as error:
            raise DataError(
                f"the line is not JSON: {error}",
                file=str(file),
                row=number,
            ) from error
    return rows


def load_json(path: str) -> list[Fields]:
    """Return the rows of a JSON file: a list, the list under `data` or `examples`, or one object as one row."""
    file = Path(path).expanduser()
    if is_upstream("pipeline"):
        document: Any = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(document, Mapping):
            document = document.get("data", document.get("examples", [document]))
        rows: list[Fields] = document
        return rows
    if file.suffix == ".json" and file.is_file():
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            document = None  # Read below, where the error names its line.
        if isinstance(document, Mapping):
            return _unwrapped([document])
    return read_file(path)


def read_test_split(path: str) -> list[Fields]:
    """Return the rows of a file, or of the test split of a folder that has one."""
    folder = Path(path).expanduser()
    files = folder.rglob("*test*") if folder.is_dir() else ()
    if any(file.is_file() for file in files):
        return _read(folder, "test")
    return read_file(path)


def _read(path: Path, split: str | None) -> list[Fields]:
    rows: list[Fields] = []
    shards, _ = open_files(path, split, "")
    for shard in shards:
        for _, _, row in shard.rows():
            if isinstance(row, DataError):
                raise row
            if isinstance(row, Mapping):
                rows.append(row)
    return rows


def _unwrapped(rows: list[Fields]) -> list[Fields]:
    """Replace a single row that contains a list under `data` or `examples` with that list."""
    if len(rows) == 1:
        for name in ("data", "examples"):
            inner = rows[0].get(name)
            if isinstance(inner, list):
                return inner
    return rows

"""Types for the tasks that lm-eval or lmms-eval loads, and for their documents."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...core import DataError, UsageError, digest_of, shorten
from .questions import Question
from .random_state import RandomState

SUBTASK = "subtask"
"""Name of the sample tag that holds the task's name within a group."""
NO_TEXT = "Context is not a string!"
"""lm-eval's error message for a task whose question is not a string."""


class TaskConfig(Protocol):
    """The keys of a task's merged YAML file that assay reads, as attributes."""

    task: object
    dataset_name: str | None
    test_split: str | None
    validation_split: str | None
    training_split: str | None
    fewshot_split: str | None
    num_fewshot: int | None
    fewshot_config: Any
    repeats: int | None
    generation_kwargs: Mapping[str, Any] | None
    metric_list: object
    process_docs: Callable[..., object] | None
    process_results: Callable[..., object] | None


class LibraryTask(Protocol):
    """The members of a task object of lm-eval or lmms-eval that assay uses."""

    OUTPUT_TYPE: str
    """How answers are obtained: `generate_until`, `multiple_choice`, `loglikelihood`, …"""
    multiple_input: object
    config: TaskConfig
    eval_docs: Iterable[object]
    """The rows to evaluate."""
    _filters: Sequence[Any]

    def dump_config(self) -> dict[str, Any]:
        """Return the configuration as JSON values."""
        ...

    def aggregation(self) -> Mapping[str, Callable[[list[Any]], object]]:
        """Return the function that aggregates each metric over all rows."""
        ...

    def doc_to_target(self, doc: object) -> object:
        """Return the correct answer of a row: a string, the index of a choice, or a list of these."""
        ...

    def doc_to_choice(self, doc: object) -> Sequence[object]:
        """Return the choices of a row."""
        ...

    def doc_to_prefix(self, doc: object) -> str | None:
        """Return the prefix that the task adds to the start of every answer."""
        ...

    def process_results(
        self, doc: object, results: Sequence[object]
    ) -> Mapping[str, object]:
        """Return the value of each metric for the answers to a row."""
        ...


class LibraryGroup(Protocol):
    """The members of a group object of lm-eval, or of `LmmsGroup`, that assay uses."""

    name: str
    aggregate_metric_list: Sequence[Any] | None

    def aggregate(
        self, metrics: Mapping[str, Mapping[str, Any]]
    ) -> Mapping[str, object]:
        """Return the metrics of the group, computed from those of its tasks."""
        ...

    def get_all_groups(self) -> Sequence["LibraryGroup"]:
        """Return all groups inside this one."""
        ...

    def get_all_tasks(self) -> Sequence[Any]:
        """Return all tasks of the group."""
        ...


@dataclass(frozen=True)
class LoadedTask:
    """One loaded task of the library, ready to build requests."""

    name: str
    task: Any
    """The library's own object for the task."""
    shots: int
    digest: str
    """Digest of the resolved configuration and the source of its functions."""
    version: str
    """The version that the task declares as `metadata.version`."""


@dataclass(frozen=True)
class Loaded:
    """The result of loading a name: one task, or a group with its tasks."""

    name: str
    tasks: Mapping[str, LoadedTask]
    group: LibraryGroup | None = None
    """The library's own object for the group; None for a single task."""
    is_own: bool = False
    """True if the task is defined in a user's file."""
    random_state: RandomState = field(default_factory=RandomState)
    """State of the random generators after loading. Building the documents continues from this state."""


@dataclass(frozen=True, slots=True)
class TaskReference:
    """A reference to a task: a name in an installed library, or a YAML file."""

    library: str
    """The name of the library's package, such as `lm_eval`."""
    name: str
    path: str = ""
    """The YAML file; empty for a name in the package."""
    own_folder: str = ""
    """A user's folder whose YAML files are available in addition to those of the package."""

    @property
    def where(self) -> str:
        """The name of the task in error messages."""
        return self.path or f"{self.library}/{self.name}"

    def file_state(self) -> tuple[int, ...]:
        """Return the modification time and size of the YAML file; empty for a name in the package."""
        if not self.path:
            return ()
        stat = Path(self.path).stat()
        return stat.st_mtime_ns, stat.st_size


@dataclass
class Document:
    """One row of a task, with its requests."""

    id: str
    subtask: LoadedTask
    number: int
    """The index of the row in the task's data."""
    row: Any
    instances: list[Any] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    random_state: RandomState | None = None
    """State of the random generators after this document's requests were built.

    Metrics are computed from the state after the last document.
    """
    metrics: list[tuple[Any, str, Any]] = field(default_factory=list)
    """The document's metrics as (metric, filter, value), computed by the library."""
    logged: list[Any] = field(default_factory=list)
    """The document's lines in the library's sample log, one for each filter."""


def describe_task(
    name: str,
    task: LibraryTask,
    shots: int,
    code: str = "",
) -> LoadedTask:
    """Return a `LoadedTask` with a digest of the resolved configuration.

    The digest also covers `code`, the digest of the task's helper modules, but neither the number of shots,
    which a run may set, nor the arguments for loading data.
    """
    config = dict(task.dump_config())
    metadata = config.pop("metadata", None)
    version = ""
    if isinstance(metadata, Mapping):
        version = metadata.get("version", "")
    for key in ("num_fewshot", "dataset_kwargs"):
        config.pop(key, None)
    resolved = _without_addresses(config)
    digest = digest_of([resolved, code] if code else resolved)
    return LoadedTask(name, task, shots, digest, str(version))


def _without_addresses(value: object) -> object:
    """Replace functions and other objects in a configuration with strings that are the same in every process."""
    if isinstance(value, Mapping):
        return {str(key): _without_addresses(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_addresses(entry) for entry in value]
    if callable(value):
        return (
            f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        )
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def row_fault(error: Exception, where: str) -> Exception:
    """Convert an exception raised by a task's code for one row to a one-line error."""
    if isinstance(error, (UsageError, DataError)):
        return error
    kind = type(error).__name__
    if isinstance(error, KeyError):
        missing = str(error.args[0]) if error.args else ""
        return UsageError(
            f"the row has no column {missing!r}",
            where=where,
            fix="name the columns of --data as the task does",
        )
    if kind == "UndefinedError":
        return UsageError(
            f"a template reads what the row lacks: {error}",
            where=where,
            fix="name the columns of --data as the task does",
        )
    text = " ".join(str(error).split())
    if text.startswith(NO_TEXT):
        value = text.removeprefix(NO_TEXT).strip(" :")
        return UsageError(
            f"gives {shorten(value, 60)}, which is not a text",
            where=f"{where}, key `doc_to_text`",
            fix="return a text from the function, or name a column of texts",
        )
    if text.startswith("Sample larger than population"):
        return UsageError(
            "the task shows more examples than its data has rows for",
            where=where,
            fix="--num_fewshot with a smaller number",
        )
    return UsageError(
        f"no request can be built: {kind}: {shorten(text, 160)}", where=where
    )


def target_text(document: Document) -> object:
    """Return the correct answer of a document for the journal; None if the task has none."""
    task, row = document.subtask.task, document.row
    try:
        target = task.doc_to_target(row)
        if isinstance(target, int) and task.OUTPUT_TYPE == "multiple_choice":
            return str(task.doc_to_choice(row)[target])
    except Exception:  # noqa: BLE001 - for display only: a task may have no target
        return None
    return plain_value(target)


def plain_value(value: object) -> object:
    """Convert a value of a row to JSON."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain_value(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(entry) for entry in value]
    return shorten(value)

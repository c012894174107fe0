"""Tasks: a dataset, a template, options, scorers and summarizers under one protocol id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .request import DEFAULT_OPTIONS, GenerateOptions
from .sample import EMPTY


@dataclass(frozen=True, slots=True)
class Fewshot:
    """Solved examples before the question. The queries stay the same for every number of shots."""

    num: int = 0
    source: Any = None
    """Where shots come from: a path, rows, or `None` for the task's own data (the query is never among its shots)."""
    split: str | None = None
    pick: Any = "random"
    """`first`, `random`, `sequential`, `similar`, or a function `(sample, pool, num, rng) -> samples`."""
    seed: int = 0
    multiturn: bool = True
    """Shots as turns of a chat; else as one text before the question."""


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a shipped benchmark's rows come from: `--data` and `$ASSAY_DATA` first, then the hub."""

    hub: str = ""
    """Hugging Face id, as `org/name`."""
    config: str | None = None
    split: str = "test"
    local: tuple[str, ...] = ()
    """File names to look for under `--data` or `$ASSAY_DATA`, the first that exists wins."""
    package: str = ""
    """A file inside the assay package, for sets that ship with it."""
    mini: str = ""
    """A file inside the assay package with a handful of rows in the same format, taken by `--data mini`."""
    read: Any = None
    """A function from what was found to samples, where one file is not one set."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to measure a task: what is asked, how it is scored, and what a model must be able to do for it."""

    name: str
    """Becomes part of the protocol id: `letter_likelihood`, `text_likelihood`, `first_token`, `letter`."""
    template: Any = None
    """In place of the task's; `None` keeps it."""
    scorers: tuple[Any, ...] = ()
    """In place of the task's; empty keeps them."""
    summarizers: tuple[Any, ...] | None = None
    """In place of the task's; `None` keeps them."""
    needs: frozenset[str] = frozenset()
    """Abilities of the model it takes: `likelihood`, `logprobs`."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Generation options over those of the task."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorers", _as_tuple(self.scorers))


@dataclass(frozen=True, slots=True)
class Task:
    """Everything needed to measure one thing, by name or by value."""

    name: str
    dataset: Any = None
    """A path, rows, a function that yields rows or samples, a `DataSource`, or the name of a dataset."""
    to_sample: Any = None
    """A function from a row to a `Sample`, where the columns alone do not say it."""
    template: Any = None
    """A function of the sample, Jinja text, messages, or a template's name; `None` goes by the columns."""
    scorers: tuple[Any, ...] = ()
    """Scorer names, specs or functions; empty goes by the columns."""
    summarizers: tuple[Any, ...] = ()
    """Summarizer names, specs or functions; empty takes what each scorer asks for, by default the mean."""
    options: GenerateOptions = DEFAULT_OPTIONS
    fewshot: Fewshot = Fewshot()
    protocol: str = ""
    """How it was measured, when there is more than one way: `mmbench@circular`."""
    system: str | None = None
    epochs: int = 1
    reducer: str = "mean"
    """How repeats of one sample become one value: mean, majority, max, pass@k."""
    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Which column plays which part, where the names do not say: `{"target": "gold"}`."""
    tags: tuple[str, ...] = ()
    """Columns to break the result down by."""
    subset: str = ""
    """Only samples one of whose tags has this value, written as in a task's name: `high_school_biology`."""
    cluster: str | None = None
    """The column that says which samples are not independent."""
    roles: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Free roles mapped to chat roles, so that chat-only models can be asked."""
    history: str = "model"
    """Whose answers a dialogue goes on from: the `model`'s own or the `reference` ones."""
    measures: tuple[Any, ...] = ()
    """Ways to measure it, the best first: a `Measure`, or the name of a standard one. The first that a model can serve
    is taken before the run and named in the protocol id; empty measures it as it stands."""
    needs: frozenset[str] = frozenset()
    """Abilities without which the task makes no sense: `likelihood`, `image`, `audio`, …"""
    produces: tuple[str, ...] = ("text",)
    hints: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Passed to the model with every request: empty, except where a guest dialect must pass a benchmark's name."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Models that its own files define, by name; the first of them is asked where the run names none."""
    driver: Any = None
    """A function of a recording engine that drives the model by itself and returns numbers; replaces template and
    scorers."""
    description: str = ""
    citation: str = ""
    licence: str = ""
    allow_urls: bool = False
    """Whether media that rows name by URL are fetched."""
    data_hint: str = ""
    """What `--data` expects when the data cannot be found."""
    foreign: bool = field(default=False, repr=False, compare=False)
    """Whether it was written for another system, whose code reads the settings of a run in its own way."""
    origin: "Task | None" = field(default=None, repr=False, compare=False)
    """The task as its author wrote it, where a run has changed it: the protocol id says what differs."""

    def __post_init__(self) -> None:
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "options", DEFAULT_OPTIONS.set(**self.options))
        for name in ("scorers", "summarizers", "measures", "tags", "produces"):
            object.__setattr__(self, name, _as_tuple(getattr(self, name)))
        object.__setattr__(self, "needs", frozenset(_as_tuple(self.needs)))
        if isinstance(self.fewshot, Mapping):
            object.__setattr__(self, "fewshot", Fewshot(**self.fewshot))
        elif isinstance(self.fewshot, int):
            object.__setattr__(self, "fewshot", Fewshot(self.fewshot))
        if not self.protocol:
            object.__setattr__(self, "protocol", self.name)

    def but(self, **changes: Any) -> "Task":
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Suite:
    """Several tasks under one name."""

    name: str
    tasks: tuple[Any, ...]
    """Task names or tasks."""
    description: str = ""


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if (
        isinstance(value, (str, Mapping))
        or callable(value)
        or not isinstance(value, Iterable)
    ):
        return (value,)
    return tuple(value)

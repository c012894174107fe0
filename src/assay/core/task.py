"""Tasks: a dataset, a template, options, scorers and summarizers under one protocol id."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .request import DEFAULT_OPTIONS, GenerateOptions
from .sample import EMPTY


@dataclass(frozen=True, slots=True)
class Fewshot:
    """Few-shot examples before the question. The number of shots does not change which questions are evaluated."""

    num: int = 0
    source: Any = None
    """Where shots come from: a path, rows, or None for the task's own data. A sample is never its own shot."""
    split: str | None = None
    pick: Any = "random"
    """`first`, `random`, `sequential`, `similar`, or a function `(sample, pool, num, rng) -> samples`."""
    seed: int = 0
    multiturn: bool = True
    """Show shots as chat turns. If False, show them as one text before the question."""


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where to find a benchmark's rows. `--data` and `$ASSAY_DATA` are searched first, then the hub."""

    hub: str = ""
    """Hugging Face id, as `org/name`."""
    config: str | None = None
    split: str = "test"
    local: tuple[str, ...] = ()
    """File names to look for under `--data` or `$ASSAY_DATA`. The first existing one is used."""
    package: str = ""
    """A data file inside the assay package."""
    mini: str = ""
    """A small data file inside the assay package in the same format, used by `--data mini`."""
    read: Any = None
    """Function from the located data to samples, for data that is not a single file."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to obtain answers for a task, such as generated text or likelihoods. See the glossary."""

    name: str
    """Name that becomes part of the protocol id: `letter_likelihood`, `text_likelihood`, `first_token`, `letter`."""
    template: Any = None
    """Template that replaces the task's. None keeps the task's template."""
    scorers: tuple[Any, ...] = ()
    """Scorers that replace the task's. Empty keeps the task's scorers."""
    summarizers: tuple[Any, ...] | None = None
    """Summarizers that replace the task's. None keeps the task's summarizers."""
    needs: frozenset[str] = frozenset()
    """Abilities the model must have: `likelihood`, `logprobs`."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Generation options that override the task's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorers", _as_tuple(self.scorers))


@dataclass(frozen=True, slots=True)
class Task:
    """A dataset with its template, scorers and settings, each given by name or by value."""

    name: str
    dataset: Any = None
    """A path, rows, a function that yields rows or samples, a `DataSource`, or the name of a dataset."""
    to_sample: Any = None
    """Function from a row to a `Sample`, if naming columns is not enough."""
    template: Any = None
    """A function of the sample, Jinja text, messages, or a template's name. None derives it from the columns."""
    scorers: tuple[Any, ...] = ()
    """Scorer names, specs or functions. Empty derives them from the columns."""
    summarizers: tuple[Any, ...] = ()
    """Summarizer names, specs or functions. Empty uses the scorers' defaults, usually the mean."""
    options: GenerateOptions = DEFAULT_OPTIONS
    fewshot: Fewshot = Fewshot()
    protocol: str = ""
    """Protocol id of the task, such as `mmbench@circular`, which names the way of measuring if there are several."""
    system: str | None = None
    headline: str = ""
    """Metric that comes first in the table and is used in leaderboards, such as
    `overall`. Empty uses the first one.
    """
    epochs: int = 1
    reducer: str = "mean"
    """Rule that combines repeats of one sample into one value: mean, majority, max, pass@k."""
    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Roles of columns with unrecognised names: `{"target": "gold"}`."""
    tags: tuple[str, ...] = ()
    """Columns for which the result is broken down."""
    subset: str = ""
    """Tag value of the samples to keep, written as in task names: `high_school_biology`."""
    cluster: str | None = None
    """The column that groups dependent samples."""
    roles: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Free roles mapped to chat roles, for models that accept chat only."""
    history: str = "model"
    """Which answers the history of a dialogue contains: the `model`'s own, or the `reference` answers."""
    measures: tuple[Any, ...] = ()
    """Measures of the task, best first: each a `Measure`, or the name of a standard one.

    The first one that the model supports is chosen before the run and named in the protocol id. Empty uses the task as
    written.
    """
    needs: frozenset[str] = frozenset()
    """Abilities that the task requires: `likelihood`, `image`, `audio`, …"""
    produces: tuple[str, ...] = ("text",)
    hints: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Values passed to the model with every request. Empty, except for toolkits that pass a benchmark's name."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Models defined in the task's own files, by name. The first one is used if the run names none."""
    tools: tuple[Any, ...] = ()
    """The tools that the model may call: functions, names of tools, and toolboxes; see `assay.tooling`."""
    mcp: tuple[str, ...] = ()
    """Commands of MCP servers whose tools the model may call."""
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of a tool. None leaves it to the service."""
    user: str | None = None
    """Instruction for a model that plays the user, as Jinja text with the columns of the row.

    That model has the role `user`.
    """
    state: Any = None
    """Function of the sample that returns the state shared by its tools. Scorers read it as `output.state`."""
    limits: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Limits of one sample with tools: `turns`, `calls`, `tokens`, `cost`, `seconds`, `call_seconds`."""
    driver: Any = None
    """A function that calls the model itself and returns metrics. The calls go through an engine that records them.

    Replaces template and scorers.
    """
    environment: Any = None
    """Prepares the workspace of a sample for an agent, and checks it afterwards. See `agents.environment`."""
    description: str = ""
    citation: str = ""
    licence: str = ""
    allow_urls: bool = False
    """Allow downloads of media that rows name by URL."""
    data_hint: str = ""
    """Description of the data that `--data` expects, shown if none is found."""
    foreign: bool = field(
        default=False,
        repr=False,
        compare=False,
    )
    """True if the task was written for another toolkit. The toolkit's own code reads the run settings."""
    origin: "Task | None" = field(
        default=None,
        repr=False,
        compare=False,
    )
    """The original task, if a run changed some of its settings. The protocol id names the differences."""

    def __post_init__(self) -> None:
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "options", DEFAULT_OPTIONS.set(**self.options))
        for name in (
            "scorers",
            "summarizers",
            "measures",
            "tags",
            "produces",
            "tools",
            "mcp",
        ):
            object.__setattr__(self, name, _as_tuple(getattr(self, name)))
        object.__setattr__(self, "needs", frozenset(_as_tuple(self.needs)))
        if isinstance(self.fewshot, Mapping):
            object.__setattr__(self, "fewshot", Fewshot(**self.fewshot))
        elif isinstance(self.fewshot, int):
            object.__setattr__(self, "fewshot", Fewshot(self.fewshot))
        if not self.protocol:
            object.__setattr__(self, "protocol", self.name)

    def but(self, **changes: object) -> "Task":
        """Return a copy with some fields changed."""
        fields: dict[str, Any] = changes
        return replace(self, **fields)


@dataclass(frozen=True, slots=True)
class Suite:
    """Several tasks under one name."""

    name: str
    tasks: tuple[Any, ...]
    """Task names or tasks."""
    description: str = ""
    weights: Callable[[Mapping[str, int]], Mapping[str, float]] | None = None
    """Function that returns each task's weight in the overall score, given the number of samples of each task.

    None if the suite has no overall score.
    """


def _as_tuple(value: object) -> tuple[Any, ...]:
    if value is None:
        return ()
    if (
        isinstance(value, (str, Mapping))
        or callable(value)
        or not isinstance(value, Iterable)
    ):
        return (value,)
    return tuple(value)

"""Protocols: the five things people write, as the runner sees them once they are adapted.

What each must have stands in its own protocol; what it may have, in the one called `…Extras`. The runner asks for
nothing else: a test compares.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .abilities import Abilities
from .meter import Meter
from .output import Output
from .record import Result, ScoreRecord
from .request import Prompt, Request
from .sample import EMPTY, BadSample, Sample
from .score import Score


class Dataset(Protocol):
    """An iterable of samples that can be read more than once; rows that cannot be used come as `BadSample`."""

    def __iter__(self) -> Iterator[Sample | BadSample]: ...


class DatasetExtras(Protocol):
    """What the data of a task may have."""

    read: Callable[[Any], Any] | None
    """From what was found to samples, where one file is not one set."""

    def reading_from(self, data: str | None) -> Any:
        """The same data where `--data` says that they lie: the code that reads them is the user's own."""


class Template(Protocol):
    """Builds the prompt of one sample."""

    @property
    def source(self) -> str:
        """What the prompts depend on, as text."""

    @property
    def next_turn(self) -> Callable[..., Any] | None:
        """`next(sample, turns)` of a template that leads a dialogue."""

    def __call__(self, sample: Sample) -> Prompt: ...


@runtime_checkable
class Model(Protocol):
    """A place prompts go and outputs come from.

    `generate` may be `async`; it is then asked one request at a time, many at once. What else a model may have stands
    in `ModelExtras`, `Reporting`, `SizedByMemory`, `OnDevice` and `AnswersById`.
    """

    @property
    def abilities(self) -> Abilities: ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes this model this model: weights digest, revision, endpoint. Part of every request key."""

    def generate(self, requests: Sequence[Request]) -> Any: ...


class ModelExtras(Protocol):
    """What a model may have beside `generate`; each is looked for by itself."""

    batch_size: int | None
    """Requests handed over at once, where the run does not say."""
    concurrency: int | None
    """Requests under way at once, of an `async` model."""
    trust_remote_code: bool
    """Whether code that lies beside the weights may run; set by the run's option of that name."""
    likelihood_fix: str
    """How to get likelihoods from this model, where it gives none as it is set up."""
    preflight_loads: bool
    """Whether `preflight` needs the weights."""
    whole_dialogues: bool
    """Whether it is asked a dialogue as a whole and leads it itself."""
    written: Mapping[str, Any]
    """Its options as they were written: secrets among them are kept out of the run's files."""

    def likelihood(self, requests: Sequence[Request]) -> Any:
        """Log-probabilities of given continuations."""

    def prompt(self, sample: Sample, prompt: Prompt) -> Prompt:
        """The prompt as this model wants it; the journal has it as it was sent."""

    def load(self) -> None:
        """Gets ready for questions, before the first one and its time limit."""

    def close(self) -> Any:
        """Lets go of what it holds; may be `async`."""

    def check_ready(self) -> None:
        """Raises where a helper of scorers cannot start, before a model is asked anything."""

    def preflight(self, prompt: Prompt, stops: Sequence[str] = ()) -> Iterable[Any]:
        """What its tokenizer finds wrong with a prompt."""

    def write_under(self, folder: Path) -> None:
        """From now on writes its own files into the run's folder."""


@runtime_checkable
class Reporting(Protocol):
    """A model that says how far it is inside a batch."""

    def report_to(self, meter: Meter) -> None:
        """From now on adds to `ended` and `tokens` of this meter."""


@runtime_checkable
class SizedByMemory(Protocol):
    """A local model that can find out how much fits into its device's memory."""

    def fit_memory(self) -> str:
        """Sets how many answers are written at once, and `batch_size`, by the memory that is free once the weights are
        loaded; what was chosen, in words. Never changes an answer."""


@runtime_checkable
class OnDevice(Protocol):
    """A local model that can be told which device to compute on."""

    device: str | None


@runtime_checkable
class AnswersById(Protocol):
    """A model that looks its answers up by the ids of samples, so that one prompt may have two answers."""

    @property
    def key_identity(self) -> Mapping[str, Any]:
        """What stands in keys in place of its identity, which changes with every answer that is written into it."""

    def hints_of(self, id: str, epoch: int, round: int) -> Mapping[str, Any]:
        """What the answer to one request hangs on beside its prompt: part of its key, and of what is asked."""

    def ids(self) -> Mapping[str, int]:
        """The ids it knows, and how many answers it has for each."""


class Scorer(Protocol):
    """Judges one output; may be `async`. Options are its fields. What else it may have stands in `ScorerExtras`."""

    def __call__(self, sample: Sample, output: Output) -> Score: ...


class ScorerExtras(Protocol):
    """What a scorer may say of itself."""

    name: str
    """What it is called in the table, where the task does not say."""
    needs: Sequence[str]
    """Roles of helper models, which it is given in its field `models`."""
    requires: Sequence[Any]
    """Libraries, as `Requirement`s: looked for before the run."""
    reads: Sequence[str]
    """What it cannot do without: text, image, audio, video, answer, likelihood, logprobs, target."""
    blocking: bool
    """Whether it takes its time, so that it runs beside the work."""
    whole_output: bool
    """Whether it judges all candidates of an answer together."""
    summarizers: Sequence[Any]
    """What makes its numbers, where the task does not say; else the mean."""
    higher_is_better: bool
    bounds: tuple[float, float] | None
    """The lowest and the highest value; `None` where there is none."""
    best_mark: float
    """Of a judge: the mark that a perfect answer gets, with which a judge is tried out."""
    measures_transcripts: bool
    """Whether answers are meant to repeat the reference, so that a repetition is not a leak."""

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> Any:
        """The numbers of a whole set, as a distance between two sets of images; instead of `__call__`."""

    def in_run(self, cell: Any, writer: Any) -> Any:
        """The same, told which run, task and model it judges: it writes files, or asks judges by itself."""


class Summarizer(Protocol):
    """Makes the numbers of one scorer on one task from its score records."""

    def __call__(
        self, records: Sequence[ScoreRecord], context: "SummaryContext"
    ) -> Iterable[Result]: ...


class SummarizerExtras(Protocol):
    """What a summarizer may say of itself."""

    pools: bool
    """Whether it counts every answer by itself, so that no reducer of repeats applies."""
    function: Callable[..., Any] | None
    """The user's own function, where it was adapted."""


@dataclass(frozen=True, slots=True)
class SummaryContext:
    """What a summarizer may know beside the records."""

    task: str
    model: str
    protocol: str
    scorer: str
    n_expected: int | None
    seed: int
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

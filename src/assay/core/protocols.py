"""Protocols: the interfaces of the five kinds of component, in the form that the runner uses after adaptation.

Each protocol lists the required members, and its `…Extras` protocol the optional ones. A test checks that the runner
uses nothing else.

A `Meter` counts the progress of a model inside its batches. The model adds to the meter while it works, and the
progress display reads it a few times a second without locking. The cost is a few additions per batch or forward pass.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .abilities import Abilities
from .errors import DataError
from .output import Output
from .reasoning import ThinkTags
from .record import Result, ScoreRecord
from .request import Prompt, Request
from .sample import EMPTY, BadSample, Sample
from .score import Score, ValueScale


@dataclass(slots=True)
class Meter:
    """Progress counters for one task and one model since the first request."""

    begun: int = 0
    """Number of requests sent to the model."""
    ended: float = 0.0
    """Number of finished requests. A partly finished request counts as a fraction. 0 if
    the model does not report this.
    """
    tokens: int = 0
    """Number of tokens processed, input and output. 0 if the model does not report it."""
    _batch: int = 0
    """Number of requests in the current batch."""

    @contextmanager
    def batch(self, size: int) -> Iterator[None]:
        """Context manager that counts a batch as finished, unless its block raises."""
        before = self.ended
        whole = 0
        self._batch = size
        try:
            yield
            whole = size
        finally:
            self.ended = before + whole

    def advance(self, share: float) -> None:
        """Count a further share of the current batch as done, such as 0.25."""
        self.ended += share * self._batch


class Dataset(Protocol):
    """An iterable of samples that can be read repeatedly. Unusable rows appear as `BadSample`."""

    def __iter__(self) -> Iterator[Sample | BadSample]: ...


class DatasetExtras(Protocol):
    """Optional members of a task's dataset."""

    read: Callable[[Any], Any] | None
    """Function that converts the located data to samples, for datasets that are not a single file."""

    def reading_from(self, data: str | None) -> object:
        """Return the same dataset, but read from the path in `--data`. For datasets that user code reads."""


class Template(Protocol):
    """Builds the prompt for one sample."""

    @property
    def source(self) -> str:
        """Text that identifies the template. It differs whenever the prompts could differ."""

    @property
    def next_turn(self) -> Callable[..., Any] | None:
        """Return the `next(sample, turns)` function of a dialogue template. Return None for other templates."""

    def __call__(self, sample: Sample) -> Prompt: ...


class TemplateExtras(Protocol):
    """Optional members of a template."""

    is_whole: bool
    """True if prompts of the template must be sent as they are, without an added system message."""


@runtime_checkable
class Model(Protocol):
    """A model under test or a helper model, which answers requests.

    `generate` may be `async`; it then receives one request per call, with many calls in flight. Optional members
    are listed in `ModelExtras`, `Reporting`, `SizedByMemory`, `OnDevice` and `AnswersById`.
    """

    @property
    def abilities(self) -> Abilities: ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify the model: weights digest, revision, endpoint. Part of every request key."""

    def generate(
        self, requests: Sequence[Request]
    ) -> Sequence[Output] | Awaitable[Sequence[Output]]: ...


class ModelExtras(Protocol):
    """Optional members of a model. A model may define any of them; the runner checks for each one."""

    batch_size: int | None
    """Requests per batch, if the run does not set it."""
    concurrency: int | None
    """Requests in flight at once, for an `async` model."""
    trust_remote_code: bool
    """Allows code shipped with the weights to run. Set by the run option of the same name."""
    servers: Sequence[Model]
    """The same model on several servers. The scheduler chooses one of them for each request."""
    base_url: str | None
    """The address of a model behind a URL."""
    likelihood_fix: str
    """Advice for users on how to get likelihoods from this model if its settings disable them."""
    media_fixes: Mapping[str, str]
    """Advice for users if the library for a kind of medium is missing. The key is the kind, such as `audio`."""
    preflight_loads: bool
    """True if `preflight` needs the weights. They are then loaded before it is called."""
    think_tags: ThinkTags
    """How the model marks reasoning in its text. If not set, all known forms are recognised."""
    prompts_tools: bool
    """True if tools are written into the prompt as text. The protocol id then shows this."""
    whole_dialogues: bool
    """True if the model receives a whole dialogue and runs its rounds itself."""
    written: Mapping[str, Any]
    """The options as the user wrote them. Secrets in them are never written to the run's files."""

    def likelihood(
        self, requests: Sequence[Request]
    ) -> Sequence[Output] | Awaitable[Sequence[Output]]:
        """Return the log-probabilities of given continuations."""

    def prompt(self, sample: Sample, prompt: Prompt) -> Prompt:
        """Adapt the prompt to what this model needs. The journal records the adapted prompt."""

    def load(self) -> None:
        """Prepare for requests. Called before the first one, outside its time limit."""

    def close(self) -> Awaitable[None] | None:
        """Release the model's resources, such as memory and connections. Called after the last request."""

    def interrupt(self) -> None:
        """End work in progress, because the user stopped the run."""

    def check_ready(self) -> None:
        """Raise if a scorer's helper model cannot start. Called before any model is loaded."""

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return an error if the whole prompt does not fit into one request, otherwise
        None.

        A prompt with an error is not sent.
        """

    def preflight(
        self,
        prompt: Prompt,
        stops: Sequence[str] = (),
    ) -> Iterable[Any]:
        """Yield faults in how the prompt is rendered, such as a doubled beginning-of-sequence token."""

    def write_under(self, folder: Path) -> None:
        """Set the run folder in which the model writes its additional files."""


@runtime_checkable
class Reporting(Protocol):
    """A model that reports its progress within a batch."""

    def report_to(self, meter: Meter) -> None:
        """From now on, add progress within a batch to the fields `ended` and `tokens` of this meter."""


@runtime_checkable
class Noting(Protocol):
    """A model that adds notes to a run, such as how its answers were computed."""

    def run_notes(self) -> Iterable[str]:
        """Return lines to add to the notes of a run."""


@runtime_checkable
class Prefetching(Protocol):
    """A local model that can start loading while the run is still being prepared."""

    def prefetch(self) -> None:
        """Start loading in the background; `load` waits for it and reports its errors."""


@runtime_checkable
class SpreadOverGpus(Protocol):
    """A local model that runs one copy on each GPU unless the user sets otherwise."""

    def copies(self) -> int:
        """Return the number of copies that suit this machine; 1 if one is enough."""


@runtime_checkable
class SizedByMemory(Protocol):
    """A local model that can choose its batch size from the free memory of its device."""

    def fit_memory(self) -> str:
        """Set the batch size according to the free memory after loading. Return a description of the choice."""


@runtime_checkable
class DescribesEngine(Protocol):
    """A local model with several implementations, such as inference libraries, to choose from."""

    def describe_engine(self) -> str:
        """Load the model, and return in words which implementation generates its answers and why."""


@runtime_checkable
class OnDevice(Protocol):
    """A local model whose device, such as `cuda:1`, can be set."""

    device: str | None


@runtime_checkable
class AnswersById(Protocol):
    """A model that looks up recorded answers by sample id. Two samples with the same
    prompt may have different answers.
    """

    @property
    def key_identity(self) -> Mapping[str, Any]:
        """Stable identity used in request keys, for models whose `identity` changes as their file grows."""

    def hints_of(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> Mapping[str, Any]:
        """Return values other than the prompt that determine the answer.

        They become part of the request and its key.
        """

    def ids(self) -> Mapping[str, int]:
        """Return how many answers are recorded for each sample id."""


class ConversationStopped(Exception):
    """Raised if the run was stopped, so that no further exchange takes place."""


class Conversation(Protocol):
    """The exchanges of one sample with a model. The run records each of them."""

    used: Any
    """Resources used by the exchanges so far, as counted by `tooling.limits.Used`."""

    async def ask(self, prompt: Prompt) -> tuple[int, Output]:
        """Send a prompt to the model. Return the index of this exchange, starting at 0,
        and the answer.

        Raise `ConversationStopped` if the run was stopped.
        """


class Conversations(Protocol):
    """Starts a conversation with one model for each sample."""

    def begin(self, id: str, epoch: int) -> Conversation:
        """Begin the conversation of a sample. Recorded exchanges are answered from the journal."""


@runtime_checkable
class AsksThroughRun(Protocol):
    """A model that calls another model, such as an agent program. The run records every exchange."""

    inner: Model

    def use(self, conversations: Conversations) -> None:
        """Set the conversations through which later requests call the inner model."""

    def plan_lines(self) -> Sequence[str]:
        """Return lines for users about the agent, to print before the run."""


class Scorer(Protocol):
    """Scores one output. May be `async`. Its fields are its options; `ScorerExtras` lists optional members."""

    def __call__(self, sample: Sample, output: Output) -> Score: ...


class ScorerExtras(Protocol):
    """Optional members of a scorer."""

    name: str
    """Name in the table, if the task does not set one."""
    needs: Sequence[str]
    """Roles of helper models, which the scorer receives in its field `models`."""
    requires: Sequence[Any]
    """Required libraries as `Requirement`s, checked before the run."""
    reads: Sequence[str]
    """Kinds of content that the scorer needs, such as text, image, answer, likelihood, logprobs or target."""
    blocking: bool
    """True for a slow scorer, which runs in a separate thread."""
    whole_output: bool
    """True if the scorer receives all candidates of an answer together."""
    summarizers: Sequence[Any]
    """Default summarizers, if the task sets none; otherwise the mean is used."""
    higher_is_better: bool | Mapping[str, bool]
    """True if larger values are better: one value for all metrics, or a mapping from metric names."""
    bounds: tuple[float, float] | Mapping[str, tuple[float, float] | None] | None
    """Lowest and highest value: one pair for all metrics, or a mapping from metric names. None if unlimited."""
    best_mark: float
    """For a judge, the grade of a perfect answer. The run tests the judge with it."""
    role: str
    """The role of the model that a judge calls."""
    normalize: str
    """Name of the normalizer applied to answer and target before comparison, or `none`."""
    compares_text: bool
    """True if answers are compared character by character.

    The run then reports answers that differ from the target only in spelling.
    """
    keeps_unicode_form: bool
    """True if the official rule compares characters without Unicode normalization.

    The run then reports answers whose Unicode form differs from the target's.
    """
    measures_transcripts: bool
    """True if a correct answer repeats the reference, as in a transcript.

    The run then does not report repeated references as leaked.
    """

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> object:
        """Score a whole set of outputs at once and return metrics, such as a distance
        between two sets of images.

        The run calls this method instead of `__call__`.
        """

    def in_run(self, cell: object, writer: object) -> object:
        """Return a copy of the scorer for one task and model of a run.

        For scorers that write files or call judges themselves.
        """


class Summarizer(Protocol):
    """Computes the metrics of one scorer on one task from its score records."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: "SummaryContext",
    ) -> Iterable[Result]: ...


class DriverExtras(Protocol):
    """Optional members of a driver, a function that calls the model itself."""

    takes_arguments: bool
    """True if the driver's tasks take arguments (`-T name=value`)."""


class SummarizerExtras(Protocol):
    """Optional members of a summarizer."""

    pools: bool
    """True if the summarizer gets every repeat of a sample separately, instead of one value from a reducer."""
    applies_weights: bool
    """True if the summarizer takes weights of rows into account.

    If it does not and rows have weights, its metrics are flagged.
    """
    function: Callable[..., Any] | None
    """The user's original function, if the summarizer was adapted from one."""


@dataclass(frozen=True, slots=True)
class SummaryContext:
    """Facts about the task, model and scorer, which a summarizer receives together with the score records."""

    task: str
    model: str
    protocol: str
    scorer: str
    n_expected: int | None
    seed: int
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    scale: ValueScale | None = None
    """Direction and bounds of each of the scorer's values. None if all values have the same."""
    beside: "Mapping[str, Sequence[ScoreRecord]]" = field(default_factory=lambda: EMPTY)
    """The score records of all scorers of the task, for metrics computed from several scorers."""

    def of(self, metric: str) -> "SummaryContext":
        """Return a copy for one metric, with the direction and bounds declared for it."""
        if self.scale is None:
            return self
        scale = self.scale.of(metric.removeprefix(f"{self.scorer}."))
        return replace(
            self,
            higher_is_better=scale.higher_is_better,
            bounds=scale.bounds,
            scale=None,
        )

    def as_share(self) -> "SummaryContext":
        """Return a copy for a metric that is a share: from 0 to 1, higher is better."""
        return replace(
            self,
            higher_is_better=True,
            bounds=(0.0, 1.0),
            scale=None,
        )

"""Protocols: the five things people write, as the core sees them once they are adapted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from .abilities import Abilities
from .meter import Meter
from .output import Output
from .record import Result, ScoreRecord
from .request import Prompt, Request
from .sample import BadSample, Sample
from .score import Score


class Dataset(Protocol):
    """An iterable of samples that can be read more than once; rows that cannot be used come as `BadSample`."""

    def __iter__(self) -> Iterator[Sample | BadSample]: ...


class Template(Protocol):
    """Builds the prompt of one sample."""

    def __call__(self, sample: Sample) -> Prompt: ...


@runtime_checkable
class Model(Protocol):
    """A place prompts go and outputs come from.

    `generate` may be `async`; it is then asked one request at a time, many at once. Optional further members:
    `likelihood(requests)`, `prompt(sample, prompt) -> Prompt`, `batch_size`, `concurrency`, `close()`; and those of
    `Reporting`, `SizedByMemory`, `OnDevice` and `AnswersById`.
    """

    @property
    def abilities(self) -> Abilities: ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes this model this model: weights digest, revision, endpoint. Part of every request key."""
        ...

    def generate(self, requests: Sequence[Request]) -> Any: ...


@runtime_checkable
class Reporting(Protocol):
    """A model that says how far it is inside a batch."""

    def report_to(self, meter: Meter) -> None:
        """From now on adds to `ended` and `tokens` of this meter."""
        ...


@runtime_checkable
class SizedByMemory(Protocol):
    """A local model that can find out how much fits into its device's memory."""

    def fit_memory(self) -> str:
        """Sets how many answers are written at once, and `batch_size`, by the memory that is free once the weights are
        loaded; what was chosen, in words. Never changes an answer."""
        ...


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
        ...

    def hints_of(self, id: str, epoch: int, round: int) -> Mapping[str, Any]:
        """What the answer to one request hangs on beside its prompt: part of its key, and of what is asked."""
        ...

    def ids(self) -> Mapping[str, int]:
        """The ids it knows, and how many answers it has for each."""
        ...


class Scorer(Protocol):
    """Judges one output; may be `async`. Options are its fields.

    Optional members: `many(pairs)` for device batches, `score_all(table, models)` for set-level evaluation,
    `needs` (roles of helper models), `requires` (libraries, as `Requirement`s), `reads` (what it cannot do without:
    `text`, `image`, `audio`, `video`, `answer`, `likelihood`, `logprobs`, `target`), `higher_is_better`, `bounds`.
    """

    def __call__(self, sample: Sample, output: Output) -> Score: ...


class Summarizer(Protocol):
    """Makes the numbers of one scorer on one task from its score records."""

    def __call__(self, records: Sequence[ScoreRecord], context: "SummaryContext") -> Iterable[Result]: ...


class SummaryContext(Protocol):
    """What a summarizer may know beside the records."""

    @property
    def task(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def scorer(self) -> str: ...
    @property
    def n_expected(self) -> int | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def bounds(self) -> tuple[float, float] | None: ...
    @property
    def options(self) -> Mapping[str, Any]: ...

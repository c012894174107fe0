"""Run tasks of a library: send their requests through the recording engine, and use the library's scoring.

The run calls a `TaskDriver`, which takes these steps for a task or a group:

    _choose_documents    the documents of the samples that the run selected
    ask                  all requests are answered; the answers are put into the library's instances
    _score_documents     for each task: the library filters the answers, and computes the metrics of each document
    _write_samples       the library's own sample log, if the user asked for it
    _records             a score record for each document and metric, for the journal
    Summary.results      the library aggregates each metric to one number
"""

import functools
import importlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ...core import (
    AssayError,
    BadSample,
    Outcome,
    Output,
    Sample,
    ScoreRecord,
    ScorerError,
)
from ...core.errors import blamed, shorten
from ...runner.flow.drivers import Driven, RecordingEngine
from ...runner.scoring.scoring import failure_score
from .loaded import (
    SUBTASK,
    Document,
    Loaded,
    LoadedTask,
    TaskReference,
    plain_value,
    target_text,
)
from .random_state import RandomState
from .task_results import (
    NO_FILTER,
    Collected,
    Summary,
    as_number,
    group_results,
    is_finite,
    label_of,
)
from .task_settings import TaskSettings

SCORED_AT_ONCE = 16
"""Number of documents to score before other coroutines get a turn."""


class ChosenDocument(NamedTuple):
    """A document selected by a run, with the index of its sample."""

    order: int
    """Index of the document's sample in the run."""
    document: Document


Chosen = Sequence[ChosenDocument]


class Verdict(NamedTuple):
    """The outcome of a document, and the reason if it was not scored."""

    outcome: Outcome
    fault: str = ""


@dataclass(frozen=True)
class TaskPart(ABC):
    """Base of the three parts of a library's task in assay: rows, template and driver."""

    reference: TaskReference
    settings: TaskSettings

    @abstractmethod
    def documents(self) -> "Documents":
        """Return the documents of the task."""


@dataclass(frozen=True)
class TaskRows(TaskPart):
    """Reads the documents of a task as samples. They are built when they are first read."""

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return self.reference.where

    def __call__(self) -> list[Sample]:
        documents = self.documents()
        return [documents.sample(document) for document in documents]


@dataclass(frozen=True)
class FirstPrompt(TaskPart):
    """Base class of both libraries' templates, which return the first prompt of a document."""

    is_whole = True
    """True: the prompt already contains its system prompt and its examples."""


class Documents(ABC):
    """The documents of a loaded task or group."""

    def __init__(self, loaded: Loaded, settings: TaskSettings) -> None:
        self.loaded = loaded
        self.settings = settings

    @abstractmethod
    def __iter__(self) -> Iterator[Document]:
        """Yield all documents."""

    @abstractmethod
    def __getitem__(self, id: str) -> Document:
        """Return the document for the id of a sample."""

    @abstractmethod
    def of_task(self, subtask: LoadedTask) -> Iterator[Document]:
        """Yield the documents of one task in the group."""

    @abstractmethod
    def question_of(self, document: Document) -> str:
        """Return the text of a document's question, for display."""

    def id_of(self, subtask: LoadedTask, number: int) -> str:
        """Return the id of a document: its index in the data. In a group, the name of its task comes first."""
        if self.loaded.group is None:
            return str(number)
        return f"{subtask.name}/{number}"

    def in_turns(self) -> Iterator[Document]:
        """Yield one document of each task in turn, so that the first samples of a group cover all its tasks."""
        waiting = [self.of_task(entry) for entry in self.loaded.tasks.values()]
        while waiting:
            for documents in list(waiting):
                following = next(documents, None)
                if following is None:
                    waiting.remove(documents)
                else:
                    yield following

    def sample(self, document: Document) -> Sample:
        """Convert a document to a sample."""
        is_group = self.loaded.group is not None
        row = document.row
        if isinstance(row, Mapping):
            fields = dict(row)
        else:
            fields = {"document": str(row)}
        return Sample(
            document.id,
            input=self.question_of(document),
            target=target_text(document),
            fields={name: plain_value(value) for name, value in fields.items()},
            tags={SUBTASK: document.subtask.name} if is_group else {},
        )


@dataclass(frozen=True)
class TaskDriver(TaskPart):
    """Sends all requests of a task or a group to the model, and scores the answers with the library."""

    digest: str
    """Digest of the tasks and the library's version. If it changes, stored answers and scores are not reused."""

    def __call__(self, recording: RecordingEngine) -> Driven:
        """Send all requests to the model, score the answers, and return the results."""
        chosen = self._choose_documents(recording)
        failures = self.ask(recording, chosen)
        with self.reading(recording):
            results = self._results(recording, chosen, failures)
        return Driven(
            results=results,
            n=len(chosen),
            n_expected=len(chosen),
        )

    def _choose_documents(self, recording: RecordingEngine) -> Chosen:
        """Return the documents that the run selected, each with its index in the run.

        Documents that cannot be built are recorded as errors.
        """
        documents = self.documents()
        chosen = []
        for order, item in enumerate(recording.planned.view()):
            if isinstance(item, BadSample):
                recording.count_bad(item.id, str(item.error), order)
            else:
                chosen.append(ChosenDocument(order, documents[item.id]))
        return chosen

    @abstractmethod
    def ask(self, recording: RecordingEngine, chosen: Chosen) -> dict[str, Output]:
        """Send every request to the model, and store the answers in the library's instances.

        Return the failed outputs by document id.
        """

    def reading(self, recording: RecordingEngine) -> AbstractContextManager[None]:
        """Return the context manager for filtering and scoring answers. A subclass may override it."""
        return nullcontext()

    def _results(
        self,
        recording: RecordingEngine,
        chosen: Chosen,
        failures: dict[str, Output],
    ) -> list[Any]:
        """Score the answers, and return the results of the task, or of the group and its tasks."""
        loaded = self.documents().loaded
        state = _state_for_metrics(chosen)
        outcomes: Counter[str] = Counter()
        results = {}
        for name, subtask in loaded.tasks.items():
            of_task = [entry for entry in chosen if entry.document.subtask is subtask]
            if not of_task:
                continue
            documents = [entry.document for entry in of_task]
            answered = [entry for entry in documents if entry.id not in failures]
            broken = self._score_documents(recording, subtask, answered, state)
            scored = [entry for entry in answered if entry.id not in broken]
            self._write_samples(recording, subtask, scored)

            verdicts = [_verdict(entry, failures, broken) for entry in documents]
            counts = Counter(verdict.outcome.value for verdict in verdicts)
            outcomes.update(counts)
            collected = self._collect(subtask, answered)
            for metric in collected:
                metric.records = self._records(recording, metric, of_task, verdicts)
            summary = self._summary(recording, len(of_task), counts)
            with state.active():  # some aggregations draw random numbers
                results[name] = summary.results(subtask, collected)

        if loaded.group is None:
            return list(chain.from_iterable(results.values()))
        whole = self._summary(recording, len(chosen), outcomes)
        return group_results(loaded, results, whole)

    def _score_documents(
        self,
        recording: RecordingEngine,
        subtask: LoadedTask,
        answered: Sequence[Document],
        state: RandomState,
    ) -> dict[str, str]:
        """Filter and score the answers of a task. Each document gets its `metrics`.

        Return the reason for each document that could not be scored, by id.
        """
        where = f"task {self.reference.library}/{subtask.name}"
        try:
            recording.call_on_loop(lambda: self.prepare_answers(subtask, answered))
        except Exception as error:
            raise blamed(ScorerError, error, where) from error
        broken: dict[str, str] = {}

        def score(documents: Sequence[Document]) -> None:
            with state.active():
                for document in documents:
                    self._score(subtask, document, broken, where)

        for start in range(0, len(answered), SCORED_AT_ONCE):
            chunk = answered[start : start + SCORED_AT_ONCE]
            # Metrics of some tasks set alarms, which only work on the main thread.
            recording.call_on_loop(functools.partial(score, chunk))
        return broken

    def _score(
        self,
        subtask: LoadedTask,
        document: Document,
        broken: dict[str, str],
        where: str,
    ) -> None:
        """Compute the metrics of one document with the library. If that fails, add the reason to `broken`."""
        document.metrics = []
        try:
            for filter_name in document.instances[0].filtered_resps:
                computed = self.results_of_document(subtask, document, filter_name)
                for metric, value in computed.items():
                    document.metrics.append((metric, filter_name, value))
        except ScorerError as error:
            document.metrics = []
            broken[document.id] = str(error)
        except AssayError:
            raise
        except Exception as error:  # noqa: BLE001 - a task's own code: it fails for this document alone
            document.metrics = []
            broken[document.id] = str(blamed(ScorerError, error, where, document.id))

    def prepare_answers(
        self,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> None:
        """Apply the task's filters to the answers of these documents."""
        instances = [entry for document in documents for entry in document.instances]
        subtask.task._instances = instances
        if instances:
            subtask.task.apply_filters()

    def results_of_document(
        self,
        subtask: LoadedTask,
        document: Document,
        filter_name: str,
    ) -> Mapping[Any, Any]:
        """Return the metrics of a document, which the library computes from the answers after one filter."""
        requests = sorted(document.instances, key=lambda instance: instance.idx)
        answers = [request.filtered_resps[filter_name] for request in requests]
        computed: Mapping[Any, Any]
        computed = subtask.task.process_results(document.row, answers)
        return computed

    def _write_samples(
        self,
        recording: RecordingEngine,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> None:
        """Write the library's sample log `samples_TASK.jsonl`, if the run has the option `--log_samples`."""
        if not recording.options.log_samples:
            return
        utils = importlib.import_module(f"{self.reference.library}.utils")
        folder = recording.asking.writer.journal.path.parent
        file = folder / f"samples_{subtask.name.replace('/', '__')}.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for sample in self.logged_samples(subtask, documents):
                line = json.dumps(
                    sample,
                    default=utils.handle_non_serializable,
                    ensure_ascii=False,
                )
                out.write(f"{line}\n")

    @abstractmethod
    def logged_samples(
        self,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the lines of the library's own sample log, all documents for one filter, then for the next."""

    def _collect(
        self,
        subtask: LoadedTask,
        answered: Sequence[Document],
    ) -> list[Collected]:
        """Collect the documents' values of each metric and filter. Only answered documents are included."""
        by_label: dict[str, Collected] = {}
        for document in answered:
            for metric, filter_name, value in document.metrics:
                if not self.is_reported(subtask, metric):
                    continue
                label = label_of(metric, filter_name)
                entry = by_label.setdefault(label, Collected(metric, label))
                entry.items[document.id] = value
        if not by_label:
            # A task without metrics, or without answers, also gets a row.
            declared = next(iter(subtask.task.aggregation()), self.reference.library)
            by_label[str(declared)] = Collected(str(declared), str(declared))
        return list(by_label.values())

    def is_reported(self, subtask: LoadedTask, metric: object) -> bool:
        """Return True if a metric appears in the results."""
        return True

    def _records(
        self,
        recording: RecordingEngine,
        collected: Collected,
        chosen: Chosen,
        verdicts: Sequence[Verdict],
    ) -> list[ScoreRecord]:
        """Return score records with the metric's value for each document."""
        is_group = self.documents().loaded.group is not None
        planned = recording.planned
        records = []
        for (order, document), verdict in zip(chosen, verdicts, strict=True):
            item = collected.items.get(document.id)
            number = self.number_of(document.subtask, item)
            values = {collected.label: number} if is_finite(number) else {}
            details: dict[str, Any] = {}
            if verdict.fault:
                details["error"] = verdict.fault
            if item is not None and number is None:
                details["item"] = shorten(item)
            record = ScoreRecord(
                planned.task.name,
                planned.model_name,
                document.id,
                collected.label,
                self.digest,
                values,
                verdict.outcome.value,
                answer=_answer_of(document, collected.label),
                details=details,
                tags={SUBTASK: document.subtask.name} if is_group else {},
                order=order,
            )
            records.append(recording.write_score(record))
        return records

    def number_of(self, subtask: LoadedTask, item: object) -> float | None:
        """Return a document's value of a metric as a number for the journal; None if it is a structure."""
        return as_number(item)

    def _summary(
        self,
        recording: RecordingEngine,
        expected: int,
        outcomes: Mapping[str, int],
    ) -> Summary:
        planned = recording.planned
        return Summary(
            planned.task.name,
            planned.model_name,
            planned.task.protocol,
            expected,
            outcomes,
            self.reference.library,
        )


def _state_for_metrics(chosen: Chosen) -> RandomState:
    """Return the state of the random generators after the last document's requests were built.

    Random numbers in the metrics continue from this state.
    """
    state = chosen[-1].document.random_state if chosen else None
    return RandomState() if state is None else state.copy()


def _verdict(
    document: Document,
    failures: Mapping[str, Output],
    broken: Mapping[str, str],
) -> Verdict:
    """Return the outcome of a document, and the reason if it was not scored."""
    if document.id in failures:
        error = failures[document.id].error
        if error is None:
            return Verdict(Outcome.MODEL_ERROR)
        return Verdict(failure_score(error).outcome, error.message)
    if document.id in broken:
        return Verdict(Outcome.JUDGE_ERROR, broken[document.id])
    return Verdict(Outcome.SCORED)


def _answer_of(document: Document, label: str) -> str | None:
    """Return the generated answer after the filter in `label`, for the journal; None if it is not a string."""
    if not document.instances:
        return None
    _, _, filter_name = label.partition(",")
    filtered = document.instances[0].filtered_resps or {}
    answer = filtered.get(filter_name or NO_FILTER)
    return answer if isinstance(answer, str) else None

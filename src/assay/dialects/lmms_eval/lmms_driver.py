"""Make a task of assay from a task of lmms-eval.

The task's driver sends the requests to the recording engine, and lets lmms-eval score
the answers.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...core import AssayError, ErrorInfo, Output, Prompt, Sample, Task
from ...runner.flow.drivers import RecordingEngine
from ...runner.options import RunOptions
from ..harness.loaded import Document, LoadedTask, TaskReference
from ..harness.task_driver import Chosen, FirstPrompt, TaskDriver, TaskPart, TaskRows
from ..harness.task_references import (
    common_options,
    described_task,
    plan_tasks,
    run_digest,
)
from ..harness.task_results import as_number
from ..harness.task_settings import TaskSettings
from ..kits.judging import JudgePool
from . import lmms_package
from .claims import LIBRARY
from .judge_clients import RunJudge, judged_by
from .lmms_documents import (
    AGENTIC,
    ROUNDS,
    LmmsDocuments,
    compares_likelihoods,
    documents_of,
    forget_media,
    generation_options,
)
from .lmms_loading import load
from .lmms_messages import messages_of

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

ASKED_AT_ONCE = 64
"""Number of documents that are sent to the model in one batch, and have their media in memory."""
MOST_ROUNDS = 100
"""Maximum number of rounds of one document, because some tasks never end otherwise."""
AGENTS = 8
"""Number of documents of agentic tasks that run in parallel."""
REASONING_TAGS = '[["<think>", "</think>"], ["<analysis>", "</analysis>"]]'
"""Start and end tags of reasoning that lmms-eval removes from answers, unless a task sets others."""


class _LmmsPart(TaskPart):
    def documents(self) -> LmmsDocuments:
        """Return the documents of the task."""
        return documents_of(self.reference, self.settings)


@dataclass(frozen=True)
class LmmsRows(_LmmsPart, TaskRows):
    """Reads the documents of a task as samples, without their media."""


@dataclass(frozen=True)
class LmmsTemplate(_LmmsPart, FirstPrompt):
    """Returns the first prompt of a document, exactly as the model receives it."""

    def __call__(self, sample: Sample) -> Prompt:
        documents = self.documents()
        return documents.first_prompt(documents[sample.id])


@dataclass(frozen=True)
class LmmsDriver(_LmmsPart, TaskDriver):
    """Sends all requests of a task or a group to the model, and scores the answers with lmms-eval."""

    def ask(self, recording: RecordingEngine, chosen: Chosen) -> dict[str, Output]:
        """Send every request to the model, a few documents at a time.

        Return the failed outputs by document id.
        """
        recording.expect(len(chosen))
        asking = _Asking(recording, self.documents())
        waiting = iter([document for _, document in chosen])
        while chunk := list(islice(waiting, ASKED_AT_ONCE)):
            asking.ask(chunk)
        return asking.failures

    @contextmanager
    def reading(self, recording: RecordingEngine) -> Iterator[None]:
        """Use the run's judge inside the block for all calls that tasks make to judges."""
        options = recording.options
        name = options.judges.get("judge")
        if name is None:
            settings = {}
        else:
            settings = {name: options.judge_args_of("judge")}
        task = recording.planned.task.name
        judge_pool = JudgePool(
            recording.asking.writer, task, options.concurrency, settings
        )
        judge = RunJudge(name, judge_pool)
        folder = recording.asking.writer.journal.path.parent
        _pass_arguments(self.documents(), str(folder))
        with closing(judge_pool), judged_by(judge):
            self._judge_now.append(judge)
            try:
                yield
                judge.raise_failure()
            finally:
                self._judge_now.remove(judge)

    @functools.cached_property
    def _judge_now(self) -> list[RunJudge]:
        return []

    def is_reported(self, subtask: LoadedTask, metric: object) -> bool:
        """Return True for a metric that the task aggregates. Other metrics do not appear in the results."""
        return metric in subtask.task.aggregation()

    def number_of(self, subtask: LoadedTask, item: object) -> float | None:
        """Return a document's value of a metric as a number.

        A dictionary of values gives the one under the task's `score_key`.
        """
        if isinstance(item, Mapping):
            item = item.get(subtask.task.config.score_key)
        return as_number(item)

    def prepare_answers(
        self,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> None:
        """Apply the task's filters to the answers of these documents."""
        if subtask.task.config.auto_strip_thinking and _reasoning_tags(subtask) is None:
            strip_thinking = lmms_package.module(
                "filters.transformation"
            ).StripThinkingFilter
            for ensemble in subtask.task._filters:
                first = ensemble.filters[:1]
                if not isinstance(next(iter(first), None), strip_thinking):
                    ensemble.filters.insert(0, strip_thinking())
        super().prepare_answers(subtask, documents)

    def results_of_document(
        self,
        subtask: LoadedTask,
        document: Document,
        filter_name: str,
    ) -> Mapping[Any, Any]:
        """Return the metrics of a document, which lmms-eval computes from the answers after one filter."""
        processed = lmms_package.module("evaluator")._process_document_results(
            (document.number, document.row, document.instances),
            task=subtask.task,
            filter_key=filter_name,
            reasoning_tags=_reasoning_tags(subtask),
            log_samples=True,
        )
        for judge in self._judge_now:
            judge.raise_failure()
        document.logged.append(processed.logged_sample)
        metrics: Mapping[Any, Any] = processed.metrics
        return metrics

    def logged_samples(
        self,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the lines of lmms-eval's sample log, which were written while documents were scored."""
        filters = max((len(document.logged) for document in documents), default=0)
        for number in range(filters):
            for document in documents:
                yield document.logged[number]


class _Asking:
    """Sends the requests of documents to the model, and stores the answers in lmms-eval's instances."""

    def __init__(self, recording: RecordingEngine, documents: LmmsDocuments) -> None:
        self._recording = recording
        self._documents = documents
        self.failures: dict[str, Output] = {}

    def ask(self, chunk: Sequence[Document]) -> None:
        """Build the requests of these documents, send them to the model, and store the answers in the documents."""
        built = [document for document in chunk if self._try_to_build(document)]
        by_kind: dict[str, list[Document]] = {}
        for document in built:
            by_kind.setdefault(document.instances[0].request_type, []).append(document)
        for kind, documents in by_kind.items():
            if kind == AGENTIC:
                self._ask_agents(documents)
            elif kind == ROUNDS:
                self._ask_rounds(documents)
            else:
                self._ask_questions(documents)
        for document in built:
            forget_media(document)

    def _try_to_build(self, document: Document) -> bool:
        """Build the requests of a document. Return False, and record the error, if that fails."""
        document.logged = []
        try:
            self._documents.build(document)
        except AssayError as error:
            self.failures[document.id] = Output(error=ErrorInfo("data", str(error)))
            return False
        return True

    def _ask_questions(self, documents: Sequence[Document]) -> None:
        pairs = []
        for document in documents:
            for question in document.questions:
                is_weighed = question.prompt.continuations is not None
                if is_weighed:
                    repeats = 1
                else:
                    repeats = document.instances[0].repeats or 1
                pairs += [(document, question)] * repeats
        prompts = [(document.id, question.prompt) for document, question in pairs]
        outputs = self._generate(prompts)
        for (document, question), output in zip(pairs, outputs, strict=True):
            if output is None:
                continue
            answers = question.answers(output)
            for position, answer in zip(question.requests, answers, strict=True):
                _add_answer(document.instances[position], answer)

    def _generate(self, prompts: Sequence[tuple[str, Prompt]]) -> list[Output | None]:
        """Return the model's answers in the order of the prompts; None for a failed request."""
        names = [name for name, _ in prompts]
        texts = [prompt for _, prompt in prompts]
        outputs = self._recording.generate(texts, ids=names)
        answers: list[Output | None] = []
        for name, output in zip(names, outputs, strict=True):
            if output.error is None:
                answers.append(output)
                continue
            self.failures.setdefault(name, output)
            answers.append(None)
        return answers

    def _ask_rounds(self, documents: Sequence[Document]) -> None:
        """Ask the questions of documents in rounds: after each answer, the task returns the next question or ends."""
        for document in documents:
            for _ in range(document.instances[0].repeats or 1):
                self._ask_dialogue(document)

    def _ask_dialogue(self, document: Document) -> None:
        task = document.subtask.task
        row = self._documents.row_with_media(document)
        options = self._documents.options(document)
        prompt = document.questions[0].prompt
        answers: list[str] = []
        info: Any = None
        for number in range(1, MOST_ROUNDS + 1):
            [output] = self._generate([(document.id, prompt)])
            if output is None:
                return
            answers.append(output.candidates[0].text if output.candidates else "")
            with self._documents.loaded.random_state.active():
                following = task.doc_to_messages(
                    row,
                    round_idx=number,
                    previous_output=list(answers),
                    previous_round_info=info,
                )
            if not (isinstance(following, tuple) and len(following) == 4):
                break
            turns, is_last, _, info = following
            if is_last:
                break
            prompt = self._documents.with_system(messages_of(turns), options)
        _add_answer(document.instances[0], answers)

    def _ask_agents(self, documents: Sequence[Document]) -> None:
        """Run lmms-eval's own agent loop for each document, several in parallel."""
        evaluator = lmms_package.module("evaluator")

        def run(document: Document) -> None:
            model = _AgentModel(self, document)
            request = document.instances[0]
            for _ in range(request.repeats or 1):
                answers = evaluator._run_generate_until_agentic(model, [request])
                if document.id not in self.failures:
                    _add_answer(request, answers[0])

        with ThreadPoolExecutor(AGENTS) as threads:
            for _ in threads.map(run, documents):
                pass


class _AgentModel:
    """The object that lmms-eval's agent loop uses as its model. It calls the run's model for one document."""

    is_simple = False

    def __init__(self, asking: _Asking, document: Document) -> None:
        self._asking = asking
        self._document = document
        documents = asking._documents
        self._options = documents.options(document)
        self._row = documents.row_with_media(document)

        rows = {document.number: self._row}
        split = document.instances[0].args[-1]
        task = document.subtask.task.config.task
        self.task_dict = {task: {split: rows}}

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Return the answer to one step of the agent loop."""
        [request] = requests
        turns = request.args[1](self._row)
        messages = messages_of(turns)
        prompt = self._asking._documents.with_system(messages, self._options)
        [output] = self._asking._generate([(self._document.id, prompt)])
        if output is None or not output.candidates:
            return [""]
        return [output.candidates[0].text]


def _add_answer(instance: "Instance", answer: object) -> None:
    instance.resps.append(answer)
    instance.token_counts.append(None)


def _reasoning_tags(subtask: LoadedTask) -> list[list[str]] | None:
    """Return the start and end tags of the reasoning to remove from answers; None if nothing is removed."""
    parse = lmms_package.module("api.reasoning").parse_reasoning_tags_config
    tags: list[list[str]] | None = parse(
        REASONING_TAGS, subtask.task.config.reasoning_tags
    )
    return tags


def _pass_arguments(documents: LmmsDocuments, folder: str) -> None:
    """Set the command-line options of lmms-eval that tasks read, and turn off the tasks' retries.

    Some aggregations write a submission file below the output folder `folder`.
    """
    for name, subtask in documents.loaded.tasks.items():
        task = subtask.task
        arguments = lmms_package.command_line_defaults()
        arguments.tasks, arguments.output_path = name, folder
        arguments.log_samples = True
        task.args = arguments
        process = type(task).process_results
        # Retrying after a pause does not help if a task's own code fails.
        plain = getattr(process, "__wrapped__", process)
        task.process_results = functools.partial(plain, task)
        for metric, aggregate in task.aggregation().items():
            if "args" in _parameters(aggregate):
                with_arguments = functools.partial(aggregate, args=arguments)
                functools.update_wrapper(with_arguments, aggregate)
                task.aggregation()[metric] = with_arguments


def _parameters(function: Callable[..., object]) -> Mapping[str, object]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def tasks_of(text: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks for a name such as `lmms_eval/mme`, or for a YAML file."""
    return plan_tasks(text, run, LIBRARY, _task, chat=True)


def _task(
    reference: TaskReference,
    settings: TaskSettings,
    run: RunOptions,
) -> Task:
    loaded = load(reference, settings)
    weighs = any(compares_likelihoods(entry.task) for entry in loaded.tasks.values())
    task = Task(
        name=f"lmms_eval/{reference.name}",
        dataset=LmmsRows(reference, settings),
        template=LmmsTemplate(reference, settings),
        driver=LmmsDriver(reference, settings, run_digest(loaded, settings, LIBRARY)),
        needs=frozenset({"likelihood"} if weighs else ()),
        options=common_options(loaded, generation_options),
    )
    return described_task(task, loaded, settings, run, LIBRARY)

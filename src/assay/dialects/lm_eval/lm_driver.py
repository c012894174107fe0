"""Make a task of assay from an lm-eval task.

The task's driver sends the requests to the recording engine, and lets lm-eval score the
answers.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Output, Prompt, Sample, Task
from ...runner.flow.drivers import RecordingEngine
from ...runner.options import RunOptions
from ..harness.loaded import Document, LibraryTask, LoadedTask, TaskReference
from ..harness.questions import Question
from ..harness.task_driver import Chosen, FirstPrompt, TaskDriver, TaskPart, TaskRows
from ..harness.task_references import (
    common_options,
    described_task,
    plan_tasks,
    run_digest,
)
from ..harness.task_settings import TaskSettings, options_of
from . import lm_eval_package as package
from .claims import LIBRARY
from .lm_documents import LmDocuments, documents_of
from .task_loading import load


class _LmPart(TaskPart):
    def documents(self) -> LmDocuments:
        """Return the documents of the task."""
        return documents_of(self.reference, self.settings)


@dataclass(frozen=True)
class LmRows(_LmPart, TaskRows):
    """Reads the documents of a task as samples. They are built when they are first read."""


@dataclass(frozen=True)
class LmTemplate(_LmPart, FirstPrompt):
    """Returns the first prompt of a document, exactly as the model receives it."""

    def __call__(self, sample: Sample) -> Prompt:
        document = self.documents()[sample.id]
        return document.questions[0].prompt


@dataclass(frozen=True)
class LmDriver(_LmPart, TaskDriver):
    """Sends all requests of a task or a group to the model, and scores the answers with lm-eval."""

    def ask(
        self,
        recording: RecordingEngine,
        chosen: Chosen,
    ) -> dict[str, Output]:
        """Send every request to the model, and store the answers in lm-eval's instances.

        Return the failed outputs by document id.
        """
        pairs: list[tuple[Document, Question]] = []
        for _, document in chosen:
            for instance in document.instances:
                instance.resps = []
                instance.filtered_resps = {}
            for question in document.questions:
                instance = document.instances[question.requests[0]]
                is_weighed = question.prompt.continuations is not None
                if is_weighed:
                    repeats = 1
                else:
                    repeats = instance.repeats or 1
                pairs += [(document, question)] * repeats
        recording.expect(len(pairs))
        outputs = recording.generate(
            [question.prompt for _, question in pairs],
            ids=[document.id for document, _ in pairs],
        )
        failures: dict[str, Output] = {}
        for (document, question), output in zip(pairs, outputs, strict=True):
            if output.error is not None:
                failures.setdefault(document.id, output)
            else:
                _put_answers(document, question, output)
        return failures

    def logged_samples(
        self,
        subtask: LoadedTask,
        documents: Sequence[Document],
    ) -> Iterator[dict[str, Any]]:
        """Yield the lines of lm-eval's sample log for some documents of a task."""
        if not documents:
            return
        is_multimodal = getattr(subtask.task, "MULTIMODAL", False)
        for filter_name in documents[0].instances[0].filtered_resps:
            for document in documents:
                sample = _logged_sample(subtask.task, document, filter_name)
                if is_multimodal:
                    sample = package.module("utils").hash_dict_images(sample)
                yield sample


def _put_answers(
    document: Document,
    question: Question,
    output: Output,
) -> None:
    answers = question.answers(output)
    for position, answer in zip(question.requests, answers, strict=True):
        instance = document.instances[position]
        is_weighed = question.prompt.continuations is not None
        if is_weighed:
            repeats = instance.repeats or 1
        else:
            repeats = 1
        instance.resps.extend([answer] * repeats)


def _logged_sample(
    task: LibraryTask,
    document: Document,
    filter_name: str,
) -> dict[str, Any]:
    """Return the line of lm-eval's sample log for one document and one filter."""
    utils = package.module("utils")
    requests = sorted(document.instances, key=lambda instance: instance.idx)
    target = task.doc_to_target(document.row)
    metrics = {
        metric: value for metric, name, value in document.metrics if name == filter_name
    }
    row_text = json.dumps(
        requests[0].doc,
        indent=2,
        default=utils.handle_non_serializable,
        ensure_ascii=False,
    )
    arguments = {}
    for number, request in enumerate(requests):
        parts = {f"arg_{n}": part for n, part in enumerate(request.args)}
        arguments[f"gen_args_{number}"] = parts
    filtered = [request.filtered_resps[filter_name] for request in requests]
    return {
        "doc_id": document.number,
        "doc": document.row,
        "target": str(target),
        "arguments": arguments,
        "resps": utils.sanitize_list([request.resps for request in requests]),
        "filtered_resps": utils.sanitize_list(filtered),
        "filter": filter_name,
        "metrics": list(metrics),
        "doc_hash": utils.hash_string(row_text),
        "prompt_hash": utils.hash_string(requests[0].arguments[0]),
        "target_hash": utils.hash_string(str(target)),
        **metrics,
    }


LIKELIHOODS = frozenset({"loglikelihood", "loglikelihood_rolling", "multiple_choice"})


def tasks_of(
    text: str,
    run: RunOptions,
) -> Sequence[Task]:
    """Return the tasks for a name such as `lm_eval/gsm8k`, or for a YAML file."""
    return plan_tasks(text, run, LIBRARY, _task)


def _task(
    reference: TaskReference,
    settings: TaskSettings,
    run: RunOptions,
) -> Task:
    loaded = load(reference, settings)
    kinds = {entry.task.OUTPUT_TYPE for entry in loaded.tasks.values()}
    task = Task(
        name=f"lm_eval/{reference.name}",
        dataset=LmRows(reference, settings),
        template=LmTemplate(reference, settings),
        driver=LmDriver(reference, settings, run_digest(loaded, settings, LIBRARY)),
        needs=frozenset({"likelihood"} if kinds & LIKELIHOODS else ()),
        options=common_options(loaded, options_of),
    )
    return described_task(task, loaded, settings, run, LIBRARY)

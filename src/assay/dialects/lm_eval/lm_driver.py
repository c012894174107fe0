"""Run an lm-eval task: ask its requests through the recording engine, and let lm-eval score the answers."""

from dataclasses import dataclass

from ...core import Output, Prompt, Sample
from ...runner.flow.drivers import RecordingEngine
from ..harness.loaded import Document, LoadedTask
from ..harness.questions import Question
from ..harness.task_driver import Chosen, FirstPrompt, TaskDriver, TaskRows
from .lm_documents import LmDocuments, documents_of
from .lm_samples import write_samples


@dataclass(frozen=True)
class LmRows(TaskRows):
    """Reads the documents of a task as samples. They are built when they are first read."""

    def documents(self) -> LmDocuments:
        """Return the documents of the task."""
        return documents_of(self.reference, self.settings)


@dataclass(frozen=True)
class LmTemplate(FirstPrompt):
    """The first prompt of a document, exactly as the model receives it."""

    def __call__(self, sample: Sample) -> Prompt:
        document = documents_of(self.reference, self.settings)[sample.id]
        return document.questions[0].prompt


@dataclass(frozen=True)
class LmDriver(TaskDriver):
    """Asks all requests of a task or a group, and returns the rows of its results."""

    def documents(self) -> LmDocuments:
        """Return the documents of the task."""
        return documents_of(self.reference, self.settings)

    def ask(self, recording: RecordingEngine, chosen: Chosen) -> dict[str, Output]:
        """Ask every request, put the answers into lm-eval's instances, and return the first failure by document."""
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

    def write_samples(
        self,
        recording: RecordingEngine,
        subtask: LoadedTask,
        answered: list[Document],
    ) -> None:
        """Write the samples in lm-eval's log format."""
        folder = recording.asking.writer.journal.path.parent
        write_samples(folder, subtask, answered)


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

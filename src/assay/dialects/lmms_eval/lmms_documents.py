"""Convert the documents of a loaded task or group to samples. A document's requests are built just before use.

Media are large, so a document keeps its prompt only until the model has answered.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ...core import GenerateOptions, Message, Output, Prompt, Text
from ..harness.loaded import (
    Document,
    LibraryTask,
    Loaded,
    LoadedTask,
    TaskReference,
    row_fault,
)
from ..harness.questions import Question
from ..harness.task_driver import Documents
from ..harness.task_settings import TaskSettings, options_of
from . import lmms_package
from .lmms_loading import MOST_KEPT, load, served_rows
from .lmms_messages import messages_of, plain_messages

DEFAULT_MAX_TOKENS = 1024
"""The token limit of an answer if a task sets none, as in lmms-eval's models for endpoints."""
OF_THE_TASK = frozenset({"image_aspect_ratio", "visual_cot", "max_agentic_steps"})
"""Generation options that are not passed to the model.

They change how lmms-eval's own models resize images, or limit the steps of a task.
"""
ROUNDS = "generate_until_multi_round"
AGENTIC = "generate_until_agentic"


class LmmsDocuments(Documents):
    """All documents of a task or group."""

    def __init__(self, loaded: Loaded, settings: TaskSettings) -> None:
        super().__init__(loaded, settings)
        self._by_id = {document.id: document for document in self.in_turns()}

    def __iter__(self) -> Iterator[Document]:
        return iter(self._by_id.values())

    def __getitem__(self, id: str) -> Document:
        return self._by_id[id]

    def of_task(self, subtask: LoadedTask) -> Iterator[Document]:
        """Yield the documents of one task. Requests are not built yet, and rows have no media yet."""
        for number, row in enumerate(subtask.task.eval_docs_no_media):
            yield Document(self.id_of(subtask, number), subtask, number, row)

    def question_of(self, document: Document) -> str:
        """Return the text in the column `question` of the document's row."""
        row = document.row
        return str(row.get("question") or "") if isinstance(row, Mapping) else ""

    def build(self, document: Document) -> None:
        """Build the requests of a document and their prompts."""
        config = document.subtask.task.config
        with (
            self.loaded.random_state.active(),
            served_rows(config, self.settings),
        ):
            try:
                document.instances = self._instances(document)
                document.questions = self._questions(document)
            except Exception as error:
                raise row_fault(error, where_of(document)) from error
        document.random_state = self.loaded.random_state

    def first_prompt(self, document: Document) -> Prompt:
        """Return the first prompt of a document, without affecting the random numbers of later documents."""
        state = self.loaded.random_state.copy()
        self.build(document)
        prompt = document.questions[0].prompt
        self.loaded.random_state.restore(state)
        forget_media(document)
        return prompt

    def row_with_media(self, document: Document) -> object:
        """Return the row of a document with its images and audio clips."""
        row: object = document.subtask.task.eval_docs[document.number]
        return row

    def options(self, document: Document) -> GenerateOptions:
        """Return the generation options of a document's task. Options of the run take precedence."""
        kwargs = dict(document.subtask.task.config.generation_kwargs or {})
        options = generation_options(kwargs, where_of(document))
        if self.settings.chat:
            # As in lmms-eval's chat models: the chat template ends an answer.
            options = options.set(stop=())
        return options.set(**dict(self.settings.generation))

    def _instances(self, document: Document) -> list[Any]:
        task = document.subtask.task
        context = task.fewshot_context(
            doc=document.row,
            num_fewshot=document.subtask.shots,
            system_instruction=None if self.settings.chat else self.settings.system,
        )
        if task.has_test_docs():
            split = task.config.test_split
        else:
            split = None
        metadata = {
            "task": task.config.task,
            "doc_id": document.number,
            "repeats": task.config.repeats or 1,
            "split": split or task.config.validation_split,
        }
        if isinstance(task.config.metadata, Mapping):
            metadata.update(task.config.metadata)
        build = task.construct_requests
        if compares_likelihoods(task):
            # Messages are for generation only.
            task_class = lmms_package.module("api.task").ConfigurableTask
            build = task_class.construct_requests.__get__(task)
        requests = build(
            doc_id=document.number,
            ctx=context,
            metadata=metadata,
        )
        if isinstance(requests, list):
            return requests
        return [requests]

    def _questions(self, document: Document) -> list[Question]:
        row = self.row_with_media(document)
        if compares_likelihoods(document.subtask.task):
            return self._likelihood_questions(document, row)
        options = self.options(document)
        messages = self._messages(document, row)
        prompt = self.with_system(messages, options)
        return [Question(prompt, (0,))]

    def with_system(
        self,
        messages: tuple[Message, ...],
        options: GenerateOptions,
    ) -> Prompt:
        """Return messages as a prompt. In a chat, the run's system prompt comes first."""
        if self.settings.chat and self.settings.system is not None:
            messages = (Message("system", (Text(self.settings.system),)), *messages)
        return Prompt(messages, options=options)

    def _messages(self, document: Document, row: object) -> tuple[Message, ...]:
        """Return the messages of a document. Unless it is a chat, this is one message with text and media."""
        task = document.subtask.task
        request = document.instances[0]
        is_chat_task = self.settings.chat and hasattr(task, "doc_to_messages")
        if is_chat_task and request.request_type != AGENTIC:
            turns = task.doc_to_messages(row)
            return messages_of(turns)
        role = "user" if self.settings.chat else ""
        visuals = task.doc_to_visual(row)
        return plain_messages(request.args[0], visuals, role)

    def _likelihood_questions(self, document: Document, row: object) -> list[Question]:
        """Return one question for each context, with all its continuations. The model scores the continuations."""
        task = document.subtask.task
        visuals = task.doc_to_visual(row)
        role = "user" if self.settings.chat else ""
        by_context: dict[str, list[int]] = {}
        for position, request in enumerate(document.instances):
            by_context.setdefault(str(request.args[0]), []).append(position)
        questions: list[Question] = []
        for context, positions in by_context.items():
            continuations = []
            for position in positions:
                ending = document.instances[position].args[1]
                if callable(ending):
                    ending = ending(row)
                # The leading space separates it from plain text; in a chat it would begin the answer.
                text = str(ending)
                continuations.append(text.lstrip() if self.settings.chat else text)
            messages = plain_messages(context, visuals, role)
            prompt = Prompt(messages, continuations=tuple(continuations))
            questions.append(LossQuestion(prompt, tuple(positions)))
        return questions


class LossQuestion(Question):
    """A context and continuations that lmms-eval compares by their loss.

    The loss is the mean negative log-likelihood per token, as in lmms-eval's own
    models.
    """

    def answers(self, output: Output) -> list[Any]:
        """Return the loss of each continuation, and whether greedy decoding would produce it."""
        return [
            (-entry.logprob / (entry.tokens or 1), entry.greedy)
            for entry in output.likelihoods
        ]


def generation_options(
    kwargs: Mapping[str, Any],
    where: str,
) -> GenerateOptions:
    """Return lmms-eval's generation options as options of assay. Raise for an option that is not supported."""
    for_model = {
        name: value
        for name, value in kwargs.items()
        if name not in OF_THE_TASK and value is not None
    }
    stops = for_model.pop("stop_sequences", None)
    if stops:
        for_model["until"] = stops
    for_model.setdefault("max_new_tokens", DEFAULT_MAX_TOKENS)
    return options_of(for_model, where)


def compares_likelihoods(task: LibraryTask) -> bool:
    """Return True for a task that compares the likelihoods of continuations."""
    return task.OUTPUT_TYPE in ("loglikelihood", "multiple_choice")


def where_of(document: Document) -> str:
    """Return the name of a document in error messages."""
    return f"task lmms_eval/{document.subtask.name}, row {document.number + 1}"


def forget_media(document: Document) -> None:
    """Delete the prompts of a document, which contain its media."""
    document.questions = []


def documents_of(reference: TaskReference, settings: TaskSettings) -> LmmsDocuments:
    """Return the documents of a task. The same object is returned until the task's file changes."""
    return _documents(reference, settings, reference.file_state())


@lru_cache(maxsize=MOST_KEPT)
def _documents(
    reference: TaskReference,
    settings: TaskSettings,
    file_state: tuple[int, ...],
) -> LmmsDocuments:
    return LmmsDocuments(load(reference, settings), settings)

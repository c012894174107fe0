"""Convert the documents of a loaded task or group to samples, and their requests to prompts.

Requests are always built in order, starting with the first document, because examples
for all documents are drawn from one random generator. A resumed or sharded run builds
the same requests, and sends only the missing ones to the model.

Continuations after one context become one prompt. A chat keeps its turns, and is
rendered with the model's own template.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from ...core import Audio, Image, Message, Part, Prompt, Text, UsageError
from ..harness.loaded import (
    Document,
    LibraryTask,
    Loaded,
    LoadedTask,
    TaskReference,
    row_fault,
)
from ..harness.questions import Question, medium_of, with_media
from ..harness.random_state import RandomState
from ..harness.task_driver import Documents
from ..harness.task_settings import TaskSettings, options_of
from ..harness.task_yaml import as_list
from .task_checks import check_gold
from .task_loading import MOST_KEPT, load


class ChatText(str):
    """lm-eval's form of a chat: a string, which here also carries the turns."""

    __slots__ = ("turns",)
    turns: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        history: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = True,
    ) -> "ChatText":
        """Create a `ChatText` from a chat history.

        `add_generation_prompt` is ignored. If the last turn is from the assistant, the
        model continues it; otherwise it starts a new answer.
        """
        text = cls(json.dumps(list(history), ensure_ascii=False))
        turns = [
            Message(str(turn["role"]), (Text(turn["content"]),)) for turn in history
        ]
        text.turns = tuple(turns)
        return text


def questions_of(
    instances: Sequence[Any],
    changes: Mapping[str, Any],
    where: str,
) -> list[Question]:
    """Convert the requests of one document to prompts. `changes` are generation options of the run."""
    questions: list[Question] = []
    by_context: dict[str, list[int]] = {}
    for position, instance in enumerate(instances):
        kind = instance.request_type
        arguments = instance.args
        if kind == "loglikelihood":
            key = _context_key(arguments)
            positions = by_context.setdefault(key, [])
            positions.append(position)
            continue
        if kind == "loglikelihood_rolling":
            messages = _messages(str(arguments[0]), ())
            prompt = Prompt(messages, rolling=True)
        elif kind == "generate_until":
            own_options = options_of(arguments[1], where)
            options = own_options.set(**changes)
            media = _media_of(arguments)
            messages = _messages(arguments[0], media)
            prompt = Prompt(messages, options=options)
        else:
            raise UsageError(
                f"requests of the type {kind!r} are not supported", where=where
            )
        question = Question(prompt, (position,))
        questions.append(question)
    for positions in by_context.values():
        question = _likelihood_question(instances, positions)
        questions.append(question)
    return sorted(questions, key=lambda question: question.requests[0])


def _likelihood_question(
    instances: Sequence[Any],
    positions: Sequence[int],
) -> Question:
    """Build one question from requests that share a context. Each request adds its continuation."""
    arguments = instances[positions[0]].args
    media = _media_of(arguments)
    messages = _messages(arguments[0], media)
    continuations = []
    for position in positions:
        _, continuation, *_ = instances[position].args
        continuations.append(str(continuation))
    prompt = Prompt(messages, continuations=tuple(continuations))
    return Question(prompt, tuple(positions))


def _context_key(arguments: Sequence[Any]) -> str:
    kind = type(arguments[0]).__name__
    return f"{kind}\0{arguments[0]}"


def _messages(
    context: object,
    media: Sequence[Part],
) -> tuple[Message, ...]:
    if isinstance(context, ChatText):
        turns = context.turns
        return with_media(turns, media) if media else turns
    message = Message("", (Text(str(context)),))
    if media:
        return with_media((message,), media)
    return (message,)


def _media_of(arguments: Sequence[Any]) -> list[Part]:
    """Return the images and audio clips that lm-eval passes in the last argument of a request."""
    last = arguments[-1]
    if not isinstance(last, Mapping):
        return []
    media: list[Part] = []
    for value in as_list(last.get("visual")):
        image = medium_of(Image, value)
        media.append(image)
    for value in as_list(last.get("audio")):
        clip = medium_of(Audio, value)
        media.append(clip)
    return media


CHUNK = 32
"""Number of documents that are built at a time."""


class LmDocuments(Documents):
    """All documents of a task or group. They are built one after another and kept in memory."""

    def __init__(self, loaded: Loaded, settings: TaskSettings) -> None:
        super().__init__(loaded, settings)
        self._built: list[Document] = []
        self._by_id: dict[str, Document] = {}
        self._rest = self._build_all()
        self._last_state: tuple[tuple[int, int], RandomState] | None = None

    def __iter__(self) -> Iterator[Document]:
        position = 0
        while True:
            if position == len(self._built):
                following = next(self._rest, None)
                if following is None:
                    return
                self._built.append(following)
                self._by_id[following.id] = following
            yield self._built[position]
            position += 1

    def __getitem__(self, id: str) -> Document:
        if id not in self._by_id:
            for document in self:
                if document.id == id:
                    break
        return self._by_id[id]

    def _build_all(self) -> Iterator[Document]:
        """Yield all documents. They are built in chunks, because switching the random generators takes time."""
        documents = self.in_turns()
        while True:
            with self.loaded.random_state.active():
                chunk = list(islice(documents, CHUNK))
            if not chunk:
                return
            yield from chunk

    def of_task(self, subtask: LoadedTask) -> Iterator[Document]:
        """Yield the documents of one task, with their requests."""
        task = subtask.task
        task.set_fewshot_seed(seed=self.settings.seed)
        for number, row in enumerate(task.eval_docs):
            document = Document(self.id_of(subtask, number), subtask, number, row)
            self._build_requests(document)
            document.random_state = self._random_state_now()
            yield document

    def _random_state_now(self) -> RandomState:
        """Return the current state of the random generators.

        The state is copied only if a random number was drawn since the last call.
        """
        position = RandomState.current_position()
        if self._last_state is None or position != self._last_state[0]:
            self._last_state = position, RandomState.current()
        return self._last_state[1]

    def _build_requests(self, document: Document) -> None:
        task, row, settings = document.subtask.task, document.row, self.settings
        where = f"task {document.subtask.name!r}, row {document.number + 1}"
        template = ChatText.of if settings.chat else None
        try:
            context = task.fewshot_context(
                row,
                num_fewshot=document.subtask.shots,
                **self._context_options(task, row, template),
            )
            requests = task.construct_requests(
                doc=row,
                ctx=context,
                metadata=(task.config["task"], document.number, task.config.repeats),
                apply_chat_template=settings.chat,
                chat_template=template,
            )
        except Exception as error:
            raise row_fault(error, where) from error
        if self.loaded.is_own:
            check_gold(task, row, where)
        document.instances = requests if isinstance(requests, list) else [requests]
        changes = dict(settings.generation)
        document.questions = questions_of(document.instances, changes, where)

    def _context_options(
        self,
        task: LibraryTask,
        row: object,
        template: Callable[..., ChatText] | None,
    ) -> dict[str, Any]:
        return {
            "system_instruction": self.settings.system,
            "apply_chat_template": self.settings.chat,
            "fewshot_as_multiturn": self.settings.multiturn,
            "chat_template": template,
            "gen_prefix": task.doc_to_prefix(row),
        }

    def question_of(self, document: Document) -> str:
        """Return the last message of the document's first prompt."""
        return document.questions[0].prompt.messages[-1].text


def documents_of(reference: TaskReference, settings: TaskSettings) -> LmDocuments:
    """Return the documents of a task. The same object is returned until the task's file changes."""
    return _documents(reference, settings, reference.file_state())


@lru_cache(maxsize=MOST_KEPT)
def _documents(
    reference: TaskReference,
    settings: TaskSettings,
    file_state: tuple[int, ...],
) -> LmDocuments:
    return LmDocuments(load(reference, settings), settings)

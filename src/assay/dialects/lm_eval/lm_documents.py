"""Convert the documents of a loaded task or group to samples, and build their requests.

Requests are always built from the first document on, because each document draws its examples after the previous one. A
resumed or sharded run builds the same requests and asks only the missing ones.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from ...core import Sample
from ..harness.loaded import (
    SUBTASK,
    Document,
    LibraryTask,
    Loaded,
    LoadedTask,
    TaskReference,
    plain_value,
    row_fault,
    target_text,
)
from ..harness.random_state import RandomState
from ..harness.task_settings import TaskSettings
from .lm_requests import ChatText, questions_of
from .task_checks import check_gold
from .task_loading import MOST_KEPT, load

CHUNK = 32
"""How many documents are built at a time."""


class LmDocuments:
    """All documents of a task or group, built one after another and kept in memory."""

    def __init__(self, loaded: Loaded, settings: TaskSettings) -> None:
        self.loaded, self.settings = loaded, settings
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
        """Yield all documents. Chunks are built at once, because switching random generators takes long."""
        documents = self._in_turns()
        while True:
            with self.loaded.random_state.active():
                chunk = list(islice(documents, CHUNK))
            if not chunk:
                return
            yield from chunk

    def _in_turns(self) -> Iterator[Document]:
        """Yield one document of each task in turn, so that the first samples of a group cover all its tasks."""
        waiting = [self._build_task(entry) for entry in self.loaded.tasks.values()]
        while waiting:
            for documents in list(waiting):
                following = next(documents, None)
                if following is None:
                    waiting.remove(documents)
                else:
                    yield following

    def _build_task(self, subtask: LoadedTask) -> Iterator[Document]:
        is_group = self.loaded.group is not None
        if is_group:
            prefix = f"{subtask.name}/"
        else:
            prefix = ""
        task = subtask.task
        task.set_fewshot_seed(seed=self.settings.seed)
        for number, row in enumerate(task.eval_docs):
            id = f"{prefix}{number}"
            document = Document(id, subtask, number, row)
            self._build_requests(document)
            document.random_state = self._random_state_now()
            yield document

    def _random_state_now(self) -> RandomState:
        """Return the state of the random generators; the same object as long as no number is drawn."""
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

    def sample(self, document: Document) -> Sample:
        """Make a sample of a document."""
        is_group = self.loaded.group is not None
        row = document.row
        if isinstance(row, Mapping):
            fields = dict(row)
        else:
            fields = {"document": str(row)}
        return Sample(
            document.id,
            input=_shown_question(document),
            target=target_text(document),
            fields={name: plain_value(value) for name, value in fields.items()},
            tags={SUBTASK: document.subtask.name} if is_group else {},
        )


_documents: dict[Any, LmDocuments] = {}


def documents_of(reference: TaskReference, settings: TaskSettings) -> LmDocuments:
    """Return the documents of a reference; the same object as long as its tasks stay loaded."""
    loaded = load(reference, settings)
    documents = _documents.get((reference, settings))
    if documents is None or documents.loaded is not loaded:
        while len(_documents) >= MOST_KEPT:
            _documents.pop(next(iter(_documents)))
        documents = _documents[reference, settings] = LmDocuments(loaded, settings)
    return documents


def _shown_question(document: Document) -> str:
    prompt = document.questions[0].prompt
    return prompt.messages[-1].text

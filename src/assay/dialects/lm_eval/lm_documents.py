"""Convert the documents of a loaded task or group to samples, and build their requests.

Requests are always built from the first document on, because each document draws its examples after the previous one. A
resumed or sharded run builds the same requests and asks only the missing ones.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from ..harness.loaded import (
    Document,
    LibraryTask,
    Loaded,
    LoadedTask,
    TaskReference,
    row_fault,
)
from ..harness.random_state import RandomState
from ..harness.task_driver import Documents
from ..harness.task_settings import TaskSettings
from .lm_requests import ChatText, questions_of
from .task_checks import check_gold
from .task_loading import MOST_KEPT, load

CHUNK = 32
"""How many documents are built at a time."""


class LmDocuments(Documents):
    """All documents of a task or group, built one after another and kept in memory."""

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
        """Yield all documents. Chunks are built at once, because switching random generators takes long."""
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

    def question_of(self, document: Document) -> str:
        """Return the last message of the first prompt."""
        return document.questions[0].prompt.messages[-1].text


def documents_of(reference: TaskReference, settings: TaskSettings) -> LmDocuments:
    """Return the documents of a reference; the same object as long as its file does not change."""
    return _documents(reference, settings, reference.file_state())


@lru_cache(maxsize=MOST_KEPT)
def _documents(
    reference: TaskReference,
    settings: TaskSettings,
    file_state: tuple[int, ...],
) -> LmDocuments:
    return LmDocuments(load(reference, settings), settings)

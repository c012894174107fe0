"""Repeat the answers of an earlier run from its journal, without a model.

An answer is looked up by request key. If the key is not found, it is looked up by
sample id and repetition, and used only if its prompt is the same. Of several answers to
a request, the last successful one is used. If the run has several models, the user must
choose one.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ..code.userfiles import file_digest
from ..core import Abilities, Media, Output, Request, StoreError, UsageError
from ..core.errors import plural
from ..core.media import MEDIA_KINDS
from ..core.record import is_sealed, is_whole, output_from_plain, prompt_to_plain

JOURNAL = "records.jsonl"
MANIFEST = "run.json"
KIND_OF_SUFFIX = {
    "wav": "audio",
    "flac": "audio",
    "ogg": "audio",
    "mp3": "audio",
    "mp4": "video",
    "webm": "video",
    "avi": "video",
}
HELPER_MARK = "#"
"""Character between a task's name and a helper model's role in the journal, as in `TASK#judge`."""
RESULTS = f"{HELPER_MARK}tools"
"""End of the task names under which the journal stores tool results. These lines contain no model answers."""
ANY = frozenset({"text", "image", "audio", "video"})


class _Answer(msgspec.Struct):
    error: dict[str, Any] | None = None


class _Head(msgspec.Struct):
    """The fields of a journal line that are needed to find it. The other fields are read on demand."""

    kind: str = ""
    id: str = ""
    key: str = ""
    epoch: int = 0
    task: str = ""
    model: str = ""
    output: _Answer = msgspec.field(default_factory=_Answer)


@dataclass
class Replay:
    """The model of an earlier run, limited to the answers in its journal."""

    reference: ClassVar[str] = "run"

    run: str
    """The folder of the run."""
    model: str | None = None
    """The model whose answers are used. Required if the run has several models."""
    _by_key: dict[str, int] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )
    _by_sample: dict[tuple[str, int], list[int]] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )
    _loaded: bool = field(
        default=False,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        self._journal = Path(self.run).expanduser() / JOURNAL
        if not self._journal.is_file():
            raise UsageError(
                f"no run to replay: it has no {JOURNAL}",
                where=self.run,
                fix="give the folder of a run",
            )

    @property
    def abilities(self) -> Abilities:
        """Declare every ability, because the journal is not read before an answer is requested."""
        return Abilities(
            accepts=ANY,
            produces=ANY,
            likelihood=True,
            logprobs=True,
            chat=True,
            tools=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the digest of the journal."""
        return {"replay": file_digest(self._journal), "model": self.model}

    def load(self) -> None:
        """Index the journal: the offset of each answer."""
        if self._loaded:
            return
        failed: set[int] = set()
        models: dict[str, None] = {}
        owners: dict[str, str] = {}
        marked: list[_Head] = []
        planned = self._planned()
        tasks = set(planned)
        for offset, head in self._heads():
            if head.kind != "output" or head.task.endswith(RESULTS):
                continue
            tasks.add(head.task)
            if self.model is not None:
                models[head.model] = None
            elif HELPER_MARK not in head.task or head.task in planned:
                models[_owner(head, owners)] = None
            elif not _is_helper(head, tasks):
                marked.append(head)  # decided once all tasks are known
            if self.model is not None and head.model != self.model:
                continue
            if head.output.error is not None:
                failed.add(offset)
            previous = self._by_key.get(head.key)
            if head.key and (
                previous is None or previous in failed or offset not in failed
            ):
                self._by_key[head.key] = offset
            self._by_sample.setdefault((head.id, head.epoch), []).append(offset)
        models |= dict.fromkeys(
            _owner(head, owners) for head in marked if not _is_helper(head, tasks)
        )
        if models and (
            len(models) > 1 if self.model is None else self.model not in models
        ):
            if self.model is None:
                problem = f"{len(models)} models"
            else:
                problem = f"no model {self.model!r}"
            fix = f"say whose answers are wanted: -a model=NAME, one of {', '.join(models)}"
            raise UsageError(
                f"the run asked {problem}",
                where=self.run,
                fix=fix,
            )
        for offsets in self._by_sample.values():
            offsets.sort(
                key=lambda offset: (offset not in failed, offset),
                reverse=True,
            )
        self._loaded = True

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the recorded answers, or an error for a prompt that was never sent."""
        self.load()
        return [self._find(request) for request in requests]

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Return the recorded likelihoods."""
        return self.generate(requests)

    def _find(self, request: Request) -> Output:
        if request.key:
            offset = self._by_key.get(request.key)
        else:
            offset = None
        if offset is not None:
            return self._output(self._line(offset))
        offsets = self._by_sample.get((request.id, request.repeat), [])
        prompt = prompt_to_plain(request.prompt)
        for offset in offsets:
            line = self._line(offset)
            if line.get("follows"):
                line = {**line, "prompt": self._whole_prompt(line, offsets)}
            if _same_question(line, prompt, request.prompt.continuations):
                return self._output(line)
        if offsets:
            problem = "was asked something else in that run"
        else:
            problem = "was never asked in that run"
        fix = "give the model that should answer, or the run that asked it"
        error = UsageError(
            f"sample {request.id!r} {problem}",
            where=self.run,
            fix=fix,
        )
        return Output.failed("not_recorded", str(error), retryable=False)

    def _whole_prompt(
        self,
        line: Mapping[str, Any],
        offsets: Sequence[int],
    ) -> list[Any]:
        """Return all messages of a prompt, because the line of a later round contains only the new ones."""
        prompt = list(line.get("prompt") or ())
        while line.get("follows"):
            number = line.get("round", 0) - 1
            lines = (self._line(offset) for offset in offsets)
            before = [entry for entry in lines if entry.get("round", 0) == number]
            if not before:
                return prompt
            line = before[0]
            spoken = [turn for turn in line.get("prompt") or () if "content" in turn]
            prompt = [*spoken, *prompt]
        return prompt

    def _output(self, line: Mapping[str, Any]) -> Output:
        return output_from_plain(line["output"], _Media(self._journal.parent / "media"))

    def _line(self, offset: int) -> dict[str, Any]:
        with self._journal.open("rb") as file:
            file.seek(offset)
            line: dict[str, Any] = msgspec.json.decode(file.readline())
        return line

    def _planned(self) -> frozenset[str]:
        """Return the names of the tasks in the run's manifest; an empty set if the manifest cannot be read."""
        try:
            manifest = msgspec.json.decode(
                (self._journal.parent / MANIFEST).read_bytes()
            )
            return frozenset(str(cell["task"]) for cell in manifest["cells"])
        except (
            OSError,
            msgspec.DecodeError,
            UnicodeDecodeError,
            LookupError,
            TypeError,
        ):
            return frozenset()

    def _heads(self) -> Iterator[tuple[int, _Head]]:
        decoder = msgspec.json.Decoder(_Head)
        offset = 0
        damaged = 0
        with self._journal.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if is_sealed(line[:-1]) and not is_whole(line[:-1]):
                    damaged += 1
                    offset += len(line)
                    continue
                try:
                    yield offset, decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    # Only the last line can be incomplete: the writer was stopped while writing it.
                    if line.endswith(b"\n"):
                        raise StoreError(
                            f"not a record: {error}", where=f"{self._journal}:{number}"
                        ) from error
                offset += len(line)
        if damaged:
            lines = plural(damaged, "damaged line was", "damaged lines were")
            warnings.warn(f"{self._journal}: {lines} passed over", stacklevel=2)


def _owner(
    head: _Head,
    owners: dict[str, str],
) -> str:
    """Return the name of the model that gave an answer.

    If several lines have the same key, that is the model of the first line; the others
    are copies.
    """
    if head.key:
        return owners.setdefault(head.key, head.model)
    return head.model


def _is_helper(
    head: _Head,
    tasks: Set[str],
) -> bool:
    """Return True if the answer came from a helper model, whose journal task is `TASK#ROLE`."""
    return head.task.rpartition(HELPER_MARK)[0] in tasks


def _same_question(
    line: Mapping[str, Any],
    prompt: Sequence[Any],
    continuations: Sequence[str] | None,
) -> bool:
    recorded = line.get("continuations")
    same_weighing = (list(recorded) if recorded else None) == (
        list(continuations) if continuations else None
    )
    return list(line.get("prompt") or ()) == list(prompt) and same_weighing


class _Media(dict[str, Media]):
    """Media files of a run folder by digest. A file is opened on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, digest: str) -> Media:
        files = (self.folder / digest[:2]).glob(f"{digest}.*")
        file = next(files, None)
        if file is None:
            raise StoreError(
                f"the run has no medium {digest[:12]}…", where=str(self.folder)
            )
        kind = KIND_OF_SUFFIX.get(file.suffix[1:], "image")
        medium = MEDIA_KINDS[kind](file)
        if medium.digest != digest:
            raise StoreError(
                f"the medium {digest[:12]}… has changed since the run stored it",
                where=str(file),
            )
        return medium

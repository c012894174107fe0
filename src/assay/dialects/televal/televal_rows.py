"""Turn a row into a sample: render the template, keep OR and AND in its reference, open its clips on demand."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import Audio, DataError, Message, Part, Prompt, Sample, Text, shorten
from ...datasets.cells import is_missing
from ..shapes import Fields, Record
from .data_templates import DataTemplate
from .eras import PLAIN_RULE, Rule
from .facade.dataset import BatchLoader
from .structures import Question, Script, Turn, as_target, read_structure
from .televal_calling import FLAGS

SPOKEN = "televal"
"""The field of a sample with the rendered data beyond the messages."""
STRUCTURE = "televal_structure"
"""The field with the rendered structure, if upstream's rules were chosen."""
AUDIO_FIELD = "televal_sound"
"""The field with the folder and the name of the audio clip that the model should write, without `_pred.wav`."""
KEY = "televal_key"
"""The field with the key of a row in upstream's form. The id of the sample may contain more."""
PLACE = "televal_place"
"""The column with a row's number, if upstream's rules were chosen."""
SWITCHES = "televal_switches"
"""The field with the task's switches that differ from their defaults. The model receives them, too."""


@dataclass(frozen=True)
class Reader:
    """Turns the rows of a task into samples."""

    loader: Any
    """A `BatchLoader`, or a user's own loader with the same attributes."""
    template: Any
    """The template's structure, as in the YAML file."""
    render: Callable[[Fields], Any] = field(compare=False)
    root: Path = field(compare=False)
    switches: Mapping[str, bool] = field(default_factory=dict)
    """`reverse_spkr`, `use_model_history`, `save_latest_only`, if they differ from their defaults."""
    rule: Rule = PLAIN_RULE
    is_streamed: bool = False
    """True if rows arrive as they are in the file, and are prepared here."""
    label: str = ""
    """The folder of audio clips under upstream's rule."""

    @classmethod
    def of(
        cls,
        loader: object,
        template: Any,
        root: Path,
        switches: Mapping[str, bool],
        rule: Rule = PLAIN_RULE,
        label: str = "",
    ) -> "Reader":
        """Create a reader from objects of the registry. A user's own template class only needs `load`."""
        render = (
            template.render
            if isinstance(template, DataTemplate)
            else lambda row: template.load(**row)
        )
        changed = {
            name: value for name, value in switches.items() if FLAGS[name] != value
        }
        is_streamed = isinstance(loader, BatchLoader) and loader.is_streamed
        shape = getattr(template, "template", type(template))
        return cls(loader, shape, render, root, changed, rule, is_streamed, label)

    @property
    def id_column(self) -> str:
        """The column that names rows, including failed ones."""
        return getattr(self.loader, "key_col", None) or "key"

    def __call__(self, row: Fields) -> Sample:
        loader = self.loader
        columns, clips = loader.prepare(row) if self.is_streamed else (dict(row), {})
        position = columns.pop(PLACE, None)
        key = columns.get(self.id_column)
        if key is None:
            id = ""
        else:
            id = str(key)
        if position is not None:
            id = position["id"]
            columns[KEY] = columns.get(self.id_column, position["place"])
        try:
            structure = self.render(columns)
            is_reversed = self.switches.get("reverse_spkr", False)
            spoken = read_structure(
                structure,
                reverse=is_reversed,
                as_upstream=self.rule.is_upstream,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        if self.switches:
            columns[SWITCHES] = self.switches
        if self.rule.is_upstream:
            columns[STRUCTURE] = structure
            columns[AUDIO_FIELD] = f"{self.label}/{columns.get(KEY, id)}"
        if isinstance(spoken, Script):
            return self._dialogue(id, columns, spoken, clips)
        target = as_target(columns.get(getattr(loader, "ref_col", None) or ""))
        if spoken.instruct or spoken.assistant is not None:
            columns[SPOKEN] = spoken
        return Sample(id, self._messages(spoken, clips), target, fields=columns)

    def is_dialogue(self, row: Fields) -> bool:
        """Return True if the template turns a row into a dialogue, whose references are in the template."""
        try:
            spoken = read_structure(self.render(dict(row)), reverse=False)
        except Exception:  # noqa: BLE001 - a user's template: each row reports its own fault when it is read
            return False
        return isinstance(spoken, Script)

    def _messages(
        self,
        question: Question,
        clips: Mapping[str, Audio],
    ) -> tuple[Message, ...]:
        parts: list[Part] = [Text(question.instruct)] if question.instruct else []
        if question.audio:
            parts.append(self._audio(question.audio, clips))
        if question.query is not None:
            parts.append(Text(str(question.query)))
        user = Message("user", tuple(parts))
        if question.system:
            return (Message("system", (Text(question.system),)), user)
        return (user,)

    def _dialogue(
        self,
        id: str,
        row: Record,
        script: Script,
        clips: Mapping[str, Audio],
    ) -> Sample:
        turns = [self._user(turn, clips) for turn in script.users]
        first = turns[0]
        if script.instruct:
            first = Message("user", (Text(script.instruct), *(first.parts or ())))
        row[SPOKEN] = script
        if not self.switches.get("use_model_history", True):
            # The runner expects the data's replies here.
            row["references"] = [self._reply(reply, clips) for reply in script.replies]
        return Sample(
            id,
            (first,),
            as_target(script.replies[-1].text),
            fields=row,
            turns=tuple(turns[1:]),
        )

    def _user(
        self,
        turn: Turn,
        clips: Mapping[str, Audio],
    ) -> Message:
        """Return the user's message. If there is audio, only the audio, since the text is its transcript."""
        if turn.audio:
            return Message("user", (self._audio(turn.audio, clips),))
        if turn.text is None:
            raise DataError("a round of the dialogue has neither audio nor text")
        return Message("user", (Text(str(turn.text)),))

    def _reply(
        self,
        turn: Turn,
        clips: Mapping[str, Audio],
    ) -> tuple[Part, ...]:
        text = first_text(turn.text)
        if turn.audio:
            return (Text(text), self._audio(turn.audio, clips))
        return (Text(text),)

    def _audio(
        self,
        path: str,
        clips: Mapping[str, Audio],
    ) -> Audio:
        if path in clips:
            return clips[path]
        return Audio(self._located(path), name=path)

    def _located(self, path: str) -> Path:
        """Resolve a relative path: next to the registry, else in the working folder, else next to the data."""
        relative = Path(path).expanduser()
        data = Path(str(getattr(self.loader, "file", ""))).parent
        for candidate in (
            [relative]
            if relative.is_absolute()
            else [self.root / relative, relative, data / relative]
        ):
            if candidate.is_file():
                return candidate.resolve()
        raise DataError(
            f"no such audio file: {shorten(path)}",
            fix="paths start beside the registry",
        )


def first_text(reference: object) -> str:
    """Return a reference as text. Of several references, return the first."""
    while isinstance(reference, (list, tuple)):
        reference = reference[0] if reference else ""
    return "" if reference is None else str(reference)


@dataclass(frozen=True)
class Spoken:
    """Builds a prompt from a sample's own messages; an unreadable audio clip fails that sample."""

    produces: tuple[str, ...] = ("text",)

    def __call__(self, sample: Sample) -> Prompt:
        messages: Any = sample.input
        for message in (*messages, *sample.turns):
            for part in message.parts:
                if type(part) is Audio:
                    check_clip(part)
        return Prompt(messages, self.produces)


def check_clip(audio: Audio) -> None:
    """Raise if an audio clip is missing, truncated or not audio. Its digest is known after the check."""
    from ...media import check_media

    check_media(audio)
    _ = audio.digest


@dataclass(frozen=True)
class Batches:
    """The rows of a user's own dataset class, which returns them in lists or one by one."""

    loader: Any
    is_upstream: bool = False
    """True to keep empty cells as `nan`, to identify a row by its number, and a row without a key by its number in
    the batch.
    """

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return f"dataset {type(self.loader).__name__}"

    def __call__(self) -> Iterator[Any]:
        ids: set[str] = set()
        number = 0
        for batch in self.loader:
            for position, row in enumerate(
                [batch] if isinstance(batch, Mapping) else batch
            ):
                if not self.is_upstream:
                    yield {
                        name: None if is_missing(value) else value
                        for name, value in row.items()
                    }
                    continue
                key = str(
                    row.get(getattr(self.loader, "key_col", None) or "key", position)
                )
                id = f"{key}#{number}" if key in ids else key
                ids.add(id)
                number += 1
                yield {**row, PLACE: {"id": id, "place": position}}

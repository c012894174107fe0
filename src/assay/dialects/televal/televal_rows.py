"""Turn a row into a sample, and a model's answer into prediction lines in the format of TELEVAL's files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core import (
    EMPTY,
    Audio,
    Candidate,
    DataError,
    Json,
    Message,
    Output,
    Part,
    Prompt,
    Request,
    Sample,
    Text,
    shorten,
)
from ...datasets.cells import is_missing
from ...media import check_media
from ..shapes import Fields, Record
from .data_templates import DataTemplate
from .eras import PLAIN_RULE, Era, Rule
from .facade.dataset import BatchLoader
from .structures import (
    Question,
    Script,
    Turn,
    as_reference,
    as_target,
    read_structure,
)
from .televal_calling import FLAGS, round_records

SPOKEN = "televal"
"""Name of the sample field for the `Question` or `Script` (dialogue) that the template rendered."""
STRUCTURE = "televal_structure"
"""Name of the sample field for the structure that the template rendered. Set only under upstream's rules."""
AUDIO_FIELD = "televal_sound"
"""Name of the sample field for the audio clip's path: folder and file name, without `_pred.wav`."""
KEY = "televal_key"
"""Name of the sample field for the row's key as upstream writes it. The sample's id may differ, to be unique."""
PLACE = "televal_place"
"""Column with the unique id of a row and its index in the batch. Set only under upstream's rules."""
SWITCHES = "televal_switches"
"""Name of the sample field for the task's switches, such as `reverse_spkr`, that differ from their defaults."""
LINE = "televal_line"
"""Name of the sample field for the line that was read from a prediction file."""
HEAD = "televal"
"""Role of an extra first message with data for TELEVAL models."""
RETURNED = "inference"
"""Key for the result of `inference` in an output's details. Set only under upstream's rules."""


@dataclass(frozen=True)
class Columns:
    """The column names of a dataset for the key, reference, question and extra data.

    An empty name means that the column is missing.
    """

    key: str = "key"
    ref: str = ""
    query: str = ""
    extra: Sequence[str] = ()

    @classmethod
    def of(cls, loader: object) -> "Columns":
        """Return the column names that a dataset declares."""
        return cls(
            getattr(loader, "key_col", None) or "key",
            getattr(loader, "ref_col", None) or "",
            getattr(loader, "query_col", None) or "",
            getattr(loader, "extra_col", None) or (),
        )


@dataclass(frozen=True)
class Reader:
    """Converts the rows of a task to samples."""

    loader: Any
    """A `BatchLoader`, or a user's own loader with the same attributes."""
    template: Any
    """The template's structure, as in the YAML file; for a user's template its class."""
    render: Callable[[Fields], object] = field(compare=False)
    root: Path = field(compare=False)
    switches: Mapping[str, bool] = field(default_factory=dict)
    """`reverse_spkr`, `use_model_history`, `save_latest_only`, if they differ from their defaults."""
    rule: Rule = PLAIN_RULE
    is_streamed: bool = False
    """True if the reader must prepare the rows: restore tuples and extract audio clips."""
    label: str = ""
    """Name of the folder for the model's audio clips, used under upstream's rules."""

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
        """Create a reader for the rows of a dataset, which a template renders.

        A user's own template class needs only the method `load`.
        """
        # A subclass may have its own `load`.
        if getattr(type(template), "load", None) is DataTemplate.load:
            render = template.renderer()
        else:

            def render(row: Fields) -> object:
                return template.load(**row)

        changed = {
            name: value for name, value in switches.items() if FLAGS[name] != value
        }
        is_streamed = isinstance(loader, BatchLoader) and loader.is_streamed
        shape = getattr(template, "template", type(template))
        return cls(loader, shape, render, root, changed, rule, is_streamed, label)

    @cached_property
    def columns(self) -> Columns:
        """The column names that the dataset declares."""
        return Columns.of(self.loader)

    @property
    def id_column(self) -> str:
        """The column with the key of each row, which also identifies unreadable rows."""
        return self.columns.key

    def __call__(self, row: Fields) -> Sample:
        names = self.columns
        is_upstream = self.rule.is_upstream
        clips: Mapping[str, Audio] = EMPTY
        position = None
        if self.is_streamed:
            fields, clips = self.loader.prepare(row)
        else:
            fields = dict(row)
            position = fields.pop(PLACE, None)
        key = fields.get(names.key)
        if position is not None:
            id = position["id"]
            fields[KEY] = fields.get(names.key, position["place"])
        else:
            id = "" if key is None else str(key)
        try:
            structure = self.render(fields)
            spoken = read_structure(
                structure,
                reverse=self.switches.get("reverse_spkr", False),
                as_upstream=is_upstream,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        if self.switches:
            fields[SWITCHES] = self.switches
        if is_upstream:
            fields[STRUCTURE] = structure
            fields[AUDIO_FIELD] = f"{self.label}/{fields.get(KEY, id)}"
        if isinstance(spoken, Script):
            return self._dialogue(id, fields, spoken, clips)
        if spoken.instruct or spoken.assistant is not None:
            fields[SPOKEN] = spoken
        target = as_target(fields.get(names.ref))
        return Sample(id, self._messages(spoken, clips), target, fields=fields)

    def is_dialogue(self, row: Fields) -> bool:
        """Return True if the template renders a row as a dialogue. The template then provides the references."""
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
        fields: Record,
        script: Script,
        clips: Mapping[str, Audio],
    ) -> Sample:
        first, *others = [self._user(turn, clips) for turn in script.users]
        if script.instruct:
            first = Message("user", (Text(script.instruct), *(first.parts or ())))
        fields[SPOKEN] = script
        if not self.switches.get("use_model_history", True):
            # The runner expects the data's replies here.
            fields["references"] = [
                self._reply(reply, clips) for reply in script.replies
            ]
        return Sample(
            id,
            (first,),
            as_target(script.replies[-1].text),
            fields=fields,
            turns=tuple(others),
        )

    def _user(
        self,
        turn: Turn,
        clips: Mapping[str, Audio],
    ) -> Message:
        """Return the user's message for a round: only the audio if there is any, because the text is its transcript."""
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
        """Return the other speaker's text and audio in one round. With several references, use the first."""
        reference = turn.text
        while isinstance(reference, (list, tuple)):
            reference = reference[0] if reference else None
        text = Text("" if reference is None else str(reference))
        return (text, self._audio(turn.audio, clips)) if turn.audio else (text,)

    def _audio(
        self,
        path: str,
        clips: Mapping[str, Audio],
    ) -> Audio:
        """Return the audio clip at a path.

        A relative path is tried in the registry's parent folder, in the working folder,
        and in the data's folder.
        """
        if path in clips:
            return clips[path]
        relative = Path(path).expanduser()
        data = Path(str(getattr(self.loader, "file", ""))).parent
        # Joining an absolute path to a folder does not change it.
        for folder in (self.root, Path(), data):
            if (folder / relative).is_file():
                return Audio((folder / relative).resolve(), name=path)
        raise DataError(
            f"no such audio file: {shorten(path)}",
            fix="paths start beside the registry",
        )


@dataclass(frozen=True)
class Spoken:
    """Builds a prompt from the messages of a sample, and checks that its audio clips can be read."""

    produces: tuple[str, ...] = ("text",)

    def __call__(self, sample: Sample) -> Prompt:
        messages: Any = sample.input
        for message in (*messages, *sample.turns):
            for part in message.parts:
                if type(part) is Audio:
                    check_media(part)
                    _ = part.digest  # computed once, before the model is called
        return Prompt(messages, self.produces)


@dataclass(frozen=True)
class Batches:
    """The rows of a user's own dataset class, which yields rows or lists of rows."""

    loader: Any
    is_upstream: bool = False
    """True to keep empty cells as `nan`, and to identify rows by number instead of by key, as upstream does."""

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return f"dataset {type(self.loader).__name__}"

    def __call__(self) -> Iterator[Fields]:
        key_column = Columns.of(self.loader).key
        ids: set[str] = set()
        number = 0
        for batch in self.loader:
            rows = [batch] if isinstance(batch, Mapping) else batch
            for position, row in enumerate(rows):
                if not self.is_upstream:
                    yield {
                        name: None if is_missing(value) else value
                        for name, value in row.items()
                    }
                    continue
                id = str(row.get(key_column, position))
                if id in ids:
                    id = f"{id}#{number}"
                ids.add(id)
                number += 1
                yield {**row, PLACE: {"id": id, "place": position}}


def prediction_lines(
    sample: Sample,
    output: Output,
    columns: Columns,
    era: Era = "newest",
) -> list[Record]:
    """Return the lines of a prediction file for a sample: one for a question, one for each round of a dialogue.

    With the switch `save_latest_only`, a dialogue has only the line of its last round.
    """
    fields = sample.fields
    if LINE in fields:
        return [fields[LINE]]
    key = fields.get(KEY, fields.get(columns.key))
    if key is None:
        key = sample.id
    query = fields.get(columns.query)
    extra = {name: fields.get(name) for name in columns.extra}
    script = fields.get(SPOKEN)
    is_returned = STRUCTURE in fields and output.details.get(RETURNED) is not None
    if is_returned:
        # Upstream's rule was chosen and the model is a user's: the lines are what `inference` returned.
        returned = output.details[RETURNED]
        if isinstance(returned, Mapping):
            ref = fields.get(columns.ref)
            return [{"key": key, "query": query, "ref": ref, **returned, **extra}]
        records = returned if isinstance(returned, list) else []
    elif isinstance(script, Script):
        records = round_records(script, _answers(output), era)
    else:
        ref = as_reference(sample.target)
        answer = {"pred": output.text, **output.details.get("returned", {})}
        if spoken := audio_path(output):
            answer["pred_audio"] = spoken
        return [{"key": key, "query": query, "ref": ref, **answer, **extra}]
    if fields.get(SWITCHES, {}).get("save_latest_only"):
        records = records[-1:]
    return [{"key": key, **record, **extra} for record in records]


def _answers(output: Output) -> Sequence[Fields]:
    """Return the answers to all rounds of a dialogue.

    Models not written for TELEVAL provide audio only for the last round.
    """
    answers = output.details.get("answers")
    if answers is None:
        texts = output.details.get("rounds") or [output.text]
        answers = [{"pred": text} for text in texts]
    last = answers[-1]
    spoken = audio_path(output) or last.get("pred_audio")
    return [*answers[:-1], {**last, "pred_audio": spoken}]


def audio_path(output: Output) -> str | None:
    """Return the path of the audio that the model generated, if any."""
    if not output.candidates:
        return None
    for part in output.candidates[0].parts:
        if isinstance(part, Audio) and isinstance(part.source, (str, Path)):
            return str(part.source)
    return None


def spoken_output(
    pred: object,
    *paths: object,
    details: Fields = EMPTY,
) -> Output:
    """Return an answer as an output with its text, and the first of the paths that is a file as its audio."""
    parts: tuple[Part, ...] = (Text(str(pred)),)
    for path in paths:
        if path and Path(str(path)).is_file():
            parts = (*parts, Audio(Path(str(path))))
            break
    return Output((Candidate(parts),), details=details)


def info_of(line: Fields) -> Record:
    """Return the fields of a prediction line that are passed to an evaluator as `pred_info`."""
    return {name: value for name, value in line.items() if name not in ("pred", "ref")}


def with_head(
    prompt: Prompt,
    extras: Record,
) -> Prompt:
    """Return a prompt with an extra first message that carries data for TELEVAL models."""
    head = Message(HEAD, (Json(extras),))
    return replace(prompt, messages=(head, *prompt.messages))


def head_of(request: Request) -> Fields:
    """Return the data in the first message of a request; empty if the message carries none."""
    first = request.messages[0]
    part = (first.parts or (None,))[0]
    return part.value if first.role == HEAD and isinstance(part, Json) else {}

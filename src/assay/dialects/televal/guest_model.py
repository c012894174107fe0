"""Wraps a user's TELEVAL model class as a model of assay: it gets files and keywords, and returns text and audio.

The class is built from the YAML file's arguments on first use. Other fields of its
answer than `pred` are kept: `pred_audio` as an audio clip in the run, `cache` and `his`
as the state for the next round of the dialogue.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...code.userfiles import file_digest
from ...core import (
    EMPTY,
    Abilities,
    Audio,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
    digest_of,
)
from ...models.answers import failure
from ..request_models import RequestModel
from ..shapes import Fields, Record
from .audio_clips import RATE, AudioFolder, audio_form, file_stem, fitted
from .eras import PLAIN_RULE, Rule
from .structures import Question, Script, Turn, decoded, encoded
from .televal_calling import FLAGS, Dialogue, checked, infer, infer_dialogue
from .televal_classes import Classes
from .televal_model_bases import Model, without_gradients
from .televal_rows import (
    AUDIO_FIELD,
    HEAD,
    RETURNED,
    SPOKEN,
    STRUCTURE,
    SWITCHES,
    audio_path,
    head_of,
    spoken_output,
    with_head,
)
from .televal_secrets import hidden, known_secrets, without_secrets
from .tree import Entry

AUDIO = "pred_audio"
"""Name of the folder of audio clips inside a run folder."""


@dataclass(eq=False)
class GuestModel(RequestModel):
    """A model entry of a registry, wrapped as a model of assay."""

    entry: Entry
    classes: Classes
    rule: Rule = PLAIN_RULE
    audio_folder: Path = Path("runs") / AUDIO
    """The folder to which the model's audio clips are written."""
    prediction_folder: str | None = None
    """Folder for the model's audio clips, set only by `assay televal` under upstream's rules."""
    whole_dialogues: bool = True
    """True to end each dialogue before the next one begins, because models may remember their last input."""

    def __post_init__(self) -> None:
        self.name = self.entry.name
        self._clips: dict[Path | None, AudioFolder] = {None: AudioFolder()}
        self._secrets = known_secrets(self.entry.args)

    @property
    def abilities(self) -> Abilities:
        """The model's abilities: it accepts and produces text and audio.

        Its state cannot be saved, so an interrupted dialogue restarts.
        """
        kinds = frozenset({"text", "audio"})
        return Abilities(
            accepts=kinds,
            produces=kinds,
            history="both",
            audio_rate=RATE,
            audio_channels=1,
        )

    @property
    def identity(self) -> Fields:
        """The identity of the model: its name, its class and code, and its arguments with redacted keys."""
        file = self.classes.file_of(self.entry)
        return {
            "dialect": "televal",
            "model": self.entry.name,
            "class": self.entry.cls,
            "sha256": file_digest(file) if file else digest_of(self.entry.cls),
            "args": hidden(self.entry.args),
        }

    def write_under(self, folder: Path) -> None:
        """Set the folder of the run. Audio clips are written to a subfolder of it."""
        self.audio_folder = folder / AUDIO

    def build(self) -> Any:
        """Return the user's object, built from the arguments of the YAML file on first use."""
        if self.built is None:
            with self.rule.applied():
                self.built = self.classes.build(self.entry)
        return self.built

    def close(self) -> object:
        """Delete the audio clips that were converted for the model."""
        for folder in self._clips.values():
            folder.close()
        return super().close()

    def prompt(
        self,
        sample: Sample,
        prompt: Prompt,
    ) -> Prompt | None:
        """Prepend a message with data that only TELEVAL models read: the dialogue, the instruction and the switches.

        Return None if the sample has none.
        """
        spoken = sample.fields.get(SPOKEN)
        extras: Record = {}
        if isinstance(spoken, Script):
            extras = {
                "users": [[turn.audio, turn.text] for turn in spoken.users],
                "replies": [[turn.audio, turn.text] for turn in spoken.replies],
                "instruct": spoken.instruct,
            }
        elif isinstance(spoken, Question):
            extras = {
                "query": spoken.query,
                "assistant": spoken.assistant,
                "instruct": spoken.instruct,
            }
        if SWITCHES in sample.fields:
            extras["flags"] = dict(sample.fields[SWITCHES])
        if "audio" in prompt.produces:
            extras["sound"] = sample.fields.get(AUDIO_FIELD) or file_stem(sample.id)
        if STRUCTURE in sample.fields:
            extras["structure"] = encoded(sample.fields[STRUCTURE])
        if not extras:
            return None
        details = {**prompt.details, "built_by": self.name}
        return replace(with_head(prompt, extras), details=details)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the answers one by one. An exception in the user's code fails only that sample."""
        with without_gradients(), self.rule.kept():
            outputs: list[Output] = super().generate(requests)
        return outputs

    def answer(
        self,
        model: object,
        request: Request,
    ) -> Output:
        """Return the answer to one question, or to one round of a dialogue."""
        messages = request.messages
        extras: Fields = EMPTY
        if messages[0].role == HEAD:
            extras = head_of(request)
            messages = messages[1:]
        if "users" in extras:
            return self._round(request, extras, messages)
        return self._once(request, extras, messages)

    def failed(self, error: Exception) -> Output:
        """Return an output with the error of a failed request. Keys of the YAML file are removed from its message."""
        output = failure(error, self.entry.cls)
        assert output.error is not None
        message = without_secrets(output.error.message, self._secrets)
        return replace(output, error=replace(output.error, message=message))

    def _once(
        self,
        request: Request,
        extras: Fields,
        messages: Sequence[Message],
    ) -> Output:
        """Send a single question to the user's class, and return its answer."""
        if "structure" in extras:
            return self._as_returned(self._inferred(request, extras))[1]
        flags = _flags_in(extras)
        path = self._output_path(request, extras)
        system = None
        user = messages[-1]
        for message in messages:
            if message.role == "user":
                user = message
            elif message.role == "system" and system is None:
                system = message.text
        query = None
        for part in user.parts or ():
            if isinstance(part, Text):
                query = part.text
        changes: list[str] = []
        audio = self._heard(user, changes)
        if "query" in extras:
            question = Question(
                audio,
                extras["query"],
                extras["assistant"],
                extras["instruct"],
                system,
            )
        else:
            question = Question(audio, query, system=system)
        if infers_itself(self.built):
            method = "inference"
            returned = infer(self.built, question.roles(), flags, path)
        else:
            method = "generate_once"
            words = question.keywords()
            words.update(flags)
            if path is not None:
                words["pred_audio"] = path
            returned = self.built.generate_once(**words)
        return self._output(checked(returned, self.built, method), path, changes)

    def _round(
        self,
        request: Request,
        extras: Fields,
        messages: Sequence[Message],
    ) -> Output:
        """Return the answer of one round of a dialogue.

        The output's `state` is the dialogue so far, which the next round continues.
        """
        questions = [message for message in messages if message.role == "user"]
        dialogue: Dialogue | None = request.state if len(questions) > 1 else None
        if dialogue is None:
            dialogue = self._new_dialogue(extras)
        number = dialogue.round
        changes: list[str] = []
        dialogue.audio[number] = self._heard(questions[-1], changes)
        if "structure" in extras:
            if number == 0:
                dialogue.inferred = self._inferred(request, extras, every_round=True)
            answer, output = self._as_returned(dialogue.inferred, number)
            dialogue.answers.append(answer)
            return replace(output, state=dialogue)
        path = self._output_path(request, extras, number + 1)
        if not infers_itself(self.built):
            answer = dialogue.ask(self.built, path)
        else:
            if number == 0:
                first, *others = dialogue.script.users
                heard = replace(first, audio=dialogue.audio[0])
                script = replace(dialogue.script, users=(heard, *others))
                flags = _flags_in(extras)
                dialogue.inferred = infer_dialogue(self.built, script, flags, path)
            answer = dialogue.inferred[number]
            dialogue.answers.append(answer)
        output = self._output(answer, path, changes)
        answer["pred_audio"] = audio_path(output) or answer.get("pred_audio")
        rounds = [_plain(each) for each in dialogue.answers]
        details = {**output.details, "answers": rounds}
        return replace(output, state=dialogue, details=details)

    def _new_dialogue(self, extras: Fields) -> Dialogue:
        """Return the state of a dialogue before its first round."""
        script = Script(
            tuple(Turn(*turn) for turn in extras["users"]),
            tuple(Turn(*turn) for turn in extras["replies"]),
            extras["instruct"],
        )
        own_history = _flags_in(extras)["use_model_history"]
        return Dialogue(script, own_history, self.rule.era)

    def _inferred(
        self,
        request: Request,
        extras: Fields,
        *,
        every_round: bool = False,
    ) -> object:
        """Call the class's own `inference` on the rendered template, under upstream's rules, and return its result.

        With `every_round`, it must answer all rounds of a dialogue.
        """
        flags = _flags_in(extras)
        if every_round:
            flags["save_latest_only"] = False
        structure = decoded(extras["structure"])
        path = self._output_path(request, extras)
        return infer(self.built, structure, flags, path)

    def _as_returned(
        self,
        returned: object,
        number: int = -1,
    ) -> tuple[Record, Output]:
        """Return the record of one round from the return value of `inference`, and an output for the round.

        TELEVAL writes this return value to its files unchanged. Therefore the output's
        details contain all of it, if it is a dictionary or a list.
        """
        record = returned
        if isinstance(returned, list) and returned:
            record = returned[min(number, len(returned) - 1)]
        if not isinstance(record, Mapping):
            record = {"pred": str(record)}
        answer = {"pred": "", **record}
        is_recorded = isinstance(returned, (list, Mapping))
        details = {RETURNED: encoded(returned) if is_recorded else False}
        return answer, replace(self._output(answer, None, ()), details=details)

    def _output_path(
        self,
        request: Request,
        extras: Fields,
        number: int | None = None,
    ) -> str | None:
        """Return the path for an audio clip: `<key>_pred.wav`, or `<key>_pred_round<i>.wav` in a dialogue."""
        if "audio" not in request.prompt.produces:
            return None
        name = f"{extras.get('sound', request.key)}_pred{f'_round{number}' if number else ''}.wav"
        if "structure" in extras and self.prediction_folder is not None:
            path = f"{self.prediction_folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return path
        # The key of a request is unique: two rows with one key, or two tasks, never share a file.
        clip = self.audio_folder.resolve() / request.key[:16] / name
        clip.parent.mkdir(parents=True, exist_ok=True)
        # Remove the clip of an earlier run, so that it is not mistaken for this answer.
        clip.unlink(missing_ok=True)
        return str(clip)

    def _output(
        self,
        answer: Fields,
        path: str | None,
        changes: Sequence[str],
    ) -> Output:
        """Return an answer as an output. Its details have the other fields that the class returned."""
        details: Record = {}
        if len(answer) > 1:
            recorded = _plain(answer)
            recorded.pop("pred", None)
            recorded.pop("pred_audio", None)
            if recorded:
                details["returned"] = without_secrets(recorded, self._secrets)
        if changes:
            details["audio"] = list(changes)
        return spoken_output(
            answer["pred"],
            answer.get("pred_audio") or path,
            details=details or EMPTY,
        )

    def _heard(
        self,
        message: Message,
        changes: list[str],
    ) -> str | None:
        """Return the path of a message's first audio clip, converted for the class; None without a clip."""
        for part in message.parts or ():
            if isinstance(part, Audio):
                return self._file(part, changes)
        return None

    def _file(
        self,
        audio: Audio,
        changes: list[str],
    ) -> str:
        """Return the path of an audio clip with the channels and the rate that the class declares.

        Any conversions of the clip are added to `changes`.
        """
        if isinstance(audio.source, Path):
            path, conversions = fitted(audio, self.built, self._clips[None])
        else:
            # Audio from a table gets the file name in its row.
            name = Path(str(audio.name))
            folder = self._clips.setdefault(name.parent, AudioFolder(name.parent))
            rate, mono = audio_form(self.built)
            path, conversions = folder.put(audio, name.stem, rate=rate, mono=mono)
        changes += conversions
        return str(path)


def _flags_in(extras: Fields) -> Record:
    """Return all switches of the task, such as `reverse_spkr`. Those that are not set have their defaults."""
    return {**FLAGS, **extras.get("flags", {})}


def infers_itself(model: object) -> bool:
    """Return True if a model's class defines its own `inference`."""
    return getattr(type(model), "inference", Model.inference) is not Model.inference


def _plain(answer: Fields) -> Record:
    """Drop the fields that JSON cannot hold, and `cache` and `his`, which are kept for the next round."""
    return {
        str(name): value
        for name, value in answer.items()
        if name not in ("cache", "his") and _is_json(value)
    }


def _is_json(value: object) -> bool:
    """Return True for a value that JSON can hold."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True

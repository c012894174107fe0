"""A user's TELEVAL model class as a model of assay: called with files and keywords, it returns text and audio.

The class is built from the YAML file's arguments on first use. Besides `pred`, the rest of its answer is kept:
`pred_audio` as an audio clip in the run, `cache` and `his` as the state for the next round of the dialogue.
"""

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
    Candidate,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
    digest_of,
)
from ...media import check_media
from ...models.answers import failure
from ..request_models import RequestModel
from ..returned import LEAVES
from ..shapes import Fields, Record
from .eras import PLAIN_RULE, Rule
from .own_inference import infer_dialogue, infer_once, infers_itself
from .references import decoded, encoded
from .spoken import RATE, AudioFolder, Question, Script, Turn, file_stem
from .televal_calling import FLAGS, Dialogue, checked
from .televal_classes import Classes
from .televal_lines import (
    HEAD,
    RETURNED,
    audio_path,
    head_of,
    spoken_output,
    with_head,
)
from .televal_model_bases import without_gradients
from .televal_rows import AUDIO_FIELD, SPOKEN, STRUCTURE, SWITCHES
from .televal_secrets import hidden, known_secrets, without_secrets
from .tree import Entry

AUDIO = "pred_audio"
"""The folder of audio clips inside a run folder."""


@dataclass(eq=False)
class GuestModel(RequestModel):
    """One model entry of a registry."""

    entry: Entry
    classes: Classes
    rule: Rule = PLAIN_RULE
    audio_folder: Path = Path("runs") / AUDIO
    """The folder for the model's audio clips."""
    prediction_folder: str | None = None
    """The folder in which upstream's rule writes clips, as the command names it."""
    whole_dialogues: bool = True
    """True, because models may remember the last input: a dialogue ends before the next one begins."""

    def __post_init__(self) -> None:
        self.name = self.entry.name
        self._clips: dict[Path | None, AudioFolder] = {None: AudioFolder()}
        self._secrets = known_secrets(self.entry.args)

    @property
    def abilities(self) -> Abilities:
        """Text and audio in both directions. State cannot be saved, so an interrupted dialogue starts again."""
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
        """The class and its arguments, with keys redacted."""
        file = self.classes.file_of(self.entry)
        return {
            "dialect": "televal",
            "model": self.entry.name,
            "class": self.entry.cls,
            "sha256": file_digest(file) if file else digest_of(self.entry.cls),
            "args": hidden(self.entry.args),
        }

    def write_under(self, folder: Path) -> None:
        """Set the run's folder, in which audio clips are written."""
        self.audio_folder = folder / AUDIO

    def build(self) -> Any:
        """Return the user's object, built from the arguments of the YAML file on first use."""
        if self.built is None:
            with self.rule.applied():
                self.built = self.classes.build(self.entry)
        return self.built

    def close(self) -> Any:
        """Delete the audio clips that were converted for the model."""
        for folder in self._clips.values():
            folder.close()
        return super().close()

    def prompt(self, sample: Sample, prompt: Prompt) -> Prompt | None:
        """Add data that messages do not carry: the script, the instruction, the switches of the task."""
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

    def answer(self, model: object, request: Request) -> Output:
        """Return the answer to one question, or to one round of a dialogue."""
        if _is_dialogue(request):
            return self._round(request)
        return self._once(request)

    def failed(self, error: Exception) -> Output:
        """Return the failure of a request, without the keys of the YAML file in its message."""
        output = failure(error, self.entry.cls)
        assert output.error is not None
        message = without_secrets(output.error.message, self._secrets)
        return replace(output, error=replace(output.error, message=message))

    def _once(self, request: Request) -> Output:
        """Return the answer to a single question."""
        extras, messages = _split_head(request)
        if "structure" in extras:
            return self._as_upstream(extras, request)
        user = next(message for message in reversed(messages) if message.role == "user")
        texts = [part.text for part in user.parts or () if isinstance(part, Text)]
        systems = [message.text for message in messages if message.role == "system"]
        changes: list[str] = []
        question = Question(
            audio=self._heard(user, changes),
            query=extras.get("query", texts[-1] if texts else None),
            assistant=extras.get("assistant"),
            instruct=extras.get("instruct", ""),
            system=systems[0] if systems else None,
        )
        flags = extras.get("flags", {})
        path = self._output_path(request, extras)
        if infers_itself(self.built):
            answer = infer_once(self.built, question, flags, path)
        else:
            words = {**question.keywords(), **FLAGS, **flags}
            if path is not None:
                words["pred_audio"] = path
            returned = self.built.generate_once(**words)
            answer = checked(returned, self.built, "generate_once")
        return self._output(answer, path, changes)

    def _round(self, request: Request) -> Output:
        """Return the answer of one round of a dialogue, with the dialogue as the state for the next one."""
        extras, messages = _split_head(request)
        questions = [message for message in messages if message.role == "user"]
        if len(questions) > 1:
            earlier = request.state
        else:
            earlier = None
        dialogue: Dialogue = earlier or self._begun(extras)
        changes: list[str] = []
        heard = self._heard(questions[-1], changes)
        dialogue.audio = [*dialogue.audio[: dialogue.round], heard]
        if "structure" in extras:
            output = self._round_as_upstream(dialogue, extras, request, changes)
            return replace(output, state=dialogue)
        path = self._output_path(request, extras, dialogue.round + 1)
        if not infers_itself(self.built):
            answer = dialogue.ask(self.built, path)
        else:
            if dialogue.inferred is None:
                flags = extras.get("flags", {})
                script = dialogue.script
                dialogue.inferred = infer_dialogue(
                    self.built, script, heard, flags, path
                )
            answer = dialogue.inferred[dialogue.round]
            dialogue.answers.append(answer)
        output = self._output(answer, path, changes)
        spoken = audio_path(output)
        answer["pred_audio"] = spoken or answer.get("pred_audio")
        rounds = [_plain(each) for each in dialogue.answers]
        details = {**output.details, "answers": rounds}
        return replace(output, state=dialogue, details=details)

    def _begun(self, extras: Fields) -> Dialogue:
        """Return the state of a dialogue before its first round."""
        users, replies = _turns(extras["users"]), _turns(extras["replies"])
        own_history = extras.get("flags", {}).get("use_model_history", True)
        script = Script(users, replies, extras["instruct"])
        return Dialogue(script, own_history, self.rule.era)

    def _round_as_upstream(
        self,
        dialogue: Dialogue,
        extras: Fields,
        request: Request,
        changes: Sequence[str],
    ) -> Output:
        """Return one round of the records that the class's own `inference` returns for the whole dialogue."""
        if dialogue.inferred is None:
            every_round = {"save_latest_only": False}
            dialogue.inferred = self._inferred(extras, request, settled=every_round)
        returned: Any = dialogue.inferred
        record = returned
        if isinstance(returned, list):
            record = returned[min(dialogue.round, len(returned) - 1)]
        if isinstance(record, Mapping):
            fields = record
        else:
            fields = {}
        dialogue.answers.append({"pred": "", **fields})
        output = self._output(dialogue.answers[-1], None, changes)
        is_kept = isinstance(returned, (list, Mapping))
        return replace(
            output, details={RETURNED: encoded(returned) if is_kept else False}
        )

    def _as_upstream(self, extras: Fields, request: Request) -> Output:
        """Return the answer of the class's own `inference` unchanged. Only dictionaries are recorded."""
        answer = self._inferred(extras, request)
        if isinstance(answer, Mapping):
            output = self._output({"pred": "", **answer}, None, ())
            return replace(output, details={RETURNED: encoded(answer)})
        if isinstance(answer, list):
            records = answer
        else:
            records = []
        if records and isinstance(records[-1], Mapping):
            text = str(records[-1].get("pred"))
        else:
            text = str(answer)
        return Output(
            (Candidate((Text(text),)),),
            details={RETURNED: encoded(records) if records else False},
        )

    def _inferred(
        self,
        extras: Fields,
        request: Request,
        settled: Fields = EMPTY,
    ) -> Any:
        path = self._output_path(request, extras)
        if path is None:
            paths = {}
        else:
            paths = {"pred_audio": [path]}
        flags = {**FLAGS, **extras.get("flags", {}), **settled}
        return self.built.inference(
            [decoded(extras["structure"])],
            **flags,
            **paths,
        )[0]

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
        # Remove the clip of an earlier run, which must not be taken for the answer of this one.
        clip.unlink(missing_ok=True)
        return str(clip)

    def _output(
        self,
        answer: Fields,
        path: str | None,
        changes: Sequence[str],
    ) -> Output:
        details: Record = {}
        others = {
            k: v for k, v in _plain(answer).items() if k not in ("pred", "pred_audio")
        }
        if others:
            details["returned"] = without_secrets(others, self._secrets)
        if changes:
            details["audio"] = list(changes)
        return replace(
            spoken_output(answer["pred"], answer.get("pred_audio") or path),
            details=details,
        )

    def _heard(
        self,
        message: Message,
        changes: list[str],
    ) -> str | None:
        """Return the path of the first audio clip of a message, converted for the class; None without one."""
        for part in message.parts or ():
            if isinstance(part, Audio):
                return self._file(part, changes)
        return None

    def _file(
        self,
        audio: Audio,
        changes: list[str],
    ) -> str:
        """Return a path of the audio clip, converted to the channels and the rate that the class declares."""
        rate = int(getattr(self.built, "inputs_sr", RATE))
        mono = bool(getattr(self.built, "mono_only", True))
        if isinstance(audio.source, Path):
            facts = check_media(audio)
            has_right_channels = facts.channels == 1 or not mono
            if facts.rate == rate and has_right_channels:
                return str(audio.source)
            parent, stem = None, audio.digest[:24]
        else:
            # Bytes of a table get the file name that their row gives.
            name = Path(str(audio.name))
            parent, stem = name.parent, name.stem
        folder = self._clips.setdefault(parent, AudioFolder(parent))
        path, conversions = folder.put(
            audio,
            stem,
            rate=rate,
            mono=mono,
        )
        changes += conversions
        return str(path)


def _is_dialogue(request: Request) -> bool:
    return "users" in head_of(request)


def _split_head(request: Request) -> tuple[Fields, Sequence[Message]]:
    messages = request.messages
    has_head = messages[0].role == HEAD
    return head_of(request), messages[1:] if has_head else messages


def _turns(pairs: Sequence[Sequence[Any]]) -> tuple[Turn, ...]:
    return tuple(Turn(audio, text) for audio, text in pairs)


def _plain(answer: Fields) -> Record:
    """Return the part of an answer that can be recorded. `cache` and `his` are only for the next round."""
    return {
        str(name): value
        for name, value in answer.items()
        if name not in ("cache", "his") and _is_plain(value)
    }


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, Mapping):
        return all(
            isinstance(key, str) and _is_plain(item) for key, item in value.items()
        )
    return isinstance(value, LEAVES)

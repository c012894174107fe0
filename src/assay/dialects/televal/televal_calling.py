"""Call a user's model for a request, by assay's rules or by upstream's."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import AssayError, Audio, shorten
from ...media import Facts, check_media
from ..protocol import is_upstream
from ..returned import defined_at
from ..shapes import Fields, Record
from .eras import SEED, Era, era_here
from .spoken import RATE, AudioFolder, Question, Script, Turn, read_structure

FLAGS: Mapping[str, bool] = {
    "reverse_spkr": False,
    "use_model_history": True,
    "save_latest_only": False,
}


@dataclass
class Dialogue:
    """The state of a dialogue in TELEVAL's form: parallel lists, and a cache that is replaced each round."""

    script: Script
    own_history: bool = True
    era: Era = "newest"
    audio: Sequence[str | None] = ()
    """The clips for the model in each round, if they differ from those of the script."""
    answers: list[Record] = field(default_factory=list)
    cache: Record = field(default_factory=dict)
    inferred: Any = None
    """The answers of all rounds, if the user's own `inference` returned them together."""

    @property
    def round(self) -> int:
        """The number of the round, counted from 0."""
        return len(self.answers)

    def heard(self, place: int) -> str | None:
        """Return the path of the audio clip that the model gets in the round with this number; None without one."""
        if self.audio:
            return self.audio[place]
        return self.script.users[place].audio

    def arguments(self) -> tuple[str | None, list[Any], list[Any]]:
        """Return the audio of this round, the earlier clips, and the replies to them."""
        now = self.round
        earlier = [self.heard(number) for number in range(now)]
        if self.own_history:
            replies = [
                a["his"] if a.get("his") is not None else a["pred"]
                for a in self.answers
            ]
        else:
            replies = [reply.text for reply in self.script.replies[:now]]
        return self.heard(now), earlier, replies

    def keywords(self, pred_audio: str | None) -> Record:
        """Return the keyword arguments of this round."""
        now = self.round
        queries = [user.text for user in self.script.users[: now + 1]]
        if self.own_history:
            spoken = [answer.get("pred_audio") for answer in self.answers]
        else:
            spoken = [reply.audio for reply in self.script.replies[:now]]
        words: Record = {
            "instruct": self.script.instruct,
            "user_query": queries[-1],
            "user_query_history": queries[:-1],
            **self.cache,
        }
        if self.era == "newest":
            words["assistant_his_audio"] = spoken
        elif spoken:
            words["assistant_his_audio"] = spoken[-1]
        if pred_audio is not None:
            words["pred_audio"] = pred_audio
        return words

    def ask(
        self,
        model: Any,
        pred_audio: str | None = None,
    ) -> Record:
        """Ask for the answer of this round, and keep it for the next one."""
        heard, earlier, replies = self.arguments()
        words = self.keywords(pred_audio)
        returned = model.generate_multiturn(heard, earlier, replies, **words)
        if is_upstream("televal"):
            answer = {**returned, "pred": returned["pred"]}
        else:
            answer = checked(returned, model, "generate_multiturn")
        self.answers.append(answer)
        if "cache" in answer:
            self.cache = {"cache": answer["cache"]}
        return answer

    def records(self, model: object, options: Fields) -> list[Record]:
        """Ask for the answers of all rounds. Return a record for each, or only the last one with `save_latest_only`."""
        path = options.get("pred_audio")
        for number in range(1, len(self.script.users) + 1):
            self.ask(model, round_path(str(path), number) if path else None)
        records = round_records(self.script, self.answers, self.era)
        if options.get("save_latest_only"):
            return records[-1:]
        return records


def checked(
    answer: object,
    model: object,
    method: str,
) -> Record:
    """Return a model's answer if it is a dictionary with `pred`; otherwise raise a `TypeError` that names the model."""
    name = f"{type(model).__name__}.{method}"
    definition = defined_at(getattr(model, method))
    if not isinstance(answer, Mapping):
        raise TypeError(
            f'{name} returned {shorten(answer)}; it must return a dict such as {{"pred": "…"}} ({definition})'
        )
    if answer.get("pred") is None:
        raise TypeError(
            f"{name} returned a dict without `pred`: it has {', '.join(map(str, answer)) or 'nothing'} ({definition})"
        )
    return dict(answer)


def converse(
    model: Any,
    structure: object,
    options: Fields,
) -> Any:
    """Implement `Model.inference` for one rendered template: return the answer, or the records of all rounds."""
    flags = {**FLAGS, **options}
    is_reversed = bool(flags["reverse_spkr"])
    spoken = read_structure(structure, reverse=is_reversed)
    if isinstance(spoken, Question):
        heard = fitted(model, spoken.audio)
        words = {**spoken.keywords(), "audio": heard, **options}
        answer = model.generate_once(**words)
        return checked(answer, model, "generate_once")

    own_history = bool(flags["use_model_history"])
    clips = [fitted(model, user.audio) for user in spoken.users]
    return Dialogue(spoken, own_history, era_here(), clips).records(model, flags)


def fitted(
    model: object,
    path: str | None,
) -> str | None:
    """Return an audio file with the channels and the rate that the class declares, converting it if necessary."""
    if path is None:
        return None
    audio, facts = heard_file(path)
    rate, mono = (
        int(getattr(model, "inputs_sr", RATE)),
        bool(getattr(model, "mono_only", True)),
    )
    if facts.rate == rate and (facts.channels == 1 or not mono):
        return path
    return str(
        _converted.put(
            audio,
            audio.digest[:24],
            rate=rate,
            mono=mono,
        )[0]
    )


def heard_file(path: str) -> tuple[Audio, Facts]:
    """Return an audio file and the facts in its header."""
    audio = Audio(Path(path).resolve())
    try:
        return audio, check_media(audio)
    except (AssayError, OSError) as error:
        raise FileNotFoundError(f"cannot read the audio {path}") from error


def round_path(path: str, number: int) -> str:
    """Return the audio path of one round, next to the path of the whole dialogue."""
    base, suffix = os.path.splitext(path)
    return f"{base}_round{number}{suffix}"


_converted = AudioFolder()
"""Audio files converted for models that are called directly; removed when the process ends."""


def round_records(
    script: Script,
    answers: Sequence[Fields],
    era: Era = "newest",
) -> list[Record]:
    """Return one record for each round of a dialogue, with the history before it."""
    records: list[Record] = []
    history: list[Any] = []
    for index, answer in enumerate(answers):
        user, reply = script.users[index], script.replies[index]
        record = {
            "nround": index + 1,
            "rounds": len(script.users),
            "pred": answer.get("pred"),
            "pred_audio": answer.get("pred_audio"),
            "query": user.text,
            "ref": reply.text,
        }
        before = list(history)
        if era == "newest":
            record |= {
                "current_user_meta": dict(user.meta) or None,
                "current_bot_meta": dict(reply.meta) or None,
            }
            history.append(
                {
                    "user": user.text,
                    "bot": answer.get("pred"),
                    "pred_audio": answer.get("pred_audio"),
                    "user_meta_info": dict(user.meta) or None,
                    "bot_meta_info": dict(reply.meta) or None,
                }
            )
        else:
            history += [user.text, answer.get("pred")]
        records.append({**record, "history": before})
    return records


def taken_apart(model: object, structure: object) -> Record:
    """Return the fields of a question or a dialogue as one dictionary. Only the newest revision has `meta_info`."""
    if isinstance(structure, dict) and "dialogue" in structure:
        return _dialogue(model, structure)
    if not isinstance(structure, list):
        raise ValueError(
            f"a template gives a list of roles or a mapping with `dialogue`, not {shorten(structure)}"
        )
    question = Question().keywords()
    for turn in structure:
        role = turn.get("role", "").lower()
        audio, text, _ = _content(model, turn)
        if role == "user":
            question |= {"audio": audio, "query": text}
        elif role in ("assistant", "instruct", "system"):
            question[role] = text
    if question["audio"] is None and question["query"] is None:
        raise ValueError("a question needs the role `user` with audio or text")
    return question


def _dialogue(model: object, structure: Fields) -> Record:
    turns = structure["dialogue"]
    if not turns:
        raise ValueError("the dialogue has no turns")
    contents = [_content(model, turn) for turn in turns]
    if "instruct" in structure:
        instruct = _content(model, structure["instruct"])[1]
    else:
        instruct = ""
    apart = {
        "type": "multi_turn",
        "nrounds": structure.get("nrounds"),
        "audio": [audio for audio, _, _ in contents],
        "query": [text for _, text, _ in contents],
        "instruct": instruct,
    }
    if era_here() == SEED:
        return apart
    return {**apart, "meta_info": [meta for _, _, meta in contents]}


def _content(model: object, turn: Fields) -> tuple[Any, Any, Record]:
    content = turn.get("content", {})
    audio = content.get("audio")
    if audio:
        _check_audio(model, audio)
    meta = {
        name: value for name, value in content.items() if name not in ("audio", "text")
    }
    return audio, content.get("text"), meta


def _check_audio(model: Any, path: str) -> None:
    """Raise for a file that cannot be read, or whose channels or rate differ from the model's."""
    _, facts = heard_file(path)
    if not is_upstream("televal"):
        return  # converted when the model is called
    if model.mono_only and facts.channels != 1:
        raise ValueError(
            f"{path} has {facts.channels} channels, and the model hears one"
        )
    if facts.rate != model.inputs_sr:
        raise ValueError(
            f"{path} has {facts.rate} samples a second, and the model expects {model.inputs_sr}"
        )


def converse_as_upstream(
    model: Any,
    structure: object,
    options: Fields,
) -> Any:
    """Answer one input: return the result of `generate_once`, or the records of a dialogue's rounds."""
    apart = model._process_inputs(structure)
    if apart["type"] == "single_turn":
        return model.generate_once(**apart, **options)
    era = era_here()
    script = _script(apart, is_reversed=bool(options.get("reverse_spkr", False)))
    own_history = options.get("use_model_history", era != SEED)
    return Dialogue(script, own_history, era).records(model, options)


def _script(apart: Fields, *, is_reversed: bool) -> Script:
    """Return the turns of both speakers. If reversed, clips and texts swap speakers, but `meta_info` does not."""
    clips = apart["audio"]
    texts = apart["query"]
    metas = apart.get("meta_info") or [{}] * len(texts)
    if is_reversed:
        user, other = slice(1, None, 2), slice(0, None, 2)
    else:
        user, other = slice(0, None, 2), slice(1, None, 2)
    users = _turns(clips[user], texts[user], metas[0::2])
    replies = _turns(clips[other], texts[other], metas[1::2])
    rounds = min(len(users), len(replies))
    return Script(
        users=users[:rounds],
        replies=replies[:rounds],
        instruct=apart.get("instruct") or "",
    )


def _turns(
    clips: Any,
    texts: Any,
    metas: Any,
) -> tuple[Turn, ...]:
    turns = []
    for clip, text, meta in zip(clips, texts, metas, strict=False):
        turns.append(Turn(clip, text, meta))
    return tuple(turns)

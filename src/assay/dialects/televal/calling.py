"""How a guest model is asked: the words of `generate_once` and `generate_multiturn`, and what may come back.

A dialogue's lists are given in one of two shapes: `newest` hands over all earlier audio clips of the assistant, `seed`
only the last one, and none in the first round.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import AssayError, Audio, shorten
from ...media import Facts, check_media
from .audio import RATE, AudioFolder
from .eras import Era, era_here
from .spoken import Question, Script, read_structure

FLAGS: Mapping[str, bool] = {
    "reverse_spkr": False,
    "use_model_history": True,
    "save_latest_only": False,
}


@dataclass
class Dialogue:
    """What was said so far, as the guest keeps it: parallel lists, and one state that is replaced each round."""

    script: Script
    own_history: bool = True
    era: Era = "newest"
    audio: Sequence[str | None] = ()
    """What the model hears in each round, where that is not what the script names."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)
    inferred: Any = None
    """The answers of all rounds, where the user's own `inference` gave them at once."""

    @property
    def round(self) -> int:
        """Counted from 0."""
        return len(self.answers)

    def heard(self, place: int) -> str | None:
        """The audio of a round."""
        return self.audio[place] if self.audio else self.script.users[place].audio

    def arguments(self) -> tuple[str | None, list[Any], list[Any]]:
        """The audio of this round, the earlier ones, and what was answered to them."""
        now = self.round
        earlier = [self.heard(place) for place in range(now)]
        if self.own_history:
            replies = [
                a["his"] if a.get("his") is not None else a["pred"]
                for a in self.answers
            ]
        else:
            replies = [reply.text for reply in self.script.replies[:now]]
        return self.heard(now), earlier, replies

    def keywords(self, pred_audio: str | None) -> dict[str, Any]:
        """The other words of this round."""
        now = self.round
        queries = [user.text for user in self.script.users[: now + 1]]
        spoken = (
            [answer.get("pred_audio") for answer in self.answers]
            if self.own_history
            else [reply.audio for reply in self.script.replies[:now]]
        )
        words: dict[str, Any] = {
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

    def ask(self, model: Any, pred_audio: str | None = None) -> dict[str, Any]:
        """The answer of this round, noted for the next."""
        heard, earlier, replies = self.arguments()
        answer = checked(
            model.generate_multiturn(
                heard, earlier, replies, **self.keywords(pred_audio)
            ),
            model,
            "generate_multiturn",
        )
        self.answers.append(answer)
        if "cache" in answer:
            self.cache = {"cache": answer["cache"]}
        return answer


def checked(answer: Any, model: Any, method: str) -> dict[str, Any]:
    """What a model returned, if it is a dictionary with `pred`; else a `TypeError` that names the model."""
    name = f"{type(model).__name__}.{method}"
    if not isinstance(answer, Mapping):
        raise TypeError(
            f'{name} returned {shorten(answer)}; it must return a dict such as {{"pred": "…"}}'
        )
    if answer.get("pred") is None:
        raise TypeError(
            f"{name} returned a dict without `pred`: it has {', '.join(map(str, answer)) or 'nothing'}"
        )
    return dict(answer)


def converse(model: Any, structure: Any, options: Mapping[str, Any]) -> Any:
    """`Model.inference` for one rendered template: the answer, or the records of all rounds of a dialogue."""
    flags = {**FLAGS, **options}
    spoken = read_structure(structure, reverse=bool(flags["reverse_spkr"]))
    if isinstance(spoken, Question):
        heard = fitted(model, spoken.audio)
        words = {**spoken.keywords(), "audio": heard, **options}
        return checked(model.generate_once(**words), model, "generate_once")
    era = era_here()
    clips = [fitted(model, user.audio) for user in spoken.users]
    dialogue = Dialogue(spoken, bool(flags["use_model_history"]), era, clips)
    path = options.get("pred_audio")
    for place in range(len(spoken.users)):
        dialogue.ask(model, round_path(str(path), place + 1) if path else None)
    records = round_records(spoken, dialogue.answers, era)
    return records[-1:] if flags["save_latest_only"] else records


def fitted(model: Any, path: str | None) -> str | None:
    """The file of an audio clip as the class declares it: one channel, its rate; another one is converted."""
    if path is None:
        return None
    audio, facts = heard_file(path)
    rate, mono = (
        int(getattr(model, "inputs_sr", RATE)),
        bool(getattr(model, "mono_only", True)),
    )
    if facts.rate == rate and (facts.channels == 1 or not mono):
        return path
    return str(_converted.put(audio, audio.digest[:24], rate=rate, mono=mono)[0])


def heard_file(path: str) -> tuple[Audio, Facts]:
    """An audio file and what its header says."""
    audio = Audio(Path(path).resolve())
    try:
        return audio, check_media(audio)
    except (AssayError, OSError) as error:
        raise FileNotFoundError(f"cannot read the audio {path}") from error


def round_path(path: str, number: int) -> str:
    """The audio of one round of a dialogue, beside that of the whole."""
    base, suffix = os.path.splitext(path)
    return f"{base}_round{number}{suffix}"


_converted = AudioFolder()
"""Audio files that were converted for models that are asked directly; gone when the process ends."""


def round_records(
    script: Script, answers: Sequence[Mapping[str, Any]], era: Era = "newest"
) -> list[dict[str, Any]]:
    """One record for each round of a dialogue, with the history before it."""
    records: list[dict[str, Any]] = []
    history: list[Any] = []
    for place, answer in enumerate(answers):
        user, reply = script.users[place], script.replies[place]
        record = {
            "nround": place + 1,
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

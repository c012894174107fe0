"""Call a user's model: for one question, for one round of a dialogue, or through the class's own `inference`.

A class's own `inference` receives a list with one rendered template and returns a list
with one answer. For a dialogue, that answer is a list with a record for each round.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core import shorten
from ..protocol import is_upstream
from ..returned import defined_at
from ..shapes import Fields, Record
from .eras import Era
from .structures import Script

if TYPE_CHECKING:
    from .televal_model_bases import Model

FLAGS: Mapping[str, bool] = {
    "reverse_spkr": False,
    "use_model_history": True,
    "save_latest_only": False,
}
"""The switches of an infer_task that models receive, with their defaults."""


@dataclass
class Dialogue:
    """A dialogue in progress: the turns in the data, the answers so far, and the model's cache."""

    script: Script
    own_history: bool = True
    era: Era = "newest"
    audio: list[str | None] = field(default_factory=list)
    """For each round, the path of the user's audio clip after conversion. Without one, the original is used."""
    answers: list[Record] = field(default_factory=list)
    cache: Record = field(default_factory=dict)
    inferred: Any = None
    """The result of the class's own `inference` for the whole dialogue; None if that method is not used."""

    def __post_init__(self) -> None:
        if not self.audio:
            self.audio = [user.audio for user in self.script.users]

    @property
    def round(self) -> int:
        """The index of the current round, counted from 0."""
        return len(self.answers)

    def ask(
        self,
        model: "Model",
        pred_audio: str | None = None,
    ) -> Record:
        """Return the model's answer to the current round. It is stored as history for the next round."""
        now = self.round
        queries = [user.text for user in self.script.users[: now + 1]]
        if self.own_history:
            replies = [_history_of(answer) for answer in self.answers]
            spoken = [answer.get("pred_audio") for answer in self.answers]
        else:
            replies = [reply.text for reply in self.script.replies[:now]]
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
        returned = model.generate_multiturn(
            self.audio[now],
            self.audio[:now],
            replies,
            **words,
        )
        if is_upstream("televal"):
            answer = {**returned, "pred": returned["pred"]}
        else:
            answer = checked(returned, model, "generate_multiturn")
        self.answers.append(answer)
        if "cache" in answer:
            self.cache = {"cache": answer["cache"]}
        return answer

    def records(
        self,
        model: "Model",
        options: Fields,
    ) -> list[Record]:
        """Ask the model in all rounds. Return a record for each, or only the last one with `save_latest_only`."""
        path = options.get("pred_audio")
        for number in range(1, len(self.script.users) + 1):
            if path:
                base, suffix = os.path.splitext(str(path))
                self.ask(model, f"{base}_round{number}{suffix}")
            else:
                self.ask(model)
        records = round_records(self.script, self.answers, self.era)
        if options.get("save_latest_only"):
            return records[-1:]
        return records


def _history_of(answer: Fields) -> object:
    """Return an answer as the next rounds see it: the model's field `his` or, if it is not set, the text."""
    if answer.get("his") is not None:
        return answer["his"]
    return answer["pred"]


def checked(
    answer: object,
    model: object,
    method: str,
) -> Record:
    """Return a model's answer if it is a dictionary with `pred`; otherwise raise a `TypeError`."""
    if isinstance(answer, Mapping) and answer.get("pred") is not None:
        return dict(answer)
    name = f"{type(model).__name__}.{method}"
    definition = defined_at(getattr(model, method))
    if not isinstance(answer, Mapping):
        raise TypeError(
            f'{name} returned {shorten(answer)}; it must return a dict such as {{"pred": "…"}} ({definition})'
        )
    raise TypeError(
        f"{name} returned a dict without `pred`: it has {', '.join(map(str, answer)) or 'nothing'} ({definition})"
    )


def round_records(
    script: Script,
    answers: Sequence[Fields],
    era: Era = "newest",
) -> list[Record]:
    """Return the prediction record of each round of a dialogue, with the history before that round."""
    records: list[Record] = []
    history: list[object] = []
    for index, answer in enumerate(answers):
        user = script.users[index]
        reply = script.replies[index]
        pred = answer.get("pred")
        pred_audio = answer.get("pred_audio")
        record = {
            "nround": index + 1,
            "rounds": len(script.users),
            "pred": pred,
            "pred_audio": pred_audio,
            "query": user.text,
            "ref": reply.text,
        }
        before = list(history)
        if era == "newest":
            user_meta = dict(user.meta) or None
            bot_meta = dict(reply.meta) or None
            record["current_user_meta"] = user_meta
            record["current_bot_meta"] = bot_meta
            history.append(
                {
                    "user": user.text,
                    "bot": pred,
                    "pred_audio": pred_audio,
                    "user_meta_info": user_meta,
                    "bot_meta_info": bot_meta,
                }
            )
        else:
            history += [user.text, pred]
        records.append({**record, "history": before})
    return records


def infer(
    model: "Model",
    structure: object,
    flags: Fields,
    pred_audio: str | None,
) -> Any:
    """Call a class's own `inference` with one rendered template, and return its answer."""
    paths = {} if pred_audio is None else {"pred_audio": [pred_audio]}
    answers: Any = model.inference([structure], **flags, **paths)
    _check_length(answers, 1, model, "for one input, not a list of one")
    return answers[0]


def infer_dialogue(
    model: "Model",
    script: Script,
    flags: Fields,
    pred_audio: str | None,
) -> list[Record]:
    """Call a class's own `inference` with a whole dialogue, and return its answers, one for each round."""
    # The speakers are already swapped if requested. Keep every round; `prediction_lines` selects them.
    every_round = {**flags, "reverse_spkr": False, "save_latest_only": False}
    records = infer(model, script.structure(), every_round, pred_audio)
    rounds = len(script.users)
    complaint = f"for a dialogue of {rounds} rounds, not one for each"
    _check_length(records, rounds, model, complaint)
    return [checked(record, model, "inference") for record in records]


def _check_length(
    answers: object,
    length: int,
    model: object,
    complaint: str,
) -> None:
    """Raise unless `answers`, the return value of `inference`, is a list of this length."""
    is_list = isinstance(answers, Sequence) and not isinstance(answers, str)
    if not is_list or len(answers) != length:  # type: ignore[arg-type]
        name = f"{type(model).__name__}.inference"
        raise TypeError(f"{name} returned {shorten(answers)} {complaint}")

"""A user's own `inference`, called with the rendered template instead of the two methods for one round.

It receives a list with one rendered structure and returns a list with one answer; for a dialogue, that answer is a
list with a record for each round. It gets the whole dialogue when its first round is asked.
"""

from collections.abc import Sequence
from typing import Any

from ...core import shorten
from ..shapes import Fields, Record
from .spoken import Question, Script, Turn
from .televal_calling import FLAGS, checked
from .televal_model_bases import Model


def infers_itself(model: object) -> bool:
    """Return True if a model's class defines its own `inference`."""
    return getattr(type(model), "inference", Model.inference) is not Model.inference


def infer_once(
    model: object,
    question: Question,
    flags: Fields,
    pred_audio: str | None,
) -> Record:
    """Return the answer to one question."""
    turns: list[tuple[str, Turn]] = [
        ("system", Turn(text=question.system)),
        ("instruct", Turn(text=question.instruct or None)),
        ("user", Turn(question.audio, question.query)),
        ("assistant", Turn(text=question.assistant)),
    ]
    roles = [
        {"role": role, "content": _content(turn)}
        for role, turn in turns
        if _content(turn)
    ]
    return checked(
        _only(model, roles, {**FLAGS, **flags}, pred_audio),
        model,
        "inference",
    )


def infer_dialogue(
    model: object,
    script: Script,
    heard: str | None,
    flags: Fields,
    pred_audio: str | None,
) -> list[Record]:
    """Return the answers of all rounds of a dialogue. The caller has already swapped its speakers if requested."""
    users = (Turn(heard, script.users[0].text, script.users[0].meta), *script.users[1:])
    dialogue = [
        {"role": role, "round": str(number), "content": {**turn.meta, **_content(turn)}}
        for number, (user, reply) in enumerate(
            zip(users, script.replies, strict=True), 1
        )
        for role, turn in (("A", user), ("B", reply))
    ]
    structure: Record = {"nrounds": len(users), "dialogue": dialogue}
    if script.instruct:
        structure["instruct"] = {"content": {"text": script.instruct}}
    # Keep every round; the writer of the lines decides which are shown.
    all_flags = {**FLAGS, **flags, "reverse_spkr": False, "save_latest_only": False}
    records = _only(model, structure, all_flags, pred_audio)
    if (
        not isinstance(records, Sequence)
        or isinstance(records, str)
        or len(records) != len(users)
    ):
        name = f"{type(model).__name__}.inference"
        raise TypeError(
            f"{name} returned {shorten(records)} for a dialogue of {len(users)} rounds, not one for each"
        )
    return [checked(record, model, "inference") for record in records]


def _only(
    model: Any,
    structure: object,
    flags: Fields,
    pred_audio: str | None,
) -> Any:
    if pred_audio is None:
        paths = {}
    else:
        paths = {"pred_audio": [pred_audio]}
    answers = model.inference(
        [structure],
        **flags,
        **paths,
    )
    if (
        not isinstance(answers, Sequence)
        or isinstance(answers, str)
        or len(answers) != 1
    ):
        name = f"{type(model).__name__}.inference"
        raise TypeError(
            f"{name} returned {shorten(answers)} for one input, not a list of one"
        )
    return answers[0]


def _content(turn: Turn) -> Record:
    return {
        name: value
        for name, value in (("audio", turn.audio), ("text", turn.text))
        if value is not None
    }

"""`Model.inference` as TELEVAL itself has it: its checks, its pairs of reversed speakers, its records.

A dialogue's lists are the same objects in all its rounds, so that a model may keep them.
"""

from collections.abc import Mapping
from typing import Any

from ...core import shorten
from ..protocol import is_upstream
from .calling import heard_file, round_path, round_records
from .eras import SEED, Era, era_here
from .spoken import Question, Script, Turn


def taken_apart(model: Any, structure: Any) -> dict[str, Any]:
    """A question or a dialogue as one dictionary; `meta_info` is the newest era's."""
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


def _dialogue(model: Any, structure: Mapping[str, Any]) -> dict[str, Any]:
    turns = structure["dialogue"]
    if not turns:
        raise ValueError("the dialogue has no turns")
    contents = [_content(model, turn) for turn in turns]
    instruct = (
        _content(model, structure["instruct"])[1] if "instruct" in structure else ""
    )
    apart = {
        "type": "multi_turn",
        "nrounds": structure.get("nrounds"),
        "audio": [audio for audio, _, _ in contents],
        "query": [text for _, text, _ in contents],
        "instruct": instruct,
    }
    return (
        apart
        if era_here() == SEED
        else {**apart, "meta_info": [meta for _, _, meta in contents]}
    )


def _content(model: Any, turn: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    content = turn.get("content", {})
    audio = content.get("audio")
    if audio:
        _check_audio(model, audio)
    meta = {
        name: value for name, value in content.items() if name not in ("audio", "text")
    }
    return audio, content.get("text"), meta


def _check_audio(model: Any, path: str) -> None:
    """Raises for a file that cannot be heard, and for one with other channels or another rate than the model's."""
    _, facts = heard_file(path)
    if not is_upstream("televal"):
        return  # converted where the model is asked
    if model.mono_only and facts.channels != 1:
        raise ValueError(
            f"{path} has {facts.channels} channels, and the model hears one"
        )
    if facts.rate != model.inputs_sr:
        raise ValueError(
            f"{path} has {facts.rate} samples a second, and the model expects {model.inputs_sr}"
        )


def converse_as_upstream(model: Any, structure: Any, options: Mapping[str, Any]) -> Any:
    """What one input is answered with: what `generate_once` gave, or the records of a dialogue's rounds."""
    apart = model._process_inputs(structure)
    if apart["type"] == "single_turn":
        return model.generate_once(**apart, **options)
    return _rounds(model, apart, options, era_here())


def _rounds(
    model: Any, apart: Mapping[str, Any], options: Mapping[str, Any], era: Era
) -> list[dict[str, Any]]:
    first, second = (1, 0) if options.get("reverse_spkr", False) else (0, 1)
    own_history = options.get("use_model_history", era != SEED)
    audio, other_audio = apart["audio"][first::2], apart["audio"][second::2]
    texts, replies = apart["query"][first::2], apart["query"][second::2]
    metas = apart.get("meta_info") or [{}] * len(apart["query"])
    rounds = min(len(audio), len(texts), len(replies))
    words: dict[str, Any] = {"instruct": apart.get("instruct")}
    heard: list[Any] = []
    history: list[Any] = []
    spoken: list[Any] = []
    answers: list[dict[str, Any]] = []
    for n in range(rounds):
        if options.get("pred_audio"):
            words["pred_audio"] = round_path(options["pred_audio"], n + 1)
        words |= {"user_query_history": texts[:n], "user_query": texts[n]}
        if era != SEED:
            words["assistant_his_audio"] = spoken
        answer = model.generate_multiturn(audio[n], heard, history, **words)
        pred, pred_audio = answer["pred"], answer.get("pred_audio")
        answers.append({"pred": pred, "pred_audio": pred_audio})
        heard.append(audio[n])
        reply = answer.get("his") if answer.get("his") is not None else pred
        history.append(reply if own_history else replies[n])
        spoken.append(pred_audio if own_history else other_audio[n])
        if era == SEED:
            words["assistant_his_audio"] = spoken[-1]
        if "cache" in answer:
            words["cache"] = answer["cache"]
    # What stands beside a text stays where it was, in the user's turns and in the model's.
    users = tuple(
        Turn(None, text, meta) for text, meta in zip(texts, metas[0::2], strict=False)
    )[:rounds]
    others = tuple(
        Turn(None, text, meta) for text, meta in zip(replies, metas[1::2], strict=False)
    )[:rounds]
    records = round_records(Script(users, others), answers, era)
    return records[-1:] if options.get("save_latest_only", False) else records

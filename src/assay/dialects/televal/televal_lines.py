"""Prediction lines: a model's answer to a sample in the format of TELEVAL's files and evaluators."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...core import (
    Audio,
    Candidate,
    Json,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
)
from ..shapes import Fields, Record
from .eras import Era
from .structures import Script, as_reference
from .televal_calling import round_records
from .televal_rows import KEY, SPOKEN, STRUCTURE, SWITCHES

HEAD = "televal"
"""The role of the message that carries data for TELEVAL models only."""
RETURNED = "inference"
"""The key in an output's details for the return value of `inference`, if upstream's rules were chosen."""
LINE = "televal_line"
"""The field of a sample with the line that was read from a file of predictions."""


def prediction_lines(
    sample: Sample,
    output: Output,
    loader: object,
    era: Era = "newest",
) -> list[Record]:
    """Return one line for a question; for a dialogue one for each round, or only the last if the task requires it."""
    if LINE in sample.fields:
        return [sample.fields[LINE]]
    extra = {
        name: sample.fields.get(name)
        for name in getattr(loader, "extra_col", None) or ()
    }
    key = sample.fields.get(
        KEY, sample.fields.get(getattr(loader, "key_col", None) or "key")
    )
    if key is None:
        key = sample.id
    if (
        STRUCTURE in sample.fields
        and (lines := _as_returned(sample, output, loader, key, extra)) is not None
    ):
        return lines
    script = sample.fields.get(SPOKEN)
    if isinstance(script, Script):
        records = round_records(script, _answers(output), era)
        if sample.fields.get(SWITCHES, {}).get("save_latest_only"):
            records = records[-1:]
        return [{"key": key, **record, **extra} for record in records]
    line = {
        "key": key,
        "query": sample.fields.get(getattr(loader, "query_col", None) or ""),
        "ref": as_reference(sample.target),
        **_answer(output),
        **extra,
    }
    return [line]


def _as_returned(
    sample: Sample,
    output: Output,
    loader: object,
    key: object,
    extra: Fields,
) -> list[Record] | None:
    """Return the lines in upstream's form, with the whole return value of `inference`; None for a model of assay."""
    returned = output.details.get(RETURNED)
    if returned is None:
        return None
    if isinstance(returned, Mapping):
        row = sample.fields
        query, ref = (
            row.get(getattr(loader, name, None) or "")
            for name in ("query_col", "ref_col")
        )
        return [{"key": key, "query": query, "ref": ref, **returned, **extra}]
    if not isinstance(returned, list):
        return []
    if sample.fields.get(SWITCHES, {}).get("save_latest_only"):
        records = returned[-1:]
    else:
        records = returned
    return [{"key": key, **record, **extra} for record in records]


def _answer(output: Output) -> Record:
    answer: Record = {"pred": output.text, **output.details.get("returned", {})}
    if spoken := audio_path(output):
        answer["pred_audio"] = spoken
    return answer


def _answers(output: Output) -> Sequence[Fields]:
    """Return the answers of all rounds. A model of assay gives their texts and only the last audio."""
    rounds = output.details.get("answers")
    if rounds is not None:
        return [
            *rounds[:-1],
            {
                **rounds[-1],
                "pred_audio": audio_path(output) or rounds[-1].get("pred_audio"),
            },
        ]
    texts = output.details.get("rounds") or [output.text]
    answers: list[Record] = [{"pred": text} for text in texts]
    answers[-1]["pred_audio"] = audio_path(output)
    return answers


def audio_path(output: Output) -> str | None:
    """Return the path of the audio that the model generated, if any."""
    for medium in output.media:
        if medium.kind == "audio" and isinstance(medium.source, (str, Path)):
            return str(medium.source)
    return None


def spoken_output(pred: object, *paths: object) -> Output:
    """Return an answer as text, with its audio if one of the paths is a file."""
    clip = next(
        (Path(str(path)) for path in paths if path and Path(str(path)).is_file()), None
    )
    parts = (Text(str(pred)),) if clip is None else (Text(str(pred)), Audio(clip))
    return Output((Candidate(parts),))


def info_of(line: Fields) -> Record:
    """Return the fields of a line that an evaluator gets in addition to answer and reference."""
    return {name: value for name, value in line.items() if name not in ("pred", "ref")}


def with_head(prompt: Prompt, extras: Record) -> Prompt:
    """Return a prompt with a first message that carries data for TELEVAL models."""
    head = Message(HEAD, (Json(extras),))
    return replace(prompt, messages=(head, *prompt.messages))


def head_of(request: Request) -> Fields:
    """Return the data that the first message of a request carries; empty if it carries none."""
    first = request.messages[0]
    part = (first.parts or (None,))[0]
    return part.value if first.role == HEAD and isinstance(part, Json) else {}

"""A file of predictions as a dataset, and the model that gives them back: judging without asking anybody.

Lines have at least `key`, `pred` and `ref`; who wrote them does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ...core import (
    Abilities,
    DataError,
    Json,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
)
from ...datasets import open_dataset
from .lines import LINE, spoken_output
from .references import as_target, decoded
from .rows import PLACE

REQUIRED = ("key", "pred", "ref")
HEAD = "televal"


@dataclass(frozen=True)
class ReadLine:
    """A line of predictions as a sample; the rounds of a dialogue belong together."""

    is_upstream: bool = False
    """A line is known by its place: keys may be given twice."""
    id_column: ClassVar[str] = "key"

    def __call__(self, row: Mapping[str, Any]) -> Sample:
        line = decoded(row)
        place = line.pop(PLACE, None)
        missing = [name for name in REQUIRED if name not in line]
        if missing:
            raise DataError(
                f"a prediction needs {', '.join(REQUIRED)}; {missing[0]} is missing",
                column=missing[0],
                got=sorted(line),
            )
        key = str(line["key"])
        nround = None if self.is_upstream else line.get("nround")
        query = line.get("query")
        id = (
            place["id"]
            if place is not None
            else key
            if nround is None
            else f"{key}#{nround}"
        )
        return Sample(
            id,
            "" if query is None else str(query),
            as_target(line["ref"]),
            fields={**line, LINE: line},
            cluster=None if line.get("nround") is None else key,
        )


def lines_in(rows: Any, reader: ReadLine) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All lines of a file of predictions that can be judged, with the ids of their samples."""
    for sample in open_dataset(rows, to_sample=reader, where="predictions"):
        if isinstance(sample, Sample):
            yield sample.id, sample.fields[LINE]


def ask_for_line(sample: Sample) -> Prompt:
    """The question as far as it is known."""
    return Prompt((Message("user", (Text(str(sample.input)),)),))


@dataclass(frozen=True)
class Predictions:
    """The model that made a file of predictions, known by the file alone."""

    name: str
    folder: Path = field(compare=False)
    """Where relative paths of audio clips start, if not in the working folder."""
    is_upstream: bool = False
    """A line without an answer is judged too."""
    abilities: Abilities = field(
        default=Abilities(frozenset({"text", "audio"}), frozenset({"text", "audio"})),
        compare=False,
    )

    @property
    def identity(self) -> Mapping[str, Any]:
        """What it said is part of each request."""
        return {"dialect": "televal", "predictions": self.name}

    def prompt(self, sample: Sample, prompt: Prompt) -> Prompt:
        """The prediction itself goes with the question."""
        line = sample.fields[LINE]
        answer = {"pred": line["pred"], "pred_audio": line.get("pred_audio")}
        return replace(
            prompt, messages=(Message(HEAD, (Json(answer),)), *prompt.messages)
        )

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """What the file says."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        (head,) = request.messages[0].parts or (Json({}),)
        answer = head.value if isinstance(head, Json) else {}
        if answer.get("pred") is None and not self.is_upstream:
            return Output.failed(
                "missing", "the line has no prediction", retryable=False
            )
        spoken = answer.get("pred_audio")
        places = (
            (Path(spoken), self.folder / spoken)
            if isinstance(spoken, str) and spoken
            else ()
        )
        return spoken_output(answer["pred"], *(place.resolve() for place in places))

"""One sample for a page: its rounds, its verdicts and the calls to helper models, from their journal lines.

Long texts are cut and marked as cut; the whole record is available as text. Media are
identified by their digest.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ..core import StoreError
from ..core.media import MEDIA_KINDS
from ..core.record import is_whole
from ..core.tools import TOOLS_ROLE
from ..store.export import as_text, candidate_text, content_text
from .journal_index import NONE, JournalIndex

LONGEST_TEXT = 100_000
"""Maximum number of characters of one text on a page. The raw record has the rest."""
LONGEST_RAW = 64 << 20
SNIPPET = 160
MOST_CALLS = 40
MOST_TOKENS = 2000
"""Maximum number of tokens with log-probabilities on a page."""


@dataclass(slots=True)
class Record:
    """The decoded journal lines of one sample."""

    task: str
    model: str
    id: str
    epoch: int
    rounds: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    """Results of the tool calls in the last answer. Results of earlier calls are in the prompt of the next round."""
    damage: str = ""

    def to_plain(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the record as JSON for a page."""
        limit = None if whole else LONGEST_TEXT
        targets = [line.get("target") for line in self.rounds]
        known_targets = [target for target in targets if target is not None]
        calls = []
        for line in self.calls:
            role = line["task"].rpartition("#")[2]
            call = {**_round(line), "role": role}
            calls.append(_slim(call, limit))
        return {
            "task": self.task,
            "model": self.model,
            "id": self.id,
            "epoch": self.epoch,
            "rounds": [_slim(_round(line), limit) for line in self.rounds],
            "target": _slim(next(iter(known_targets), None), limit),
            "verdicts": [_slim(_verdict(line), limit) for line in self.verdicts],
            "calls": calls,
            "results": _slim(self.last_results(), limit),
            "damage": self.damage,
        }

    def last_results(self) -> list[Any]:
        """Return the results of the tool calls in the last answer."""
        parts: list[Any] = []
        for line in self.results:
            for candidate in line.get("output", {}).get("candidates", ()):
                parts += candidate.get("parts", ())
        return parts

    def raw(self) -> str:
        """Return the journal lines as text."""
        lines = [*self.rounds, *self.results, *self.verdicts, *self.calls]
        return "\n".join(
            json.dumps(line, ensure_ascii=False, indent=1) for line in lines
        )[:LONGEST_RAW]

    def media(self) -> Iterator[Mapping[str, Any]]:
        """Yield every image, audio clip and video in the lines: its kind, digest, and path if it is a data file."""
        for line in (*self.rounds, *self.results, *self.calls):
            for turn in line.get("prompt", ()):
                yield from _media_parts(
                    turn.get("content") if isinstance(turn, Mapping) else None
                )
            output = line.get("output")
            if isinstance(output, Mapping):
                candidates = output.get("candidates", ())
            else:
                candidates = ()
            for candidate in candidates:
                yield from _media_parts(
                    candidate.get("parts") if isinstance(candidate, Mapping) else None
                )


def read_record(index: JournalIndex, row: int) -> Record:
    """Read the lines of a row, and the calls to helper models for its verdicts."""
    task, model = index.cells[index.small["cell"][row]]
    record = Record(task, model, index.ids[row], index.small["epoch"][row])
    try:
        with open(index.path, "rb") as file:
            for slot, offset in sorted(
                index.lines_of(row), key=lambda line: (line[0] < 0, abs(line[0]))
            ):
                _take(
                    file,
                    offset,
                    record,
                    record.verdicts if slot < 0 else record.rounds,
                )
            if record.rounds:
                key = str(record.rounds[-1].get("key", ""))
                offset = index.call(task, TOOLS_ROLE, key)
                if offset != NONE:
                    _take(file, offset, record, record.results)
            for verdict in record.verdicts:
                questions = verdict.get("details", {}).get("asked", ())
                for call in questions if isinstance(questions, Sequence) else ():
                    if (
                        not isinstance(call, Sequence)
                        or len(call) != 2
                        or len(record.calls) >= MOST_CALLS
                    ):
                        continue
                    offset = index.call(task, str(call[0]), str(call[1]))
                    if offset != NONE:
                        _take(file, offset, record, record.calls)
    except FileNotFoundError as error:
        raise StoreError(
            "the journal is no longer there",
            where=str(index.path),
            fix="reload the list",
        ) from error
    return record


def _take(
    file: BinaryIO,
    offset: int,
    record: Record,
    into: list[dict[str, Any]],
) -> None:
    file.seek(offset)
    line = file.readline().rstrip(b"\n")
    if not is_whole(line):
        record.damage = "a line of this sample is damaged and left out"
        return
    plain = json.loads(line)
    plain.pop("crc", None)
    into.append(plain)


def snippet_of(
    row: int,
    lines: tuple[int, int],
    file: BinaryIO,
) -> dict[str, Any]:
    """Return the beginnings of a row's question and answer. For a sample that was not sent, return the reason."""
    answer, verdict = lines
    snippet: dict[str, Any] = {"row": row, "question": "", "answer": "", "target": ""}
    if answer != NONE:
        line = _plain_at(file, answer)
        prompt = [turn for turn in line.get("prompt", ()) if isinstance(turn, Mapping)]
        spoken = [turn for turn in prompt if turn.get("content") is not None]
        last = next(
            (
                t
                for t in reversed(spoken)
                if t.get("role") not in ("system", "developer")
            ),
            None,
        )
        snippet["question"] = _begin(content_text(last["content"])) if last else ""
        snippet["media"] = [
            {"kind": part["type"], "sha256": part["sha256"]}
            for turn in spoken
            for part in _media_parts(turn["content"])
        ][:3]
        output = line.get("output", {})
        candidates = output.get("candidates", ())
        snippet["answer"] = _begin(candidate_text(candidates[0])) if candidates else ""
        output_media = [
            part
            for candidate in candidates
            for part in _media_parts(candidate.get("parts"))
        ]
        snippet["made"] = [
            {"kind": part["type"], "sha256": part["sha256"]} for part in output_media
        ][:4]
        if output.get("error"):
            snippet["error"] = _begin(
                f"{output['error'].get('kind')}: {output['error'].get('message')}"
            )
        snippet["target"] = _begin(as_text(line.get("target")) or "")
    if verdict != NONE:
        line = _plain_at(file, verdict)
        snippet["read"] = _begin(as_text(line.get("answer")) or "")
        if line.get("details", {}).get("error"):
            snippet["error"] = _begin(as_text(line["details"]["error"]) or "")
    return snippet


def _plain_at(file: BinaryIO, offset: int) -> dict[str, Any]:
    file.seek(offset)
    line = file.readline().rstrip(b"\n")
    if not is_whole(line):
        return {}
    record: dict[str, Any] = json.loads(line)
    return record


def _begin(text: str) -> str:
    return " ".join(text[: 3 * SNIPPET].split())[:SNIPPET]


def _media_parts(content: object) -> Iterator[Mapping[str, Any]]:
    for part in content if isinstance(content, list) else ():
        if (
            isinstance(part, Mapping)
            and part.get("type") in MEDIA_KINDS
            and isinstance(part.get("sha256"), str)
        ):
            yield part


def _round(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompt and answer of a round, without fields that a page does not show."""
    names = ("model", "round", "prompt", "continuations", "details", "key", "follows")
    plain = {name: line[name] for name in names if name in line}
    output = dict(line.get("output", {}))
    output["candidates"] = [
        {
            **candidate,
            **(
                {"tokens": candidate["tokens"][:MOST_TOKENS]}
                if "tokens" in candidate
                else {}
            ),
            "token_ids": None,
        }
        for candidate in output.get("candidates", ())
    ]
    return {**plain, "output": output}


def _verdict(line: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "scorer",
        "values",
        "outcome",
        "answer",
        "details",
        "candidates",
        "tags",
        "group",
        "cluster",
        "order",
    )
    return {name: line[name] for name in names if name in line}


def _slim(
    value: object,
    limit: int | None,
) -> object:
    """Cut long texts in JSON and add their lengths. With `limit` None, only remove paths of this machine."""
    if isinstance(value, str):
        if limit is not None and len(value) > limit:
            return f"{value[:limit]}… [{len(value) - limit:,} more characters: open the raw record]"
        return value
    if isinstance(value, Mapping):
        is_medium = value.get("type") in MEDIA_KINDS and "sha256" in value
        return {
            name: _slim(inner, limit)
            for name, inner in value.items()
            if inner is not None and not (is_medium and name == "path")
        }
    if isinstance(value, list):
        return [_slim(inner, limit) for inner in value]
    return value

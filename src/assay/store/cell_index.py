"""The index of one cell: which samples were answered and scored, and where their lines lie in the journal.

It is made of columns of numbers rather than of objects: `bench/resume.py` measures what a million samples take.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .places import NOWHERE, Place, Places

KEY_BYTES = 16
DIGEST_BYTES = 14


@dataclass(slots=True)
class Answered:
    """Where the answer of one sample lies."""

    key: str
    offset: int
    failed: bool = False
    truncated_tokens: Any = None
    """This and the next: what the model said in the details of its output, whatever that is."""
    answer_room: Any = None


class HexColumn:
    """Texts by number. Keys and digests are hexadecimal and of one length: they take half a byte a digit."""

    __slots__ = ("_others", "_packed", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._packed = bytearray()
        self._others: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        if self._others and number in self._others:
            return self._others[number]
        return self._packed[number * self._width : (number + 1) * self._width].hex()

    def __setitem__(self, number: int, text: str) -> None:
        width, packed = self._width, self._packed
        start = number * width
        if len(packed) < start:
            packed += bytes(start - len(packed))
        try:
            encoded = bytes.fromhex(text)
        except ValueError:
            encoded = b""
        if len(encoded) != width or encoded.hex() != text:
            encoded = bytes(width)
            self._others[number] = text
        elif self._others:
            self._others.pop(number, None)
        packed[start : start + width] = encoded


class Answers(Mapping[Place, Sequence[Answered | None]]):
    """By sample id and epoch: where the answers lie, one entry for each round."""

    __slots__ = ("_count", "_cuts", "_failed", "_keys", "_later", "_offsets", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._offsets = array("q")
        self._failed = bytearray()
        self._keys = HexColumn(KEY_BYTES)
        self._cuts: dict[int, tuple[Any, Any]] = {}
        self._later: dict[int, list[Answered | None]] = {}
        """Of dialogues: the rounds behind the first."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Place]:
        places, later = self._places, self._later
        return (places[number] for number, at in enumerate(self._offsets) if at >= 0 or number in later)

    def __getitem__(self, place: Place) -> Sequence[Answered | None]:
        found: Sequence[Answered | None] | None = self.get(place)
        if found is None:
            raise KeyError(place)
        return found

    def get(self, place: Place, otherwise: Any = None) -> Any:
        """The rounds of a place; `otherwise` where it has none."""
        number = self._places.find(*place)
        if not 0 <= number < len(self._offsets):
            return otherwise
        later = self._later.get(number) if self._later else None
        if later is not None:
            return [self._first(number), *later]
        return [self._first(number)] if self._offsets[number] >= 0 else otherwise

    def __contains__(self, place: object) -> bool:
        return isinstance(place, tuple) and self.get(place) is not None

    def put(self, number: int, round: int, answer: Answered) -> Answered | None:
        """Notes an answer at the place with a number, and returns the one whose place it takes."""
        offsets, before = self._offsets, None
        while len(offsets) <= number:
            offsets.append(NOWHERE)
            self._failed.append(0)
        if offsets[number] >= 0:
            before = self._first(number)
        elif number not in self._later:
            self._count += 1
        if round:
            later = self._later.setdefault(number, [])
            later.extend([None] * (round - len(later)))
            before, later[round - 1] = later[round - 1], answer
            return before
        offsets[number] = answer.offset
        self._failed[number] = answer.failed
        self._keys[number] = answer.key
        if answer.truncated_tokens is not None or answer.answer_room is not None:
            self._cuts[number] = answer.truncated_tokens, answer.answer_room
        elif self._cuts:
            self._cuts.pop(number, None)
        return before

    def drop(self, id: str, epoch: int, round: int) -> None:
        """Forgets an answer, as if it had never come."""
        number = self._places.find(id, epoch)
        if round:
            self._later[number][round - 1] = None
        elif self._offsets[number] >= 0:
            self._offsets[number] = NOWHERE
            self._count -= number not in self._later

    def that_came(self) -> Iterator[tuple[str, int]]:
        """Key and offset of every answer that is one."""
        for number, offset in enumerate(self._offsets):
            if offset >= 0 and not self._failed[number]:
                yield self._keys[number], offset
        for rounds in self._later.values():
            yield from ((a.key, a.offset) for a in rounds if a is not None and not a.failed)

    def _first(self, number: int) -> Answered | None:
        offset = self._offsets[number]
        if offset < 0:
            return None
        cut, room = self._cuts.get(number, (None, None)) if self._cuts else (None, None)
        return Answered(self._keys[number], offset, self._failed[number] == 1, cut, room)


class Scored(Mapping[Place, tuple[int, str]]):
    """By sample id and epoch: where the line of one scorer lies, and its digest."""

    __slots__ = ("_count", "_digests", "_offsets", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._offsets = array("q")
        self._digests = HexColumn(DIGEST_BYTES)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Place]:
        places = self._places
        return (places[number] for number, offset in enumerate(self._offsets) if offset >= 0)

    def __getitem__(self, place: Place) -> tuple[int, str]:
        found: tuple[int, str] | None = self.get(place)
        if found is None:
            raise KeyError(place)
        return found

    def get(self, place: Place, otherwise: Any = None) -> Any:
        """Offset and digest of the line; `otherwise` where there is none."""
        number = self._places.find(*place)
        if not 0 <= number < len(self._offsets) or (offset := self._offsets[number]) < 0:
            return otherwise
        return offset, self._digests[number]

    def __contains__(self, place: object) -> bool:
        return isinstance(place, tuple) and self.get(place) is not None

    def put(self, number: int, offset: int, digest: str) -> None:
        """Notes a line for the place with a number; a later one replaces the earlier."""
        offsets = self._offsets
        while len(offsets) <= number:
            offsets.append(NOWHERE)
        self._count += offsets[number] < 0
        offsets[number] = offset
        self._digests[number] = digest

    def outdate(self, number: int) -> None:
        """Takes away the digest of a line: an answer came after it, and nobody has judged that one yet."""
        if number < len(self._offsets) and self._offsets[number] >= 0:
            self._digests[number] = ""

    def offsets(self) -> Iterator[int]:
        """Where the lines lie, in the order in which their places were first met."""
        return (offset for offset in self._offsets if offset >= 0)


@dataclass(slots=True)
class CellIndex:
    """What is known of one task and model."""

    places: Places = field(default_factory=Places)
    """Every sample id and epoch that was answered or scored."""
    answers: Answers = field(init=False)
    scores: dict[str, Scored] = field(default_factory=dict)
    """By scorer."""
    replaced: list[tuple[str, int]] = field(default_factory=list)
    """Key and offset of answers in whose place another question was answered since: rows may have moved."""

    def __post_init__(self) -> None:
        self.answers = Answers(self.places)

    def add_output(self, id: str, epoch: int, round: int, answer: Answered) -> None:
        """Notes an answer; rounds may come again after a restart."""
        number = self.places.number(id, epoch)
        before = self.answers.put(number, round, answer)
        for scored in self.scores.values():
            scored.outdate(number)
        if before is not None and before.key != answer.key and not before.failed:
            self.replaced.append((before.key, before.offset))

    def add_score(self, scorer: str, id: str, epoch: int, offset: int, digest: str) -> None:
        """Notes a verdict."""
        scored = self.scores.get(scorer)
        if scored is None:
            scored = self.scores[scorer] = Scored(self.places)
        scored.put(self.places.number(id, epoch), offset, digest)

"""The index of one cell: which samples were answered and scored, and where their lines lie in the journal.

It is made of columns of numbers rather than of objects: `bench/resume.py` measures what a million samples take.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .places import NOWHERE, Place, Places

KEY_LENGTH = 32
DIGEST_LENGTH = 28


@dataclass(slots=True)
class Answered:
    """Where the answer of one sample lies."""

    key: str
    offset: int
    failed: bool = False
    truncated_tokens: Any = None
    """This and the next: what the model said in the details of its output, whatever that is."""
    answer_room: Any = None


class TextColumn:
    """Texts by number. Keys and digests have one length each, and lie side by side."""

    __slots__ = ("_others", "_packed", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._packed = bytearray()
        self._others: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        if self._others and number in self._others:
            return self._others[number]
        return self._packed[number * self._width : (number + 1) * self._width].decode(
            "ascii"
        )

    def has(self, number: int, text: str) -> bool:
        """Whether the text of a number is this one."""
        if self._others or len(text) != self._width:
            return self[number] == text
        start = number * self._width
        return self._packed[start : start + self._width] == text.encode()

    def __setitem__(self, number: int, text: str) -> None:
        width, packed = self._width, self._packed
        start = number * width
        if len(packed) < start:
            packed += bytes(start - len(packed))
        if len(text) == width and text.isascii():
            packed[start : start + width] = text.encode()
            if self._others:
                self._others.pop(number, None)
        else:
            packed[start : start + width] = bytes(width)
            self._others[number] = text

    def find(self, text: str, start: int = 0) -> int:
        """The first number from `start` on that has a text; -1 where none has."""
        if len(text) != self._width or not text.isascii():
            return min(
                (
                    n
                    for n, other in self._others.items()
                    if other == text and n >= start
                ),
                default=NOWHERE,
            )
        encoded, width = text.encode(), self._width
        at = self._packed.find(encoded, start * width)
        while at >= 0 and at % width:
            at = self._packed.find(encoded, at + 1)
        return at // width if at >= 0 else NOWHERE

    def append(self, number: int, text: str) -> None:
        """Sets the text of the number behind the last."""
        if len(text) == self._width and text.isascii():
            self._packed += text.encode()
        else:
            self[number] = text


V = TypeVar("V")


class ByPlace(Mapping[Place, V]):
    """Something for each sample id and epoch."""

    __slots__ = ()

    def __getitem__(self, place: Place) -> V:
        found: V | None = self.get(place)
        if found is None:
            raise KeyError(place)
        return found

    def __contains__(self, place: object) -> bool:
        return isinstance(place, tuple) and self.get(place) is not None


class Answers(ByPlace[Sequence[Answered | None]]):
    """By sample id and epoch: where the answers lie, one entry for each round."""

    __slots__ = ("_cuts", "_failed", "_keys", "_later", "_offsets", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._offsets = array("q")
        self._failed = bytearray()
        self._keys = TextColumn(KEY_LENGTH)
        self._cuts: dict[int, tuple[Any, Any]] = {}
        self._later: dict[int, list[Answered | None]] = {}
        """Of dialogues: the rounds behind the first."""

    def __len__(self) -> int:
        unasked = sum(self._offsets[number] < 0 for number in self._later)
        return len(self._offsets) - self._offsets.count(NOWHERE) + unasked

    def __iter__(self) -> Iterator[Place]:
        places, later = self._places, self._later
        return (
            places[number]
            for number, at in enumerate(self._offsets)
            if at >= 0 or number in later
        )

    def get(self, place: Place, otherwise: Any = None) -> Any:
        """The rounds of a place; `otherwise` where it has none."""
        number = self._places.find(*place)
        if not 0 <= number < len(self._offsets):
            return otherwise
        later = self._later.get(number) if self._later else None
        if later is not None:
            return [self._first(number), *later]
        return [self._first(number)] if self._offsets[number] >= 0 else otherwise

    def append(self, number: int, key: str, offset: int, failed: bool) -> None:
        """Notes the first answer at the place behind the last."""
        self._offsets.append(offset)
        self._failed.append(failed)
        self._keys.append(number, key)

    def put(self, number: int, round: int, answer: Answered) -> Answered | None:
        """Notes an answer at the place with a number, and returns the one whose place it takes."""
        while len(self._offsets) <= number:
            self.append(len(self._offsets), "", NOWHERE, False)
        if round:
            later = self._later.setdefault(number, [])
            later.extend([None] * (round - len(later)))
            before, later[round - 1] = later[round - 1], answer
            return before
        before = self._first(number)
        self._offsets[number] = answer.offset
        self._failed[number] = answer.failed
        self._keys[number] = answer.key
        self._cuts.pop(number, None)
        if answer.truncated_tokens is not None or answer.answer_room is not None:
            self._cuts[number] = answer.truncated_tokens, answer.answer_room
        return before

    def drop(self, id: str, epoch: int, round: int) -> None:
        """Forgets an answer, as if it had never come."""
        number = self._places.find(id, epoch)
        if round:
            self._later[number][round - 1] = None
        else:
            self._offsets[number] = NOWHERE

    def is_settled(self, number: int) -> bool:
        """Whether a place has one answer that came, of which there is nothing else to say."""
        if (
            number >= len(self._offsets)
            or self._offsets[number] < 0
            or self._failed[number]
        ):
            return False
        return number not in self._later and number not in self._cuts

    @property
    def is_dialogue(self) -> bool:
        """Whether a place has more than one round."""
        return bool(self._later)

    def search(self, key: str) -> int:
        """The offset of an answer that came to the first round of a request; -1 where there is none."""
        number = self._keys.find(key)
        while number >= 0 and (self._offsets[number] < 0 or self._failed[number]):
            number = self._keys.find(key, number + 1)
        return self._offsets[number] if number >= 0 else NOWHERE

    def that_came(self) -> Iterator[tuple[str, int]]:
        """Key and offset of every answer that is one."""
        for number, offset in enumerate(self._offsets):
            if offset >= 0 and not self._failed[number]:
                yield self._keys[number], offset
        for rounds in self._later.values():
            yield from (
                (a.key, a.offset) for a in rounds if a is not None and not a.failed
            )

    def _first(self, number: int) -> Answered | None:
        offset = self._offsets[number]
        if offset < 0:
            return None
        cut, room = self._cuts.get(number, (None, None)) if self._cuts else (None, None)
        return Answered(
            self._keys[number], offset, self._failed[number] == 1, cut, room
        )


class Scored(ByPlace[tuple[int, str]]):
    """By sample id and epoch: where the line of one scorer lies, and its digest."""

    __slots__ = ("_digests", "_offsets", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._offsets = array("q")
        self._digests = TextColumn(DIGEST_LENGTH)

    def __len__(self) -> int:
        return len(self._offsets) - self._offsets.count(NOWHERE)

    def __iter__(self) -> Iterator[Place]:
        places = self._places
        return (
            places[number] for number, offset in enumerate(self._offsets) if offset >= 0
        )

    def get(self, place: Place, otherwise: Any = None) -> Any:
        """Offset and digest of the line; `otherwise` where there is none."""
        number = self._places.find(*place)
        if (
            not 0 <= number < len(self._offsets)
            or (offset := self._offsets[number]) < 0
        ):
            return otherwise
        return offset, self._digests[number]

    def offset_of(self, number: int, digest: str) -> int:
        """Where the line for the place with a number lies if it has this digest; -1 otherwise."""
        if number >= len(self._offsets) or not self._digests.has(number, digest):
            return NOWHERE
        return self._offsets[number]

    def put(self, number: int, offset: int, digest: str) -> None:
        """Notes a line for the place with a number; a later one replaces the earlier."""
        offsets = self._offsets
        while len(offsets) < number:
            self._digests.append(len(offsets), "")
            offsets.append(NOWHERE)
        if len(offsets) == number:
            offsets.append(offset)
            self._digests.append(number, digest)
        else:
            offsets[number] = offset
            self._digests[number] = digest

    def outdate(self, number: int) -> None:
        """Takes away the digest of a line: an answer came after it, and nobody has judged that one yet."""
        if number < len(self._offsets) and self._offsets[number] >= 0:
            self._digests[number] = ""


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

    def append(self, id: str, key: str, offset: int) -> bool:
        """Notes an answer that came to the one question of a new sample; says whether it is new."""
        numbers, answers = self.places.numbers, self.answers
        offsets, number = answers._offsets, len(numbers)
        if number != len(offsets) or numbers.setdefault(id, number) != number:
            return False
        # `answers.append`, without its calls: a long journal has little else.
        offsets.append(offset)
        answers._failed.append(False)
        if len(key) == KEY_LENGTH and key.isascii():
            answers._keys._packed += key.encode()
        else:
            answers._keys[number] = key
        return True

    def add_output(
        self,
        id: str,
        epoch: int,
        round: int,
        key: str,
        offset: int,
        failed: bool,
        cut: Any = None,
        room: Any = None,
    ) -> None:
        """Notes an answer; rounds may come again after a restart."""
        numbers = self.places.numbers
        number = numbers.setdefault((id, epoch) if epoch else id, len(numbers))
        before = self.answers.put(
            number, round, Answered(key, offset, failed, cut, room)
        )
        for scored in self.scores.values():
            scored.outdate(number)
        if before is not None and before.key != key and not before.failed:
            self.replaced.append((before.key, before.offset))

    def add_score(
        self, scorer: str, id: str, epoch: int, offset: int, digest: str
    ) -> None:
        """Notes a verdict."""
        scored = self.scores.get(scorer)
        if scored is None:
            scored = self.scores[scorer] = Scored(self.places)
        numbers, offsets = self.places.numbers, scored._offsets
        number = numbers.setdefault((id, epoch) if epoch else id, len(numbers))
        if number == len(offsets) and len(digest) == DIGEST_LENGTH and digest.isascii():
            offsets.append(offset)
            scored._digests._packed += digest.encode()
        else:
            scored.put(number, offset, digest)

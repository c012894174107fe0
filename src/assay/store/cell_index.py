"""The index of one task × model: which samples were answered and scored, and where their lines are in the journal.

Each pair of sample id and epoch has a number (see `places`), which is its position in
arrays of integers. Arrays need less memory than objects; `bench/resume.py` measures the
memory for a million samples.
"""

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, overload

from .places import NOWHERE, Place, Places

KEY_LENGTH = 32
DIGEST_LENGTH = 28


class AnswerRemarks(NamedTuple):
    """Facts about an answer that are counted in the notes of a run."""

    truncated_tokens: Any = None
    answer_room: Any = None
    notes: Any = None
    cut_answers: int = 0
    """The number of candidates that ended because of `max_tokens`."""
    has_reasoning: bool = False


NO_REMARKS = AnswerRemarks()


@dataclass(slots=True)
class Answered:
    """The location of the answer to one sample in the journal."""

    key: str
    offset: int
    failed: bool = False
    remarks: AnswerRemarks = NO_REMARKS


class TextColumn:
    """A list of texts of equal length, such as keys or digests, stored in one buffer.

    The text of a sample and epoch is at the index that is the number of this pair.
    """

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
        """Return True if the text at index `number` equals `text`."""
        if self._others or len(text) != self._width:
            return self[number] == text
        start = number * self._width
        return self._packed[start : start + self._width] == text.encode()

    def __setitem__(self, number: int, text: str) -> None:
        width = self._width
        packed = self._packed
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

    def find(
        self,
        text: str,
        start: int = 0,
    ) -> int:
        """Return the first index from `start` on that has this text, or -1."""
        if len(text) != self._width or not text.isascii():
            return min(
                (
                    n
                    for n, other in self._others.items()
                    if other == text and n >= start
                ),
                default=NOWHERE,
            )
        encoded = text.encode()
        width = self._width
        position = self._packed.find(encoded, start * width)
        while position >= 0 and position % width:
            position = self._packed.find(encoded, position + 1)
        if position >= 0:
            return position // width
        return NOWHERE

    def append(self, number: int, text: str) -> None:
        """Append a text. `number` must be the next index."""
        if len(text) == self._width and text.isascii():
            self._packed += text.encode()
        else:
            self[number] = text


V = TypeVar("V")
D = TypeVar("D")


class ByPlace(Mapping[Place, V]):
    """A read-only mapping from sample id and epoch to a value. Subclasses define how the value is looked up."""

    __slots__ = ()

    @abstractmethod
    def look_up(self, place: Place) -> V | None:
        """Return the value for a sample and epoch; None if there is none."""

    def __getitem__(self, place: Place) -> V:
        value = self.look_up(place)
        if value is None:
            raise KeyError(place)
        return value

    def __contains__(self, place: object) -> bool:
        return isinstance(place, tuple) and self.look_up(place) is not None

    @overload
    def get(self, place: Place, /) -> V | None: ...
    @overload
    def get(self, place: Place, otherwise: V | D, /) -> V | D: ...
    def get(self, place: Place, otherwise: V | D | None = None, /) -> V | D | None:
        """Return the value for a sample and epoch; `otherwise` if there is none."""
        value = self.look_up(place)
        return otherwise if value is None else value


class Answers(ByPlace[Sequence[Answered | None]]):
    """The locations of answers in the journal by sample id and epoch, one for each round."""

    __slots__ = ("_failed", "_keys", "_later", "_offsets", "_places", "_remarks")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._offsets = array("q")
        self._failed = bytearray()
        self._keys = TextColumn(KEY_LENGTH)
        self._remarks: dict[int, AnswerRemarks] = {}
        self._later: dict[int, list[Answered | None]] = {}
        """Answers to the rounds after the first one, for dialogues, by the number of the sample and epoch."""

    def __len__(self) -> int:
        unasked = sum(self._offsets[number] < 0 for number in self._later)
        return len(self._offsets) - self._offsets.count(NOWHERE) + unasked

    def __iter__(self) -> Iterator[Place]:
        places = self._places
        later = self._later
        return (
            places[number]
            for number, offset in enumerate(self._offsets)
            if offset >= 0 or number in later
        )

    def look_up(self, place: Place) -> Sequence[Answered | None] | None:
        """Return the answers to the rounds of a sample and epoch; None if there are none."""
        number = self._places.find(*place)
        if not 0 <= number < len(self._offsets):
            return None
        later = self._later.get(number)
        if later is None and self._offsets[number] < 0:
            return None
        first = self._first(number)
        if later is None:
            return [first]
        return [first, *later]

    def append(
        self,
        number: int,
        key: str,
        offset: int,
        failed: bool,
    ) -> None:
        """Record the answer to the first round of the sample and epoch with the next number."""
        self._offsets.append(offset)
        self._failed.append(failed)
        self._keys.append(number, key)

    def put(
        self,
        number: int,
        round: int,
        answer: Answered,
    ) -> Answered | None:
        """Record an answer to a round of the sample and epoch with this number.

        Return the answer that it replaces, if any.
        """
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
        self._remarks.pop(number, None)
        if answer.remarks != NO_REMARKS:
            self._remarks[number] = answer.remarks
        return before

    def drop(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> None:
        """Remove the answer to one round of a sample and epoch from the index."""
        number = self._places.find(id, epoch)
        if round:
            self._later[number][round - 1] = None
        else:
            self._offsets[number] = NOWHERE

    def is_settled(
        self,
        number: int,
        *,
        may_have_rounds: bool = False,
    ) -> bool:
        """Return True if a sample and epoch has exactly one answer, which did not fail and has no remarks.

        With `may_have_rounds`, several rounds are allowed, if none of them failed.
        """
        if (
            number >= len(self._offsets)
            or self._offsets[number] < 0
            or self._failed[number]
        ):
            return False
        if number in self._remarks:
            return False
        later = self._later.get(number, ())
        if later and not may_have_rounds:
            return False
        return all(
            answer is not None and not answer.failed and answer.remarks == NO_REMARKS
            for answer in later
        )

    @property
    def is_dialogue(self) -> bool:
        """True if some sample has more than one round."""
        return bool(self._later)

    def search(self, key: str) -> int:
        """Return the journal offset of the successful first-round answer to the request
        with this key; -1 if there is none.
        """
        number = self._keys.find(key)
        while number >= 0 and (self._offsets[number] < 0 or self._failed[number]):
            number = self._keys.find(key, number + 1)
        if number >= 0:
            return self._offsets[number]
        return NOWHERE

    def succeeded(self) -> Iterator[tuple[str, int]]:
        """Yield the request key and the offset of every answer that did not fail."""
        for number, offset in enumerate(self._offsets):
            if offset >= 0 and not self._failed[number]:
                yield self._keys[number], offset
        for rounds in self._later.values():
            for a in rounds:
                if a is not None and not a.failed:
                    yield (a.key, a.offset)

    def _first(self, number: int) -> Answered | None:
        offset = self._offsets[number]
        if offset < 0:
            return None
        remarks = self._remarks.get(number, NO_REMARKS)
        return Answered(self._keys[number], offset, self._failed[number] == 1, remarks)


class Scored(ByPlace[tuple[int, str]]):
    """The location and digest of each score line of one scorer, by sample id and epoch."""

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

    def located(self) -> Iterator[tuple[Place, int]]:
        """Yield every scored sample and epoch with the offset of its score line."""
        for number, offset in enumerate(self._offsets):
            if offset >= 0:
                yield self._places[number], offset

    def look_up(self, place: Place) -> tuple[int, str] | None:
        """Return the offset and digest of the score line of a sample and epoch; None if there is none."""
        number = self._places.find(*place)
        if not 0 <= number < len(self._offsets):
            return None
        offset = self._offsets[number]
        if offset < 0:
            return None
        return offset, self._digests[number]

    def offset_of(self, number: int, digest: str) -> int:
        """Return the offset of the score line for the sample and epoch with this `number`.

        Return -1 if there is none, or if the digest stored for it is not `digest`.
        """
        if number >= len(self._offsets) or not self._digests.has(number, digest):
            return NOWHERE
        return self._offsets[number]

    def put(
        self,
        number: int,
        offset: int,
        digest: str,
    ) -> None:
        """Record the score line of the sample and epoch with this number. A later line replaces an earlier one."""
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
        """Clear the digest of a score line whose answer was replaced by a later one."""
        if number < len(self._offsets) and self._offsets[number] >= 0:
            self._digests[number] = ""


@dataclass(slots=True)
class CellIndex:
    """The index of one task × model."""

    places: Places = field(default_factory=Places)
    """All pairs of sample id and epoch that were answered or scored."""
    answers: Answers = field(init=False)
    scores: dict[str, Scored] = field(default_factory=dict)
    """The score lines of each scorer."""
    replaced: list[tuple[str, int]] = field(default_factory=list)
    """Answers that were replaced because the same sample id later had another question, for example after rows moved.

    Each entry has the request key and the offset of the old answer.
    """

    def __post_init__(self) -> None:
        self.answers = Answers(self.places)

    def append(
        self,
        id: str,
        key: str,
        offset: int,
    ) -> bool:
        """Record the first answer to a sample. Return False, and record nothing, if the sample is already known."""
        numbers = self.places.numbers
        answers = self.answers
        offsets = answers._offsets
        number = len(numbers)
        if number != len(offsets) or numbers.setdefault(id, number) != number:
            return False
        # This is `answers.append` without its calls, because most lines of a long journal come here.
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
        answer: Answered,
    ) -> None:
        """Record an answer. It replaces an earlier answer to the same round, which may exist after a restart."""
        number = self._number(id, epoch)
        before = self.answers.put(number, round, answer)
        for scored in self.scores.values():
            scored.outdate(number)
        if before is None or before.failed:
            return
        if before.key != answer.key:
            self.replaced.append((before.key, before.offset))

    def _number(self, id: str, epoch: int) -> int:
        """Return the number of a sample and epoch. A new pair gets the next number."""
        numbers = self.places.numbers
        key = (id, epoch) if epoch else id
        return numbers.setdefault(key, len(numbers))

    def add_score(
        self,
        scorer: str,
        id: str,
        epoch: int,
        offset: int,
        digest: str,
    ) -> None:
        """Record a score line of a scorer."""
        scored = self.scores.get(scorer)
        if scored is None:
            scored = self.scores[scorer] = Scored(self.places)
        numbers = self.places.numbers
        offsets = scored._offsets
        number = numbers.setdefault((id, epoch) if epoch else id, len(numbers))
        if number == len(offsets) and len(digest) == DIGEST_LENGTH and digest.isascii():
            offsets.append(offset)
            scored._digests._packed += digest.encode()
        else:
            scored.put(number, offset, digest)

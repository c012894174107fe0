"""Read lines of a journal for the index: the parts that become columns, and the words to search.

Only the members that the index needs are decoded, because decoding is the main cost of
indexing a long journal.

The words to search are stored in lower case, line by line, in compressed blocks. A
search decompresses one block after another, so it needs little memory. The field names
and digests of the journal are not searched. Compressed words take about a sixth of the
journal's size.
"""

import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
import zstandard


class UsageHead(msgspec.Struct, gc=False):
    input_tokens: Any = None
    output_tokens: Any = None


class _Candidate(msgspec.Struct, gc=False):
    text: str | None = None
    parts: Any = None


class _Answer(msgspec.Struct, gc=False):
    candidates: list[_Candidate] = []
    likelihoods: Any = None
    usage: UsageHead | None = None
    seconds: Any = None
    error: Any = None


class _Turn(msgspec.Struct, gc=False):
    content: Any = None


class OutputHead(msgspec.Struct, gc=False):
    """The members of an answer's line that are needed in a list of samples."""

    task: str
    model: str
    id: str
    key: str
    epoch: int = 0
    round: int = 0
    prompt: list[_Turn] = []
    output: _Answer = msgspec.field(default_factory=_Answer)
    target: Any = None


class _Why(msgspec.Struct, gc=False):
    reason: Any = None
    reply: Any = None
    error: Any = None


class ScoreHead(msgspec.Struct, gc=False):
    """The members of a verdict's line that are needed in a list of samples."""

    task: str
    model: str
    id: str
    scorer: str
    values: dict[str, Any]
    outcome: str
    epoch: int = 0
    answer: str | None = None
    details: _Why | None = None
    tags: dict[str, Any] | None = None
    order: int = 0
    candidates: Any = None
    cluster: Any = None
    group: Any = None


_Head = TypeVar("_Head", OutputHead, ScoreHead)


def _reader(kind: type[_Head]) -> Callable[[bytes], _Head]:
    """Return a decoder of lines. If a line has huge numbers or lone surrogates, it uses a slower method."""
    fast = msgspec.json.Decoder(kind).decode

    def read(line: bytes) -> _Head:
        try:
            return fast(line)
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(line), kind, strict=False)

    return read


output_head = _reader(OutputHead)
score_head = _reader(ScoreHead)


def output_text(head: OutputHead) -> str:
    """Return the searchable words of an answer's line: question, answer and target."""
    pieces = []
    for turn in head.prompt:
        if type(turn.content) is str:
            piece = turn.content
        else:
            piece = _content(turn.content)
        pieces.append(piece)
    for candidate in head.output.candidates:
        if candidate.text is not None:
            piece = candidate.text
        else:
            piece = _content(candidate.parts)
        pieces.append(piece)
    target = head.target
    if target is not None:
        pieces.append(target if type(target) is str else _flat(target))
    if head.output.error is not None:
        pieces.append(_flat(head.output.error))
    return "\n".join(pieces)


def score_text(head: ScoreHead) -> str:
    """Return the searchable words of a verdict's line: the answer that the scorer read, and the reason."""
    pieces = [head.answer] if head.answer is not None else []
    why = head.details
    if why is not None:
        for part in (why.reason, why.reply, why.error):
            if part is not None:
                pieces.append(_flat(part))
    return "\n".join(pieces)


def answer_length(head: OutputHead) -> int:
    """Return the number of characters of the first answer, without reasoning."""
    candidates = head.output.candidates
    if not candidates:
        return 0
    text = candidates[0].text
    if text is not None:
        return len(text)
    return len(_content(candidates[0].parts))


def confidence(likelihoods: object) -> float:
    """Return the probability of the most likely continuation, relative to all; NaN for
    fewer than two continuations.
    """
    if not isinstance(likelihoods, list) or len(likelihoods) < 2:
        return math.nan
    try:
        weights = [float(entry[0]) for entry in likelihoods]
        top = max(weights)
        return 1.0 / math.fsum(math.exp(weight - top) for weight in weights)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return math.nan


def number(value: object) -> float:
    """Return the value as a float; NaN if it is not a number."""
    if type(value) is int or type(value) is float:
        return float(value)
    return math.nan


def _content(content: object) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(_part(part) for part in content)
    return "" if content is None else str(content)


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    kind = part.get("type")
    if kind == "json":
        return _flat(part.get("value"))
    if kind == "tool_call":
        return f"{part.get('name')} {_flat(part.get('arguments'))}\n"
    if kind == "tool_result":
        return f"{_content(part.get('content'))}\n"
    return str(part.get("text", ""))


def _flat(value: object) -> str:
    return "\n".join(_leaves(value))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


BLOCK_CHARACTERS = 1 << 20
LEVEL = 1


class TextLog:
    """A compressed log of texts that can be searched.

    Texts are numbered from 0 in the order in which they are added.
    """

    def __init__(self) -> None:
        self._blocks: list[bytes | Future[bytes]] = []
        self.firsts = array("q")
        """The number of the first text of each block."""
        self._open: list[str] = []
        self._size = 0
        self._count = 0
        self._compressor = ThreadPoolExecutor(1, "words")
        """A thread that compresses blocks while lines are read; compression releases the interpreter lock."""

    def append(self, text: str) -> None:
        """Append the next text. A NUL in it becomes a space, because NUL separates texts."""
        self._open.append(text.replace("\0", " ") if "\0" in text else text)
        self._size += len(text)
        self._count += 1
        if self._size > BLOCK_CHARACTERS:
            self.seal()

    def seal(self) -> None:
        """Close the current block and compress it."""
        if self._open:
            self.firsts.append(self._count - len(self._open))
            compress = zstandard.ZstdCompressor(level=LEVEL).compress
            self._blocks.append(self._compressor.submit(compress, _fold(self._open)))
            self._open = []
            self._size = 0

    def restore(
        self,
        blocks: list[bytes],
        firsts: "array[int]",
        count: int,
    ) -> None:
        """Fill an empty log with blocks from a file."""
        self._blocks = [*blocks]
        self.firsts = firsts
        self._count = count

    @property
    def blocks(self) -> list[bytes]:
        """Return the finished blocks."""
        for number, block in enumerate(self._blocks):
            if isinstance(block, Future):
                self._blocks[number] = block.result()
        return [block for block in self._blocks if isinstance(block, bytes)]

    def __len__(self) -> int:
        return self._count

    def search(self, words: str) -> Iterator[int]:
        """Yield the numbers of the texts that contain `words`, ignoring case."""
        pattern = words.replace("\0", "").lower().encode("utf-8", "surrogatepass")
        if not pattern:
            return
        expand = zstandard.ZstdDecompressor().decompress
        for first, block in zip(self.firsts, self.blocks, strict=True):
            yield from _hits(expand(block), pattern, first)
        if self._open:
            yield from _hits(
                _fold(self._open),
                pattern,
                self._count - len(self._open),
            )


def _fold(texts: list[str]) -> bytes:
    return "\0".join(texts).lower().encode("utf-8", "surrogatepass")


def _hits(
    text: bytes,
    wanted: bytes,
    first: int,
) -> Iterator[int]:
    hit = text.find(wanted)
    number = first
    counted = 0
    while hit >= 0:
        number += text.count(b"\0", counted, hit)
        yield number
        end = text.find(b"\0", hit)
        if end < 0:
            return
        counted = end
        hit = text.find(wanted, end + 1)

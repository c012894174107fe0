"""Apply a registered retriever: build samples and prompts from rows, and score predictions."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

from ...code.fingerprint import code_digest
from ...core import (
    AssayError,
    DataError,
    Message,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    TemplateError,
    blamed,
)
from ...datasets.cells import is_missing
from ..returned import defined_at
from ..shapes import Fields, Record
from .conversation import answer_of, as_messages, cut_at

Retriever = Callable[[Any, bool], Any]
_ENCODED = frozenset({"bytes", "path"})


def as_item(row: Fields) -> Record:
    """Return a row as the retriever's argument: a copy in which `{"bytes", "path"}` images are PIL images."""
    return {name: _opened(value) for name, value in row.items()}


def _opened(value: object) -> object:
    if type(value) is list and value and type(value[0]) is dict:
        return [_opened(inner) for inner in value]
    if type(value) is not dict or not value or not value.keys() <= _ENCODED:
        return value
    from PIL import Image as pillow

    source = value.get("bytes") or value.get("path")
    if source is None:
        return None
    origin: bytes | Path
    if isinstance(source, bytes):
        origin = source
        image = pillow.open(BytesIO(source))
    else:
        origin = Path(source)
        image = pillow.open(source)
    # Kept with the image, so that the dataset's bytes are sent unless the image was changed.
    image.assay_origin = origin  # type: ignore[attr-defined]
    return image


@dataclass(frozen=True)
class Retrieval:
    """A registered retriever, applied to rows."""

    name: str
    retriever: Retriever
    folder: str = ""
    """The folder in which relative paths of images start."""

    @property
    def source(self) -> str:
        """The dataset's name and a digest of the retriever's code. A new digest means that prompts may change."""
        return f"{self.name} {code_digest(self.retriever)}"

    def messages(self, row: object, *, is_last: bool) -> tuple[Message, ...]:
        """Return the conversation of a row: as a query without its answer (`is_last`), or as an example with it.

        An error in the retriever is reported with its line.
        """
        retrieved = self._retrieved(row, is_last)
        try:
            return as_messages(retrieved, folder=self.folder)
        except DataError as error:
            error.what += f" ({defined_at(self.retriever)})"
            raise

    def _retrieved(self, row: object, is_last: bool) -> object:
        """Call the retriever with a row, whose images are opened first, and return its result."""
        item = row
        # Compare the type first, because `isinstance` with Mapping takes longer than the copy.
        if type(row) is dict or isinstance(row, Mapping):
            item = as_item(row)
        try:
            return self.retriever(item, is_last)
        except AssayError:
            raise
        except Exception as error:
            reason = blamed(TemplateError, error, "").what
            raise DataError(
                f"the retriever of {self.name!r} failed: {reason}"
            ) from error


@dataclass(frozen=True)
class ToSample:
    """Converts a row to a sample. The target is the answer that the retriever writes into a solved example."""

    retrieval: Retrieval
    column: str | None = None
    """The column with the target. If None, the retriever's answer for the row is the target."""

    def __call__(self, row: Fields) -> Sample:
        query = self.retrieval.messages(row, is_last=True)
        if self.column is not None:
            target = row[self.column]
        else:
            target = self._shown_answer(row, query)
        # Images stay in the row until the prompt is made: the rows of a whole pool of shots may be in memory.
        has_media = any(message.media for message in query)
        return Sample("", "" if has_media else query, target, (), row)

    def _shown_answer(self, row: Fields, query: tuple[Message, ...]) -> str | None:
        """Return the answer that a row's conversation contains if the row is a solved example.

        If the retriever raises an error, return `None`. The row is still evaluated.
        """
        try:
            solved = self.retrieval.messages(row, is_last=False)
        except DataError:
            return None
        return answer_of(solved, query)


class Conversation:
    """Builds the prompts of a registered dataset. The retriever writes the query and the solved examples."""

    def __init__(self, retrieval: Retrieval) -> None:
        self.retrieval = retrieval
        self.__name__ = f"retriever of {retrieval.name}"
        self.source = retrieval.source

    def __call__(self, sample: Sample) -> Prompt:
        if isinstance(sample.input, tuple) and sample.input:
            return Prompt(sample.input)
        return Prompt(self._messages(sample, is_last=True))

    def solved(self, sample: Sample) -> tuple[Message, ...]:
        """Return the conversation of a sample as an example, with its answer."""
        return self._messages(sample, is_last=False)

    def _messages(self, sample: Sample, is_last: bool) -> tuple[Message, ...]:
        retrieval = self.retrieval
        where = f"retriever of {retrieval.name!r}, sample {sample.id!r}"
        with as_template_errors(where):
            return retrieval.messages(
                sample.fields,
                is_last=is_last,
            )


@contextmanager
def as_template_errors(where: str) -> Iterator[None]:
    """Convert a data error in the block to a template error, with `where` as its location."""
    try:
        yield
    except DataError as error:
        raise TemplateError(
            error.what,
            where=where,
            fix=error.fix,
        ) from error


@dataclass(frozen=True)
class Reading:
    """Prepares text for comparison: cuts it at a stop word, strips it, and applies the postprocessing function."""

    postprocess: Callable[[str], Any] | None = None
    stop: tuple[str, ...] = ()

    def __call__(self, text: str) -> object:
        short = cut_at(text, self.stop)
        if self.postprocess is None:
            return short
        return self.postprocess(short)

    @property
    def defined_at(self) -> str:
        """Return the location of the postprocessing function as ` (file.py:12)`; empty without one."""
        if self.postprocess is None:
            return ""
        return f" ({defined_at(self.postprocess)})"


@dataclass(frozen=True)
class Accuracy:
    """Scorer: 1 if prediction and target are equal after postprocessing, otherwise 0."""

    reading: Reading
    typed: bool = False
    """True to compare with the unchanged target; False to post-process the target like a prediction."""
    name: ClassVar[str] = "accuracy"

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None:
            return _unusable(
                f"sample {sample.id!r} shows no answer: neither its retriever nor a column says what is right"
            )
        answer = self.reading(output.text)
        if is_missing(answer):
            rule = f"the post-process returned {answer}{self.reading.defined_at}"
            return Score.unparsed(rule=rule)
        if self.typed:
            right = sample.target
        else:
            right = self.reading(str(sample.target))
        if right is not None and is_missing(right):
            return _unusable(
                f"the post-process reads the target {sample.target!r} as nan{self.reading.defined_at}"
            )
        if type(answer) is str and type(right) is str:
            return Score(float(answer == right), answer=answer)
        is_right = _same(answer, right) or (self.typed and str(answer) == str(right))
        return Score(
            float(is_right),
            answer=str(answer),
            details={"read_as": str(right)},
        )


def _unusable(reason: str) -> Score:
    return Score(
        None,
        Outcome.DATA_ERROR,
        details={"reason": reason, "error": reason},
    )


def _same(one: object, other: object) -> bool:
    """Return True if two postprocessed values are equal. Arrays are equal if all elements are."""
    equal = one == other
    if hasattr(equal, "all"):
        return bool(equal.all())
    return bool(equal)

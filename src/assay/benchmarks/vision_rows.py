"""Read tables of images and questions as samples of vision-language benchmarks.

Columns: `index`, `image` (base64; another row's index; a list literal of base64) or `image_path`, `question`, `hint`,
options `A`, `B`, … or a list in `choices`, `answer` (a letter, a text, a list literal), `category`, `l2-category`,
`split`. The same reader accepts rows of the hub, whose `image` is an image cell of Hugging Face.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..core import EMPTY, Media, Sample
from ..datasets import Samples, open_dataset
from ..datasets.cells import as_text_list, looks_like_list, parse_list
from ..datasets.choices import LETTERS, letter_of
from ..datasets.faults import RowFault
from ..datasets.files import open_files
from ..datasets.row_media import media_columns, media_of
from ..datasets.shards import Row, RowData, Shard, ShardOver
from ..datasets.tsv_images import Fallback, RowImages, TableLookup, is_blank

RowOf = Mapping[str, Any]
BREAKDOWNS = ("split", "l2-category", "category")


@dataclass(frozen=True)
class Table:
    """A reader for `DataSource.read`. It opens a file or a hub dataset and returns its samples."""

    options: Literal["none", "some", "all"] = "none"
    """A function that returns True for rows with options. The target of such a row is a letter."""
    group: Callable[[RowOf], str | None] | None = None
    cluster: Callable[[RowOf], str | None] | None = None
    """A function that returns a cluster key. Dependent rows, such as rows that share an image, have the same key."""
    tags: Callable[[RowOf], Mapping[str, str]] | None = None
    """A function that returns tags in addition to those from the usual columns."""
    target: Callable[[RowOf], Any] | None = None
    """A function that returns a row's answer. Needed if answers are not letters, texts or lists of texts."""
    reshape: Callable[[RowOf], Sequence[RowOf]] | None = None
    """A function that replaces a row with zero or more rows.

    It returns no row to skip the row, or several rows to count it in several
    categories.
    """
    lender: Fallback | None = None
    """A function that returns the index of another row, whose image is used when a row's own image cell is empty."""
    shows_images: bool = True
    """True if every row must have an image."""
    question: str = ""
    """The question used for every row, for tables without a question column, such as tables of captions."""
    aliases: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Names of columns in the hub's copy of the data: `{"index": "pid"}` reads `index` from `pid`."""

    def __call__(self, found: str | Path) -> Samples:
        if str(found).startswith(("hub:", "hf://")):
            path = None
        else:
            path = Path(found)
        if path is None:
            opened = open_dataset(found).shards
        else:
            opened = [*_shards_of(path)]
        if self.reshape is None:
            shards = opened
        else:
            shards = [Reshaped(shard, self.reshape) for shard in opened]
        folders: tuple[Path, ...] = ()
        if path is not None:
            folders = (
                path.parent,
                path.parent / "images",
                path.parent / "images" / path.stem,
            )
        images = RowImages(
            TableLookup(path) if path is not None and path.is_file() else _nowhere,
            folders,
            self.lender,
        )
        return Samples(
            shards,
            to_sample=ToSample(self, images),
            where=str(found),
        )


@dataclass(frozen=True)
class ToSample:
    """Converts one row to a sample."""

    table: Table
    images: RowImages = field(compare=False)

    def __call__(self, row: RowOf) -> Sample:
        table = self.table
        aliased = {}
        for name, alias in table.aliases.items():
            if alias in row:
                aliased[name] = row[alias]
        row = {**row, **aliased}
        question = row.get("question")
        if is_blank(question) and not table.question:
            raise RowFault(
                "the row has no question",
                column="question",
                fix="every row asks something",
            )
        options = () if table.options == "none" else options_of(row)
        if not options and table.options == "all":
            raise RowFault(
                "the row has no options",
                column="A",
                fix="give columns A, B, … or a list in `choices`",
            )
        target = answer_of(row, options) if table.target is None else table.target(row)
        tags = usual_tags(row)
        if table.tags is not None:
            tags |= table.tags(row)
        return Sample(
            id="" if is_blank(row.get("index")) else str(row["index"]),
            input=table.question if is_blank(question) else str(question),
            target=target,
            choices=options,
            fields=row,
            media=self._images(row),
            tags=tags,
            group=None if table.group is None else table.group(row),
            cluster=None if table.cluster is None else table.cluster(row),
        )

    def _images(self, row: RowOf) -> tuple[Media, ...]:
        cell = row.get("image")
        on_hub = isinstance(cell, (bytes, Mapping)) or hasattr(cell, "save")
        images: tuple[Media, ...] = (
            media_of(row, media_columns(["image"])[0], None)
            if on_hub
            else self.images.of(row)
        )
        if not images and self.table.shows_images:
            raise RowFault(
                "the row has no image",
                column="image",
                fix="give it an image or an image_path",
            )
        return images


@dataclass(frozen=True)
class Reshaped(ShardOver):
    """A shard in which rows are skipped or replaced by several rows."""

    reshape: Callable[[RowOf], Sequence[RowOf]]
    columns: None = None
    known_length: None = None
    seekable: bool = False

    def rows(self) -> Iterator[Row]:
        """Yield the rows after reshaping, each with its row number in the file."""
        for number, offset, row in self.shard.rows():
            if not isinstance(row, Mapping):
                yield number, offset, row
                continue
            for index, reshaped in enumerate(self.reshape(row)):
                yield number, index, reshaped

    def row_at(self, number: int, offset: int) -> RowData:
        """Return one row, after reading all rows before it."""
        return next(
            row
            for row_number, index, row in self.rows()
            if (row_number, index) == (number, offset)
        )


def options_of(row: RowOf) -> tuple[str, ...]:
    """Return the options in the columns A, B, … (an empty column keeps its letter), or in the list in `choices`."""
    cells = {
        letter: str(row[letter]) for letter in LETTERS if not is_blank(row.get(letter))
    }
    if cells:
        return tuple(
            cells.get(letter, "") for letter in LETTERS[: LETTERS.index(max(cells)) + 1]
        )
    listed = next(
        (row[name] for name in ("choices", "options") if not is_blank(row.get(name))),
        None,
    )
    if listed is None:
        return ()
    return tuple(as_text_list(listed, "choices"))


def answer_of(
    row: RowOf,
    options: Sequence[str] = (),
) -> object:
    """Return the answer: the letter of an option, a list of texts, or a single text.

    Return None if the answer is not public.
    """
    if options and not is_blank(row.get("answer_option")):
        answer = row.get("answer_option")
    else:
        answer = row.get("answer")
    if is_blank(answer) or answer == []:
        return None
    if options:
        return letter_of(answer, options, (), "answer")
    if isinstance(answer, (list, tuple)):
        return tuple(as_text_list(answer, "answer"))
    if looks_like_list(answer):
        try:
            return tuple(parse_list(str(answer), "answer"))
        except RowFault:
            return str(answer)  # An answer may be an interval or a matrix.
    return str(answer)


def usual_tags(row: RowOf) -> dict[str, str]:
    """Return the tags that nearly all vision-language tables have, such as category and split."""
    tags = {}
    for name in BREAKDOWNS:
        if not is_blank(row.get(name)):
            tags[name] = str(row[name])
    return tags


def tag_of(*columns: str) -> Callable[[RowOf], dict[str, str]]:
    """Return a function that turns the named columns of a row into tags. Missing columns are skipped."""

    def tags(row: RowOf) -> dict[str, str]:
        tagged = {}
        for name in columns:
            if not is_blank(row.get(name)):
                tagged[name] = str(row[name])
        return tagged

    return tags


def whole_number(cell: object) -> int | None:
    """Return a cell's value as an integer. Return None unless it consists of digits only."""
    text = str(cell)
    if text.isascii() and text.isdigit():
        return int(text)
    return None


def image_of(row: RowOf) -> str | None:
    """Return the file name of a row's image as a cluster key. Rows about the same image have the same key."""
    if is_blank(row.get("image_path")):
        return None
    return str(row["image_path"])


def _shards_of(path: Path) -> Sequence[Shard]:
    # `open_dataset` would guess the columns from the first rows instead of using the rules above.
    shards, _ = open_files(path, None, str(path))
    return shards


def _nowhere(index: str) -> None:
    """Return None: no other row's image is needed, because in the hub's copies every row has its own image."""
    return None

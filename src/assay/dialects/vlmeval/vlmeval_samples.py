"""Convert a row of a VLMEvalKit table to a sample: id, question, options, answer, breakdowns and groups."""

from collections.abc import Mapping
from typing import Any

from ...core import Sample
from ...datasets.cells import looks_like_list, parse_list
from ...datasets.choices import LETTERS, letter_of
from ...datasets.faults import RowFault
from ...datasets.tsv_images import is_blank
from ..shapes import Fields
from .dataset_facts import ROTATION, Kind, is_circular, is_mme, whole_index
from .vlmeval_prompts import options_of
from .vlmeval_rows import LineRow, Source

BREAKDOWNS = ("split", "l2-category", "category")


class ToSample:
    """Converts rows to samples.

    Without `with_images`, samples get no images, because the user's `build_prompt` adds
    them.
    """

    def __init__(
        self,
        source: Source,
        kind: Kind,
        *,
        with_images: bool,
    ) -> None:
        self._source = source
        self._kind = kind
        self._with_images = with_images
        self._circular = is_circular(source.name)
        self._is_mme = is_mme(source.name)

    def __call__(self, row: Fields) -> Sample:
        index = row.get("index")
        if self._kind == "MCQ":
            options = options_of(row)
        else:
            options = {}
        return Sample(
            id="" if index is None else str(index),
            input="" if is_blank(row.get("question")) else str(row["question"]),
            target=self._target(row, options),
            choices=_contiguous(options),
            fields=LineRow(row, self._source),
            media=self._images_of(row) if self._with_images else (),
            tags={**_tags(row), **self._rotation(row)},
            group=self._group(row),
        )

    def _images_of(self, row: Fields) -> tuple[Any, ...]:
        images = self._source.images.of(row)
        if not images and ("image" in row or "image_path" in row):
            raise RowFault(
                "the row has no image",
                column="image",
                fix="give it an image or an image_path",
            )
        if not is_blank(row.get("image")) and not is_blank(row.get("image_path")):
            for image, name in zip(
                images,
                self._source.images.names(row),
                strict=False,
            ):
                image.name = image.name or name
        return images

    def _target(
        self,
        row: Fields,
        options: Mapping[str, str],
    ) -> object:
        answer = row.get("answer")
        if is_blank(answer):
            return None
        if options:
            texts = _contiguous(options)
            return letter_of(
                answer if isinstance(answer, str) else str(answer),
                texts,
                (),
                "answer",
            )
        if looks_like_list(answer):
            try:
                return tuple(parse_list(str(answer), "answer"))
            except RowFault:
                return answer  # an answer may be an interval or a matrix
        return str(answer)

    def _group(self, row: Fields) -> str | None:
        if not is_blank(row.get("g_index")):
            return str(row["g_index"])
        if self._is_mme:
            return image_of_mme(row)
        if self._kind == "MCQ":
            index = whole_index(row.get("index"))
        else:
            index = None
        if index is None:
            return None
        if index < ROTATION or self._is_rotated(row, index):
            return str(index % ROTATION)
        return str(index)

    def _is_rotated(self, row: Fields, index: int) -> bool:
        """Return True if a row with a high index is a rotated copy of a question.

        Unless the benchmark's name implies rotations, the row's image cell must be the
        index of the question's row.
        """
        return self._circular or row.get("image") == str(index % ROTATION)

    def _rotation(self, row: Fields) -> dict[str, str]:
        if self._circular and self._kind == "MCQ":
            index = whole_index(row.get("index"))
        else:
            index = None
        if index is None:
            return {}
        return {"rotation": str(index // ROTATION)}


def _tags(row: Fields) -> dict[str, str]:
    return {name: str(row[name]) for name in BREAKDOWNS if not is_blank(row.get(name))}


def _contiguous(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the option texts in the order of their letters. A missing letter gets an empty string."""
    if not options:
        return ()
    last = LETTERS.index(max(options))
    return tuple(options.get(letter, "") for letter in LETTERS[: last + 1])


def image_of_mme(row: Fields) -> str | None:
    """Return a key for an image of MME, the same for both of its questions: its path or the first question's index."""
    if not is_blank(row.get("image_path")):
        return f"{row.get('category', '')}/{row['image_path']}"
    index = whole_index(row.get("index"))
    if index is None:
        return None
    return str(index - index % 2)

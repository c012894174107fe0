"""The prediction table that a user's `evaluate` loads, and models that answer from old prediction files.

Images of the table are opened one by one from the run's files. An old pickle is read only with the user's
permission.
"""

import functools
import io
import json
import pickle
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

from ...core import Abilities, Candidate, Media, Output, Sample
from ...store.file_ledger import FileLedger
from ..kits.imported_answers import (
    ImportedAnswers,
)
from ..kits.suffix_files import load_pickle, objects
from .ulmeval_drawing import as_medium, is_image
from .ulmeval_rows import GuestData

if TYPE_CHECKING:
    from pandas import DataFrame
    from PIL.Image import Image as PilImage


class Images(list[Any]):
    """The images generated for one prompt, in order. Each is opened on access.

    As long as user code keeps an image, it gets the same object again.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._media: list[Media | str] = [
            c.media[0] if c.media else c.text for c in candidates
        ]
        self._held: list[weakref.ref[Any] | None] = [None] * len(self._media)
        super().__init__([None] * len(self._media))

    def __getitem__(self, position: SupportsIndex | slice) -> Any:
        if isinstance(position, slice):
            return [self[index] for index in range(*position.indices(len(self)))]
        index = range(len(self))[position]
        medium = self._media[index]
        if isinstance(medium, str):
            return medium
        reference = self._held[index]
        image = reference() if reference is not None else None
        if image is None:
            image = opened(medium.data())
            self._held[index] = weakref.ref(image)
        return image

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[index] for index in reversed(range(len(self))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [image.copy() if hasattr(image, "copy") else image for image in self]

    def __reduce__(self) -> tuple[object, ...]:
        # Pickle a plain list of images in their own format, readable with Pillow alone.
        return list, (
            tuple(
                _Packed(m.data()) if isinstance(m, Media) else m for m in self._media
            ),
        )


class _Packed:
    """An image that pickles as the bytes of its file. Pillow opens them when the pickle is read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce__(self) -> tuple[object, ...]:
        from PIL import Image

        return Image.open, (io.BytesIO(self._data),)


def opened(data: bytes) -> "PilImage":
    """Open the bytes of an image file as a Pillow image."""
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def prediction_table(
    data: GuestData,
    rows: Sequence[tuple[Sample, Output]],
) -> "DataFrame":
    """Return the user's answered rows as a data frame, each with its list of images as `prediction`."""
    frame = data.frame.iloc[
        [data.row_number(sample) for sample, _ in rows]
    ].reset_index(drop=True)
    return frame.assign(
        prediction=objects([Images(output.candidates) for _, output in rows], frame)
    )


def write_pickle(table: object, path: Path) -> None:
    """Write the prediction table in ULMEvalKit's format for other programs. assay never reads it back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        pickle.dump(table, file)


NOTED = "predictions_sha256.json"


@dataclass(frozen=True)
class Imported(ImportedAnswers):
    """A model that answers from a prediction file: each prompt gets the images of its row in the file."""

    abilities: ClassVar[Abilities] = Abilities(
        frozenset({"text", "image"}), frozenset({"image"})
    )

    @staticmethod
    def answer_of(cell: object) -> object:
        """Return the images in a `prediction` cell as a list."""
        if isinstance(cell, (list, tuple)):
            return list(cell)
        return [cell]

    @property
    def most(self) -> int:
        """The largest number of images in a row of the file."""
        return max((len(images) for images in self.predictions.values()), default=1)

    def output_of(self, index: str) -> Output:
        """Return the images of a row as an output."""
        images = self.predictions.get(index)
        if images is None:
            return self.missing(f"the file has no row {index!r}")
        if not images:
            return self.missing(f"row {index!r} has no image")
        candidates: list[Candidate] = []
        for image in images:
            if not is_image(image):
                message = f"row {index!r} has {image!r} in place of an image"
                return self.missing(message[:200])
            candidates.append(Candidate((as_medium(image),)))
        return Output(tuple(candidates))


def imported(
    path: Path,
    name: str,
    *,
    trust: bool,
) -> Imported:
    """Return a model that answers from a pickled prediction table, which is read only if `trust` is True."""
    return Imported.read(path, name, functools.partial(load_pickle, trust=trust))


def noted_digests(folder: Path) -> list[str]:
    """Return the digests of a run's prediction files from `note_digests`; empty for runs of earlier versions."""
    try:
        noted = json.loads((folder / NOTED).read_bytes())
    except (OSError, ValueError):
        return []
    return [str(digest) for digest in noted]


def note_digests(
    folder: Path,
    digests: Sequence[str],
) -> None:
    """Record in a run folder the digests of the prediction files that the run read or wrote."""
    path = FileLedger(folder).claim(folder / NOTED)
    path.write_text(json.dumps(list(dict.fromkeys(digests))), encoding="utf-8")

"""Predictions: the table a guest's `evaluate` loads, its images opened one by one from the run's own files."""

import io
import pickle
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from ...core import Candidate, Media, Output, Sample
from ..kits.suffix_files import objects
from .rows import GuestData

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


class Images(list[Any]):
    """The images drawn for one prompt, in the order they were drawn; each is opened when it is looked at.

    An image that somebody still holds is given out again as the same object.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._media: list[Media | str] = [
            c.media[0] if c.media else c.text for c in candidates
        ]
        self._held: list[weakref.ref[Any] | None] = [None] * len(self._media)
        super().__init__([None] * len(self._media))

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        medium = self._media[at]
        if isinstance(medium, str):
            return medium
        reference = self._held[at]
        image = reference() if reference is not None else None
        if image is None:
            image = opened(medium.data())
            self._held[at] = weakref.ref(image)
        return image

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[at] for at in reversed(range(len(self))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [image.copy() if hasattr(image, "copy") else image for image in self]

    def __reduce__(self) -> Any:
        # As a plain list of images in their own format: readable by everybody who has Pillow.
        return list, (
            tuple(
                _Packed(m.data()) if isinstance(m, Media) else m for m in self._media
            ),
        )


class _Packed:
    """One image inside a pickle: its file's bytes, opened by Pillow when the pickle is read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce__(self) -> Any:
        from PIL import Image

        return Image.open, (io.BytesIO(self._data),)


def opened(data: bytes) -> "PilImage":
    """The image in a file's bytes, decoded."""
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def prediction_table(data: GuestData, rows: Sequence[tuple[Sample, Output]]) -> Any:
    """The guest's own rows that were answered, with `prediction` beside them: a list of images in each."""
    frame = data.frame.iloc[[data.place(sample) for sample, _ in rows]].reset_index(
        drop=True
    )
    return frame.assign(
        prediction=objects([Images(output.candidates) for _, output in rows], frame)
    )


def write_pickle(table: Any, path: Path) -> None:
    """The table as ULMEvalKit keeps it: written for its readers, never read back by assay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        pickle.dump(table, file)

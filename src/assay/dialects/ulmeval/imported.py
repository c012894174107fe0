"""Predictions from an old `.pkl` of ULMEvalKit, as a model that answers with them; reading one needs consent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...code.userfiles import file_digest
from ...core import Abilities, Candidate, Output, Request, UsageError
from ..kits.suffix_files import load_pickle
from .drawing import as_medium, is_image


@dataclass(frozen=True)
class Imported:
    """The images of a prediction file, by the index of their row."""

    name: str
    identity: Mapping[str, Any]
    predictions: Mapping[str, Sequence[Any]] = field(repr=False)
    abilities: ClassVar[Abilities] = Abilities(
        frozenset({"text", "image"}), frozenset({"image"})
    )

    @property
    def most(self) -> int:
        """The largest number of images of one row."""
        return max((len(images) for images in self.predictions.values()), default=1)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """The images of each row; a row without any is a failure of that row."""
        return [self._output(request.id) for request in requests]

    def _output(self, index: str) -> Output:
        images = self.predictions.get(index)
        if images is None:
            return Output.failed(
                "missing", f"the file has no row {index!r}", retryable=False
            )
        wrong = next((image for image in images if not is_image(image)), None)
        if wrong is not None or not images:
            return Output.failed(
                "missing",
                f"row {index!r} has {wrong!r} in place of an image"[:200],
                retryable=False,
            )
        return Output(tuple(Candidate((as_medium(image),)) for image in images))


def imported(path: Path, name: str, *, trust: bool) -> Imported:
    """The predictions of a file with the columns `index` and `prediction`."""
    if not path.is_file():
        raise UsageError("no such prediction file", where=str(path))
    table = load_pickle(path, trust=trust)
    if not {"index", "prediction"} <= set(getattr(table, "columns", ())):
        raise UsageError("not a table with `index` and `prediction`", where=str(path))
    predictions = {
        str(index): list(images) if isinstance(images, (list, tuple)) else [images]
        for index, images in zip(table["index"], table["prediction"], strict=True)
    }
    return Imported(name, {"imported": file_digest(path)}, predictions)

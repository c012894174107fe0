"""The media of a prompt apart: which tensors and which tokens belong to each image and audio.

A processor hands out the media of a prompt as joined tensors, and as marks among the token ids. Both are taken apart
here, so that a medium which stands in many prompts is known again: by a digest of what the model is given of it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from .attention import CannotShare
from .media_batches import BESIDE

KINDS = ("image", "audio")
HEARD = ("input_features", "feature", "audio")
"""How names of tensors begin that belong to audio clips; all others belong to images."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One medium; all of a kind where their tensors cannot be taken apart."""

    digest: bytes
    """Of the tensors: an image that is prepared in another way is another piece."""
    tensors: Mapping[str, Any]
    mark: int
    """The token that stands for each part of it."""
    places: tuple[int, ...]
    """Where those stand in the prompt."""
    beside: Mapping[str, Any]
    """What runs beside the token ids, there."""


def marks_of(config: Any) -> dict[str, int]:
    """The token that stands for a part of a medium, by kind, as the configuration names it."""
    names = {kind: (f"{kind}_token_id", f"{kind}_token_index") for kind in KINDS}
    found = {
        kind: [getattr(config, name, None) for name in pair]
        for kind, pair in names.items()
    }
    return {
        kind: int(next(v for v in some if v is not None))
        for kind, some in found.items()
        if some != [None, None]
    }


def pieces_of(inputs: Mapping[str, Any], marks: Mapping[str, int]) -> list[Piece]:
    """The media of one prompt."""
    by_kind: dict[str, dict[str, Any]] = {}
    for name, value in inputs.items():
        if name != "input_ids" and name not in BESIDE and value is not None:
            by_kind.setdefault("audio" if name.startswith(HEARD) else "image", {})[
                name
            ] = value
    ids = inputs["input_ids"][0].tolist()
    pieces = []
    for kind, tensors in by_kind.items():
        mark = marks.get(kind)
        places = [at for at, token in enumerate(ids) if token == mark]
        if mark is None or not places:
            raise CannotShare(f"no token stands for its {kind} input")
        runs = _runs(places)
        parts = _apart(tensors, len(runs))
        spans = _spans(places, runs, parts)
        for part, span in zip(
            parts if spans else [tensors], spans or [tuple(places)], strict=True
        ):
            beside = {
                name: inputs[name][:, list(span)] for name in BESIDE if name in inputs
            }
            pieces.append(Piece(_digest(part), part, mark, span, beside))
    return pieces


def _apart(tensors: Mapping[str, Any], runs: int) -> list[dict[str, Any]]:
    """The tensors of each medium: a row of each, or as many patches as its grid has; one medium where neither fits."""
    import torch

    if not all(
        isinstance(value, torch.Tensor) and value.dim() for value in tensors.values()
    ):
        return [dict(tensors)]
    pixels = tensors.get("pixel_values")
    if (
        pixels is not None
        and pixels.dim() == 5
        and all(x.shape[:2] == (1, runs) for x in tensors.values())
    ):
        # All images of a prompt, or all tiles of them, make up one row.
        return [
            {name: value[:, at : at + 1] for name, value in tensors.items()}
            for at in range(runs)
        ]
    grid = next(
        (value for name, value in tensors.items() if name.endswith("grid_thw")), None
    )
    counts = {name: len(value) for name, value in tensors.items()}
    number = min(counts.values()) if grid is None else len(grid)
    sizes = [1] * number if grid is None else grid.prod(-1).tolist()
    parts: list[dict[str, Any]] = [{} for _ in range(number)]
    for name, value in tensors.items():
        cuts = [1] * number if counts[name] == number else sizes
        if sum(cuts) != counts[name]:
            return [dict(tensors)]
        for part, piece in zip(parts, value.split(cuts), strict=True):
            part[name] = piece
    return parts


def _runs(places: Sequence[int]) -> list[tuple[int, ...]]:
    """Places without a gap between them, together."""
    ends = [
        at for at, (one, other) in enumerate(pairwise(places), 1) if other != one + 1
    ]
    return [
        tuple(places[start:stop]) for start, stop in pairwise([0, *ends, len(places)])
    ]


def _spans(
    places: Sequence[int],
    runs: list[tuple[int, ...]],
    parts: Sequence[Mapping[str, Any]],
) -> list[tuple[int, ...]]:
    """Which places are those of each medium; none where that cannot be told."""
    if len(runs) == len(parts):
        return runs
    shapes = {tuple(tuple(value.shape) for value in part.values()) for part in parts}
    size, left = divmod(len(places), len(parts))
    # What is of one shape has as many tokens each.
    if left or len(shapes) > 1:
        return []
    return [tuple(places[at : at + size]) for at in range(0, len(places), size)]


def _digest(tensors: Mapping[str, Any]) -> bytes:
    import torch

    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(tensors.items()):
        digest.update(
            f"{name} {getattr(value, 'shape', '')} {getattr(value, 'dtype', value)}\0".encode()
        )
        if isinstance(value, torch.Tensor):
            digest.update(
                value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
            )
    return digest.digest()


def alike_pieces(pieces: Sequence[Piece], most: int) -> list[list[Piece]]:
    """Pieces of one kind and shape together, at most so many."""

    def shape(piece: Piece) -> Any:
        return piece.mark, [
            (name, tuple(getattr(value, "shape", ())))
            for name, value in sorted(piece.tensors.items())
        ]

    groups = [list(group) for _, group in groupby(sorted(pieces, key=shape), key=shape)]
    return [
        group[at : at + most] for group in groups for at in range(0, len(group), most)
    ]

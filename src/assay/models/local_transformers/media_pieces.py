"""Separate the media of a prompt: the tensors and tokens of each image and audio clip.

A processor joins the tensors of all media, and puts placeholders among the token ids. Here they are separated,
so that a medium in many prompts is recognised by the digest of its tensors.
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
"""Beginnings of tensor names that belong to audio clips. All other tensors belong to images."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One medium, or all media of a kind if their tensors cannot be separated."""

    digest: bytes
    """Digest of the tensors: the same image prepared in another way is another piece."""
    tensors: Mapping[str, Any]
    mark: int
    """The placeholder token of its parts."""
    places: tuple[int, ...]
    """The positions of its tokens in the prompt."""
    beside: Mapping[str, Any]
    """The values of per-token inputs at these positions."""


def marks_of(config: Any) -> dict[str, int]:
    """Return the placeholder token of each kind of media, as the configuration names it."""
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
    """Return the media of one prompt."""
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
    """Return the tensors of each medium: one row each, or as many patches as its grid has; else all as one medium."""
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
    """Return runs of consecutive positions."""
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
    """Return the positions of each medium; empty if they cannot be assigned."""
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
    """Yield pieces of one kind and shape together, at most `most` of them."""

    def shape(piece: Piece) -> Any:
        return piece.mark, [
            (name, tuple(getattr(value, "shape", ())))
            for name, value in sorted(piece.tensors.items())
        ]

    groups = [list(group) for _, group in groupby(sorted(pieces, key=shape), key=shape)]
    return [
        group[at : at + most] for group in groups for at in range(0, len(group), most)
    ]

"""Separate the images and audio clips of a prompt: the tensors and tokens of each.

A processor joins the tensors of all media, and puts placeholder tokens into the prompt.
Once separated, an image or clip is recognised in other prompts by the digest of its
tensors.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from .attention import CannotShare
from .media_batches import BESIDE

if TYPE_CHECKING:
    from transformers import PretrainedConfig

KINDS = ("image", "audio")
HEARD = ("input_features", "feature", "audio")
"""Name prefixes of tensors that belong to audio. All other tensors belong to images."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An image or audio clip of a prompt: its tensors and its placeholder tokens.

    If the media of one kind cannot be separated, one piece contains them all.
    """

    digest: bytes
    """Digest of the tensors. The same image with different preprocessing has different digests."""
    tensors: Mapping[str, Any]
    mark: int
    """Id of the placeholder token. The prompt repeats it once for each part of the image or clip."""
    positions: tuple[int, ...]
    """Positions of the placeholder tokens in the prompt."""
    beside: Mapping[str, Any]
    """Values at `positions` in the attention mask and the other tensors named in `BESIDE`."""


def marks_of(config: "PretrainedConfig") -> dict[str, int]:
    """Return the id of the placeholder token of each kind of media, from the configuration."""
    marks: dict[str, int] = {}
    for kind in KINDS:
        for name in (f"{kind}_token_index", f"{kind}_token_id"):
            token = getattr(config, name, None)
            if token is not None:
                marks[kind] = int(token)
    return marks


def separate_media(
    inputs: Mapping[str, Any],
    marks: Mapping[str, int],
) -> list[Piece]:
    """Return the images and audio clips of a prompt as pieces, each with its tensors."""
    tensors_of: dict[str, dict[str, Any]] = {}
    for name, value in inputs.items():
        if name == "input_ids" or name in BESIDE or value is None:
            continue
        if "video" in name:
            raise CannotShare("prompts with videos are computed one by one")
        kind = "audio" if name.startswith(HEARD) else "image"
        tensors_of.setdefault(kind, {})
        tensors_of[kind][name] = value
    ids = inputs["input_ids"][0].tolist()
    pieces = []
    for kind, tensors in tensors_of.items():
        mark = marks.get(kind)
        positions = [index for index, token in enumerate(ids) if token == mark]
        if mark is None or not positions:
            raise CannotShare(f"no token stands for its {kind} input")
        for part, span in _separate(tensors, positions):
            piece = Piece(
                digest=_digest(part),
                tensors=part,
                mark=mark,
                positions=span,
                beside=_values_at(inputs, span),
            )
            pieces.append(piece)
    return pieces


def _separate(
    tensors: Mapping[str, Any],
    positions: Sequence[int],
) -> Iterator[tuple[Mapping[str, Any], tuple[int, ...]]]:
    """Yield the tensors and placeholder positions of each image or clip of one kind.

    If tensors and positions cannot be matched, yield all of them together.
    """
    runs = _runs(positions)
    parts = _tensors_of_each(tensors, len(runs))
    if len(runs) == len(parts):
        yield from zip(parts, runs, strict=True)
        return
    shapes = {tuple(tuple(value.shape) for value in part.values()) for part in parts}
    size, remainder = divmod(len(positions), len(parts))
    if remainder or len(shapes) > 1:
        yield tensors, tuple(positions)
        return
    # Media of one shape have equal numbers of tokens.
    for number, part in enumerate(parts):
        start = number * size
        yield part, tuple(positions[start : start + size])


def _values_at(
    inputs: Mapping[str, Any],
    positions: Sequence[int],
) -> dict[str, Any]:
    """Return the values of the `BESIDE` tensors at these positions."""
    values = {}
    for name in BESIDE:
        if name in inputs:
            values[name] = inputs[name][:, list(positions)]
    return values


def _tensors_of_each(
    tensors: Mapping[str, Any],
    runs: int,
) -> list[dict[str, Any]]:
    """Split the joined tensors of a prompt into those of each image or clip.

    `runs` is the number of placeholder runs in the prompt. Each image or clip has
    either one row in every tensor, or as many patches as its grid. If neither holds,
    return a list with the unsplit tensors.
    """
    import torch

    for value in tensors.values():
        if not isinstance(value, torch.Tensor) or not value.dim():
            return [dict(tensors)]
    if _are_in_one_row(tensors, runs):
        parts = []
        for index in range(runs):
            column = slice(index, index + 1)
            part = {name: value[:, column] for name, value in tensors.items()}
            parts.append(part)
        return parts
    counts = {name: len(value) for name, value in tensors.items()}
    sizes = [1] * min(counts.values())
    for name, value in tensors.items():
        if name.endswith("grid_thw"):
            sizes = value.prod(-1).tolist()
            break
    number = len(sizes)
    parts = [{} for _ in range(number)]
    for name, value in tensors.items():
        if counts[name] == number:
            lengths = [1] * number
        else:
            lengths = sizes
        if sum(lengths) != counts[name]:
            return [dict(tensors)]
        for part, piece in zip(parts, value.split(lengths), strict=True):
            part[name] = piece
    return parts


def _are_in_one_row(
    tensors: Mapping[str, Any],
    runs: int,
) -> bool:
    """Return True if every tensor has the shape (1, `runs`, …): one row for all images or tiles."""
    pixels = tensors.get("pixel_values")
    if pixels is None or pixels.dim() != 5:
        return False
    return all(value.shape[:2] == (1, runs) for value in tensors.values())


def _runs(positions: Sequence[int]) -> list[tuple[int, ...]]:
    """Split positions into runs of consecutive ones."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return [tuple(run) for run in runs]


def _digest(tensors: Mapping[str, Any]) -> bytes:
    import torch

    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(tensors.items()):
        shape = getattr(value, "shape", "")
        kind = getattr(value, "dtype", value)
        digest.update(f"{name} {shape} {kind}\0".encode())
        if isinstance(value, torch.Tensor):
            line = value.cpu().contiguous().reshape(-1)
            digest.update(line.view(torch.uint8).numpy().data)
    return digest.digest()


def group_pieces(
    pieces: Sequence[Piece],
    most: int,
) -> list[list[Piece]]:
    """Group pieces of equal kind and shape, at most `most` in a group."""
    batches: list[list[Piece]] = []
    ordered = sorted(pieces, key=_shape_of)
    for _, group in groupby(ordered, key=_shape_of):
        members = iter(group)
        while batch := list(islice(members, most)):
            batches.append(batch)
    return batches


def _shape_of(piece: Piece) -> tuple[int, list[tuple[str, tuple[int, ...]]]]:
    """Return the id of a piece's placeholder token, and the names and shapes of its tensors."""
    shapes = []
    for name, value in sorted(piece.tensors.items()):
        shapes.append((name, tuple(getattr(value, "shape", ()))))
    return piece.mark, shapes

"""The engine for models with images or audio: passes over words and media, with shared prefixes.

Every token of a prompt has an integer *key*: the id of a word, or a number for a part of a medium. Equal keys
mean equal input, so common prefixes are planned as for text. In a pass, keys become embeddings. A medium is
encoded once and kept while there is room. Some models shift positions at media; the shift is also a part of the
key.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .attention import CannotShare, Plan, integers, passing, sent
from .engine import Engine, TokenCount
from .media_pieces import Piece, alike_pieces
from .media_prompts import placed

if TYPE_CHECKING:
    import numpy as np

BITS = 32
"""A key consists of its origin and, in the lowest bits, the token id or part number."""
MOST_ORIGINS = 4096
"""Number of origins to remember. Cached prefixes of the previous batch refer to them."""
ROOM = 256 << 20
"""Maximum size of encoded media in the cache, in bytes."""
USUAL = frozenset(
    {"input_ids", "inputs_embeds", "attention_mask", "position_ids", "cache_position"}
)
"""Tensors that every language model receives."""
TOGETHER = 8
"""Number of media to encode at once."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The medium that tokens belong to (None for words), and the shift of their positions."""

    piece: bytes | None
    shifts: Any
    """Difference from plain positions: axes by parts of a medium, axes by 1 for words, or `None`."""


class Keys:
    """Integers for tokens, equal if the model receives the same input."""

    def __init__(self) -> None:
        self.origins = [Origin(None, None)]
        self.axes = 0
        """Number of components of a position; 0 if all positions are plain."""
        self._index: dict[tuple[bytes | None, bytes], int] = {}

    def of(
        self, ids: Sequence[int], pieces: Sequence[Piece], positions: Any
    ) -> tuple[int, ...]:
        """Return the keys of a prompt. `positions` are axes by tokens, `None` for plain positions."""
        import numpy as np

        keys = np.asarray(ids, dtype=np.int64)
        shifts = None if positions is None else positions - np.arange(len(keys))
        self.axes = self.axes if positions is None else len(positions)
        is_word = np.ones(len(keys), dtype=bool)
        for piece in pieces:
            at = list(piece.places)
            is_word[at] = False
            origin = self._origin_of(
                piece.digest, None if shifts is None else shifts[:, at]
            )
            keys[at] = (origin << BITS) + np.arange(len(at))
        if shifts is not None:
            for shift in np.unique(shifts[:, is_word], axis=1).T:
                at = np.flatnonzero(
                    is_word & (shifts == shift[:, None]).all(0)
                ).tolist()
                keys[at] += self._origin_of(None, shift[:, None]) << BITS
        return tuple(keys.tolist())

    def after(self, ids: Sequence[int], shift: int) -> tuple[int, ...]:
        """Return the keys of words after a prompt, whose positions are shifted by `shift`."""
        import numpy as np

        origin = self._origin_of(None, np.full((self.axes, 1), shift)) if shift else 0
        return tuple((origin << BITS) + token for token in ids)

    def _origin_of(
        self, piece: bytes | None, shifts: "np.typing.NDArray[np.int64] | None"
    ) -> int:
        if piece is None and (shifts is None or not shifts.any()):
            return 0
        name = piece, b"" if shifts is None else shifts.tobytes()
        if name not in self._index:
            self._index[name] = len(self.origins)
            self.origins.append(Origin(piece, shifts))
        return self._index[name]


class MediaEngine(Engine):
    """A loaded model with images or audio that shares prefixes."""

    def __init__(self, model: Any, rows: int = 0) -> None:
        super().__init__(model, rows)
        self.decoder = model.get_decoder()
        # Only what goes through the part that reads and writes is counted.
        self.count.remove()
        self.count = TokenCount(self.decoder)
        self.head = model.get_output_embeddings()
        self.keys = Keys()
        self.pieces: dict[bytes, Piece] = {}
        """The media of this batch, by digest."""
        self._encoded: OrderedDict[bytes, Any] = OrderedDict()

    @contextmanager
    def handling(self, pieces: Sequence[Piece]) -> Iterator[None]:
        """Make the media of one batch available inside the block."""
        if len(self.keys.origins) > MOST_ORIGINS:
            self.forget()
            self.keys = Keys()
        self.pieces = {piece.digest: piece for piece in pieces}
        try:
            yield
        finally:
            self.pieces = {}

    def run(
        self, tokens: Sequence[int], positions: Any, plan: Plan, wanted: Sequence[int]
    ) -> Any:
        """Run one pass over keys at positions, and return the logits of the positions in `wanted`."""
        import torch

        with torch.inference_mode():
            embeddings, shifts = self._embedded(tokens)
            if shifts is not None:
                positions = positions[None] + shifts
            with passing(plan), self._only(wanted or [0]):
                out = self.model(
                    inputs_embeds=embeddings[None],
                    position_ids=sent(positions.unsqueeze(-2), self.device),
                    use_cache=False,
                )
        return out.logits[0, : len(wanted)]

    @property
    def axes(self) -> int:  # type: ignore[override]
        """The number of components of a position; 0 if positions are plain."""
        return self.keys.axes

    def decode(self, tokens: Any, positions: Any, plan: Plan) -> Any:
        """Run one pass over the next token of every slot; return the logits of all."""
        embeddings = self.model.get_input_embeddings()(tokens)
        if self.axes:
            positions = positions.expand(self.axes, -1)
        with passing(plan):
            out = self.model(
                inputs_embeds=embeddings[None],
                position_ids=positions.unsqueeze(-2),
                use_cache=False,
            )
        return out.logits[0]

    def forget(self) -> None:
        """Drop kept prefixes and encoded media."""
        self._encoded.clear()
        super().forget()

    def _embedded(self, keys: Sequence[int]) -> tuple[Any, Any]:
        """Return the embeddings of keys, and the shifts of their positions: axes by tokens, or `None`."""
        import numpy as np
        import torch

        numbers = np.asarray(keys, dtype=np.int64)
        origins, parts = numbers >> BITS, numbers & ((1 << BITS) - 1)
        present = {int(at): self.keys.origins[at] for at in np.unique(origins)}
        media = {
            at: origin.piece
            for at, origin in present.items()
            if origin.piece is not None
        }
        ids = np.where(np.isin(origins, list(media)), 0, parts)
        embeddings = self.model.get_input_embeddings()(
            sent(torch.from_numpy(ids), self.device)
        )
        if media:
            features = self._features(list(media.values()))
            embeddings = embeddings.clone()
            for at, piece in media.items():
                places = torch.from_numpy(np.flatnonzero(origins == at))
                rows = features[piece][
                    sent(torch.from_numpy(parts)[places], features[piece].device)
                ]
                embeddings[sent(places, embeddings.device)] = rows.to(embeddings)
        if all(origin.shifts is None for origin in present.values()):
            return embeddings, None
        shifts = np.zeros((self.keys.axes, len(numbers)), dtype=np.int64)
        for at, origin in present.items():
            if origin.shifts is not None:
                places = np.flatnonzero(origins == at)
                shifts[:, places] = origin.shifts[
                    :, parts[places] if origin.piece else [0] * len(places)
                ]
        return embeddings, torch.from_numpy(shifts)

    def _features(self, digests: Sequence[bytes]) -> Mapping[bytes, Any]:
        """Return encoded media. Each is encoded when it is first needed."""
        found = {
            digest: self._encoded[digest]
            for digest in digests
            if digest in self._encoded
        }
        missing = {
            digest: self.pieces[digest] for digest in digests if digest not in found
        }
        for group in alike_pieces(list(missing.values()), TOGETHER):
            lengths = [len(piece.places) for piece in group]
            for piece, rows in zip(
                group, self.encode(group).split(lengths), strict=True
            ):
                found[piece.digest] = rows
        for digest in digests:
            self._encoded[digest] = found[digest]
            self._encoded.move_to_end(digest)
        while (
            sum(rows.numel() * rows.element_size() for rows in self._encoded.values())
            > ROOM
        ):
            self._encoded.popitem(last=False)
        return found

    def encode(self, group: Sequence[Piece]) -> Any:
        """Encode media of one kind and shape into the input of the language model."""
        import torch

        joined: dict[str, Any] = {
            name: torch.cat([piece.tensors[name] for piece in group])
            if isinstance(value, torch.Tensor)
            else value
            for name, value in group[0].tensors.items()
        }
        joined |= {
            name: torch.cat([piece.beside[name] for piece in group], 1)
            for name in group[0].beside
        }
        joined["input_ids"] = torch.tensor(
            [[piece.mark for piece in group for _ in piece.places]]
        )
        # Given as such, since some models count them by the words between media, of which there are none.
        joined["position_ids"] = torch.arange(joined["input_ids"].shape[1])[None]
        embeddings = self._reached(placed(joined, self.model))
        if embeddings.shape[1] != joined["input_ids"].shape[1]:
            raise CannotShare("media are given other places than those that are marked")
        return embeddings[0]

    def _reached(self, inputs: Mapping[str, Any]) -> Any:
        """Return the embeddings that the model's own code passes to the language model, which does not run."""

        def stop(_: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            raise _Reached(kwargs.get("inputs_embeds"))

        try:
            with self.decoder.register_forward_pre_hook(
                stop, with_kwargs=True, prepend=True
            ):
                self.model(**inputs, use_cache=False)
        except _Reached as reached:
            if reached.embeddings is None:
                raise CannotShare("its media do not become embeddings") from None
            return reached.embeddings
        raise CannotShare("its media do not go through the part that writes")

    @contextmanager
    def watched(self) -> Iterator[list[Mapping[str, Any]]]:
        """Record the arguments of the language model, pass by pass."""
        calls: list[Mapping[str, Any]] = []
        with self.decoder.register_forward_pre_hook(
            lambda _, __, arguments: calls.append(arguments), with_kwargs=True
        ):
            yield calls

    def _only(self, wanted: Sequence[int]) -> Any:
        """Compute only the logits of the wanted positions inside the block."""
        places = integers(wanted)

        def keep(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
            return (args[0][:, sent(places, args[0].device)], *args[1:])

        return self.head.register_forward_pre_hook(keep)


@contextmanager
def in_full_precision() -> Iterator[None]:
    """Make encoders compute float32 without rounding on a GPU, where rounding depends on the batch size."""
    import torch

    if not torch.cuda.is_available():
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def check_given(arguments: Mapping[str, Any]) -> None:
    """Raise if prefixes cannot be shared: attention to later tokens, or inputs beyond embeddings.

    In half precision the numbers alone may not show it.
    """
    import torch

    masks = arguments.get("attention_mask")
    for mask in masks.values() if isinstance(masks, Mapping) else [masks]:
        if isinstance(mask, torch.Tensor) and mask.dim() == 4:
            allowed = mask if mask.dtype == torch.bool else mask == 0
            if bool(allowed.triu(1).any()):
                raise CannotShare("its tokens look at later ones")
    for name, value in arguments.items():
        parts = value if isinstance(value, (list, tuple)) else [value]
        if name not in USUAL and any(isinstance(part, torch.Tensor) for part in parts):
            raise CannotShare(f"its words are read with {name}")


class _Reached(Exception):
    """Raised where the language model would begin."""

    def __init__(self, embeddings: Any) -> None:
        super().__init__("reached")
        self.embeddings = embeddings

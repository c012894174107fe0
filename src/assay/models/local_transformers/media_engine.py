"""The engine for models with image or audio input; shared prefixes may contain media.

Every token of a prompt has an integer *key*: its token id, or a number for a part of an
image or clip. Equal keys mean equal input, so common prefixes are found as for text. In
a forward pass, keys are converted to embeddings. Each image or clip is encoded once and
cached. Some models shift the positions of tokens at media, so the shift is also a
part of the key.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .attention import CannotShare, Plan, integers, passing, sent
from .engine import Engine, TokenCount
from .media_pieces import Piece, group_pieces
from .media_prompts import move_to_model

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor
    from transformers import PreTrainedModel

BITS = 32
"""Number of low bits of a key, which hold the token id or part number.

The high bits hold the number of its origin.
"""
MOST_ORIGINS = 4096
"""Number of stored origins (see `Origin`) at which all of them are dropped, with the caches that depend on them."""
ROOM = 256 << 20
"""Maximum size of the cache of encoded media, in bytes."""
USUAL = frozenset(
    {"input_ids", "inputs_embeds", "attention_mask", "position_ids", "cache_position"}
)
"""The arguments of a language model that the engine supports. If a model uses others, prefixes cannot be shared."""
TOGETHER = 8
"""Maximum number of images or clips to encode in one pass."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What the keys of some tokens have in common: an image, a clip or text (None), and their position shifts.

    The high bits of a token's key are the index of its origin.
    """

    piece: bytes | None
    shifts: Any
    """Differences from consecutive positions; `None` if there are none.

    The shape is (axes, parts of the image or clip), or (axes, 1) for text. Axes are the
    coordinates of a position, such as time, height and width.
    """


class Keys:
    """Assigns integer keys to tokens; equal keys mean equal input to the model."""

    def __init__(self) -> None:
        self.origins = [Origin(None, None)]
        self.axes = 0
        """Coordinates per token position; 0 if a position is one number."""
        self._index: dict[tuple[bytes | None, bytes], int] = {}

    def of(
        self,
        ids: Sequence[int],
        pieces: Sequence[Piece],
        positions: "Tensor",
    ) -> tuple[int, ...]:
        """Return the keys of a prompt's tokens.

        `positions` has the shape (axes, tokens); `None` means consecutive positions.
        """
        import numpy as np

        keys = np.asarray(ids, dtype=np.int64)
        shifts = None
        if positions is not None:
            self.axes = len(positions)
            shifts = positions - np.arange(len(keys))
        is_word = np.ones(len(keys), dtype=bool)
        for piece in pieces:
            indices = list(piece.positions)
            is_word[indices] = False
            if shifts is None:
                piece_shifts = None
            else:
                piece_shifts = shifts[:, indices]
            origin = self._origin_of(piece.digest, piece_shifts)
            keys[indices] = (origin << BITS) + np.arange(len(indices))
        if shifts is not None:
            for shift in np.unique(shifts[:, is_word], axis=1).T[:, :, None]:
                is_shifted = (shifts == shift).all(0)
                keys[is_word & is_shifted] += self._origin_of(None, shift) << BITS
        return tuple(keys.tolist())

    def after(
        self,
        ids: Sequence[int],
        shift: int,
    ) -> tuple[int, ...]:
        """Return the keys of text after a prompt, whose positions are moved by `shift`."""
        import numpy as np

        if shift:
            origin = self._origin_of(None, np.full((self.axes, 1), shift))
        else:
            origin = 0
        return tuple((origin << BITS) + token for token in ids)

    def _origin_of(
        self,
        piece: bytes | None,
        shifts: "np.typing.NDArray[np.int64] | None",
    ) -> int:
        """Return the number of the origin with this piece and these position shifts.

        It is 0 for text without shifts.
        """
        if piece is None and (shifts is None or not shifts.any()):
            return 0
        name = (piece, b"" if shifts is None else shifts.tobytes())
        if name not in self._index:
            self._index[name] = len(self.origins)
            self.origins.append(Origin(piece, shifts))
        return self._index[name]


class MediaEngine(Engine):
    """Runs a model with image or audio input, and computes common prefixes once."""

    def __init__(self, model: "PreTrainedModel", rows: int = 0) -> None:
        super().__init__(model, rows)
        self.decoder = model.get_decoder()
        # Count only tokens that go through the language model.
        self.count.remove()
        self.count = TokenCount(self.decoder)
        self.head = model.get_output_embeddings()
        self.keys = Keys()
        self.pieces: dict[bytes, Piece] = {}
        """The images and clips of this batch, by digest."""
        self._encoded: OrderedDict[bytes, Any] = OrderedDict()

    @contextmanager
    def handling(self, pieces: Sequence[Piece]) -> Iterator[None]:
        """Make the images and clips of a batch available to forward passes inside the `with` block."""
        if len(self.keys.origins) > MOST_ORIGINS:
            self.forget()
            self.keys = Keys()
        self.pieces = {piece.digest: piece for piece in pieces}
        try:
            yield
        finally:
            self.pieces = {}

    def run(
        self,
        tokens: Sequence[int],
        positions: "Tensor",
        plan: Plan,
        offsets: Sequence[int],
    ) -> Any:
        """Run one forward pass over token keys; return the logits at the indices `offsets`."""
        import torch

        with torch.inference_mode():
            embeddings, shifts = self._embedded(tokens)
            if shifts is not None:
                positions = positions[None] + shifts
            with passing(plan), self._only(offsets or [0]):
                out = self.model(
                    inputs_embeds=embeddings[None],
                    position_ids=sent(positions.unsqueeze(-2), self.device),
                    use_cache=False,
                )
        return out.logits[0, : len(offsets)]

    @property
    def axes(self) -> int:  # type: ignore[override]
        """Coordinates per token position; 0 if a position is one number."""
        return self.keys.axes

    def decode(
        self,
        tokens: object,
        positions: "Tensor",
        plan: Plan,
    ) -> Any:
        """Run one forward pass over the next token of every slot, and return the logits."""
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
        """Drop cached prefixes and encoded media."""
        self._encoded.clear()
        super().forget()

    def _embedded(self, keys: Sequence[int]) -> tuple[Any, Any]:
        """Return the embeddings and position shifts for token keys.

        Shifts have the shape (axes, tokens), or are None if no position is shifted.
        """
        import numpy as np
        import torch

        numbers = np.asarray(keys, dtype=np.int64)
        origins = numbers >> BITS
        parts = numbers & ((1 << BITS) - 1)
        present = {int(index): self.keys.origins[index] for index in np.unique(origins)}
        digests = {}
        for index, origin in present.items():
            if origin.piece is not None:
                digests[index] = origin.piece
        is_medium = np.isin(origins, list(digests))
        words = np.where(is_medium, 0, parts)
        ids = sent(torch.from_numpy(words), self.device)
        embeddings = self.model.get_input_embeddings()(ids)
        if digests:
            features = self._features(list(digests.values()))
            embeddings = embeddings.clone()
        for index, digest in digests.items():
            medium = features[digest]
            indices = np.flatnonzero(origins == index)
            rows = sent(torch.from_numpy(parts[indices]), medium.device)
            targets = sent(torch.from_numpy(indices), embeddings.device)
            embeddings[targets] = medium[rows].to(embeddings)
        return embeddings, self._shifts(present, origins, parts)

    def _shifts(
        self,
        present: Mapping[int, Origin],
        origins: "Tensor",
        parts: Any,
    ) -> Any | None:
        """Return the position shift of each token; `None` if no position is shifted.

        The shape is (axes, tokens).
        """
        import numpy as np
        import torch

        if all(origin.shifts is None for origin in present.values()):
            return None
        shifts = np.zeros((self.keys.axes, len(parts)), dtype=np.int64)
        for index, origin in present.items():
            if origin.shifts is None:
                continue
            indices = np.flatnonzero(origins == index)
            # All text tokens of an origin have the same shift.
            if origin.piece:
                columns = parts[indices]
            else:
                columns = [0] * len(indices)
            shifts[:, indices] = origin.shifts[:, columns]
        return torch.from_numpy(shifts)

    def _features(self, digests: Sequence[bytes]) -> Mapping[bytes, Any]:
        """Return encoded images and clips by digest, encoding those that are not cached."""
        missing = {}
        for digest in digests:
            if digest not in self._encoded:
                missing[digest] = self.pieces[digest]
        for group in group_pieces(list(missing.values()), TOGETHER):
            lengths = [len(piece.positions) for piece in group]
            encoded = self.encode(group).split(lengths)
            for piece, rows in zip(group, encoded, strict=True):
                self._encoded[piece.digest] = rows
        features = {}
        for digest in digests:
            self._encoded.move_to_end(digest)
            features[digest] = self._encoded[digest]
        while sum(rows.nbytes for rows in self._encoded.values()) > ROOM:
            self._encoded.popitem(last=False)
        return features

    def encode(self, group: Sequence[Piece]) -> Any:
        """Encode images or clips of equal shape into embeddings for the language model."""
        import torch

        joined: dict[str, Any] = {}
        for name, value in group[0].tensors.items():
            if isinstance(value, torch.Tensor):
                value = torch.cat([piece.tensors[name] for piece in group])
            joined[name] = value
        for name in group[0].beside:
            joined[name] = torch.cat([piece.beside[name] for piece in group], 1)
        ids: list[int] = []
        for piece in group:
            ids += [piece.mark] * len(piece.positions)
        joined["input_ids"] = torch.tensor([ids])
        # Some models derive positions from the text between media; here there is none.
        joined["position_ids"] = torch.arange(len(ids))[None]
        embeddings = self._reached(move_to_model(joined, self.model))
        if embeddings.shape[1] != len(ids):
            raise CannotShare(
                "its media do not take the positions of their placeholders"
            )
        return embeddings[0]

    def _reached(self, inputs: Mapping[str, Any]) -> Any:
        """Return the embeddings that the model computes for its language model,
        without running the language model.
        """

        def stop(
            _: object,
            args: tuple[Any, ...],
            kwargs: Mapping[str, Any],
        ) -> None:
            raise _Reached(kwargs.get("inputs_embeds"))

        try:
            with self.decoder.register_forward_pre_hook(
                stop,
                with_kwargs=True,
                prepend=True,
            ):
                self.model(**inputs, use_cache=False)
        except _Reached as reached:
            if reached.embeddings is None:
                raise CannotShare("its media do not become embeddings") from None
            return reached.embeddings
        raise CannotShare("its media do not reach the language model")

    @contextmanager
    def watched(self) -> Iterator[list[Mapping[str, Any]]]:
        """Yield a list that collects the arguments of each language model call in the block."""
        calls: list[Mapping[str, Any]] = []

        def record(
            _: object,
            __: object,
            arguments: Mapping[str, Any],
        ) -> None:
            calls.append(arguments)

        with self.decoder.register_forward_pre_hook(record, with_kwargs=True):
            yield calls

    def _only(self, offsets: Sequence[int]) -> Any:
        """Make the model compute logits only at the indices `offsets` inside the block."""
        indices = integers(offsets)

        def select(
            _: object,
            args: tuple[Any, ...],
        ) -> tuple[Any, ...]:
            states, *others = args
            return (states[:, sent(indices, states.device)], *others)

        return self.head.register_forward_pre_hook(select)


@contextmanager
def in_full_precision() -> Iterator[None]:
    """Make media encoders compute in exact float32 inside the block.

    With the GPU's faster TF32 format, rounding would depend on the batch size.
    """
    import torch

    if not torch.cuda.is_available():
        yield
        return
    with torch.backends.cudnn.flags(
        enabled=True,
        allow_tf32=False,
    ):
        yield


def check_given(arguments: Mapping[str, Any]) -> None:
    """Raise if the arguments that a language model received show that prefixes cannot be shared.

    That is the case if tokens attend to later tokens, or if the model gets tensors
    besides the embeddings. In half precision, comparing logits alone may not reveal
    this.
    """
    import torch

    masks = arguments.get("attention_mask")
    for mask in masks.values() if isinstance(masks, Mapping) else [masks]:
        if not isinstance(mask, torch.Tensor) or mask.dim() != 4:
            continue
        if mask.dtype == torch.bool:
            allowed = mask
        else:
            allowed = mask == 0
        if bool(allowed.triu(1).any()):
            raise CannotShare("its tokens look at later ones")
    for name, value in arguments.items():
        if name in USUAL:
            continue
        if isinstance(value, (list, tuple)):
            parts = value
        else:
            parts = [value]
        if any(isinstance(part, torch.Tensor) for part in parts):
            raise CannotShare(f"its words are read with {name}")


class _Reached(Exception):
    """Raised to stop just before the language model would run. It contains the embeddings for the language model."""

    def __init__(self, embeddings: "Tensor") -> None:
        super().__init__("reached")
        self.embeddings = embeddings

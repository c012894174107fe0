"""The engine of models that see and hear: passes over words and media alike, shared beginnings and all.

Every token of a prompt is given a *key*: a word its id, a part of a medium a number that stands for that part of that
medium. Keys that agree are the same to the model, so that what prompts with media have in common is planned as for
text. In a pass keys become embeddings: a medium goes through its encoder once and is kept while there is room. Some
models count positions otherwise where media stand; by how much is part of a key, too.
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
"""A key is (where it stands, which token or part) with so many bits for the latter."""
MOST_STANDS = 4096
"""Places of media that are remembered: beginnings kept from the hand-over before name them."""
ROOM = 256 << 20
"""Bytes of encoded media that are kept."""
USUAL = frozenset(
    {"input_ids", "inputs_embeds", "attention_mask", "position_ids", "cache_position"}
)
"""Tensors that every part that reads and writes is given."""
TOGETHER = 8
"""Media that go through their encoder at once."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Tokens whose embeddings are a medium's, or whose positions are not counted plainly."""

    piece: bytes | None
    shifts: Any
    """By how much positions lie off the plain count: axes by parts of a medium, axes by 1 for words, else `None`."""


class Keys:
    """Numbers for tokens, equal where the model is given the same."""

    def __init__(self) -> None:
        self.stands = [Stand(None, None)]
        self.axes = 0
        """Numbers that make up a position; 0 where all are counted plainly."""
        self._index: dict[tuple[bytes | None, bytes], int] = {}

    def of(
        self, ids: Sequence[int], pieces: Sequence[Piece], positions: Any
    ) -> tuple[int, ...]:
        """The keys of a prompt; `positions` as axes by tokens, `None` where they are counted plainly."""
        import numpy as np

        keys = np.asarray(ids, dtype=np.int64)
        shifts = None if positions is None else positions - np.arange(len(keys))
        self.axes = self.axes if positions is None else len(positions)
        is_word = np.ones(len(keys), dtype=bool)
        for piece in pieces:
            at = list(piece.places)
            is_word[at] = False
            stand = self._stand(piece.digest, None if shifts is None else shifts[:, at])
            keys[at] = (stand << BITS) + np.arange(len(at))
        if shifts is not None:
            for shift in np.unique(shifts[:, is_word], axis=1).T:
                at = np.flatnonzero(
                    is_word & (shifts == shift[:, None]).all(0)
                ).tolist()
                keys[at] += self._stand(None, shift[:, None]) << BITS
        return tuple(keys.tolist())

    def after(self, ids: Sequence[int], shift: int) -> tuple[int, ...]:
        """Keys of words that follow a prompt, whose positions lie so far off the plain count."""
        import numpy as np

        stand = self._stand(None, np.full((self.axes, 1), shift)) if shift else 0
        return tuple((stand << BITS) + token for token in ids)

    def _stand(
        self, piece: bytes | None, shifts: "np.typing.NDArray[np.int64] | None"
    ) -> int:
        if piece is None and (shifts is None or not shifts.any()):
            return 0
        name = piece, b"" if shifts is None else shifts.tobytes()
        if name not in self._index:
            self._index[name] = len(self.stands)
            self.stands.append(Stand(piece, shifts))
        return self._index[name]


class MediaEngine(Engine):
    """A loaded model that sees or hears, and shares beginnings."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.decoder = model.get_decoder()
        # Only what goes through the part that reads and writes is counted.
        self.count.remove()
        self.count = TokenCount(self.decoder)
        self.head = model.get_output_embeddings()
        self.keys = Keys()
        self.pieces: dict[bytes, Piece] = {}
        """Media of this hand-over, by digest."""
        self.shifts: Sequence[int] = ()
        """For each token of a step, by how much its position lies off the plain count."""
        self._encoded: OrderedDict[bytes, Any] = OrderedDict()

    @contextmanager
    def handling(self, pieces: Sequence[Piece]) -> Iterator[None]:
        """Media of one hand-over are at hand inside."""
        if len(self.keys.stands) > MOST_STANDS:
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
        """One pass over keys at positions; the logits of the wanted places."""
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

    def forget(self) -> None:
        """Lets go of beginnings and encoded media."""
        self._encoded.clear()
        super().forget()

    def _embedded(self, keys: Sequence[int]) -> tuple[Any, Any]:
        """The embeddings of keys, and how far their positions lie off the plain count: axes by tokens, or `None`."""
        import numpy as np
        import torch

        numbers = np.asarray(keys, dtype=np.int64)
        stands, parts = numbers >> BITS, numbers & ((1 << BITS) - 1)
        present = {int(at): self.keys.stands[at] for at in np.unique(stands)}
        media = {
            at: stand.piece for at, stand in present.items() if stand.piece is not None
        }
        ids = np.where(np.isin(stands, list(media)), 0, parts)
        embeddings = self.model.get_input_embeddings()(
            sent(torch.from_numpy(ids), self.device)
        )
        if media:
            features = self._features(list(media.values()))
            embeddings = embeddings.clone()
            for at, piece in media.items():
                places = torch.from_numpy(np.flatnonzero(stands == at))
                rows = features[piece][
                    sent(torch.from_numpy(parts)[places], features[piece].device)
                ]
                embeddings[sent(places, embeddings.device)] = rows.to(embeddings)
        if all(stand.shifts is None for stand in present.values()) and not any(
            self.shifts
        ):
            return embeddings, None
        shifts = np.zeros((self.keys.axes, len(numbers)), dtype=np.int64)
        for at, stand in present.items():
            if stand.shifts is not None:
                places = np.flatnonzero(stands == at)
                shifts[:, places] = stand.shifts[
                    :, parts[places] if stand.piece else [0] * len(places)
                ]
        if self.shifts:
            shifts += np.asarray(self.shifts)
        return embeddings, torch.from_numpy(shifts)

    def _features(self, digests: Sequence[bytes]) -> Mapping[bytes, Any]:
        """Encoded media, each encoded when it is first asked for."""
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
        """What media of one kind and shape become, as the part that reads and writes is given it."""
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
        """The embeddings a model's own code hands to the part that reads and writes, which does not begin."""

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
        """What the part that reads and writes is given, pass by pass."""
        calls: list[Mapping[str, Any]] = []
        with self.decoder.register_forward_pre_hook(
            lambda _, __, arguments: calls.append(arguments), with_kwargs=True
        ):
            yield calls

    def _only(self, wanted: Sequence[int]) -> Any:
        """Logits of the wanted places alone are computed inside."""
        places = integers(wanted)

        def keep(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
            return (args[0][:, sent(places, args[0].device)], *args[1:])

        return self.head.register_forward_pre_hook(keep)


@contextmanager
def in_full_precision() -> Iterator[None]:
    """Encoders do not round on a GPU what is in full precision, which they do by how many media come together."""
    import torch

    if not torch.cuda.is_available():
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def check_given(arguments: Mapping[str, Any]) -> None:
    """Refuses what words and media cannot be shared under: a look at later tokens, and more than their embeddings.

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
    """Raised where the part that reads and writes would begin."""

    def __init__(self, embeddings: Any) -> None:
        super().__init__("reached")
        self.embeddings = embeddings

"""Group prompts with media that can be computed in one batch, and join their tensors.

Prompts of different lengths get left padding if the model's `generate` handles it
correctly. The first such group is used to test this. Media are never padded: only media
of equal shape are joined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...core import Request
from ..prompting.fitting import Limits
from .engine import tolerance_of
from .media_settings import room_for
from .sampling import are_finite, is_greedy

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BATCH = 8
BESIDE = ("attention_mask", "token_type_ids", "mm_token_type_ids")
"""Names of the tensors that have one value per prompt token, like `input_ids`."""
SLACK = 16
"""Allowed padding in tokens, in addition to a quarter of the shortest prompt."""
T = TypeVar("T")
Inputs = Mapping[str, Any]


def group_requests(
    requests: Sequence[Request],
    inputs: Mapping[int, Inputs],
    limits: Limits,
    can_pad: bool,
) -> Iterator[list[int]]:
    """Yield groups of request indices that can be computed in one batch.

    Requests in a group have the same options. A request that samples or has stop
    strings gets a group of its own. With `can_pad`, prompts of similar lengths are
    padded; otherwise all tensors of a group have equal shapes.
    """
    lengths = {index: length_of(tensors) for index, tensors in inputs.items()}
    groups: dict[Any, list[int]] = {}
    for index, tensors in inputs.items():
        options = requests[index].options
        is_alone = bool(options.stop) or not is_greedy(options)
        # Near the end of the context, token limits differ; a batch has only one.
        room, _ = room_for(options, limits, lengths[index])
        shapes = _shapes(tensors, can_pad)
        name = (options, index if is_alone else -1, shapes, room)
        groups.setdefault(name, []).append(index)
    for members in groups.values():
        yield from by_length(members, lambda index: lengths[index], BATCH, can_pad)


def by_length(
    items: Sequence[T],
    length: Callable[[T], int],
    most: int,
    can_pad: bool = False,
) -> Iterator[list[T]]:
    """Yield groups of items with equal lengths, or with similar lengths if `can_pad` is True."""
    group: list[T] = []
    for item in sorted(items, key=length):
        if group:
            shortest = length(group[0])
            longest = 1.25 * shortest + SLACK if can_pad else shortest
            if len(group) == most or length(item) > longest:
                yield group
                group = []
        group.append(item)
    if group:
        yield group


def length_of(inputs: Inputs) -> int:
    """Return the number of prompt tokens; 0 for inputs that contain only an audio clip."""
    ids = inputs.get("input_ids")
    if ids is None:
        return 0
    return int(ids.shape[1])


def join_inputs(
    group: Sequence[Inputs],
    filler: int,
) -> dict[str, Any]:
    """Join the tensors of several prompts into one batch, with left padding for short prompts."""
    import torch
    from torch.nn.functional import pad

    longest = max(map(length_of, group))
    padded = ("input_ids", *BESIDE) if longest else ()
    batch = {}
    for name, value in group[0].items():
        if not isinstance(value, torch.Tensor):
            batch[name] = value
            continue
        tensors = [inputs[name] for inputs in group]
        if name in padded:
            mark = filler if name == "input_ids" else 0
            for row, tensor in enumerate(tensors):
                missing = longest - tensor.shape[1]
                tensors[row] = pad(tensor, (missing, 0), value=mark)
        batch[name] = torch.cat(tensors)
    return batch


def handles_padding(
    model: "PreTrainedModel",
    pair: Sequence[Inputs],
    filler: int,
) -> bool | None:
    """Return True if two prompts have the same logits in a padded batch as alone.

    Return `None` if the logits are not finite, because such a test shows nothing.
    """
    import torch

    try:
        together = _first_logits(model, join_inputs(pair, filler))
    except torch.OutOfMemoryError:
        raise
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    for row, inputs in enumerate(pair):
        alone = _first_logits(model, inputs)
        for expected, logits in zip(alone, together, strict=False):
            if not all(are_finite(expected)):
                return None
            expected, computed = expected[0], logits[row]
            # Tokens that are ruled out have minus infinity in both.
            is_equal = expected == computed
            differences = (expected - computed).abs().masked_fill(is_equal, 0.0)
            if not float(differences.max()) <= tolerance_of(expected.dtype):
                return False
            if int(expected.argmax()) != int(computed.argmax()):
                # The best two tokens are tied, so the next logits cannot be compared.
                break
    return True


def _first_logits(model: "PreTrainedModel", inputs: Inputs) -> Sequence[Any]:
    """Return the logits of the first two generated tokens.

    The second token is computed from the cache, so the cache is also tested.
    """
    import torch

    settings = {
        "max_new_tokens": 2,
        "do_sample": False,
        "return_dict_in_generate": True,
        "output_logits": True,
    }
    with torch.inference_mode():
        logits: Sequence[Any] = model.generate(**inputs, **settings).logits
    return logits


def _shapes(inputs: Inputs, can_pad: bool) -> Any:
    """Return the names and shapes of tensors.

    Inputs are only batched if these are equal; padded dimensions are left out.
    """
    can_pad = can_pad and "input_ids" in inputs and "attention_mask" in inputs
    shapes = []
    for name, value in sorted(inputs.items()):
        shape = tuple(getattr(value, "shape", (str(value),)))
        if can_pad and hasattr(value, "shape"):
            is_padded = name == "input_ids" or name in BESIDE
            if is_padded:
                shape = ()
            else:
                shape = shape[1:]
        shapes.append((name, shape))
    return tuple(shapes)

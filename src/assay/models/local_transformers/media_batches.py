"""Decide which prompts with media can be computed in one batch, and join their tensors.

Prompts of different lengths are padded on the left if the model's own `generate` handles that correctly, which
is tested with the first two. Media are never padded: only media of one shape are joined.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import Request
from ..prompting.fitting import Limits
from .engine import tolerance_of
from .media_settings import room_for
from .sampling import are_finite, is_greedy

BATCH = 8
BESIDE = ("attention_mask", "token_type_ids", "mm_token_type_ids")
"""Inputs with one value for each token id."""
SLACK = 16
"""Padding tokens that cost less than a separate pass."""
Inputs = Mapping[str, Any]


def alike(
    requests: Sequence[Request],
    inputs: Mapping[int, Inputs],
    limits: Limits,
    fills: bool,
) -> Iterator[list[int]]:
    """Yield groups of requests that can be computed together.

    They have the same options, and neither sampling nor stop strings.

    With `fills` token ids may have similar lengths; otherwise all tensors have the same shapes.
    """
    groups: dict[Any, list[int]] = {}
    for at, tensors in inputs.items():
        options = requests[at].options
        alone = at if not is_greedy(options) or options.stop else -1
        # Where the context leaves less than was asked for, a neighbour's length would change how much.
        room, _ = room_for(options, limits, length_of(tensors))
        groups.setdefault((options, alone, _shapes(tensors, fills), room), []).append(
            at
        )
    for group in groups.values():
        some: list[int] = []
        for at in sorted(group, key=lambda at: length_of(inputs[at])):
            is_near = (
                not some
                or length_of(inputs[at]) <= 1.25 * length_of(inputs[some[0]]) + SLACK
            )
            if len(some) == BATCH or not is_near:
                yield some
                some = []
            some.append(at)
        yield some


def length_of(inputs: Inputs) -> int:
    """Return the number of tokens of a prompt; 0 if the model reads an audio clip only."""
    return int(inputs["input_ids"].shape[1]) if "input_ids" in inputs else 0


def joined(group: Sequence[Inputs], filler: int) -> dict[str, Any]:
    """Return the tensors of several prompts as one batch. Short prompts are padded on the left."""
    import torch
    from torch.nn.functional import pad

    longest = max(map(length_of, group))
    beside = ("input_ids", *BESIDE) if longest else ()
    batch = {}
    for name, value in group[0].items():
        if not isinstance(value, torch.Tensor):
            batch[name] = value
            continue
        tensors = [inputs[name] for inputs in group]
        if name in beside:
            mark = filler if name == "input_ids" else 0
            tensors = [
                pad(tensor, (longest - tensor.shape[1], 0), value=mark)
                for tensor in tensors
            ]
        batch[name] = torch.cat(tensors)
    return batch


def fills_rightly(model: Any, pair: Sequence[Inputs], filler: int) -> bool | None:
    """Return True if a model writes the same after two prompts together as after each alone.

    Return `None` if one of its results is not a number, which says nothing about other prompts.
    """
    import torch

    try:
        together = _first_logits(model, joined(pair, filler))
    except torch.OutOfMemoryError:
        raise
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    for row, inputs in enumerate(pair):
        for one, other in zip(_first_logits(model, inputs), together, strict=False):
            if not all(are_finite(one)):
                return None
            # Tokens that are ruled out weigh minus infinity in both.
            apart = (one[0] - other[row]).abs().masked_fill(one[0] == other[row], 0.0)
            if not float(apart.max()) <= tolerance_of(one.dtype):
                return False
            if int(one[0].argmax()) != int(other[row].argmax()):
                # Two tokens weigh the same: what is written next cannot be compared.
                break
    return True


def _first_logits(model: Any, inputs: Inputs) -> Sequence[Any]:
    """Return the logits of the first two tokens: after the prompt, and after the cached prompt."""
    import torch

    settings = {
        "max_new_tokens": 2,
        "do_sample": False,
        "return_dict_in_generate": True,
        "output_logits": True,
    }
    with torch.inference_mode():
        found: Sequence[Any] = model.generate(**inputs, **settings).logits
    return found


def _shapes(inputs: Inputs, fills: bool) -> Any:
    shapes = []
    for name, value in sorted(inputs.items()):
        shape = tuple(getattr(value, "shape", (str(value),)))
        if (
            fills
            and "input_ids" in inputs
            and "attention_mask" in inputs
            and hasattr(value, "shape")
        ):
            shape = () if name == "input_ids" or name in BESIDE else shape[1:]
        shapes.append((name, shape))
    return tuple(shapes)

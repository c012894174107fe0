"""Which prompts with media go through a model together, and how their tensors are joined.

Prompts of different lengths are filled up in front, where the model's own `generate` takes that rightly: that is tried
on the model with the first two that differ. Media are never filled up: only those of one shape are joined.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import Request
from .engine import tolerance_of
from .media_settings import room_for
from .sampling import are_finite, is_greedy
from .text import Limits

BATCH = 8
BESIDE = ("attention_mask", "token_type_ids", "mm_token_type_ids")
"""Inputs that run beside the token ids."""
SLACK = 16
"""Tokens of filling that cost less than a pass of their own."""
Inputs = Mapping[str, Any]


def alike(
    requests: Sequence[Request],
    inputs: Mapping[int, Inputs],
    limits: Limits,
    fills: bool,
) -> Iterator[list[int]]:
    """Requests that can go through together: the same options, and nothing to draw or to stop at.

    With `fills` token ids may be of like length; else all tensors are of the same shapes.
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
    """Tokens of a prompt; none where the model reads an audio clip alone."""
    return int(inputs["input_ids"].shape[1]) if "input_ids" in inputs else 0


def joined(group: Sequence[Inputs], filler: int) -> dict[str, Any]:
    """The tensors of several prompts as one batch, short prompts filled up in front."""
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
    """Whether a model writes the same after two prompts together as after each alone.

    `None` where what it computes of one of them is no number: that says nothing about other prompts.
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
    """Logits of the first two tokens a model writes: after the prompt, and after what it kept of it."""
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

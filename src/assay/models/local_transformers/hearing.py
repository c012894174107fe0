"""Hearing: how long an audio clip a model takes at once, and the failure of a sample that has a longer one.

Feature extractors cut what is longer without a word; a processor that can goes through a long clip piece by piece.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Output

_WINDOWS = ("frame_length", "win_length", "n_fft")
"""What extractors call the samples of one frame."""


def heard_at_once(extractor: Any, inputs: Mapping[str, Any], lengths: Sequence[int]) -> int | None:
    """The samples a model hears at once, where audio clips of these lengths were cut to it; `None` where none was."""
    features, hop = inputs.get("input_features"), getattr(extractor, "hop_length", None)
    if hop is None or features is None or features.ndim != 3:
        return None
    bands = getattr(extractor, "feature_size", None)
    rows, frames = features.shape[0], features.shape[1 if features.shape[2] == bands else 2]
    most = int(frames) * int(hop)
    # The last frame may be shorter than the others; and it may end, not begin, where the audio does.
    slack = max(int(getattr(extractor, name, None) or 0) for name in ("hop_length", *_WINDOWS))
    if not most or max(lengths) <= most + slack:
        return None
    return most if rows < sum(math.ceil(length / (most + slack)) for length in lengths) else None


def not_heard(seconds: float, at_once: float, why: str = "") -> Output:
    """The failure of a sample whose audio would not be heard to its end."""
    what = f"a clip lasts {seconds:.1f} s and the model hears {at_once:.1f} s at once{why}"
    return Output.failed("context", f"{what}; fix: shorter clips, or a model that hears longer ones", retryable=False)

"""`ulmeval.dataset.utils.judge_util`: the model that judges, by name."""

import os
from typing import Any

from ......core import UsageError
from ...api.gpt import OpenAIWrapper

VERSIONS = {"gpt-4o": "gpt-4o-2024-05-13"}
SPECIALISTS = {
    "mask2former": "assay's own scorer `geneval` takes detections",
    "openclip-vit-l-14": "assay's own scorer `clip_score` compares text and picture",
    "mplug": "assay's own scorer `dpg` takes yes/no answers",
}
DEBUG_MESSAGE = "Ask the judge one question by itself: OpenAIWrapper('gpt-4o').generate('Hello!')"


def build_judge(**kwargs: Any) -> OpenAIWrapper:
    """A judge by `model`: any assay model (`openai/…`, `file.py:fn`), else a name at an OpenAI-compatible endpoint."""
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    if name is None:
        raise UsageError("`evaluate` asked for a judge and none was named", fix="--judge MODEL")
    if name in SPECIALISTS:
        raise UsageError(f"the judge {name!r} is not part of the ulmeval dialect", fix=SPECIALISTS[name])
    version = os.environ.get("LOCAL_LLM") or VERSIONS.get(name, name)
    return OpenAIWrapper(version, **kwargs)

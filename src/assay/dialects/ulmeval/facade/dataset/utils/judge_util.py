"""`ulmeval.dataset.utils.judge_util`: the model that judges, by name."""

import os
from typing import Any

from ......core import UsageError
from ...api.gpt import OpenAIWrapper
from . import specialists

VERSIONS = {"gpt-4o": "gpt-4o-2024-05-13"}
SPECIALISTS: dict[str, tuple[str, str]] = {
    "mask2former": ("MMDetModel", "mask2former_swin-s-p4-w7-224_lsj_8x2_50e_coco"),
    "openclip-vit-l-14": ("OpenCLIPModel", "ViT-L-14"),
    "mplug": ("MPLUGModel", "damo/mplug_visual-question-answering_coco_large_en"),
}
"""Judges that are no language models: their class, and what it is built with."""
DEBUG_MESSAGE = (
    "Ask the judge one question by itself: OpenAIWrapper('gpt-4o').generate('Hello!')"
)


def build_judge(**kwargs: Any) -> Any:
    """A judge by `model`: any assay model (`openai/…`, `file.py:fn`), else a name at an OpenAI-compatible endpoint."""
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    if name is None:
        raise UsageError(
            "`evaluate` asked for a judge and none was named", fix="--judge MODEL"
        )
    if name in SPECIALISTS:
        kind, weights = SPECIALISTS[name]
        return getattr(specialists, kind)(weights, **kwargs)
    version = os.environ.get("LOCAL_LLM") or VERSIONS.get(name, name)
    return OpenAIWrapper(version, **kwargs)

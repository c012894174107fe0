"""Inputs and outputs of backends that depend on their weights or on an option."""

from collections.abc import Mapping

AT_MOST: Mapping[str, Mapping[str, frozenset[str]]] = {
    "hf": {
        "accepts": frozenset({"text", "image", "audio"}),
        "produces": frozenset({"text", "image", "audio"}),
    },
    "vllm": {
        "accepts": frozenset({"text", "image", "audio"}),
        "produces": frozenset({"text"}),
    },
    "diffusers": {
        "accepts": frozenset({"text", "image"}),
        "produces": frozenset({"image"}),
    },
}
"""Kinds that some models of a backend accept or produce, depending on their weights."""

BY_OPTION: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "openai": {
        "accepts": {"video": "accepts=text,image,video"},
        "produces": {"image": "api=images", "audio": "api=speech"},
    },
    "gemini": {"produces": {"image": "produces=text,image", "audio": "produces=audio"}},
    "litellm": {
        "produces": {"image": "produces=text,image", "audio": "produces=text,audio"}
    },
}
"""The option that lets an endpoint accept or produce further kinds, if its model can."""

"""What backends can take and make where that depends on their weights or on an option."""

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
"""The kinds of which each model takes or makes some, as its weights do."""

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
"""The option with which an endpoint takes or makes what it does not by default, if its model can."""

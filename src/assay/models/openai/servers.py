"""Servers that speak the OpenAI API with options of their own, recognised by their list of models.

`GET /models` names the software in `owned_by`; llama.cpp also sends a header `Server: llama.cpp`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core import EMPTY, GenerateOptions

BEYOND_THE_API = ("top_k", "min_p", "repetition_penalty")
"""Generation options that the public API does not have."""


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server: its further options, and their names."""

    name: str
    knows: frozenset[str] = frozenset()
    renames: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def renamed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body with options under the server's own names."""
        return {self.renames.get(name, name): value for name, value in body.items()}

    def unconfirmed(self, options: GenerateOptions) -> list[str]:
        """Return notes on options that were set and that the server may ignore."""
        names = [
            name
            for name in BEYOND_THE_API
            if getattr(options, name) is not None and name not in self.knows
        ]
        return [f"{name} could not be confirmed: {self.name}" for name in names]


ALL = frozenset(BEYOND_THE_API)
LLAMA_NAMES = {"repetition_penalty": "repeat_penalty"}
UNKNOWN = Server("the server does not say which options it knows")
PUBLIC = Server("the public service", ALL)
"""The public service, which refuses unknown options."""
LLAMA_CPP = Server("llama.cpp", ALL, LLAMA_NAMES)
LLAMA_CPP_PYTHON = Server("llama-cpp-python", ALL, LLAMA_NAMES)
VLLM = Server("vLLM", ALL)
SGLANG = Server("SGLang", ALL)
BY_OWNER: Mapping[str, Server] = {
    "llamacpp": LLAMA_CPP,
    "vllm": VLLM,
    "sglang": SGLANG,
}
OWNER_OF_LLAMA_CPP_PYTHON = "me"


def needs_server(options: GenerateOptions) -> bool:
    """Return True if an option is set whose name depends on the server."""
    return any(getattr(options, name) is not None for name in BEYOND_THE_API)


def recognised(listed: object, headers: Mapping[str, str]) -> Server:
    """Return the server that sent this list of models, or `UNKNOWN`."""
    if headers.get("server", "").lower().startswith("llama.cpp"):
        return LLAMA_CPP
    models = listed.get("data") if isinstance(listed, Mapping) else None
    first = models[0] if isinstance(models, list) and models else None
    if not isinstance(first, Mapping):
        return UNKNOWN
    owner = str(first.get("owned_by", "")).lower()
    if owner == OWNER_OF_LLAMA_CPP_PYTHON and "permissions" in first:
        return LLAMA_CPP_PYTHON
    return BY_OWNER.get(owner, UNKNOWN)

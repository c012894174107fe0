"""Select the batch API of a model."""

from typing import Any

from ...core import Model, UsageError
from ..anthropic import Anthropic
from ..gemini import Gemini
from ..http_model import HttpModel
from ..openai.openai_model import OpenAI
from .anthropic_batches import AnthropicBatches
from .batch_api import BatchApi
from .gemini_batches import GeminiBatches
from .openai_batches import OpenAIBatches

WITHOUT_BATCHES = ("images", "speech", "transcriptions")
"""OpenAI APIs for which assay does not support batches."""
KNOWN = "openai/…, anthropic/… or gemini/…"


def batch_api_of(model: Model, name: str) -> BatchApi:
    """Return the batch API of a model. Raise if it has none."""
    where = f"model {name!r}"
    if len(getattr(model, "servers", ())) > 1:
        raise UsageError(
            "--batch_api sends to one server, and base_url names several",
            where=where,
            fix="name one server",
        )
    servers = getattr(model, "servers", None)
    endpoint: Any = servers[0] if servers else model
    api = _api_of(endpoint)
    if api is None:
        raise UsageError(
            "--batch_api: the model is not an endpoint with a batch API",
            where=where,
            fix=f"choose {KNOWN}, or leave --batch_api out",
        )
    if getattr(endpoint, "api", "") in WITHOUT_BATCHES:
        raise UsageError(
            f"--batch_api takes text requests, and api={endpoint.api} makes others",
            where=where,
            fix="leave --batch_api out",
        )
    return api


def _api_of(model: object) -> BatchApi | None:
    if not isinstance(model, HttpModel):
        return None
    if isinstance(model, OpenAI):
        return OpenAIBatches(model)
    if isinstance(model, Anthropic):
        return AnthropicBatches(model)
    if isinstance(model, Gemini):
        return GeminiBatches(model)
    return None

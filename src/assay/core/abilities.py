"""The abilities of a model: what it accepts and produces.

A model declares its abilities, so that a task that needs others is reported before anything is loaded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .errors import plural
from .media import Media

FEWER_IMAGES = (
    "choose a model that takes several images, or a template that sends fewer"
)


@dataclass(frozen=True, slots=True)
class Abilities:
    """The abilities that a model declares."""

    accepts: frozenset[str] = frozenset({"text"})
    """Kinds of parts that the model accepts: text, image, audio, video."""
    produces: frozenset[str] = frozenset({"text"})
    likelihood: bool = False
    """True if the model can compute the log-probability of given continuations."""
    logprobs: bool = False
    """True if the model reports log-probabilities of the tokens that it generates."""
    tokens: bool = False
    """True if the model has a tokenizer that assay can call."""
    roles: Literal["chat", "free", "any"] = "any"
    """Roles that prompts may use.

    `chat`: only system, user and assistant. `free`: only text completion. `any`: both.
    """
    chat: bool | None = None
    """True if the model has a chat template, so it can choose an option by its letter.

    False for a base model, None if unknown.
    """
    history: Literal["given", "own", "both"] = "given"
    """Who stores the dialogue history: assay or the model.

    `given`: assay sends the full history each round. `own`: the model keeps the
    history. `both`: either works.
    """
    images_per_prompt: int | None = None
    """Maximum number of images in one prompt; None for no limit. A prompt with more images is refused."""
    audio_rate: int | None = None
    audio_channels: int | None = None
    tools: bool = False
    """True if the model accepts tools with a prompt and may answer with tool calls."""
    unsure: frozenset[str] = frozenset()
    """Abilities that a server may or may not have. They are used only if the user requests them."""

    def excess_images(self, media: Iterable[Media]) -> str:
        """Return an error text if a prompt has more images than the model accepts; empty otherwise."""
        if self.images_per_prompt is None:
            return ""
        count = sum(medium.kind == "image" for medium in media)
        if count <= self.images_per_prompt:
            return ""
        return f"{plural(count, 'image')} in one prompt, and the model takes {self.images_per_prompt}"

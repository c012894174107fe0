"""Abilities: what a model can take and make, declared so that a mismatch is found before anything is loaded."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model declares about itself."""

    accepts: frozenset[str] = frozenset({"text"})
    """Kinds of parts it takes: text, image, audio, video."""
    produces: frozenset[str] = frozenset({"text"})
    likelihood: bool = False
    """Can weigh given continuations."""
    logprobs: bool = False
    """Reports the log-probabilities of the tokens it writes."""
    tokens: bool = False
    """Has a tokenizer that can be asked."""
    roles: Literal["chat", "free", "any"] = "any"
    """`chat`: only system/user/assistant. `free`: only text completion. `any`: both."""
    history: Literal["given", "own", "both"] = "given"
    """Whether a dialogue's history is sent each round, or kept by the model as turn state."""
    images_per_prompt: int | None = None
    interleaved: bool = True
    audio_rate: int | None = None
    audio_channels: int | None = None
    audio_seconds: float | None = None
    """How much it hears at once; longer audio it goes through in pieces."""
    unsure: frozenset[str] = frozenset()
    """Abilities a server may turn out to lack: used where they are asked for, never chosen by assay itself."""
    fallbacks: frozenset[str] = frozenset()
    """What it may do instead when asked for more than it can: `first_image`, `joined_text`. Recorded when used."""

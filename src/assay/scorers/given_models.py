"""Models that a scorer is *given* by role: how one is asked, and what is said where there is none or it fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core import EMPTY, GenerateOptions, ModelError, Output, Prompt, UsageError


@dataclass(frozen=True)
class GivenModels:
    """A scorer that names roles in `needs` and finds their models in `models`."""

    models: Mapping[str, Any] = field(
        default_factory=lambda: EMPTY, kw_only=True, compare=False, repr=False
    )


async def ask_model(
    models: Mapping[str, Any],
    role: str,
    prompt: Prompt,
    options: GenerateOptions | None = None,
) -> Output:
    """What the model under a role replies; `UsageError` where none is given, `ModelError` where no answer came."""
    if role not in models:
        named = "MODEL" if role == "judge" else f"{role}=MODEL"
        raise UsageError(
            f"no model is given for the role {role!r}",
            fix=f"name one with --judge {named}",
        )
    model = models[role]
    reply: Output = await (
        model.ask(prompt) if options is None else model.ask(prompt, options)
    )
    if reply.error is not None:
        raise ModelError(
            f"{reply.error.kind}: {reply.error.message}", where=f"role {role!r}"
        )
    return reply

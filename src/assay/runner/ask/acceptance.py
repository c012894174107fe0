"""Acceptance: what a model does not take is the failure of the sample that brings it, and never shown to the model.

The plan looks at the first row only; a later one may bring a picture or a sound where the first had none.
"""

from collections.abc import Sequence
from functools import lru_cache

from ...core import DataError, Media, Model, Output, Request, Text
from ...models.declared import models_that


def not_accepted(model: Model, requests: Sequence[Request]) -> dict[int, Output]:
    """The failures of the requests with media that the model does not take, by their place; mostly none."""
    refused: dict[int, Output] = {}
    for place, request in enumerate(requests):
        for message in request.prompt.messages:
            for part in message.parts or ():
                # Text is by far the most common, and tells nothing that would need the model's abilities.
                if type(part) is Text or not isinstance(part, Media) or part.kind in model.abilities.accepts:
                    continue
                line = _line(part.kind, frozenset(model.abilities.accepts))
                refused[place] = Output.failed("data", line, retryable=False)
    return refused


@lru_cache(maxsize=64)
def _line(kind: str, accepts: frozenset[str]) -> str:
    """One line, the same for all samples that bring the kind."""
    what = f"the sample sends {kind} and the model accepts only {', '.join(sorted(accepts))}"
    known = ", ".join([*models_that("accepts", kind), "or your own"])
    return str(DataError(what, fix=f"models that accept {kind}: {known}"))

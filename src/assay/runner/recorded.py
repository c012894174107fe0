"""The models of a finished run, as its manifest describes them: enough to score again without weights or keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import Abilities, Model, Output, Request


@dataclass(frozen=True, slots=True)
class Recorded:
    """A model that was asked before and cannot be asked now."""

    identity: Mapping[str, Any]
    abilities: Abilities

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Only says that it cannot answer: scoring reads the journal."""
        return [
            Output.failed("not_recorded", "the model is not asked while scoring", retryable=False) for _ in requests
        ]

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """As `generate`."""
        return self.generate(requests)


def recorded_models(manifest: Mapping[str, Any]) -> dict[str, Model]:
    """By the names under which their answers were kept."""
    models: dict[str, Model] = {}
    for cell in manifest.get("cells", ()):
        said = cell.get("abilities", {})
        abilities = Abilities(
            frozenset(said.get("accepts", ("text",))),
            frozenset(said.get("produces", ("text",))),
            likelihood=bool(said.get("likelihood")),
            logprobs=bool(said.get("logprobs")),
        )
        models[str(cell["model"])] = Recorded(cell.get("identity", {}), abilities)
    return models

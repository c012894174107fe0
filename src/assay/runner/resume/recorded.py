"""A finished run as described by its manifest, which is enough to score again without weights or keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import Abilities, Model, Output, Request, StoreError
from ...core.trust import Gate
from ...store import RunReader
from ..options import RunOptions
from ..tasks.measure import LIKELIHOOD, STANDARD, RecordedMeasures
from .foreign import check_settings, gate_for


@dataclass(frozen=True, slots=True)
class Recorded:
    """A model that was asked before and cannot be asked now."""

    identity: Mapping[str, Any]
    abilities: Abilities

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return an error for each request, because scoring reads the journal."""
        return [
            Output.failed(
                "not_recorded",
                "the model is not asked while scoring",
                retryable=False,
            )
            for _ in requests
        ]

    likelihood = generate


def recorded_models(manifest: Mapping[str, Any]) -> dict[str, Model]:
    """Return the models of a finished run by name."""
    models: dict[str, Model] = {}
    for entry in manifest.get("cells", ()):
        plain = entry.get("abilities", {})
        abilities = Abilities(
            frozenset(plain.get("accepts", ("text",))),
            frozenset(plain.get("produces", ("text",))),
            likelihood=bool(plain.get("likelihood")),
            logprobs=bool(plain.get("logprobs")),
            tools=True,
        )
        models[str(entry["model"])] = Recorded(entry.get("identity", {}), abilities)
    return models


def recorded_ways(manifest: Mapping[str, Any]) -> RecordedMeasures:
    """Return the measures by which the answers of a finished run were obtained."""
    ways = {}
    for entry in manifest.get("cells", ()):
        ways[(str(entry["task"]), str(entry["model"]))] = way_of(entry)
    return ways


def way_of(planned: Mapping[str, Any]) -> str:
    """Return the measure in a task's entry of `run.json`."""
    if "measure" in planned:
        return str(planned["measure"])
    # Runs of the first version have it only in the protocol id.
    protocol = str(planned.get("protocol", ""))
    return next(
        (
            name
            for name in (*STANDARD, LIKELIHOOD)
            if protocol.endswith((f"@{name}", f"-{name}"))
        ),
        "",
    )


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A finished run as described by its `run.json`."""

    options: RunOptions
    models: dict[str, Model]
    ways: RecordedMeasures
    gate: Gate | None
    """Restricts the code that the run may name, if another user made it."""


def recorded_run(folder: str | Path, settings: Mapping[str, Any]) -> RecordedRun:
    """Read a finished run. `settings` replace its own options."""
    manifest = RunReader(folder).manifest
    config = manifest.get("config")
    if not isinstance(config, Mapping):
        raise StoreError("run.json has no config", where=str(folder))
    fixed = {
        "trust_code": False,
        "output": str(folder),
        "fresh": False,
        "predict_only": False,
        "log_samples": False,
        **settings,
    }
    options = RunOptions.from_plain(config, where=str(folder)).but(**fixed)
    gate = gate_for(manifest, str(folder), settings, options.trust_code)
    check_settings(options, settings, gate, asks_model=False)
    models = recorded_models(manifest)
    if options.models:
        options = options.but(models=tuple(models) or options.models)
    return RecordedRun(options, models, recorded_ways(manifest), gate)

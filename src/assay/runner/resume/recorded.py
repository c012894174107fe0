"""A finished run as its manifest tells it: options, models and ways, enough to score again without weights or keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import Abilities, Model, Output, Request, StoreError
from ...core.trust import Gate
from ...store import RunReader
from ..options import RunOptions
from ..tasks.measure import LIKELIHOOD, STANDARD, RecordedWays
from .foreign import check_settings, gate_for


@dataclass(frozen=True, slots=True)
class Recorded:
    """A model that was asked before and cannot be asked now."""

    identity: Mapping[str, Any]
    abilities: Abilities

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Only says that it cannot answer: scoring reads the journal."""
        return [
            Output.failed(
                "not_recorded", "the model is not asked while scoring", retryable=False
            )
            for _ in requests
        ]

    likelihood = generate


def recorded_models(manifest: Mapping[str, Any]) -> dict[str, Model]:
    """By the names under which their answers were kept."""
    models: dict[str, Model] = {}
    for cell in manifest.get("cells", ()):
        plain = cell.get("abilities", {})
        abilities = Abilities(
            frozenset(plain.get("accepts", ("text",))),
            frozenset(plain.get("produces", ("text",))),
            likelihood=bool(plain.get("likelihood")),
            logprobs=bool(plain.get("logprobs")),
        )
        models[str(cell["model"])] = Recorded(cell.get("identity", {}), abilities)
    return models


def recorded_ways(manifest: Mapping[str, Any]) -> RecordedWays:
    """By which measure the answers of a finished run were asked for."""
    return {
        (str(cell["task"]), str(cell["model"])): way_of(cell)
        for cell in manifest.get("cells", ())
    }


def way_of(cell: Mapping[str, Any]) -> str:
    """The measure of a cell of `run.json`."""
    if "measure" in cell:
        return str(cell["measure"])
    # Runs of the first version have it in the protocol id alone.
    protocol = str(cell.get("protocol", ""))
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
    """A finished run as its `run.json` tells it."""

    options: RunOptions
    models: dict[str, Model]
    ways: RecordedWays
    gate: Gate | None
    """What holds back the code it names, where somebody else made it."""


def recorded_run(folder: str | Path, settings: Mapping[str, Any]) -> RecordedRun:
    """A finished run, with `settings` in place of its own options."""
    manifest = RunReader(folder).manifest
    config = manifest.get("config")
    if not isinstance(config, Mapping):
        raise StoreError("run.json holds no config", where=str(folder))
    fixed = {
        "trust_code": False,
        "output": str(folder),
        "fresh": False,
        "predict_only": False,
        **settings,
    }
    options = RunOptions.from_plain(config, where=str(folder)).but(**fixed)
    gate = gate_for(manifest, str(folder), settings, options.trust_code)
    check_settings(options, settings, gate, asks_model=False)
    models = recorded_models(manifest)
    if options.models:
        options = options.but(models=tuple(models) or options.models)
    return RecordedRun(options, models, recorded_ways(manifest), gate)

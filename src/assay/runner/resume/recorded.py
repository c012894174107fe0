"""Read a finished run from its manifest, and check which settings of another user's run may be used.

Settings from another user's folder may name data, and shipped tasks, scorers and
models. Code in other files is refused, and so are options that send keys or give data
more access. The command can allow them by naming them or with `--trust_code`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import Abilities, Model, Output, Request, StoreError
from ...core.secrets import REFERENCE
from ...core.trust import Gate
from ...models.tool_syntaxes import PROMPTED
from ...store import RunReader
from ...store.integrity import why_foreign
from ..options import RunOptions
from ..tasks.measure import LIKELIHOOD, STANDARD, RecordedMeasures

WIDENING = (
    "trust_pickle",
    "trust_remote_code",
    "allow_private_urls",
    "allow_urls",
    "media_root",
    "cache",
)
"""Options that let the data of a run read more, or write outside the run folder."""


def gate_for(
    manifest: Mapping[str, Any],
    where: str,
    changes: Mapping[str, Any],
    trust_code: bool,
) -> Gate | None:
    """Return a gate that checks which code another user's manifest may name; None if no check is needed.

    None is needed for the user's own runs and with `trust_code`. Code named in
    `changes`, the options of this command, is allowed.
    """
    if trust_code:
        return None
    why = why_foreign(manifest)
    if why is None:
        return None
    return Gate(where, why, [dict(changes)])


def check_settings(
    options: RunOptions,
    changes: Mapping[str, Any],
    gate: Gate | None,
    *,
    asks_model: bool,
) -> None:
    """Raise if another user's run has options that need this user's consent.

    These are the options in `WIDENING`, and those that determine where an API key is
    sent. The user consents by repeating them on the command line (`changes`).
    """
    if gate is None:
        return
    for name in WIDENING:
        if name not in changes and getattr(options, name) not in (None, False):
            raise gate.refusal(f"--{name}", "give it on the command line")
    arguments = [(options.judge_args, "judge_args")]
    if asks_model:
        arguments.append((options.model_args, "model_args"))
    for settings, name in arguments:
        command_options = changes.get(name, {})
        for option in _sending(
            {
                key: value
                for key, value in settings.items()
                if command_options.get(key) != value
            }
        ):
            raise gate.refusal(f"--{name} {option}", "give it on the command line")


def _sending(
    arguments: Mapping[str, Any],
    prefix: str = "",
) -> Iterator[str]:
    """Yield the names of options that determine where an API key is sent, or which variable contains it."""
    for name, value in arguments.items():
        full_name = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _sending(value, f"{full_name}.")
            continue
        _, _, last = str(name).rpartition(".")
        is_address = last in ("base_url", "url")
        is_variable = last == "env" or last.endswith("_env")
        is_filled = isinstance(value, str) and REFERENCE.search(value) is not None
        if is_filled or is_address or is_variable:
            yield full_name


@dataclass(frozen=True, slots=True)
class Recorded:
    """Replaces the model of a finished run while its answers are scored again. It cannot answer requests."""

    identity: Mapping[str, Any]
    abilities: Abilities
    prompts_tools: bool = False
    """True if the model got its tools as text, which the protocol id says."""

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return an error for each request. Scoring reads answers from the journal instead."""
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
    prompted: set[str] = set()
    for entry in manifest.get("cells", ()):
        plain = entry.get("abilities", {})
        abilities = Abilities(
            frozenset(plain.get("accepts", ("text",))),
            frozenset(plain.get("produces", ("text",))),
            likelihood=bool(plain.get("likelihood")),
            logprobs=bool(plain.get("logprobs")),
            tools=True,
        )
        name = str(entry["model"])
        words = re.split("[@+-]", str(entry.get("protocol", "")))
        # A model may have a task without tools, too.
        prompts_tools = PROMPTED in words or name in prompted
        if prompts_tools:
            prompted.add(name)
        models[name] = Recorded(entry.get("identity", {}), abilities, prompts_tools)
    return models


def recorded_measures(manifest: Mapping[str, Any]) -> RecordedMeasures:
    """Return the measures with which the answers of a finished run were obtained."""
    ways = {}
    for entry in manifest.get("cells", ()):
        ways[(str(entry["task"]), str(entry["model"]))] = measure_name_of(entry)
    return ways


def measure_name_of(planned: Mapping[str, Any]) -> str:
    """Return the name of the measure from a task's entry in `run.json`; empty if the task was not changed."""
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
    """Gate that checks which code the run's settings may name; None for a run of this user."""


def recorded_run(
    folder: str | Path,
    settings: Mapping[str, Any],
) -> RecordedRun:
    """Read a finished run. `settings` override its recorded options."""
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
    return RecordedRun(options, models, recorded_measures(manifest), gate)

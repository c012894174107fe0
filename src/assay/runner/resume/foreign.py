"""Permissions for the settings of a run folder from another user, unless the command extends them.

They may name shipped tasks, scorers and models, and data. Code in other files, and options that send keys or give
data more access, are refused, unless the command names them or has `--trust_code`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.secrets import REFERENCE
from ...core.trust import Gate
from ...store.signature import why_foreign
from ..options import RunOptions

WIDENING = (
    "trust_pickle",
    "trust_remote_code",
    "allow_private_urls",
    "allow_urls",
    "media_root",
    "cache",
)
"""Options that give data more access, or that write elsewhere."""


def gate_for(
    manifest: Mapping[str, Any],
    where: str,
    changes: Mapping[str, Any],
    trust_code: bool,
) -> Gate | None:
    """Return the gate for the settings of a manifest; None if the run is the user's own, or if they trust it.

    `changes` are the options of the command itself. Code that they name may run.
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
    """Raise if an option of a foreign run gives it more access."""
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


def _sending(arguments: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the options that say where a key is sent, or which environment variable has it."""
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

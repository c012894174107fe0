"""Settings of a run folder that somebody else made: what they may not do unless the command says so.

They may name shipped tasks, scorers and models, and data. Code of other files, and options that send keys or widen what
data may reach, are refused in one line, unless the command names them or says `--trust_code`.
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
"""Options that let data reach further, or write elsewhere."""


def gate_for(
    manifest: Mapping[str, Any],
    where: str,
    changes: Mapping[str, Any],
    trust_code: bool,
) -> Gate | None:
    """The gate for the settings of a manifest; `None` where the run is this user's own, or they agreed.

    `changes` are the options of the command itself: what they name may run.
    """
    if trust_code:
        return None
    why = why_foreign(manifest)
    return None if why is None else Gate(where, why, [dict(changes)])


def check_settings(
    options: RunOptions,
    changes: Mapping[str, Any],
    gate: Gate | None,
    *,
    asks_model: bool,
) -> None:
    """Raises for an option of a foreign run that widens what it may do."""
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
    """Options that say where a key is sent, or which variable of the environment."""
    for name, value in arguments.items():
        last = str(name).rpartition(".")[2]
        if isinstance(value, Mapping):
            yield from _sending(value, f"{prefix}{name}.")
            continue
        is_filled = isinstance(value, str) and REFERENCE.search(value) is not None
        if is_filled or last in ("base_url", "url", "env") or last.endswith("_env"):
            yield f"{prefix}{name}"

"""The flags of VLMEvalKit's `run.py`: supported ones, those without effect here, and refused ones with reasons."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from ...core import UsageError, nearest
from ..option_tables import add_options, noted_options


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError`, with the nearest option for a typo."""

    def error(self, message: str) -> NoReturn:
        words = message.split()
        typed = next((word for word in words if word.startswith("--")), words[-1])
        close = nearest(typed, self._option_string_actions)
        raise UsageError(
            message, fix=f"did you mean {close}?" if close else f"`{self.prog} --help`"
        )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the flags of VLMEvalKit's command. Unsupported flags raise an error before anything runs."""
    flags = parser().parse_args(list(arguments))
    for option, why in noted_options("vlmeval", "refused").items():
        if given(flags, option):
            raise UsageError(f"{option} is not served", fix=why)
    if flags.reuse_aux not in ("all", "1"):
        fix = "answers of judges belong to their run: --fresh starts again"
        raise UsageError(f"--reuse-aux {flags.reuse_aux} is not served", fix=fix)
    if int(os.environ.get("WORLD_SIZE", "1") or 1) > 1:
        raise UsageError(
            "started by torchrun: several processes would write one run",
            fix="start it once; assay spreads the work",
        )
    for flag, value in (("--key", flags.key), ("--judge-key", flags.judge_key)):
        key_variable(flag, value)
    if flags.config and (flags.data or flags.model or flags.data_config):
        raise UsageError(
            "--config names models and datasets itself",
            fix="leave out --data, --model and --data-config",
        )
    return flags


def given(
    flags: argparse.Namespace,
    option: str,
) -> bool:
    """Return True if the user gave an option on the command line."""
    attribute = option.removeprefix("--").replace("-", "_")
    return bool(getattr(flags, attribute))


def idle(flags: argparse.Namespace) -> list[str]:
    """Return the options on the command line that have no effect, for a message to the user."""
    idle_options = noted_options("vlmeval", "idle")
    names = [option for option in idle_options if given(flags, option)]
    if flags.retry is not None and flags.base_url:
        return [*names, "--retry"]
    return names


def key_variable(
    flag: str,
    value: str | None,
) -> str | None:
    """Return the environment variable named in `--key`. Raise if the key itself was given, without printing the key."""
    if value is None:
        return None
    if not value.isidentifier() or value not in os.environ:
        raise UsageError(
            f"{flag} takes the name of an environment variable that holds the key, not a key",
            fix=f"export MY_KEY=…, then {flag} MY_KEY",
        )
    return value


def parser() -> argparse.ArgumentParser:
    """Return the parser for the flags of VLMEvalKit's `run.py`, and a few flags of assay."""
    p = _Parser(
        prog="assay vlmeval",
        allow_abbrev=False,
        description="VLMEvalKit's run.py on assay.",
    )
    add_options(p, "vlmeval")
    return p

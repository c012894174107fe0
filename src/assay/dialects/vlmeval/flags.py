"""The flags of VLMEvalKit's `run.py`: supported ones, ones without effect here, and refused ones with reasons."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from ...core import UsageError, nearest

IDLE = ("ignore", "verbose", "api_mode", "stream", "monitor_interval", "debug")
"""Flags that are accepted without effect, because assay retries, resumes and parallelizes by itself."""
REFUSED = {
    "thinker": "it doubled --max-tokens and --timeout: give those",
    "custom_prompt": "prompts of VLMEvalKit's own models are not here: write use_custom_prompt and build_prompt",
    "video_llm": "videos reach an endpoint as images: give nframe or fps in --data-config",
    "local_media": "images are sent, not their paths: the server need not share a disk",
}


class _Parser(argparse.ArgumentParser):
    """Reports errors as `UsageError`, with the nearest option for a typo."""

    def error(self, message: str) -> NoReturn:
        words = message.split()
        typed = next((word for word in words if word.startswith("--")), words[-1])
        close = nearest(typed, self._option_string_actions)
        raise UsageError(
            message, fix=f"did you mean {close}?" if close else f"`{self.prog} --help`"
        )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; refuse unsupported flags before anything runs."""
    flags = parser().parse_args(list(arguments))
    for name, why in REFUSED.items():
        if getattr(flags, name):
            raise UsageError(f"--{name.replace('_', '-')} is not served", fix=why)
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


def idle(flags: argparse.Namespace) -> list[str]:
    """Return the given flags that have no effect, so that the user can be told."""
    names = [f"--{name.replace('_', '-')}" for name in IDLE if getattr(flags, name)]
    return [*names, "--retry"] if flags.retry is not None and flags.base_url else names


def key_variable(flag: str, value: str | None) -> str | None:
    """Return the environment variable that `--key` names. A key itself is refused, and never repeated in the error."""
    if value is None:
        return None
    if not value.isidentifier() or value not in os.environ:
        raise UsageError(
            f"{flag} takes the name of an environment variable that holds the key, not a key",
            fix=f"export MY_KEY=…, then {flag} MY_KEY",
        )
    return value


def parser() -> argparse.ArgumentParser:
    """Build the parser of `run.py`'s flags, and a few of assay's own."""
    # Long because it lists every flag of VLMEvalKit's run.py, one call each.
    p = _Parser(
        prog="assay vlmeval",
        allow_abbrev=False,
        description="VLMEvalKit's run.py on assay.",
    )
    subjects = p.add_argument_group("what")
    subjects.add_argument(
        "--data",
        nargs="+",
        default=[],
        help="names in $LMUData, TSV files, file.py[:Class[@name]]",
    )
    subjects.add_argument(
        "--model",
        nargs="+",
        default=[],
        help="file.py:Class, names of --register, models of assay",
    )
    subjects.add_argument(
        "--config",
        default=None,
        metavar="JSON",
        help='{"model": {name: {"class": …}}, "data": {…}}',
    )
    subjects.add_argument(
        "--data-config",
        default=None,
        metavar="JSON",
        help='{name of --data: {"class": …, …}}',
    )
    subjects.add_argument(
        "--register",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="users' files to load first",
    )
    subjects.add_argument("--mode", choices=("all", "infer", "eval"), default="all")
    subjects.add_argument("--limit", default=None)
    model = p.add_argument_group("model")
    model.add_argument(
        "--base-url",
        default=None,
        help="an OpenAI-compatible endpoint, up to /v1",
    )
    model.add_argument(
        "--key",
        default=None,
        metavar="VARIABLE",
        help="the environment variable that holds the key",
    )
    model.add_argument("--max-tokens", type=int, default=None)
    model.add_argument("--temperature", type=float, default=None)
    model.add_argument("--top-k", type=int, default=None)
    model.add_argument("--top-p", type=float, default=None)
    model.add_argument("--repetition-penalty", type=float, default=None)
    model.add_argument(
        "--timeout",
        type=float,
        default=None,
        help="seconds for one answer of the endpoint",
    )
    model.add_argument(
        "--extra-body",
        default=None,
        metavar="JSON",
        help="further members of each request",
    )
    model.add_argument(
        "--use-vllm",
        action="store_true",
        help="build the model's class, and judge, with use_vllm=True",
    )
    model.add_argument(
        "--retry",
        type=int,
        default=None,
        help="for API classes and `evaluate`; assay retries itself",
    )
    judge = p.add_argument_group("judge")
    judge.add_argument(
        "--judge",
        default=None,
        help="a model of assay, a name at an endpoint, or exact_matching",
    )
    judge.add_argument(
        "--judge-args",
        default=None,
        metavar="JSON",
        help="further arguments of judge and `evaluate`",
    )
    judge.add_argument("--judge-base-url", default=None)
    judge.add_argument("--judge-key", default=None, metavar="VARIABLE")
    judge.add_argument("--judge-api-nproc", type=int, default=None)
    judge.add_argument("--judge-retry", type=int, default=None)
    judge.add_argument("--judge-timeout", type=float, default=None)
    judge.add_argument(
        "--use-verifier",
        action="store_true",
        help="`evaluate` gets use_verifier=True",
    )
    work = p.add_argument_group("work")
    work.add_argument("--work-dir", default="./outputs")
    work.add_argument(
        "--nproc",
        "--api-nproc",
        dest="nproc",
        type=int,
        default=None,
        help="questions at once",
    )
    work.add_argument(
        "--keep-failed",
        action="store_true",
        help="do not ask again for what failed",
    )
    work.add_argument("--reuse-aux", default="all")
    work.add_argument("--fresh", action="store_true", help="forget earlier predictions")
    work.add_argument(
        "--upstream",
        action="store_true",
        help="VLMEvalKit's own rules where assay's differ",
    )
    work.add_argument("--trust-pickle", action="store_true")
    work.add_argument("--allow-private-urls", action="store_true")
    work.add_argument(
        "--media_root",
        "--media-root",
        metavar="DIR",
        help="folder that holds the media which rows name",
    )
    work.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    other = p.add_argument_group("taken, and of no effect")
    for name in (
        "--verbose",
        "--reuse",
        "--ignore",
        "--api-mode",
        "--stream",
        "--debug",
    ):
        other.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    other.add_argument(
        "--monitor-interval",
        type=int,
        default=None,
        help=argparse.SUPPRESS,
    )
    for name in ("--thinker", "--video-llm", "--local-media"):
        other.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    other.add_argument("--custom-prompt", default=None, help=argparse.SUPPRESS)
    return p

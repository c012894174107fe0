"""Convert values as other tools spell them: `do_sample=False`, `file.py@task`, `auto`, four seeds."""

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import UsageError

GENERATION_NAMES: Mapping[str, str] = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "until": "stop",
    "stop_seqs": "stop",
    "stop_sequences": "stop",
    "num_return_sequences": "n",
    "top_logprobs": "logprobs",
}
"""Other tools' names of generation options, with their names in assay."""
REFUSED_GENERATION: Mapping[str, str] = {
    "num_beams": "assay samples or takes the likeliest token; leave num_beams out",
    "stream": "answers are read whole; leave stream out",
    "extra_body": '-a \'body={"name": "value"}\' adds members to every request',
    "extra_headers": '-a \'headers={"name": "value"}\' adds headers to every request',
    "timeout": "-a total_timeout=SECONDS",
    "batch_size": "--batch_size N, or --concurrency N for an endpoint",
}
LISTINGS = ("list", "list_groups", "list_subtasks", "list_tags")
"""Values of `--tasks` that make lm-eval print its list of tasks."""
TASK_SUFFIXES = (".yaml", ".yml", ".py")
_ESCAPE = re.compile(r"\\(?:[nrt\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
r"""Escapes that are replaced in typed stop strings. Others, as in `\boxed`, stay as they are typed."""


def generation_options(
    values: Mapping[str, Any],
    flag: str,
) -> dict[str, Any]:
    """Rename generation options to assay's names.

    `do_sample=False` becomes temperature 0. `do_sample=True` turns sampling on.
    """
    options: dict[str, Any] = {}
    for name, value in values.items():
        if name in REFUSED_GENERATION:
            raise UsageError(
                f"{flag} {name} is not a generation option",
                fix=REFUSED_GENERATION[name],
            )
        options[GENERATION_NAMES.get(name, name)] = value
    draws = options.pop("do_sample", None)
    if draws is not None and not isinstance(draws, bool):
        raise UsageError(
            f"{flag} do_sample={draws!r} is not true or false",
            fix="--temperature 0 takes the likeliest",
        )
    if draws is False:
        options["temperature"] = 0.0
    elif draws and not options.get("temperature"):
        options["temperature"] = (
            1.0  # what transformers draws with where nothing else is said
        )
    if "stop" in options:
        stops = options["stop"]
        if stops is None:
            stops = []
        elif not isinstance(stops, list):
            stops = [stops]
        options["stop"] = tuple(unescape(str(text)) for text in stops)
    return options


def unescape(text: str) -> str:
    r"""Replace `\n` and other escapes in a typed stop string by the characters that they stand for."""
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    return match[0].encode("ascii").decode("unicode_escape")


def task_names(
    names: Sequence[str],
    folder: str | None = None,
) -> list[str]:
    """Rewrite names of tasks: `file.py@task` as `file.py:task`, a name defined in `folder` as its file."""
    if folder is not None and not Path(folder).expanduser().is_dir():
        raise UsageError(
            f"--include_path {folder} is not a folder",
            fix="name the folder of your task files",
        )
    tasks: list[str] = []
    for name in names:
        defining_files = _defining_files(name, folder)
        tasks += defining_files or [_task_name(name, folder)]
    return tasks


def _defining_files(
    name: str,
    folder: str | None,
) -> list[str]:
    """Return the files of `--include_path` that define a task of this name for another system."""
    if folder is None or Path(name).exists():
        return []
    from ..dialects.recognise import files_named

    bare, bar, shots = name.partition("|")
    files = files_named(bare, Path(folder).expanduser())
    return [f"{file}{bar}{shots}" for file in files]


def _task_name(
    name: str,
    folder: str | None,
) -> str:
    file, separator, task = name.rpartition("@")
    if (
        separator
        and file.endswith(".py")
        and task.isidentifier()
        and task != "upstream"  # a protocol: as the original system measures
        and Path(file).expanduser().is_file()
    ):
        return f"{file}:{task}"
    if folder is None or Path(name).exists():
        return name
    from ..registry import tasks

    if name in tasks:
        defining_file = None
    else:
        defining_file = _file_of(name, Path(folder).expanduser())
    if defining_file is None:
        return name
    return str(defining_file)


def _file_of(name: str, folder: Path) -> Path | None:
    files = (
        file for suffix in TASK_SUFFIXES for file in sorted(folder.rglob(f"*{suffix}"))
    )
    return next((file for file in files if file.stem == name), None)


def batch_size(text: str) -> int | str:
    """Return the batch size, or `auto`, which depends on the available memory. lm-eval's `auto:N` is also accepted."""
    if text.lower().partition(":")[0] == "auto":
        return "auto"
    return _whole(text, "a whole number, or auto")


def seed(text: str) -> int:
    """Return the seed. lm-eval's list of four seeds is accepted if all of them are equal."""
    parts = {part.strip() for part in text.split(",")} - {"", "None"}
    if len(parts) > 1:
        last = text.rpartition(",")[2]
        raise argparse.ArgumentTypeError(
            f"all that is drawn comes from one seed, got {text!r}; write --seed {last}"
        )
    return _whole(next(iter(parts), ""), "a whole number")


def _whole(text: str, wanted: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}") from error

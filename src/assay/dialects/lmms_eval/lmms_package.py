"""Import the installed `lmms_eval` package when a task is loaded, without its messages and with the run's judge."""

import importlib
import io
import logging
import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...core import MissingExtra
from ..harness.package_care import cache_templates, quiet_datasets
from .claims import LIBRARY
from .judge_clients import replace_providers

if TYPE_CHECKING:
    import datasets

TESTED_VERSION = "0.7.3"


@cache
def load_package() -> ModuleType:
    """Import lmms_eval with its task modules. If it is missing, raise with the command to install it."""
    LIBRARY.need_tasks_folder()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Helper modules of many tasks build paths from HF_HOME, and fail if it is not set.
    os.environ.setdefault("HF_HOME", str(Path("~/.cache/huggingface").expanduser()))
    _quiet_logger()
    try:
        package = importlib.import_module("lmms_eval")
        importlib.import_module("lmms_eval.tasks")
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), LIBRARY.extra) from error
    logging.getLogger("lmms-eval").setLevel(logging.ERROR)
    quiet_datasets()
    cache_templates(importlib.import_module("lmms_eval.utils").env)
    decode_with_soundfile()
    replace_providers()
    return package


def module(name: str) -> ModuleType:
    """Return a module of the package by its name inside the package, such as `api.task`."""
    load_package()
    return importlib.import_module(f"lmms_eval.{name}")


@cache
def _parsed_defaults() -> Namespace:
    """Return the default values of lmms-eval's command-line options."""
    with warnings.catch_warnings():  # Importing the module changes the warning filters.
        command_line = module("__main__")
    arguments_of_assay, sys.argv = sys.argv, sys.argv[:1]
    try:
        _, arguments = command_line.parse_eval_args()
    finally:
        sys.argv = arguments_of_assay
    defaults: Namespace = arguments
    return defaults


def command_line_defaults() -> Namespace:
    """Return a copy of the defaults of lmms-eval's command line, which some tasks read."""
    return Namespace(**vars(_parsed_defaults()))


def _quiet_logger() -> None:
    """Drop the package's log messages. Errors that it logs are also raised, so none is lost."""
    try:
        loguru = importlib.import_module("loguru")
    except ModuleNotFoundError as error:
        raise MissingExtra("loguru", LIBRARY.extra) from error
    loguru.logger.disable("lmms_eval")


def decode_with_soundfile() -> None:
    """Make `datasets` decode audio with soundfile, to `{"path", "array", "sampling_rate"}`."""
    import datasets

    datasets.Audio.decode_example = _decode


def _decode(
    feature: "datasets.Audio",
    value: Mapping[str, Any],
    token_per_repo_id: object = None,
) -> dict[str, Any]:
    """Decode an audio clip. If the column declares mono or another sampling rate, convert the clip."""
    import soundfile

    from ...media.audio import resample

    data, path = value.get("bytes"), value.get("path")
    samples, rate = soundfile.read(io.BytesIO(data) if data is not None else path)
    wants_mono = getattr(feature, "mono", False) or feature.num_channels == 1
    if samples.ndim > 1:
        if wants_mono:
            samples = samples.mean(axis=1)
        else:
            samples = samples.T
    if feature.sampling_rate and feature.sampling_rate != rate:
        samples = resample(samples, rate, feature.sampling_rate)
        rate = feature.sampling_rate
    return {"path": path, "array": samples, "sampling_rate": rate}

"""Import the installed `lm_eval` package when a task is loaded, without its messages and with time limits."""

import functools
import importlib
import logging
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import MissingExtra
from ..harness.package_care import cache_templates, limited_import, quiet_datasets

TESTED_VERSION = "0.4.13"


@cache
def load_package() -> ModuleType:
    """Import lm_eval with its task modules. If it is missing, raise with the command to install it."""
    # Prevent fork warnings of tokenizers, and progress bars that would mix with assay's.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        package = importlib.import_module("lm_eval")
        importlib.import_module("lm_eval.tasks")
        importlib.import_module("lm_eval.api.group")
    except ModuleNotFoundError as error:
        raise MissingExtra("lm_eval", "assay[lm-eval]") from error
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    quiet_datasets()
    cache_templates(importlib.import_module("lm_eval.utils").env)
    _limit_imports()
    return package


def module(name: str) -> ModuleType:
    """Return a module of the package by its name inside the package, such as `api.task`."""
    load_package()
    return importlib.import_module(f"lm_eval.{name}")


def _limit_imports() -> None:
    """Patch lm-eval so that its imports of helper modules have a time limit."""
    loader: Any = importlib.import_module("lm_eval.tasks._yaml_loader")
    load_module = loader._load_module_with_cache

    @functools.wraps(load_module)
    def load_limited(module_path: Path) -> object:
        with limited_import(module_path):
            return load_module(module_path)

    loader._load_module_with_cache = load_limited


def forget_helpers(folder: Path) -> None:
    """Remove the helper modules of a folder from `sys.modules`, so that the next load imports them again.

    Some modules have their own random generator, which must start again with each load.
    Otherwise a second run in the same process would ask different questions.
    """
    for name, helper in list(sys.modules.items()):
        file = getattr(helper, "__file__", None)
        if hasattr(helper, "__mtime__") and file and Path(file).parent == folder:
            del sys.modules[name]

"""Find a local checkout of rwkv-benchmark, and read texts in it that assay does not contain.

This happens only under upstream's rules. Descriptions and default sizes are read from
its registrations without running them, and `mmlu_pro` uses the prompt in its task file.
Files show which revision it is: the earliest one did not measure speeds after a run.
"""

import ast
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ...core import EMPTY
from ..protocol import is_upstream
from ..shapes import Fields, Record

CODE = "local_batch_benchmark"
_PARTS = ("tasks/dataset_registry.py", "evaluators/evaluator_registry.py")
_WORDS = ("name", "description", "default_batch_size", "default_max_length")
"""The arguments that are read from each registration in a checkout."""
_near: list[Path] = []
"""Code folders of checkouts from which this process loaded user files. The most recent one is last."""


def notice(file: Path) -> None:
    """Record the checkout around a loaded user file, if there is one."""
    for folder in file.resolve().parents:
        if _is_code(folder):
            _near.append(folder)
            return


def local_code_folder() -> Path | None:
    """Return the code folder of a local checkout; None if there is none or upstream's rules do not apply.

    The search covers the folders around loaded files, the working folder and its
    parents, and the module path.
    """
    if not is_upstream("pipeline"):
        return None
    here = Path.cwd()
    module_path = [*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    for folder in (*reversed(_near), here, *here.parents, *map(Path, module_path)):
        for candidate in (folder, folder / CODE):
            if _is_code(candidate):
                return candidate
    return None


def _is_code(folder: Path) -> bool:
    return all((folder / part).is_file() for part in _PARTS)


def registered_texts(kind: str, name: str) -> Fields:
    """Return the description and default sizes that a checkout registers for a dataset or an evaluator.

    The mapping is empty without a checkout.
    """
    code = local_code_folder()
    if code is not None:
        folder = code / {"dataset": "tasks", "evaluator": "evaluators"}[kind]
        for file in (folder / f"{kind}_registry.py", folder / f"register_{name}.py"):
            if file.is_file():
                words = _registered(file, file.stat().st_mtime_ns).get(name)
                if words:
                    return words
    return EMPTY


@lru_cache(maxsize=8)
def _registered(file: Path, changed: int) -> Mapping[str, Fields]:
    """Return the description and sizes of each registration in a file, by the registered name. The file is not run."""
    registrations: dict[str, Record] = {}
    for node in ast.walk(ast.parse(file.read_bytes())):
        if not isinstance(node, ast.Call):
            continue
        if not ast.unparse(node.func).endswith(".register"):
            continue
        words: Record = {}
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg in _WORDS and isinstance(value, ast.Constant):
                words[keyword.arg] = value.value
        if "name" in words:
            registrations[words.pop("name")] = words
    return registrations


def task_file(name: str) -> Path | None:
    """Return the file of the local checkout that registers a dataset; None if there is none."""
    return _file(f"tasks/register_{name}.py")


def measures_speed() -> bool:
    """Return True if results include four speeds (tokens per second, milliseconds per step).

    The earliest revision of rwkv-benchmark does not measure them.
    """
    file = _file("pipeline.py")
    return file is None or b"measure_decode_speed" in file.read_bytes()


def _file(name: str) -> Path | None:
    code = local_code_folder()
    if code is None or not (code / name).is_file():
        return None
    return code / name

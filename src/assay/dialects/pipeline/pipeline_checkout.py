"""A local checkout of rwkv-benchmark: its location, and texts in its files that assay does not have.

Used only under upstream's rules, and only for texts. Descriptions and default sizes are read from its registrations
without running them, and `mmlu_pro` uses the wording of its task file. The revision is recognised by its files: the
earliest one did not measure speeds after a run.
"""

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from ..protocol import is_upstream
from ..shapes import Fields, Record

CODE = "local_batch_benchmark"
_PARTS = ("tasks/dataset_registry.py", "evaluators/evaluator_registry.py")
_near: list[Path] = []
"""Code folders around the user files that this process loaded, the latest last."""


def notice(file: Path) -> None:
    """Remember the checkout around a loaded user file, if there is one."""
    code_folder = next(
        (folder for folder in file.resolve().parents if _is_code(folder)), None
    )
    if code_folder is not None:
        _near.append(code_folder)


def at_hand() -> Path | None:
    """Search the checkout's code around loaded files and the working folder, and on the module path.

    Return None if no checkout exists, or if upstream's rules do not apply.
    """
    if not is_upstream("pipeline"):
        return None
    return next(_found(), None)


def _found() -> Iterator[Path]:
    yield from reversed(_near)
    here = Path.cwd()
    for folder in (
        here,
        *here.parents,
        *map(Path, [*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
    ):
        yield from (
            candidate for candidate in (folder, folder / CODE) if _is_code(candidate)
        )


def _is_code(folder: Path) -> bool:
    return all((folder / part).is_file() for part in _PARTS)


@lru_cache(maxsize=8)
def _registered(file: Path, changed: int) -> Mapping[str, Fields]:
    """Return the literal keyword arguments of each registration in a file, by the registered name."""
    registrations: dict[str, Record] = {}
    for node in ast.walk(ast.parse(file.read_bytes())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "register"
        ):
            words = {
                word.arg: ast.literal_eval(word.value)
                for word in node.keywords
                if _is_literal(word.value)
            }
            if isinstance(words.get("name"), str):
                registrations[words.pop("name")] = {
                    key: value for key, value in words.items() if key is not None
                }
    return registrations


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _of(part: str, name: str) -> Fields:
    code = at_hand()
    if code is None:
        return {}
    for file in (
        code / f"{part}_registry.py",
        code / part.partition("/")[0] / f"register_{name}.py",
    ):
        if file.is_file() and (
            words := _registered(file, file.stat().st_mtime_ns).get(name)
        ):
            return words
    return {}


def words_of_dataset(name: str) -> Fields:
    """Return the description and default sizes that a checkout registers for a dataset.

    The mapping is empty without a checkout.
    """
    names = ("description", "default_batch_size", "default_max_length")
    return {
        key: value for key, value in _of("tasks/dataset", name).items() if key in names
    }


def words_of_evaluator(name: str) -> Fields:
    """Return the description that a checkout registers for an evaluator; empty without a checkout."""
    return {
        key: value
        for key, value in _of("evaluators/evaluator", name).items()
        if key == "description"
    }


def task_file(name: str) -> Path | None:
    """Return the file of a checkout that registers a dataset; None if there is none."""
    code = at_hand()
    if code is not None:
        file = code / "tasks" / f"register_{name}.py"
    else:
        file = None
    if file is not None and file.is_file():
        return file
    return None


def measures_speed() -> bool:
    """Return True if results include the four speeds, which the earliest revisions lack."""
    code = at_hand()
    if code is not None:
        file = code / "pipeline.py"
    else:
        file = None
    return (
        file is None
        or not file.is_file()
        or b"measure_decode_speed" in file.read_bytes()
    )

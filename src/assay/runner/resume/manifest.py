"""The manifest: `run.json`, from which a run can be understood, checked and repeated."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...core.secrets import veiled
from ...store.ownership import FORMAT
from ..options import RunOptions
from ..plan.cell import Cell
from ..tasks.overrides import fewshot_of

_LIBRARIES = (
    "assay",
    "msgspec",
    "jinja2",
    "numpy",
    "pyarrow",
    "xllamacpp",
    "transformers",
    "torch",
    "sacrebleu",
)


def make_manifest(
    run: RunOptions, cells: Sequence[Cell], status: str
) -> dict[str, Any]:
    """What is known when a run starts; the end adds its status and counts."""
    return {
        "format": FORMAT,
        "status": status,
        "config": _absolute(run).kept(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cells": [describe_cell(cell) for cell in cells],
        "versions": {"python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "git": _git_state(),
    }


def describe_cell(cell: Cell) -> dict[str, Any]:
    """One task with one model, as plain data."""
    task = cell.task
    return {
        "task": task.name,
        "protocol": task.protocol,
        "measure": cell.measure,
        "model": cell.model_name,
        "identity": veiled(cell.model.identity),
        "abilities": {
            "accepts": sorted(cell.model.abilities.accepts),
            "produces": sorted(cell.model.abilities.produces),
            "likelihood": cell.model.abilities.likelihood,
            "logprobs": cell.model.abilities.logprobs,
        },
        "options": cell.options.given(),
        "epochs": task.epochs,
        "num_fewshot": fewshot_of(task, cell.run).num,
        "data": [str(path) for path in cell.samples.files],
        "scorers": {scoring.name: scoring.digest for scoring in cell.scorings},
        "summarizers": cell.summarizer_digest,
        "digests": cell.digests,
        **({"unchecked": True} if cell.unchecked else {}),
        "citation": task.citation,
        "licence": task.licence,
    }


def _absolute(run: RunOptions) -> RunOptions:
    """Paths that still hold when the run is repeated from another folder."""
    return run.but(
        tasks=tuple(_absolute_reference(task) for task in run.tasks),
        models=tuple(_absolute_reference(model) for model in run.models),
        data=_absolute_path(run.data),
        fewshot_data=_absolute_path(run.fewshot_data),
        baseline=_absolute_path(run.baseline),
        template=_absolute_reference(run.template) if run.template else None,
        scorers=tuple(_absolute_reference(scorer) for scorer in run.scorers),
        judges={role: _absolute_reference(model) for role, model in run.judges.items()},
        register=tuple(_absolute_reference(file) for file in run.register),
    )


def _absolute_reference(name: Any) -> Any:
    """`file.py:fn`, `gguf/file` and data paths made absolute; names stay."""
    if not isinstance(name, str):
        return str(getattr(name, "reference", None) or getattr(name, "name", name))
    path, colon, rest = name.partition(":") if ".py" in name else (name, "", "")
    if not colon and "@" in path and not Path(path).expanduser().exists():
        path, colon, rest = path.partition("@")  # a protocol behind a path
    candidate = Path(path).expanduser()
    if candidate.exists() and (candidate.suffix or "/" in path or candidate.is_dir()):
        return f"{candidate.resolve()}{colon}{rest}"
    return name


def _absolute_path(path: str | None) -> str | None:
    return (
        str(Path(path).expanduser().resolve())
        if path and Path(path).expanduser().exists()
        else path
    )


def _versions() -> dict[str, str]:
    return {name: version for name in _LIBRARIES if (version := _version_of(name))}


@cache
def _version_of(library: str) -> str:
    """The version of an installed library, looked up once in a process: reading its metadata takes milliseconds."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _git_state() -> dict[str, Any] | None:
    """Commit and cleanliness of the folder the run was started in; `None` outside a repository. No remote is read."""
    try:
        if not _may_be_repository(Path.cwd()):
            return None
        lines = _git(
            "status",
            "--porcelain=v2",
            "--branch",
            "--no-ahead-behind",
            "--untracked-files=no",
        ).splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    commit = next(
        (line.split()[2] for line in lines if line.startswith("# branch.oid ")), ""
    )
    if not commit or commit == "(initial)":
        return None
    return {"commit": commit, "dirty": any(not line.startswith("#") for line in lines)}


def _may_be_repository(folder: Path) -> bool:
    """Whether asking git makes sense at all: a process is more than the rest of the manifest costs."""
    return "GIT_DIR" in os.environ or any(
        (parent / ".git").exists() for parent in (folder, *folder.parents)
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, timeout=5, check=True
    )
    return done.stdout.strip()

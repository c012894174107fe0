"""The manifest `run.json`, which describes a run completely enough to check and repeat it."""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...core.secrets import redact_options
from ...store.ownership import FORMAT
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
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
    run: RunOptions,
    planned_tasks: Sequence[PlannedTask],
    status: str,
) -> dict[str, Any]:
    """Return the manifest at the start of a run. The status and the counts are added at its end."""
    return {
        "format": FORMAT,
        "status": status,
        "config": _absolute(run).kept(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cells": [describe_planned(planned) for planned in planned_tasks],
        "versions": {"python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "git": _git_state(),
    }


def describe_planned(planned: PlannedTask) -> dict[str, Any]:
    """Describe one task × model as plain data."""
    task = planned.task
    return {
        "task": task.name,
        "protocol": task.protocol,
        "measure": planned.measure,
        "model": planned.model_name,
        "identity": redact_options(planned.model.identity),
        "abilities": {
            "accepts": sorted(planned.model.abilities.accepts),
            "produces": sorted(planned.model.abilities.produces),
            "likelihood": planned.model.abilities.likelihood,
            "logprobs": planned.model.abilities.logprobs,
        },
        "options": planned.options.given(),
        "epochs": task.epochs,
        "num_fewshot": fewshot_of(task, planned.run).num,
        "data": [str(path) for path in planned.samples.files],
        "scorers": {scoring.name: scoring.digest for scoring in planned.scorings},
        "summarizers": planned.summarizer_digest,
        "digests": planned.digests,
        **({"unchecked": True} if planned.unchecked else {}),
        "citation": task.citation,
        "licence": task.licence,
    }


def _absolute(run: RunOptions) -> RunOptions:
    """Return the options with absolute paths, so that the run can be repeated from another folder."""
    tasks = tuple(_absolute_reference(task) for task in run.tasks)
    models = tuple(_absolute_reference(model) for model in run.models)
    scorers = tuple(_absolute_reference(scorer) for scorer in run.scorers)
    judges = {role: _absolute_reference(model) for role, model in run.judges.items()}
    register = tuple(_absolute_reference(file) for file in run.register)
    return run.but(
        tasks=tasks,
        models=models,
        data=_absolute_path(run.data),
        fewshot_data=_absolute_path(run.fewshot_data),
        baseline=_absolute_path(run.baseline),
        template=_absolute_reference(run.template) if run.template else None,
        scorers=scorers,
        judges=judges,
        register=register,
    )


def _absolute_reference(name: object) -> object:
    """Make the path in a reference absolute: `file.py:fn`, `gguf/file` or a data path.

    Return other names unchanged.
    """
    if not isinstance(name, str):
        reference = getattr(name, "reference", None)
        return str(reference or getattr(name, "name", name))
    path = name
    colon = ""
    rest = ""
    if ".py" in name:
        path, colon, rest = name.partition(":")
    has_protocol = not colon and "@" in path and not Path(path).expanduser().exists()
    if has_protocol:
        path, colon, rest = path.partition("@")  # a protocol after a path
    candidate = Path(path).expanduser()
    looks_like_path = candidate.suffix or "/" in path or candidate.is_dir()
    if candidate.exists() and looks_like_path:
        return f"{candidate.resolve()}{colon}{rest}"
    return name


def _absolute_path(path: str | None) -> str | None:
    """Return an existing path in absolute form. Return any other path unchanged."""
    if path and Path(path).expanduser().exists():
        resolved = Path(path).expanduser().resolve()
        return str(resolved)
    return path


def _versions() -> dict[str, str]:
    """Return the versions of the installed libraries that affect results."""
    return {name: version for name in _LIBRARIES if (version := _version_of(name))}


@cache
def _version_of(library: str) -> str:
    """Return the version of an installed library. It is cached, since reading metadata takes milliseconds."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _git_state() -> dict[str, Any] | None:
    """Return the commit of the working folder, and whether it has uncommitted changes; None outside a repository.

    No remote is contacted.
    """
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
    is_dirty = any(not line.startswith("#") for line in lines)
    return {"commit": commit, "dirty": is_dirty}


def _may_be_repository(folder: Path) -> bool:
    """Return True if the folder may be in a git repository, a check that is much faster than calling git."""
    return "GIT_DIR" in os.environ or any(
        (parent / ".git").exists() for parent in (folder, *folder.parents)
    )


def _git(*arguments: str) -> str:
    """Return the output of a git command."""
    done = subprocess.run(
        ["git", *arguments],
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
    )
    return done.stdout.strip()

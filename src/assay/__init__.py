"""assay: one evaluation system for every kind of model.

The public names are loaded when first used; importing assay imports neither numpy nor torch nor the network.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core import (
        Abilities,
        AllOf,
        AssayError,
        Audio,
        Candidate,
        DataSource,
        Fewshot,
        GenerateOptions,
        Image,
        Likelihood,
        Measure,
        Message,
        Outcome,
        Output,
        Prompt,
        Request,
        Result,
        Sample,
        Score,
        Suite,
        Task,
        Text,
        Video,
    )
    from .registry import models, scorers, summarizers, tasks, templates
    from .runner import RunOptions, RunResult
    from .runner.run import run, score
    from .store import RunReader

__version__ = "0.1.0"

_CORE = (
    "Abilities", "AllOf", "AssayError", "Audio", "Candidate", "DataSource", "Fewshot", "GenerateOptions", "Image",
    "Likelihood", "Measure", "Message", "Outcome", "Output", "Prompt", "Request", "Result", "Sample", "Score", "Suite",
    "Task", "Text", "Video",
)  # fmt: skip
_HOME = {
    **dict.fromkeys(_CORE, "core"),
    **dict.fromkeys(("models", "scorers", "summarizers", "tasks", "templates"), "registry"),
    **dict.fromkeys(("RunOptions", "RunResult", "run", "score"), "runner"),
    "RunReader": "store",
}

__all__ = [
    "Abilities", "AllOf", "AssayError", "Audio", "Candidate", "DataSource", "Fewshot", "GenerateOptions", "Image",
    "Likelihood", "Measure", "Message", "Outcome", "Output", "Prompt", "Request", "Result", "RunOptions", "RunReader",
    "RunResult", "Sample", "Score", "Suite", "Task", "Text", "Video", "models", "run", "score", "scorers",
    "summarizers", "tasks", "templates",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

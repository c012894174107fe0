"""assay: one evaluation system for every kind of model.

The public names are loaded when first used; importing assay imports neither numpy nor torch nor the network. Register
your own components in `assay.registry`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison.several import RunComparison, compare
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
        Tool,
        ToolCall,
        ToolResult,
        Video,
    )
    from .runner.options import RunOptions
    from .runner.result import RunResult
    from .runner.run import run, score
    from .store import RunReader

__version__ = "0.2.0"

_CORE = (
    "Abilities", "AllOf", "AssayError", "Audio", "Candidate", "DataSource", "Fewshot", "GenerateOptions", "Image",
    "Likelihood", "Measure", "Message", "Outcome", "Output", "Prompt", "Request", "Result", "Sample", "Score", "Suite",
    "Task", "Text", "Tool", "ToolCall", "ToolResult", "Video",
)  # fmt: skip
_HOME = {
    **dict.fromkeys(_CORE, "core"),
    **dict.fromkeys(("run", "score"), "runner.run"),
    **dict.fromkeys(("RunComparison", "compare"), "comparison.several"),
    "RunOptions": "runner.options",
    "RunResult": "runner.result",
    "RunReader": "store",
}

__all__ = [
    "Abilities",
    "AllOf",
    "AssayError",
    "Audio",
    "Candidate",
    "DataSource",
    "Fewshot",
    "GenerateOptions",
    "Image",
    "Likelihood",
    "Measure",
    "Message",
    "Outcome",
    "Output",
    "Prompt",
    "Request",
    "Result",
    "RunComparison",
    "RunOptions",
    "RunReader",
    "RunResult",
    "Sample",
    "Score",
    "Suite",
    "Task",
    "Text",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Video",
    "compare",
    "run",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

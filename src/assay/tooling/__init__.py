"""Tools that models may call during a sample: where they come from, how calls run, and the limits of a sample."""

from .sample_limits import USUAL_LIMITS, SampleLimits, Used
from .schemas import smallest_arguments
from .toolbox import (
    SampleContext,
    Toolbox,
    ToolboxExtras,
    ToolSession,
    ToolSessionExtras,
    text_result,
)
from .toolset import SampleTools, ToolSet, is_toolbox, result_digest

__all__ = [
    "USUAL_LIMITS",
    "SampleContext",
    "SampleLimits",
    "SampleTools",
    "ToolSet",
    "ToolSession",
    "ToolSessionExtras",
    "Toolbox",
    "ToolboxExtras",
    "Used",
    "is_toolbox",
    "result_digest",
    "smallest_arguments",
    "text_result",
]

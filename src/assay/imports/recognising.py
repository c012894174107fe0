"""Recognise the format of another tool's results, and choose its reader."""

from pathlib import Path

from ..core import UnusablePath
from .batch_outputs import (
    is_anthropic_batch,
    is_openai_batch,
    read_anthropic_batch,
    read_openai_batch,
)
from .evalscope_reviews import files_of as evalscope_files
from .evalscope_reviews import is_evalscope, read_evalscope
from .every_eval_ever_files import files_of as every_eval_ever_files
from .every_eval_ever_files import is_every_eval_ever, read_every_eval_ever
from .inspect_logs import is_inspect_log, read_inspect_log
from .lm_eval_files import files_of as lm_eval_files
from .lm_eval_files import is_lm_eval, read_lm_eval
from .results import Format
from .vlmevalkit_tables import is_vlmevalkit, read_vlmevalkit

FORMATS = (
    Format("inspect_ai", is_inspect_log, read_inspect_log),
    Format("lm-eval", is_lm_eval, read_lm_eval, lm_eval_files),
    Format("evalscope", is_evalscope, read_evalscope, evalscope_files),
    Format(
        "Every Eval Ever",
        is_every_eval_ever,
        read_every_eval_ever,
        every_eval_ever_files,
    ),
    Format("OpenAI batch API", is_openai_batch, read_openai_batch),
    Format("Anthropic batch API", is_anthropic_batch, read_anthropic_batch),
    Format("VLMEvalKit", is_vlmevalkit, read_vlmevalkit),
)
KINDS = (
    "a log of inspect_ai (.eval), results_*.json of lm-eval, a folder with reviews/ of evalscope, an xlsx or tsv of"
    " VLMEvalKit, a JSON file of Every Eval Ever, or an output file of a batch API"
)


def format_of(path: Path) -> Format:
    """Return the format of a file or folder. Raise if assay cannot read it."""
    for kind in FORMATS:
        if kind.matches(path):
            return kind
    raise UnusablePath(
        "neither a run folder nor results of a tool that assay reads",
        where=str(path),
        fix=f"name a run folder, {KINDS}",
    )


def is_format(path: Path) -> bool:
    """Return True if assay can read the results in a file or folder."""
    return any(kind.matches(path) for kind in FORMATS)


def is_result_name(path: Path) -> bool:
    """Return True if a path has the usual name of another tool's results.

    Used to find such results in a folder of runs.
    """
    if path.is_dir():
        return path.name == "reviews"
    is_lm_eval_name = path.name.startswith("results_") and path.suffix == ".json"
    return path.suffix == ".eval" or is_lm_eval_name

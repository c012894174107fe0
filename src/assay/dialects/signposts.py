"""Names that other tools know and assay does not run, with advice on what to install."""

from pathlib import Path

from ..core import UsageError
from .harness.library import top_level_keys
from .recognise import library_name

_INSPECT = (
    "pip install 'assay[inspect]' inspect-evals, then `assay run inspect_evals/{name}`"
)
_HARBOR = "pip install harbor, then `harbor run -d {name}`"
_SWE_BENCH = "pip install swebench, then `python -m swebench.harness.run_evaluation`"
_BFCL = "write bfcl, or bfcl_prompt; docs/bfcl.md lists its parts"
_BFCL_ITSELF = "pip install bfcl-eval, then `bfcl generate` and `bfcl evaluate`"
_BFCL_MEMORY = ("BFCL's memory, which needs an embedding model", _BFCL_ITSELF)
_BFCL_SEARCH = ("BFCL's web search, which needs a paid service", _BFCL_ITSELF)
_TAU = "write tau2_airline, tau2_retail or tau2_telecom"

BY_NAME: dict[str, tuple[str, str]] = {
    "bfcl_v3": ("an earlier Berkeley function-calling leaderboard", _BFCL),
    "bfcl_memory": _BFCL_MEMORY,
    "bfcl_memory_kv": _BFCL_MEMORY,
    "bfcl_memory_vector": _BFCL_MEMORY,
    "bfcl_memory_rec_sum": _BFCL_MEMORY,
    "bfcl_web_search": _BFCL_SEARCH,
    "bfcl_web_search_base": _BFCL_SEARCH,
    "bfcl_web_search_no_snippet": _BFCL_SEARCH,
    "swe_bench": ("SWE-bench", _SWE_BENCH),
    "swe_bench_lite": ("SWE-bench", _SWE_BENCH),
    "swe_bench_verified": ("SWE-bench", _SWE_BENCH),
    "swebench": ("SWE-bench", _SWE_BENCH),
    "swebench_verified": ("SWE-bench", _SWE_BENCH),
    "terminal_bench": ("Terminal-Bench", _HARBOR.format(name="terminal-bench")),
    "terminalbench": ("Terminal-Bench", _HARBOR.format(name="terminal-bench")),
    "tau_bench": ("an earlier τ-bench", _TAU),
    "tau2_bench": ("the τ²-bench", _TAU),
    "tau2": ("the τ²-bench", _TAU),
    "agentdojo": ("AgentDojo", _INSPECT.format(name="agentdojo")),
    "agentharm": ("AgentHarm", _INSPECT.format(name="agentharm")),
    "cybench": ("Cybench", _INSPECT.format(name="cybench")),
    "gaia": ("GAIA", _INSPECT.format(name="gaia")),
    "mle_bench": ("MLE-bench", _INSPECT.format(name="mle_bench")),
    "osworld": ("OSWorld", _INSPECT.format(name="osworld")),
}
"""By name in lower case with `_`: what it is, and how it is run."""
BY_KEYS: tuple[tuple[frozenset[str], str, str], ...] = (
    (
        frozenset({"prompts", "providers"}),
        "a configuration of promptfoo",
        "`promptfoo eval -c {name}` runs it",
    ),
    (
        frozenset({"model_parameters"}),
        "a model file of lighteval",
        "name the model with --model, and lighteval's task",
    ),
    (
        frozenset({"output_type", "doc_to_text"}),
        "a base file of lm-eval without a name",
        "give it a key `task` with its name",
    ),
    (
        frozenset({"dataset_path", "doc_to_text"}),
        "a base file of lm-eval without a name",
        "give it a key `task` with its name",
    ),
)
"""By keys of a YAML file: what it is, and what to do with it."""
BY_PREFIX: dict[str, tuple[str, str]] = {
    "harbor/": ("a dataset of Harbor", _HARBOR),
}
"""The same by the beginning of a name."""


def signpost(name: str) -> UsageError | None:
    """Return advice for a name that assay does not have and another tool has, or None."""
    folded = name.lower().replace("-", "_")
    if folded.endswith((".yaml", ".yml")):
        return _file_of_another_tool(Path(name).expanduser())
    for prefix, (title, fix) in BY_PREFIX.items():
        if folded.startswith(prefix):
            rest = name[len(prefix) :]
            return _answer(name, title, fix.format(name=rest))
    if folded in BY_NAME:
        title, fix = BY_NAME[folded]
        return _answer(name, title, fix)
    return _in_library(name)


def _file_of_another_tool(path: Path) -> UsageError | None:
    """Return what to do with a YAML file of another tool, or None."""
    if not path.is_file():
        return None
    keys = top_level_keys(path.read_text(encoding="utf-8", errors="replace"))
    for own_keys, title, fix in BY_KEYS:
        if own_keys <= keys:
            return UsageError(f"is {title}", where=str(path), fix=fix.format(name=path))
    return None


def _answer(name: str, title: str, fix: str) -> UsageError:
    return UsageError(f"{name!r} is {title}, which is not part of assay", fix=fix)


def _in_library(name: str) -> UsageError | None:
    """Return the error for a task of an installed library that was named without its prefix."""
    entry = library_name(name)
    if entry is None:
        return None
    dialect, reference = entry
    return UsageError(f"{name!r} is a task of {dialect}", fix=f"write {reference}")

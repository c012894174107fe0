"""`src.config`: the configurations of an infer_task and an eval_task."""

from dataclasses import dataclass
from typing import Any

from ...shapes import Record
from .dataset import BatchLoader, BatchSaver

TemplateStruct = str | Record | list[Any]
RefType = Any
RefsType = list[Any]


@dataclass
class EvalTaskCfg:
    """How to judge and summarize predictions, by names of the registry."""

    evaluator: str
    summarizer: str
    batch_size: int | None = None


@dataclass
class InferTaskCfg:
    """What to ask which model, by names of the registry."""

    dataset: str | list[str]
    template: str
    model: str
    eval_task: str
    save_pred_audio: bool = False
    reverse_spkr: bool = False
    """Swaps the two speakers of a dialogue."""
    use_model_history: bool = True
    """If False, a dialogue continues from the reference answers."""
    save_latest_only: bool = False
    """True if only the last round of a dialogue is recorded and judged."""


@dataclass
class DatasetRuntimeCtx:
    """One dataset of a task while it runs: the source of its rows, and the targets of its files."""

    name: str
    loader: BatchLoader
    saver: BatchSaver
    summary_file: str | None = None

"""`src.config`: what an infer_task and an eval_task are made of."""

from dataclasses import dataclass
from typing import Any

from .dataset import BatchLoader, BatchSaver

TemplateStruct = str | dict[str, Any] | list[Any]
RefType = Any
RefsType = list[Any]


@dataclass
class EvalTaskCfg:
    """How predictions are judged and summed up, by names of the registry."""

    evaluator: str
    summarizer: str
    batch_size: int | None = None


@dataclass
class InferTaskCfg:
    """What is asked of which model, by names of the registry."""

    dataset: str | list[str]
    template: str
    model: str
    eval_task: str
    save_pred_audio: bool = False
    reverse_spkr: bool = False
    """Swaps the two speakers of a dialogue."""
    use_model_history: bool = True
    """Off: a dialogue goes on from the reference answers."""
    save_latest_only: bool = False
    """Only the last round of a dialogue is kept and judged."""


@dataclass
class DatasetRuntimeCtx:
    """One dataset of a task while it runs: where its rows come from, and where what is made of them goes."""

    name: str
    loader: BatchLoader
    saver: BatchSaver
    summary_file: str | None = None

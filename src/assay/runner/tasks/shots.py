"""Draw the few-shot examples of a task from its pool of rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import DataSource, Fewshot, Sample, Task
from ...datasets import Samples, open_dataset
from ...datasets.shards import Shard
from ...templates import apply_fewshot
from ..options import RunOptions
from .locate import find_data
from .overrides import columns_of, fewshot_of


@dataclass(frozen=True, slots=True)
class Shots:
    """The few-shot settings of a task, and the rows that its examples are drawn from."""

    fewshot: Fewshot
    pool: Samples
    are_evaluated: bool
    """True if the examples come from the same rows as the evaluated samples."""

    def to_plain(self) -> list[Any]:
        """Return the number, seed, choice and rows of the examples. A resumed run compares them to detect changes."""
        return [
            self.fewshot.num,
            self.fewshot.seed,
            str(self.fewshot.pick),
            self.pool.fingerprint(),
        ]


def with_shots(
    task: Task,
    run: RunOptions,
    samples: Samples,
    template: object,
    source_of: Callable[[Task, RunOptions], Any],
    reach: Mapping[str, Any],
) -> tuple[Any, Shots]:
    """Return the template with few-shot examples, and how they are drawn.

    `--limit` does not apply to the pool of examples, so that they stay the same.
    """
    fewshot = fewshot_of(task, run)
    source = run.fewshot_data or fewshot.source
    is_own = source is None and fewshot.split is None
    if isinstance(source, DataSource):
        task_with_source = task.but(dataset=source)
        source = find_data(task_with_source, run.data)
    # Worked answers of examples may name letters, so examples keep the order of the data.
    pool_samples = samples.with_shuffled_choices(None)
    if not is_own:
        pool_samples = open_dataset(
            source if source is not None else source_of(task, run),
            columns=columns_of(task, run),
            split=fewshot.split,
            to_sample=task.to_sample,
            where=f"shots of {task.name!r}",
            **reach,
        )
    pool = [s for s in pool_samples if isinstance(s, Sample)]
    template_with_shots = apply_fewshot(
        template,
        fewshot,
        pool,
        own_data=is_own,
        where=f"shots of {task.name!r}",
    )
    return template_with_shots, Shots(
        fewshot,
        pool_samples,
        is_own or _is_same_data(pool_samples, samples),
    )


def _is_same_data(pool: Samples, samples: Samples) -> bool:
    """Return True if the few-shot examples and the evaluated data come from the same rows (not another split)."""
    have_splits = None not in (pool.split, samples.split)
    are_apart = have_splits and pool.split != samples.split
    return not are_apart and bool(
        set(map(_place, pool.shards)) & set(map(_place, samples.shards))
    )


def _place(shard: Shard) -> Path | str | int:
    """Return a value that identifies where rows come from: their file, or the list or function in memory."""
    if shard.path is not None:
        return shard.path.resolve()
    in_memory = getattr(shard, "items", None) or getattr(shard, "function", None)
    if in_memory is None:
        return shard.name
    return id(in_memory)

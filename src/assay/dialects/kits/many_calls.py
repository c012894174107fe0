"""Run a function for many tasks in parallel. Results keep their order, and can be stored so that work resumes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import (
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from functools import partial
from typing import Any

from ..shapes import Function
from .smp.file import dump, load

__all__ = ["cpu_count", "track_progress_rich"]


def track_progress_rich(
    func: Function,
    tasks: Iterable[Any] = (),
    nproc: int | None = 1,
    save: str | None = None,
    keys: Sequence[Any] | None = None,
    use_process: bool = False,
    **kwargs: object,
) -> list[Any]:
    """Return the result of `func` for each task, in order; up to `nproc` run at once.

    A task is a dict of arguments, a tuple or list of them, or the only argument. With `save`, each result is added
    to the dictionary in that file under its key as soon as it is ready, so that an interrupted evaluation can
    continue.
    """
    jobs = list(tasks)
    if not callable(func):
        raise TypeError("func must be a callable object")
    if keys is not None and len(keys) != len(jobs):
        raise ValueError(f"{len(keys)} keys were given for {len(jobs)} tasks")
    stored: dict[Any, Any] = (
        load(save) if save is not None and os.path.exists(save) else {}
    )
    results: list[Any] = [None] * len(jobs)
    kind: type[Executor] = ProcessPoolExecutor if use_process else ThreadPoolExecutor
    with kind(max_workers=max(1, int(nproc or cpu_count()))) as pool:  # type: ignore[call-arg]
        indexes = {
            pool.submit(partial(_call, func, job)): index
            for index, job in enumerate(jobs)
        }
        for future in as_completed(indexes):
            index = indexes[future]
            results[index] = future.result()
            if save is not None and keys is not None:
                stored[keys[index]] = results[index]
                dump(stored, save)
    if save is not None:
        dump(stored if keys is not None else dict(enumerate(results)), save)
    return results


def _call(func: Function, job: object) -> object:
    if isinstance(job, Mapping):
        return func(**job)
    if isinstance(job, (tuple, list)):
        return func(*job)
    return func(job)


def cpu_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

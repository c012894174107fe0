"""A function over many tasks at once, results in the order of the tasks, and by key in a file that it goes on with."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from .smp.files import dump, load

SECONDS_BETWEEN_SAVES = 5.0


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Iterable[Any] = (),
    nproc: int | None = 1,
    save: str | None = None,
    keys: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """`func` of each task: a mapping gives keywords, a tuple or list positions, anything else the one argument.

    With `save`, results are added to the dictionary in that file under `keys`, as they come; what it held stays.
    """
    jobs = list(tasks)
    if keys is not None and len(keys) != len(jobs):
        raise ValueError(f"{len(keys)} keys were given for {len(jobs)} tasks")
    if not callable(func):
        raise TypeError(f"{func!r} cannot be called")
    known: dict[Any, Any] = load(save) if save is not None and os.path.exists(save) else {}
    names = list(range(len(jobs))) if keys is None else list(keys)
    results: list[Any] = [None] * len(jobs)
    saved = time.monotonic()
    with ThreadPoolExecutor(max_workers=max(1, int(nproc or os.cpu_count() or 1))) as pool:
        places = {pool.submit(_call, func, job): place for place, job in enumerate(jobs)}
        for future in as_completed(places):
            place = places[future]
            results[place] = known[names[place]] = future.result()
            if save is not None and time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                dump(known, save)
                saved = time.monotonic()
    if save is not None:
        dump(known, save)
    return results


def _call(func: Callable[..., Any], task: Any) -> Any:
    if isinstance(task, Mapping):
        return func(**task)
    return func(*task) if isinstance(task, (tuple, list)) else func(task)

"""`ulmeval.utils.mp_util`: many calls at once, results by key in a file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..smp.file import dump, load


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Iterable[Any] = (),
    nproc: int = 1,
    save: str | None = None,
    keys: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """The results of `func` for each task (a dict of arguments, a tuple of them, or the only one), in their order.

    With `save`, the results are added to the dictionary in that file under `keys`.
    """
    listed = list(tasks)
    if keys is not None and len(keys) != len(listed):
        raise ValueError(f"{len(keys)} keys were given for {len(listed)} tasks")
    with ThreadPoolExecutor(max(1, nproc)) as pool:
        results = list(pool.map(lambda task: _call(func, task), listed))
    if save is not None:
        known = load(save) if os.path.exists(save) else {}
        known.update(zip(keys if keys is not None else range(len(listed)), results, strict=True))
        dump(known, save)
    return results


def _call(func: Callable[..., Any], task: Any) -> Any:
    if isinstance(task, Mapping):
        return func(**task)
    return func(*task) if isinstance(task, (tuple, list)) else func(task)

"""`vlmeval.utils.mp_util`: a function over many tasks, in threads, results in order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..smp.file import dump

__all__ = ["track_progress_rich"]


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Iterable[Any] = (),
    nproc: int = 1,
    save: str | None = None,
    keys: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """`func` of each task: a mapping gives keywords, a tuple or list positions, anything else the one argument.

    With `save` and `keys`, the results are written there by key when all are done.
    """
    jobs = list(tasks)

    def work(task: Any) -> Any:
        if isinstance(task, Mapping):
            return func(**task)
        return func(*task) if isinstance(task, (tuple, list)) else func(task)

    with ThreadPoolExecutor(max_workers=max(1, int(nproc))) as pool:
        results = list(pool.map(work, jobs))
    if save is not None and keys is not None:
        dump(dict(zip(keys, results, strict=True)), save)
    return results

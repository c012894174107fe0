"""`src.utils`: the parallel evaluator, retries, and references that keep their tuples."""

import functools
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..references import decoded, encoded

DEFAULT_WORKERS = 4


class TupleEncoder:
    """Marks tuples so that JSON keeps them."""

    encode = staticmethod(encoded)
    decode = staticmethod(decoded)


class TupleJSONLConverter:
    """JSON lines whose tuples survive."""

    @staticmethod
    def load_file(path: str | Path, tuple_decode: bool = True) -> list[Any]:
        """All lines of a file."""
        with open(path, encoding="utf-8") as lines:
            return [TupleJSONLConverter.loads(line) if tuple_decode else json.loads(line) for line in lines]

    @staticmethod
    def loads(line: str) -> Any:
        """One line."""
        return decoded(json.loads(line))

    @staticmethod
    def dumps(value: Any) -> str:
        """A value as one line."""
        return json.dumps(encoded(value), ensure_ascii=False)


def parallel_batch(default_workers: int = DEFAULT_WORKERS) -> Callable[[Callable[..., Any]], Callable[..., list[Any]]]:
    """Lets `evaluate` be written for one prediction: called with lists, it is run in threads and keeps their order.

    The pool has `self.max_workers` threads, `default_workers` where that is missing. assay itself calls the single form
    and keeps the pool full over the whole run.
    """

    def decorate(single: Callable[..., Any]) -> Callable[..., list[Any]]:
        @functools.wraps(single)
        def evaluate(
            self: Any, preds: list[Any], refs: list[Any], pred_info_list: list[Any], **options: Any
        ) -> list[Any]:
            for name, given in (("preds", preds), ("refs", refs), ("pred_info_list", pred_info_list)):
                if not isinstance(given, list):
                    raise ValueError(f"evaluate takes lists; {name} is a {type(given).__name__}")
            if not len(preds) == len(refs) == len(pred_info_list):
                raise ValueError(f"{len(preds)} preds, {len(refs)} refs and {len(pred_info_list)} infos do not match")
            with ThreadPoolExecutor(max(1, min(workers_of(self, default_workers), len(preds)))) as pool:
                rows: Iterator[Any] = pool.map(
                    lambda row: single(self, *row, **options), zip(preds, refs, pred_info_list, strict=True)
                )
                return list(rows)

        evaluate.single = single  # type: ignore[attr-defined]
        evaluate.default_workers = default_workers  # type: ignore[attr-defined]
        return evaluate

    return decorate


def workers_of(evaluator: Any, default: int) -> int:
    """How many threads an evaluator asks for."""
    return max(1, int(getattr(evaluator, "max_workers", None) or default))


def retry(max_retries: int = 3, sleep_second: float = 5, default: Any = None) -> Callable[[Any], Any]:
    """Calls a function again when it raises, with a pause between; the last error comes out."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*values: Any, **options: Any) -> Any:
            for attempt in range(max_retries):
                try:
                    return function(*values, **options)
                except Exception:
                    if attempt + 1 >= max_retries:
                        raise
                    time.sleep(sleep_second)
            return default

        return call

    return decorate

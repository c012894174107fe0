"""`src.utils`: the parallel evaluator, retries, references with tuples, and Parquet with audio clips."""

import functools
import importlib
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ....core import Audio, library
from ...protocol import is_upstream
from ...shapes import Function, Record
from ..eras import supplied
from ..references import decoded, encoded
from ..spoken import RATE

DEFAULT_WORKERS = 4


class TupleEncoder:
    """Marks tuples so that JSON keeps them."""

    encode = staticmethod(encoded)
    decode = staticmethod(decoded)


class TupleJSONLConverter:
    """JSON lines that preserve tuples."""

    @staticmethod
    def load_file(
        path: str | Path,
        tuple_decode: bool = True,
    ) -> list[Any]:
        """Return all lines of a file."""
        with open(path, encoding="utf-8") as lines:
            return [
                TupleJSONLConverter.loads(line) if tuple_decode else json.loads(line)
                for line in lines
            ]

    @staticmethod
    def loads(line: str) -> Any:
        """Parse one line of JSON."""
        return decoded(json.loads(line))

    @staticmethod
    def dumps(value: object) -> str:
        """Format a value as one line."""
        return json.dumps(encoded(value), ensure_ascii=False)


def parallel_batch(
    default_workers: int = DEFAULT_WORKERS,
) -> Callable[[Function], Callable[..., list[Any]]]:
    """Let `evaluate` be written for one prediction: when called with lists, it runs in threads and keeps their order.

    The pool has `self.max_workers` threads, or `default_workers` if that is missing. assay itself calls the single
    form and keeps the pool full over the whole run.
    """

    def decorate(single: Function) -> Callable[..., list[Any]]:
        @functools.wraps(single)
        def evaluate(
            self: object,
            preds: list[Any],
            refs: list[Any],
            pred_info_list: list[Any],
            **options: object,
        ) -> list[Any]:
            for name, values in (
                ("preds", preds),
                ("refs", refs),
                ("pred_info_list", pred_info_list),
            ):
                if not isinstance(values, list):
                    raise ValueError(
                        f"evaluate takes lists; {name} is a {type(values).__name__}"
                    )
            if not len(preds) == len(refs) == len(pred_info_list):
                raise ValueError(
                    f"{len(preds)} preds, {len(refs)} refs and {len(pred_info_list)} infos do not match"
                )
            if not preds and not is_upstream("televal"):
                return []
            with ThreadPoolExecutor(
                min(workers_of(self, default_workers), len(preds))
            ) as pool:
                rows: Iterator[Any] = pool.map(
                    lambda row: single(self, *row, **options),
                    zip(preds, refs, pred_info_list, strict=True),
                )
                return list(rows)

        evaluate.single = single  # type: ignore[attr-defined]
        evaluate.default_workers = default_workers  # type: ignore[attr-defined]
        return evaluate

    return decorate


def workers_of(evaluator: object, default: int) -> int:
    """Return the number of threads that an evaluator requests."""
    return max(1, int(getattr(evaluator, "max_workers", None) or default))


def retry(
    max_retries: int = 3,
    sleep_second: float = 5,
    default: object = None,
) -> Callable[[Any], Any]:
    """Repeat a function that raises, with a pause between attempts; the last error is raised."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*values: object, **options: object) -> Any:
            for attempt in range(max_retries):
                try:
                    return function(*values, **options)
                except Exception:  # any exception of a user's function is retried; the last one is raised
                    if attempt + 1 >= max_retries:
                        raise
                    time.sleep(sleep_second)
            return default

        return call

    return decorate


def make_object(class_name: str, **kwargs: object) -> Any:
    """Call the object at a dotted path with the arguments."""
    return _made(importlib.import_module, class_name, kwargs)


def names_for(guest: Any) -> Record:
    """Return `make_object` for one user's checkout, which also finds the user's modules."""
    return {
        "make_object": lambda class_name, **kwargs: _made(
            guest.import_module,
            class_name,
            kwargs,
        )
    }


def _made(
    load: Callable[[str], Any],
    class_name: str,
    options: Record,
) -> Any:
    module, dot, name = class_name.rpartition(".")
    if not dot:
        raise ValueError(f"{class_name!r} is not a dotted class path")
    with supplied(class_name):
        return getattr(load(module), name)(**options)


def preprocess_audio(
    source: object,
    target_sr: int = RATE,
    device: object = None,
) -> Any:
    """Return an audio clip, given by path or as bytes, as a tensor of one channel at a rate."""
    if not isinstance(source, (str, bytes)):
        raise ValueError(
            f"an audio clip is a path or bytes, not a {type(source).__name__}"
        )
    torch = library(
        "torch",
        "torch, which preprocess_audio gives its tensors of,",
        "assay[hf]",
    )
    import soundfile

    samples, rate = soundfile.read(
        io.BytesIO(source) if isinstance(source, bytes) else source, dtype="float32"
    )
    if rate != target_sr:
        samples = _resampled(source, target_sr)
    wave = torch.from_numpy(
        samples.reshape(len(samples), -1)
        .mean(
            axis=1,
            keepdims=True,
        )
        .T.copy()
    )
    if device is None:
        return wave
    return wave.to(device)


def _resampled(
    source: str | bytes,
    rate: int,
) -> Any:
    from ....media import decode_audio

    return decode_audio(
        Audio(source if isinstance(source, bytes) else Path(source)),
        rate=rate,
        channels=1,
    ).samples


def parse_repo_and_pattern(path: str) -> dict[str, str]:
    """Split the location of Parquet files: a local folder, or a folder of a repository on the hub."""
    if os.path.exists(path):
        return {"type": "local", "repo": os.path.abspath(path), "pattern": "*.parquet"}
    parts = path.strip("/").split("/")
    if len(parts) > 2:
        return {
            "type": "hf",
            "repo": "/".join(parts[:2]),
            "pattern": "/".join(parts[2:]),
        }
    raise ValueError(
        f"{path!r} is neither a folder here nor org/repo/folder on the hub"
    )


def load_and_process_parquet_dataset(
    repo_or_path: str,
    data_dir_pattern: str,
    audio_output_dir: str,
    key_col: str = "key",
    is_local: bool = False,
    tuple_decode: bool = True,
    extra_audio_keys: list[str] | None = None,
) -> list[Record]:
    """Return the rows of Parquet files; clips are written as WAV files, unless they exist, and named by path."""
    from ..spoken import as_wav, audio_bytes
    from .dataset import hub_rows, table_of

    if data_dir_pattern.endswith(".parquet"):
        files = data_dir_pattern
    else:
        files = f"{data_dir_pattern}/*.parquet"
    is_here = is_local or os.path.isdir(repo_or_path)
    rows = table_of(
        list(
            _local_rows(repo_or_path, files)
            if is_here
            else hub_rows(repo_or_path, files)
        )
    )
    folder = Path(audio_output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    columns = ("audio", *(extra_audio_keys or [f"user_audio{n}" for n in range(1, 5)]))
    records: list[Record] = rows.to_dict(orient="records")
    for row in records:
        row["answer"] = _answer(row.get("answer"), tuple_decode)
        for name in columns:
            if data := audio_bytes(row.get(name)):
                if name == "audio":
                    stem = f"{row[key_col]}"
                else:
                    stem = f"{row[key_col]}_{name}"
                path = Path(os.path.abspath(folder / f"{stem}.wav"))
                if not path.exists():
                    path.write_bytes(as_wav(Audio(data))[0])
                row[name] = str(path)
    return records


def _local_rows(folder: str, files: str) -> Iterator[Record]:
    import pyarrow.parquet as parquet

    if Path(folder).is_file():
        matching = [Path(folder)]
    else:
        matching = sorted(Path(folder).glob(files))
    if not matching:
        raise FileNotFoundError(f"no Parquet files: {folder}/{files}")
    for file in matching:
        for batch in parquet.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()


def _answer(answer: object, tuple_decode: bool) -> Any:
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except ValueError:
            return answer
    if answer and tuple_decode:
        return decoded(answer)
    return answer

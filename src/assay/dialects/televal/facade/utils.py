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
from types import ModuleType
from typing import Any

from ....core import Audio, library
from ....media import decode_audio
from ...guest import Guest
from ...protocol import is_upstream
from ...shapes import Function, Record
from ..audio_clips import RATE, as_wav, audio_bytes
from ..eras import supplied
from ..structures import decoded, encoded

DEFAULT_WORKERS = 4
MEMORY_AUDIO = ("user_audio1", "user_audio2", "user_audio3", "user_audio4")
"""Audio columns of TELEVAL's dialogues, in addition to `audio`."""


class TupleEncoder:
    """Marks tuples in JSON, so that they are restored when it is read."""

    encode = staticmethod(encoded)
    decode = staticmethod(decoded)


class TupleJSONLConverter:
    """Reads and writes JSON lines. Tuples are preserved."""

    @staticmethod
    def load_file(
        path: str | Path,
        tuple_decode: bool = True,
    ) -> list[object]:
        """Return all lines of a file."""
        with open(path, encoding="utf-8") as lines:
            return [
                TupleJSONLConverter.loads(line) if tuple_decode else json.loads(line)
                for line in lines
            ]

    @staticmethod
    def loads(line: str) -> object:
        """Parse one line of JSON."""
        return decoded(json.loads(line))

    @staticmethod
    def dumps(value: object) -> str:
        """Format a value as one line."""
        return json.dumps(encoded(value), ensure_ascii=False)


def parallel_batch(
    default_workers: int = DEFAULT_WORKERS,
) -> Callable[[Function], Callable[..., list[Record]]]:
    """Decorate an `evaluate` that judges one prediction, so that it takes lists and judges them in a thread pool.

    The pool has `self.max_workers` threads, or `default_workers` if that is missing.
    Results keep the order of the predictions. assay calls the undecorated function, so
    that one pool serves the whole run.
    """

    def decorate(single: Function) -> Callable[..., list[Record]]:
        @functools.wraps(single)
        def evaluate(
            self: object,
            preds: list[object],
            refs: list[object],
            pred_info_list: list[object],
            **options: object,
        ) -> list[Record]:
            batch = {"preds": preds, "refs": refs, "pred_info_list": pred_info_list}
            for name, values in batch.items():
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
            workers = min(workers_of(self, default_workers), len(preds))
            judge = functools.partial(single, self, **options)
            with ThreadPoolExecutor(workers) as pool:
                return list(pool.map(judge, *batch.values()))

        evaluate.single = single  # type: ignore[attr-defined]
        evaluate.default_workers = default_workers  # type: ignore[attr-defined]
        return evaluate

    return decorate


def workers_of(
    evaluator: object,
    default: int,
) -> int:
    """Return the number of threads that an evaluator sets as `max_workers`, or `default`."""
    return max(1, int(getattr(evaluator, "max_workers", None) or default))


def retry(
    max_retries: int = 3,
    sleep_second: float = 5,
    default: object = None,
) -> Callable[[Function], Function]:
    """Repeat a function that raises, with a pause between attempts. Raise the last error."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*values: object, **options: object) -> object:
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


def make_object(class_name: str, **kwargs: object) -> object:
    """Create an object of the class at a dotted path, with these arguments."""
    return _made(importlib.import_module, class_name, kwargs)


def names_for(guest: Guest) -> Record:
    """Return a `make_object` for one user's checkout, which also finds classes in the user's modules."""
    return {
        "make_object": lambda class_name, **kwargs: _made(
            guest.import_module,
            class_name,
            kwargs,
        )
    }


def _made(
    load: Callable[[str], ModuleType],
    class_name: str,
    options: Record,
) -> object:
    module, dot, name = class_name.rpartition(".")
    if not dot:
        raise ValueError(f"{class_name!r} is not a dotted class path")
    with supplied(class_name):
        return getattr(load(module), name)(**options)


def parse_repo_and_pattern(path: str) -> dict[str, str]:
    """Split a location of Parquet files, a local folder or `org/repo/folder` on the hub, into its parts."""
    if os.path.exists(path):
        return {"type": "local", "repo": os.path.abspath(path), "pattern": "*.parquet"}
    organisation, _, rest = path.strip("/").partition("/")
    name, _, pattern = rest.partition("/")
    if not pattern:
        raise ValueError(
            f"{path!r} is neither a folder here nor org/repo/folder on the hub"
        )
    return {"type": "hf", "repo": f"{organisation}/{name}", "pattern": pattern}


def load_and_process_parquet_dataset(
    repo_or_path: str,
    data_dir_pattern: str,
    audio_output_dir: str,
    key_col: str = "key",
    is_local: bool = False,
    tuple_decode: bool = True,
    extra_audio_keys: list[str] | None = None,
) -> list[Record]:
    """Return the rows of Parquet files. Each audio clip is written to a WAV file and replaced by its path.

    WAV files that exist already are kept.
    """
    from .dataset import hub_rows, table_of

    files = data_dir_pattern
    if not files.endswith(".parquet"):
        files += "/*.parquet"
    if is_local or os.path.isdir(repo_or_path):
        rows = _local_rows(repo_or_path, files)
    else:
        rows = hub_rows(repo_or_path, files)
    folder = Path(audio_output_dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["audio", *(extra_audio_keys or MEMORY_AUDIO)]
    records: list[Record] = table_of(list(rows)).to_dict(orient="records")
    for row in records:
        row["answer"] = read_answer(row.get("answer"), tuple_decode)
        for name in columns:
            data = audio_bytes(row.get(name))
            if data is None:
                continue
            path = folder / f"{audio_stem(row[key_col], name)}.wav"
            if not path.exists():
                path.write_bytes(as_wav(Audio(data))[0])
            row[name] = str(path)
    return records


def _local_rows(
    folder: str,
    files: str,
) -> Iterator[Record]:
    from pyarrow import parquet

    matching = sorted(Path(folder).glob(files))
    if not matching:
        raise FileNotFoundError(f"no Parquet files: {folder}/{files}")
    for file in matching:
        yield from parquet.read_table(file).to_pylist()


def preprocess_audio(
    source: object,
    target_sr: int = RATE,
    device: object = None,
) -> Any:
    """Return an audio clip, given by path or as bytes, as a torch tensor with one channel and the rate `target_sr`."""
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

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    samples, rate = soundfile.read(file, dtype="float32")
    if rate != target_sr:
        clip = Audio(source if isinstance(source, bytes) else Path(source))
        samples = decode_audio(clip, rate=target_sr, channels=1).samples
    channels = samples.reshape(len(samples), -1)
    wave = torch.from_numpy(channels.mean(axis=1, keepdims=True).T.copy())
    return wave if device is None else wave.to(device)


def audio_stem(
    key: object,
    column: str,
) -> str:
    """Return the file name of a row's audio clip without suffix: `<key>` or `<key>_<column>`."""
    if column == "audio":
        return str(key)
    return f"{key}_{column}"


def read_answer(
    answer: object,
    tuple_decode: bool = True,
) -> object:
    """Parse a reference that is stored as JSON, and restore its tuples. Text that is not JSON is returned unchanged."""
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except ValueError:
            return answer
    if answer and tuple_decode:
        return decoded(answer)
    return answer

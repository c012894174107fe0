"""`vlmeval.smp.file`: reading and writing by suffix, `$LMUData`, downloads, checksums."""

import hashlib
import os
from pathlib import Path
from typing import Any

from .....datasets.declared_fetch import fetch_declared
from .....datasets.suffix_files import dump_by_suffix, load_by_suffix
from .....store.file_ledger import FileLedger
from ....kits.upstream_tables import dump_table, is_table, load_table
from ...era import upstreams_rule
from ...formats import evaluation_format, prediction_format
from ...places import data_root
from ...session import session

__all__ = [
    "LMUDataRoot", "download_file", "dump", "get_eval_file_format", "get_intermediate_file_path",
    "get_pred_file_format", "get_pred_file_path", "load", "ls", "md5",
]  # fmt: skip


def load(f: str | Path, fmt: str | None = None) -> Any:
    """What a file holds; the prediction file of the run at hand comes from the run's journal."""
    served = session.served_for(f)
    if served is not None:
        return served()
    if upstreams_rule() and is_table(f, fmt):
        return load_table(f, fmt)
    return load_by_suffix(f, fmt, trust_pickle=session.trust_pickle)


def dump(data: Any, f: str | Path, **kwargs: Any) -> None:
    """Writes data in the format the name says; what was written, `load` reads back."""
    with session.lock:
        session.served.pop(Path(f).expanduser().resolve(), None)
    path, folder = Path(f).expanduser().absolute(), session.work_folder
    if folder is not None and path.is_relative_to(folder):
        FileLedger(folder).claim(path)
    if upstreams_rule() and is_table(f, None) and hasattr(data, "to_csv"):
        dump_table(data, path)
    else:
        dump_by_suffix(data, f)


def LMUDataRoot() -> str:
    """`$LMUData` where that is a folder, else `~/LMUData`, which is made."""
    root = data_root()
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def download_file(url: str, filename: str | None = None) -> str:
    """A file from a URL, resumable; returns where it lies."""
    path = Path(filename) if filename is not None else Path(url.rpartition("/")[2])
    return str(fetch_declared(url, path, allow_private=session.allow_private_urls))


def md5(s: str) -> str:
    """MD5 of a file's bytes, or of a text that is no file."""
    if len(s) <= 4096 and "\0" not in s and os.path.isfile(s):
        with open(s, "rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return hashlib.md5(s.encode(), usedforsecurity=False).hexdigest()


def ls(dirname: str = ".", match: str | list[str] = "", mode: str = "all", level: int = 1) -> list[str]:
    """Paths in a folder whose names hold all of `match`; `mode` is all, file or dir."""
    wanted = [match] if isinstance(match, str) else match
    paths = [os.path.join(dirname, name) for name in sorted(os.listdir(dirname))]
    if level > 1:
        paths += [p for d in paths if os.path.isdir(d) for p in ls(d, "", "all", level - 1)]
    kept = [path for path in paths if all(piece in path for piece in wanted)]
    test = {"all": lambda path: True, "file": os.path.isfile, "dir": os.path.isdir}[mode]
    return [path for path in kept if test(path)]


def get_pred_file_format() -> str:
    """The suffix of prediction files: `$PRED_FORMAT`, by default xlsx."""
    return prediction_format()


def get_eval_file_format() -> str:
    """The suffix of score tables: `$EVAL_FORMAT`, by default csv."""
    return evaluation_format()


def get_pred_file_path(work_dir: str, model_name: str, dataset_name: str, use_env_format: bool = True) -> str:
    """Where the predictions of a model on a dataset lie."""
    suffix = prediction_format() if use_env_format else "xlsx"
    return os.path.join(work_dir, f"{model_name}_{dataset_name}.{suffix}")


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """A file beside the predictions: `x_acc.csv` of `x.xlsx` and `_acc`; without a format, the suffix decides."""
    if target_format is None:
        if suffix.endswith(("_tmp", "_response", "_processed")):
            target_format = "pkl"
        elif suffix.endswith(("_rating", "_config", "_meta")):
            target_format = "json"
        else:
            is_table = suffix.endswith(("_acc", "_fine", "_metrics"))
            target_format = evaluation_format() if is_table else prediction_format()
    return f"{eval_file.rpartition('.')[0]}{suffix}.{target_format}"

"""The toolkits' `smp.file`: reading and writing by suffix, `$LMUData`, downloads, names of result files.

For a run's prediction file, `load` returns the rows in the run's journal. A pickle is
read if `dump` wrote it on this machine, or if the user allows it. Under the toolkits'
own rules, pandas reads and writes tables, and guesses the types of cells. File names
use the formats that VLMEvalKit's environment variables choose.
"""

import csv
import hashlib
import mimetypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ....core import AssayError, UsageError
from ....store.file_ledger import FileLedger
from ...declared_fetch import fetch_declared
from ...shapes import Record
from ..base64_images import decode_base64_to_image_file
from ..state import as_upstream, current
from ..suffix_files import dump_by_suffix, load_by_suffix
from .misc import HFCacheRoot as HFCacheRoot
from .misc import toliststr

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "HFCacheRoot",
    "LMUDataRoot",
    "decode_img_omni",
    "download_file",
    "dump",
    "file_size",
    "get_eval_file_format",
    "get_file_extension",
    "get_intermediate_file_path",
    "get_pred_file_format",
    "get_pred_file_path",
    "load",
    "localize_df",
    "md5",
    "parse_file",
]


LONGEST_PATH = 4096
LONGEST_INDEX = 64
"""Maximum length of an image cell that refers to another row by index. A longer cell is a base64 image."""
FORMATS = ("xlsx", "tsv", "json")
"""Formats of prediction files; the first is the default."""
EVALUATION_FORMATS = ("csv", "json")
"""Formats of accuracy and score tables; the first is the default."""
_TABLES = {"xlsx": "", "csv": ",", "tsv": "\t"}
"""Suffixes of tables that pandas reads and writes under the toolkits' own rules, with their cell separators."""
_PICKLED = ("_tmp", "_response", "_processed")
_PLAIN = ("_rating", "_config", "_meta")
_TABLE_ENDINGS = ("_acc", "_fine", "_metrics")
"""Endings of result files' names that decide their format: pickle, JSON, or a table."""
_UNITS = {"GB": 2**30, "MB": 2**20, "KB": 2**10, "B": 1}


def data_root() -> Path:
    """Return the folder `$LMUData` if it exists, or else `~/LMUData`, which is not created."""
    named = os.environ.get("LMUData", "")  # noqa: SIM112 - the guest's own spelling
    if named and os.path.isdir(named):
        return Path(named)
    return Path.home() / "LMUData"


def LMUDataRoot() -> str:
    """Return the folder `$LMUData` if it exists, or else `~/LMUData`, and create it."""
    root = data_root()
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def load(
    f: str | os.PathLike[str],
    fmt: str | None = None,
) -> Any:
    """Return the content of a file: a data frame for a table, and plain data for any other format.

    A URL is first downloaded to `$LMUData/files`.
    """
    surroundings = current()
    served = surroundings.served_for(f)
    if served is not None:
        return served()
    if isinstance(f, str) and is_url(f):
        path = _downloaded(f)
    else:
        path = Path(f).expanduser()
    kind = (fmt or path.suffix).lstrip(".").lower()
    if as_upstream() and kind in _TABLES and path.is_file():
        return _table_by_pandas(path, kind)
    return load_by_suffix(path, fmt, trust_pickle=surroundings.trust_pickle)


def dump(
    data: object,
    f: str | os.PathLike[str],
    **kwargs: Any,
) -> None:
    """Write data in the format of the file's suffix. `load` reads it back."""
    surroundings = current()
    surroundings.unserve(f)
    path = Path(f).expanduser().absolute()
    folder = surroundings.work_folder
    if folder is not None and path.is_relative_to(folder):
        FileLedger(folder).claim(path)
    if as_upstream() and path.suffix[1:].lower() in _TABLES and hasattr(data, "to_csv"):
        _dump_by_pandas(data, path)
    else:
        dump_by_suffix(data, path, kwargs.get("fmt"))


def _table_by_pandas(
    path: Path,
    kind: str,
) -> "DataFrame":
    """Read a table with pandas, which converts strings such as `NA`, `1` and `True`."""
    import pandas

    if kind == "xlsx":
        return pandas.read_excel(path)
    return pandas.read_csv(path, sep=_TABLES[kind])


def _dump_by_pandas(
    data: "DataFrame",
    path: Path,
) -> None:
    """Write a data frame to a table file with pandas; in csv and tsv, every cell is quoted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix[1:].lower()
    if kind == "xlsx":
        data.to_excel(path, index=False)
    else:
        data.to_csv(
            path,
            sep=_TABLES[kind],
            index=False,
            encoding="utf-8",
            quoting=csv.QUOTE_ALL,
        )


def is_url(text: str) -> bool:
    """Return True if a string is a web address."""
    if (
        len(text) > LONGEST_PATH
        or not text.startswith(("http://", "https://", "ftp://"))
        or " " in text
    ):
        return False
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return False
    return "." in host or host == "localhost"


def _downloaded(url: str) -> Path:
    name = os.path.basename(urlsplit(url).path)
    path = data_root() / "files" / name
    if path.exists():
        return path
    return Path(download_file(url, str(path)))


def download_file(
    url: str,
    filename: str | None = None,
) -> str:
    """Download the file at a URL, unless it already exists, and return its path.

    The download can be resumed. Private addresses are refused.
    """
    if filename is not None:
        path = Path(filename)
    else:
        path = Path(url.rpartition("/")[2])
    try:
        return str(
            fetch_declared(url, path, allow_private=current().allow_private_urls)
        )
    except AssayError:
        raise
    except OSError as error:
        raise UsageError(
            f"cannot write the download: {error.strerror}", where=str(path)
        ) from error


def md5(s: str) -> str:
    """Return an MD5 as hex: of the file's bytes if `s` is the path of a file, otherwise of the string `s`."""
    if len(s) <= LONGEST_PATH and "\0" not in s and os.path.isfile(s):
        with open(s, "rb") as stream:
            return hashlib.file_digest(
                stream, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
    return hashlib.md5(
        s.encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


def parse_file(s: str) -> tuple[str | None, str]:
    """Return the media type and the path of the file in `s`.

    The result is `(None, s)` for plain text, and `("url", s)` for a web page. Data URLs
    and media URLs become local files.
    """
    if s != "." and len(s) <= LONGEST_PATH and "\0" not in s and os.path.exists(s):
        if not os.path.isfile(s):
            if as_upstream():
                raise AssertionError(f"{s} is a folder")
            return None, s
        return _media_type(s) or "unknown", s
    if s.startswith("data:image/"):
        return parse_file(media_path(s))
    if is_url(s):
        media_type = _media_type(urlsplit(s).path)
        if media_type:
            return (media_type, media_path(s))
        return ("url", s)
    return None, s


def _media_type(path: str) -> str | None:
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".webp":
        return "image/webp"
    return mimetypes.types_map.get(suffix)


def media_path(source: str) -> str:
    """Return the path of a local file for a data URL (decoded), an http(s) URL (downloaded), or a path (unchanged)."""
    if source.startswith("data:"):
        _, _, encoded = source.partition("base64,")
        path = data_root() / "files" / f"{md5(encoded)}.png"
        if not path.exists():
            decode_base64_to_image_file(source, path)
        return str(path)
    if source.startswith(("http://", "https://")):
        suffix = os.path.splitext(urlsplit(source).path)[1].lower()
        path = data_root() / "files" / f"{md5(source)}{suffix}"
        return str(
            fetch_declared(source, path, allow_private=current().allow_private_urls)
        )
    return source


def file_size(
    f: str,
    unit: str = "GB",
) -> float:
    """Return the size of a file in `unit`: B, KB, MB or GB."""
    return os.stat(f).st_size / _UNITS[unit]


def get_pred_file_format() -> str:
    """Return the suffix of prediction files: `$PRED_FORMAT`, by default xlsx."""
    return _chosen("PRED_FORMAT", FORMATS)


def get_eval_file_format() -> str:
    """Return the suffix of accuracy and score tables: `$EVAL_FORMAT`, by default csv."""
    return _chosen("EVAL_FORMAT", EVALUATION_FORMATS)


def _chosen(
    variable: str,
    formats: tuple[str, ...],
) -> str:
    chosen = os.environ.get(variable, "").lower() or formats[0]
    if chosen not in formats:
        raise UsageError(
            f"{variable} is {chosen!r}", fix=f"one of {', '.join(formats)}"
        )
    return chosen


def get_pred_file_path(
    work_dir: str,
    model_name: str,
    dataset_name: str,
    use_env_format: bool = True,
) -> str:
    """Return the path of the file with a model's predictions on a dataset."""
    suffix = get_pred_file_format() if use_env_format else "xlsx"
    return os.path.join(work_dir, f"{model_name}_{dataset_name}.{suffix}")


def get_file_extension(file_path: str) -> str:
    """Return the text after the last dot of a path."""
    return file_path.split(".")[-1]


def get_intermediate_file_path(
    eval_file: str,
    suffix: str,
    target_format: str | None = None,
) -> str:
    """Return the path of a result file next to the predictions: `x_acc.csv` for `x.xlsx` and `_acc`.

    Without `target_format`, `suffix` decides the format.
    """
    if target_format is None:
        if suffix.endswith(_PICKLED):
            target_format = "pkl"
        elif suffix.endswith(_PLAIN):
            target_format = "json"
        elif suffix.endswith(_TABLE_ENDINGS):
            target_format = get_eval_file_format()
        else:
            target_format = get_pred_file_format()
    return f"{_stem(eval_file)}{suffix}.{target_format}"


def _stem(path: str) -> str:
    return path.rpartition(".")[0] or path


def decode_img_omni(tup: tuple[str, Any, Any]) -> list[str]:
    """Write the images of a row to files, unless they exist, and return the paths.

    `tup` is `(folder, base64 string or a list of them, path or paths)`.
    """
    root, cell, path_cell = tup
    images = toliststr(cell)
    paths = toliststr(path_cell)
    count = len(images)
    if count > 1 and len(paths) == 1:
        stem, suffix = os.path.splitext(paths[0])
        paths = [f"{stem}_{number}{suffix}" for number in range(count)]
    if count != len(paths):
        raise ValueError(f"{count} images for {len(paths)} paths")
    files: list[str] = []
    for path, image in zip(paths, images, strict=True):
        file = os.path.join(root, path)
        files.append(file)
        if len(image) <= LONGEST_INDEX:
            continue
        if not os.path.exists(file):
            decode_base64_to_image_file(image, file)
    return files


def localize_df(
    data: "DataFrame",
    dname: str,
    nproc: int = 32,
) -> "DataFrame":
    """Write the images of a table to `$LMUData/images/<dname>`.

    Return the table with a column `image_path` instead of `image`.
    """
    root = os.path.join(LMUDataRoot(), "images", dname)
    os.makedirs(root, exist_ok=True)
    indices = map(str, data["index"])
    images = dict(zip(indices, data["image"], strict=True))
    if "image_path" in data:
        path_cells = list(data["image_path"])
    else:
        path_cells = [f"{_row_with_image(index, images)}.jpg" for index in images]
    files_by_row = [
        decode_img_omni((root, image, path_cell))
        for image, path_cell in zip(data["image"], path_cells, strict=True)
    ]
    data.pop("image")
    if "image_path" not in data:
        data["image_path"] = [
            files[0] if len(files) == 1 else files for files in files_by_row
        ]
    return data


def _row_with_image(
    index: str,
    images: Record,
) -> str:
    """Return the index of the row that holds the image for row `index`. A cell may refer to another row's image."""
    cell = images[index]
    if not isinstance(cell, str) or len(cell) > LONGEST_INDEX:
        return index
    if len(images.get(cell, "")) <= LONGEST_INDEX:
        raise ValueError(f"row {index} names {cell!r}, which itself has no image")
    return cell

"""`datasets.load_dataset` for testbed files: assay runs loading scripts, the library loads anything else.

Version 4 and later of the library refuse loading scripts. A call in the user's own file
with the path of the folder gives permission to run its script. Rows go to an Arrow
file as the builder yields them, so that a dataset of any size can be opened.
"""

import inspect
import re
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..shapes import Record
from .claims import defines_builder
from .data_registry import SHIPPED
from .script import ScriptData
from .testbed_loading import guest_for, register_folder

_BOUND = r"-?\d*%?"
# "train", "train[:100]", "test[10%:20%]"
_PART = re.compile(rf"(?P<name>[\w.-]+)(?:\[(?P<first>{_BOUND}):(?P<last>{_BOUND})\])?")
_LIBRARY_OPTIONS = (
    "trust_remote_code",
    "cache_dir",
    "download_mode",
    "verification_mode",
    "num_proc",
    "token",
)
"""Options of `load_dataset` that only the library's own loader supports."""


def load_dataset(
    path: str,
    name: str | None = None,
    **options: Any,
) -> object:
    """Return a dataset, or a dictionary with one per split.

    A local loading script is run, the library loads the rest.
    """
    script = script_of(path)
    if script is None:
        return _by_library(path, name, options)
    split, streams = options.pop("split", None), options.pop("streaming", False)
    settings = {
        key: value
        for key, value in {"config_name": name, **options}.items()
        if value is not None and key not in _LIBRARY_OPTIONS
    }
    if "data_dir" in settings:
        settings["data_dir"] = str(Path(settings["data_dir"]).expanduser())
    if script.parent.name == script.stem:
        register_folder(script.parent, script.stem in SHIPPED)
    data = ScriptData(script, guest_for(script), settings)
    if split is None:
        return _every_split(data, streams)
    if isinstance(split, (list, tuple)):
        return [_of_split(data, str(part), streams) for part in split]
    return _of_split(data, str(split), streams)


def script_of(path: object) -> Path | None:
    """Return the loading script for a path: `<path>/<name>.py` for a folder, or the file itself.

    `None` for other paths.
    """
    location = Path(str(path)).expanduser()
    if location.is_dir():
        script = location / f"{location.resolve().name}.py"
    else:
        script = location
    if defines_builder(script):
        return script.resolve()
    return None


def _by_library(
    path: str,
    name: str | None,
    options: Record,
) -> object:
    import datasets

    if "trust_remote_code" not in inspect.signature(datasets.load_dataset).parameters:
        options.pop("trust_remote_code", None)
    return datasets.load_dataset(path, name, **options)


def _every_split(data: ScriptData, streams: bool) -> object:
    import datasets

    splits: Record = {}
    for split in data.splits:
        rows = _rows(data, split, streams)
        if streams or len(rows):
            splits[split] = rows
        else:
            warnings.warn(
                f"the split {split!r} of {data.script} has no rows and is left out",
                stacklevel=3,
            )
    if streams:
        return datasets.IterableDatasetDict(splits)
    return datasets.DatasetDict(splits)


def _of_split(
    data: ScriptData,
    split: str,
    streams: bool,
) -> object:
    """Return the rows for a split expression: `train`, `validation[:10%]`, or several parts joined by `+`."""
    import datasets

    chosen = [_part(data, part.strip(), streams) for part in split.split("+")]
    if len(chosen) == 1:
        return chosen[0]
    return datasets.concatenate_datasets(chosen)


def _part(data: ScriptData, text: str, streams: bool) -> object:
    part = _PART.fullmatch(text)
    if part is None:
        name = text
    else:
        name = part["name"]
    rows = _rows(data, data.split_name(name), streams)
    if part is None or part["first"] is None:
        return rows
    size = len(rows)
    first = _position(part["first"], size)
    last = _position(part["last"], size)
    return rows.select(range(size)[first:last])


def _position(text: str, size: int) -> int | None:
    if not text:
        return None
    if text.endswith("%"):
        return round(int(text[:-1]) / 100 * size)
    return int(text)


def _rows(
    data: ScriptData,
    split: str,
    streams: bool,
) -> Any:
    from datasets.arrow_writer import ArrowWriter

    import datasets

    info = data.builder.info
    if streams:
        from datasets.iterable_dataset import ExamplesIterable

        # `from_generator` would hash its argument, and a builder cannot be hashed.
        source = ExamplesIterable(lambda: enumerate(data.examples(split)), {})
        return datasets.IterableDataset(
            source,
            info=info.copy(),
            split=datasets.NamedSplit(split),
        )
    folder = Path(_home().name)
    file = folder / f"{len(list(folder.iterdir()))}-{split}.arrow"
    with ArrowWriter(path=str(file), features=info.features) as writer:
        for example in data.examples(split):
            writer.write(example)
        writer.finalize()
    return datasets.Dataset.from_file(
        str(file),
        info=info.copy(),
        split=datasets.NamedSplit(split),
    )


@lru_cache(maxsize=1)
def _home() -> "tempfile.TemporaryDirectory[str]":
    """Return the folder for Arrow files, which is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="assay-datasets-")


NAMES = {"load_dataset": load_dataset}
__all__ = ("load_dataset",)

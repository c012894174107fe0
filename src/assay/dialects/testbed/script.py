"""Loading scripts: run the dataset builder of a script, which the library `datasets` refuses since version 4."""

import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import parse_qsl

from ...code.userfiles import file_digest
from ...core import (
    DataError,
    Fewshot,
    UnknownName,
    UsageError,
    blamed,
    digest_of,
    library,
)
from ...core.errors import ComponentError
from ..declared_fetch import fetch_declared
from ..guest import Guest
from ..shapes import Fields, Record
from .data_registry import SPLIT_NAMES
from .testbed_loading import only_class

CACHE = Path("~/.cache/assay/scripts")
MOST_GROWTH, SMALL = 200, 1 << 30
"""Limits for unpacking an archive: a result above `SMALL` bytes may be at most `MOST_GROWTH` times the archive."""


class Downloads:
    """A download manager for loading scripts that refuses private addresses and unsafe archives."""

    def __init__(
        self,
        base: Path,
        *,
        allow_private: bool = False,
        cache: Path | None = None,
    ) -> None:
        self.base = base
        self.manual_dir: str | None = None
        self._allow_private = allow_private
        self._cache = (cache or CACHE).expanduser()

    def download(self, url_or_urls: object) -> object:
        """Download URLs, and return the local paths in the same structure. Local paths are returned unchanged."""
        return _mapped(url_or_urls, self._local)

    def extract(self, path_or_paths: object) -> object:
        """Unpack archives, and return their folders in the same structure.

        A path that is not an archive is returned unchanged.
        """
        return _mapped(path_or_paths, self._unpacked)

    def download_and_extract(self, url_or_urls: object) -> object:
        """Download files, unpack those that are archives, and return the local paths in the same structure."""
        return self.extract(self.download(url_or_urls))

    def iter_files(self, paths: object) -> Iterable[str]:
        """Return every file below the paths, as the library's own download manager does."""
        from datasets import DownloadManager

        files: Iterable[str] = DownloadManager().iter_files(paths)
        return files

    def iter_archive(self, path: object) -> Iterable[tuple[str, IO[bytes]]]:
        """Return the members of an archive, each with a stream of its bytes, as the library does."""
        from datasets import DownloadManager

        members: Iterable[tuple[str, IO[bytes]]] = DownloadManager().iter_archive(
            str(path)
        )
        return members

    def _local(self, url: object) -> str:
        """Return the local path of a file. A URL is first downloaded to the cache, under a name derived from it."""
        text = str(url)
        if not text.startswith(("http://", "https://")):
            return str(self.base / Path(text).expanduser())
        address = text.partition("?")[0]
        name = Path(address).name or "data"
        digest = hashlib.sha256(text.encode()).hexdigest()
        target = self._cache / f"{digest[:16]}-{name[-40:]}"
        file = fetch_declared(
            text,
            target,
            allow_private=self._allow_private,
        )
        return str(file)

    def _unpacked(self, path: object) -> str:
        """Return the cache folder with the files of an archive, which is unpacked on first use."""
        archive = Path(str(path))
        if archive.is_file() and zipfile.is_zipfile(archive):
            unpack = _unzip
        elif archive.is_file() and tarfile.is_tarfile(archive):
            unpack = _untar
        else:
            return str(archive)
        digest = hashlib.sha256(str(archive.resolve()).encode()).hexdigest()
        folder = self._cache / f"{archive.name}-{digest[:8]}"
        if not folder.is_dir():
            self._cache.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self._cache) as part:
                files = Path(part) / "files"
                files.mkdir()
                unpack(archive, files)
                files.rename(folder)
        return str(folder)


def _unzip(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            for member in members:
                if _leads_outside(member.filename):
                    raise _outside(archive, member.filename)
            # A member is never read beyond its declared size.
            _check_growth(archive, sum(member.file_size for member in members))
            opened.extractall(folder)
    except zipfile.BadZipFile as error:
        raise _damaged(archive, error) from error


def _untar(archive: Path, folder: Path) -> None:
    unpacked = 0
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                unpacked += member.size
                _check_growth(archive, unpacked)
                opened.extract(member, folder, filter="data")
    except tarfile.FilterError as error:
        raise _outside(archive, str(error)) from error
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise _damaged(archive, error) from error


def _leads_outside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive != ""


def _outside(archive: Path, what: str) -> DataError:
    return DataError(f"the archive leads outside its folder: {what}", file=str(archive))


def _damaged(archive: Path, error: Exception) -> DataError:
    return DataError(f"the archive is damaged: {error}", file=str(archive))


def _check_growth(archive: Path, unpacked: int) -> None:
    if unpacked > SMALL and unpacked > MOST_GROWTH * archive.stat().st_size:
        reason = f"the archive would unpack to {unpacked / 2**30:.1f} GiB, over {MOST_GROWTH} times its size"
        raise DataError(
            reason,
            file=str(archive),
            fix="unpack it yourself and give the folder",
        )


def _mapped(
    value: object,
    change: Callable[[Any], str],
) -> object:
    if isinstance(value, Mapping):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(inner, change) for inner in value]
    return change(value)


PREFERRED = ("validation", "val", "test", "dev")


@dataclass
class ScriptData:
    """The dataset of a loading script, with its splits."""

    script: Path
    guest: Guest = field(repr=False)
    options: Fields = field(default_factory=dict)
    """Options of the builder's configuration, such as `data_dir` and `images_dir`."""
    allow_private: bool = False
    _elsewhere: dict[str, "ScriptData"] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )
    """Copies of this object that read other data, by `FOLDER?option=value`."""

    def reading_from(self, data: str | None) -> "ScriptData":
        """Return a copy of this object with another data folder and options, given as `FOLDER?option=value`."""
        if data is None:
            return self
        if data not in self._elsewhere:
            folder, _, query = data.partition("?")
            options = dict(self.options)
            if folder:
                options["data_dir"] = str(Path(folder).expanduser().resolve())
            options.update(parse_qsl(query))
            self._elsewhere[data] = replace(self, options=options)
        return self._elsewhere[data]

    def of_split(self, split: str | None) -> "ScriptRows":
        """Return the rows of a split.

        If `split` is None, choose the first split with rows. Validation and test splits
        are tried first.
        """
        if split is not None:
            return ScriptRows(self, self.split_name(split))
        preferred = [name for name in PREFERRED if name in self.splits]
        for name in dict.fromkeys([*preferred, *self.splits]):
            rows = ScriptRows(self, name)
            if next(rows.rows(), None) is not None:
                return rows
        raise DataError(
            f"none of its splits ({', '.join(self.splits)}) has rows",
            file=str(self.script),
        )

    def split_name(self, split: str) -> str:
        """Return the name that the script uses for a split. Users may write `val` or `valid` for `validation`."""
        splits = self.splits
        name = split if split in splits else SPLIT_NAMES.get(split, split)
        if name not in splits:
            raise UnknownName(
                "split",
                split,
                splits,
                where=str(self.script),
                hint=f"it has {', '.join(splits)}",
            )
        return name

    def __iter__(self) -> Iterator[Fields]:
        for _, _, row in self.of_split(None).rows():
            yield row

    def shots(
        self,
        data: str | None,
        split: str | None,
    ) -> Fewshot:
        """Return the source of few-shot examples: the train split, if it exists and is not evaluated."""
        try:
            splits = self.reading_from(data).splits
        except (DataError, UsageError):
            return Fewshot()  # The same error is raised when the rows are opened.
        has_shots = "train" in splits and split != "train" and len(splits) > 1
        return Fewshot(split="train") if has_shots else Fewshot()

    @cached_property
    def splits(self) -> dict[str, Fields]:
        """The splits of the script, each with the arguments for `_generate_examples`."""
        builder = self.builder
        downloads = Downloads(self.script.parent, allow_private=self.allow_private)
        try:
            generators = builder._split_generators(downloads)
        except Exception as error:
            raise self._fault("cannot say its splits", error) from error
        return {str(generator.name): generator.gen_kwargs for generator in generators}

    def examples(self, split: str) -> Iterator[Record]:
        """Yield the examples of a split, each encoded with the features that the builder declares."""
        arguments = self.splits[split]
        builder = self.builder
        features = builder.info.features
        try:
            for _, example in builder._generate_examples(**arguments):
                yield (
                    features.encode_example(example)
                    if features is not None
                    else dict(example)
                )
        except Exception as error:
            raise self._fault(f"failed in split {split!r}", error) from error

    @cached_property
    def builder(self) -> Any:
        """The script's builder, created on first use."""
        datasets = library(
            "datasets", "datasets", "'assay[hf]'", where=str(self.script)
        )
        kind = only_class(
            self.guest.load(self.script),
            datasets.GeneratorBasedBuilder,
            "datasets.GeneratorBasedBuilder",
            str(self.script),
        )
        located = _with_folder(kind, self.options.get("data_dir"))
        try:
            return located(cache_dir=self._cache.name, **self.options)
        except Exception as error:
            raise self._fault("its builder cannot be made", error) from error

    @cached_property
    def _cache(self) -> "TemporaryDirectory[str]":
        """The folder for the builder's cache. It is deleted together with this object."""
        return TemporaryDirectory(prefix="assay-script-")

    def _fault(self, what: str, error: Exception) -> DataError:
        if isinstance(error, DataError):
            return error
        fix = "--data FOLDER is what the script gets as data_dir"
        return DataError(
            f"{what}: {blamed(ComponentError, error, '').what}",
            file=str(self.script),
            fix=None if "data_dir" in self.options else fix,
        )


def _with_folder(builder: Any, folder: str | None) -> Any:
    """Return a subclass of the builder whose configuration class has the attribute `data_dir`.

    Some constructors read this attribute of the class.
    """
    config = builder.BUILDER_CONFIG_CLASS
    located = type(
        config.__name__,
        (config,),
        {"data_dir": folder, "__module__": config.__module__},
    )
    return type(
        builder.__name__,
        (builder,),
        {"BUILDER_CONFIG_CLASS": located, "__module__": builder.__module__},
    )


@dataclass
class ScriptRows:
    """The rows of one split, with the interface of a data shard."""

    data: ScriptData
    split: str
    path: None = None
    columns: None = None
    known_length: None = None
    seekable: bool = False

    @property
    def name(self) -> str:
        """The script, the split, and a digest of the script, its options, and the size and time of its files."""
        state = {**self.data.options, "script": file_digest(self.data.script)}
        state["files"] = [
            [str(file), file.stat().st_size, file.stat().st_mtime_ns]
            for file in _paths(self.data.splits[self.split])
            if file.is_file()
        ]
        return f"{self.data.script.name}#{self.split} {digest_of(state)[:12]}"

    def rows(self) -> Iterator[tuple[int, int, Any]]:
        """Yield the rows in order, numbered from 1. If the script fails, yield its error as the last row."""
        number = 0
        try:
            for number, example in enumerate(self.data.examples(self.split), start=1):
                yield number, 0, example
        except DataError as error:
            yield number + 1, 0, error

    def row_at(self, number: int, offset: int) -> object:
        """Return the row with this number. All rows before it are read first."""
        return next(row for row_number, _, row in self.rows() if row_number == number)


def _paths(value: object) -> Iterator[Path]:
    """Yield the files among the arguments of a split's generator."""
    if isinstance(value, (str, Path)):
        yield Path(value)
        return
    if isinstance(value, Mapping):
        value = list(value.values())
    for inner in value if isinstance(value, (list, tuple)) else ():
        yield from _paths(inner)

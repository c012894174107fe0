"""Loading scripts: a `datasets` builder run without the library, and its downloads."""

import hashlib
import importlib.util
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import parse_qsl

from ...code.userfiles import file_digest
from ...core import (
    DataError,
    Fewshot,
    MissingExtra,
    UnknownName,
    UsageError,
    blamed,
    digest_of,
)
from ...core.errors import ComponentError
from ..declared_fetch import fetch_declared
from ..guest import Guest
from ..shapes import Fields, Record
from .data_registry import SPLIT_NAMES
from .testbed_loading import only_class

CACHE = Path("~/.cache/assay/scripts")
MOST_GROWTH, SMALL = 200, 1 << 30
"""The factor by which an archive may grow when unpacked, if the result has more than `SMALL` bytes."""


class Downloads:
    """The part of a download manager that loading scripts use."""

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

    def download(self, url_or_urls: object) -> Any:
        """Return local paths for URLs or paths, in the same structure."""
        return _mapped(url_or_urls, self._local)

    def extract(self, path_or_paths: object) -> Any:
        """Return the folders of unpacked archives. A path that is not an archive is returned unchanged."""
        return _mapped(path_or_paths, self._unpacked)

    def download_and_extract(self, url_or_urls: object) -> Any:
        """Download files, unpack those that are archives, and return the local paths."""
        return self.extract(self.download(url_or_urls))

    def iter_files(self, paths: Any) -> Iterator[str]:
        """Yield every file below the paths, sorted."""
        for path in [paths] if isinstance(paths, (str, Path)) else paths:
            location = Path(path)
            yield from (
                (str(f) for f in sorted(location.rglob("*")) if f.is_file())
                if location.is_dir()
                else [str(location)]
            )

    def iter_archive(self, path: Any) -> Iterator[tuple[str, IO[bytes]]]:
        """Yield the members of an archive, each with a stream of its bytes."""
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if not name.endswith("/"):
                        yield name, archive.open(name)
            return
        with tarfile.open(path) as tar:
            for member in tar:
                if member.isfile():
                    stream = tar.extractfile(member)
                else:
                    stream = None
                if stream is not None:
                    yield member.name, stream

    def _local(self, url: object) -> str:
        """Return the path of a file, which is downloaded first if it is an address."""
        text = str(url)
        if text.startswith(("http://", "https://")):
            return str(self._downloaded(text))
        path = Path(text).expanduser()
        if not path.is_absolute():
            path = self.base / path
        return str(path)

    def _downloaded(self, url: str) -> Path:
        """Download a file into the cache, under a name made of its address."""
        address = url.partition("?")[0]
        name = Path(address).name or "data"
        digest = hashlib.sha256(url.encode()).hexdigest()
        target = self._cache / f"{digest[:16]}-{name[-40:]}"
        return fetch_declared(url, target, allow_private=self._allow_private)

    def _unpacked(self, path: object) -> str:
        archive = Path(str(path))
        is_zip = archive.is_file() and zipfile.is_zipfile(archive)
        if not is_zip and not (archive.is_file() and tarfile.is_tarfile(archive)):
            return str(archive)
        folder = (
            self._cache
            / f"{archive.name}-{hashlib.sha256(str(archive.resolve()).encode()).hexdigest()[:8]}"
        )
        if folder.is_dir():
            return str(folder)
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            (_unzip if is_zip else _untar)(archive, part)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        part.rename(folder)
        return str(folder)


def _unzip(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            outside = next(
                (m.filename for m in members if _leads_outside(m.filename)), None
            )
            if outside is not None:
                raise _outside(archive, outside)
            # A member is never read beyond its declared size.
            _check_growth(archive, sum(member.file_size for member in members))
            opened.extractall(folder)
    except zipfile.BadZipFile as error:
        raise DataError(
            f"the archive is damaged: {error}", file=str(archive)
        ) from error


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
        raise DataError(
            f"the archive is damaged: {error}", file=str(archive)
        ) from error


def _leads_outside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive != ""


def _outside(archive: Path, what: str) -> DataError:
    return DataError(f"the archive leads outside its folder: {what}", file=str(archive))


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
) -> Any:
    if isinstance(value, Mapping):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(inner, change) for inner in value]
    return change(value)


PREFERRED = ("validation", "val", "test", "dev")


@dataclass
class ScriptData:
    """The rows of a loading script, by split."""

    script: Path
    guest: Guest = field(repr=False)
    options: Fields = field(default_factory=dict)
    """Options of the builder's configuration, such as `data_dir` and `images_dir`."""
    allow_private: bool = False
    _builder: Any = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _cache: Any = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _splits: dict[str, Fields] | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _elsewhere: dict[str, "ScriptData"] = field(
        default_factory=dict,
        init=False,
        repr=False,
        compare=False,
    )

    def reading_from(self, data: str | None) -> "ScriptData":
        """Return the same script for another data folder."""
        if data is None:
            return self
        if data not in self._elsewhere:
            folder, _, query = data.partition("?")
            if folder:
                location = {"data_dir": str(Path(folder).expanduser().resolve())}
            else:
                location = {}
            self._elsewhere[data] = replace(
                self, options={**self.options, **location, **dict(parse_qsl(query))}
            )
        return self._elsewhere[data]

    def of_split(self, split: str | None) -> "ScriptRows":
        """Return the rows of a split; by default the validation or test split, or else the first one with rows."""
        splits = self.splits()
        if split is not None:
            name = split if split in splits else SPLIT_NAMES.get(split)
            if name not in splits:
                raise UnknownName(
                    "split",
                    split,
                    splits,
                    where=str(self.script),
                    hint=f"it has {', '.join(splits)}",
                )
            return ScriptRows(self, str(name))
        order = [
            *(name for name in PREFERRED if name in splits),
            *(name for name in splits if name not in PREFERRED),
        ]
        for name in order:
            rows = ScriptRows(self, name)
            if next(iter(islice(rows.rows(), 1)), None) is not None:
                return rows
        raise DataError(
            f"none of its splits ({', '.join(splits)}) has rows", file=str(self.script)
        )

    def __iter__(self) -> Iterator[Fields]:
        for _, _, row in self.of_split(None).rows():
            yield row

    def shots(
        self,
        data: str | None,
        split: str | None,
    ) -> Fewshot:
        """Return the rows for shots: the train split, if it exists and is not the split that is evaluated."""
        try:
            splits = self.reading_from(data).splits()
        except (DataError, UsageError):
            return Fewshot()  # said again, and loudly, when its rows are opened
        if "train" in splits and split != "train" and len(splits) > 1:
            return Fewshot(split="train")
        return Fewshot()

    def splits(self) -> dict[str, Fields]:
        """Return the splits of the script, each with the arguments of its generator."""
        if self._splits is None:
            builder = self.builder
            try:
                generators = builder._split_generators(
                    Downloads(self.script.parent, allow_private=self.allow_private)
                )
            except Exception as error:
                raise self._fault("cannot say its splits", error) from error
            self._splits = {
                str(generator.name): generator.gen_kwargs for generator in generators
            }
        return self._splits

    def examples(self, split: str) -> Iterator[Record]:
        """Yield the examples of a split, encoded by the builder's features."""
        arguments = self.splits()[split]
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

    @property
    def builder(self) -> Any:
        """Return the script's builder, created on first use."""
        if self._builder is None:
            kind = self._class()
            self._cache = TemporaryDirectory(prefix="assay-script-")
            try:
                self._builder = kind(
                    cache_dir=self._cache.name,
                    **self.options,
                )
            except Exception as error:
                raise self._fault("its builder cannot be made", error) from error
        return self._builder

    def _class(self) -> Any:
        if importlib.util.find_spec("datasets") is None:
            raise MissingExtra(
                "datasets, which loading scripts are written for,",
                "'assay[hf]'",
                where=str(self.script),
            )
        import datasets

        builders = datasets.GeneratorBasedBuilder
        kind = only_class(
            self.guest.load(self.script),
            builders,
            "datasets.GeneratorBasedBuilder",
            str(self.script),
        )
        return _with_folder(kind, self.options.get("data_dir"))

    def _fault(self, what: str, error: Exception) -> DataError:
        if isinstance(error, DataError):
            return error
        if "data_dir" in self.options:
            fix = None
        else:
            fix = "--data FOLDER is what the script gets as data_dir"
        return DataError(
            f"{what}: {blamed(ComponentError, error, '').what}",
            file=str(self.script),
            fix=fix,
        )


def _with_folder(
    builder: type,
    folder: str | None,
) -> type:
    """Return the builder class with its data folder as a class attribute, because some constructors read it."""
    config: type = builder.BUILDER_CONFIG_CLASS  # type: ignore[attr-defined]
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
    """One split as a shard of rows."""

    data: ScriptData
    split: str
    path: None = None
    columns: None = None
    known_length: None = None
    seekable: bool = False

    @property
    def name(self) -> str:
        """Return script, split and digest, which identify the version of the data without reading it."""
        state = {**self.data.options, "script": file_digest(self.data.script)}
        files = [
            file for file in _paths(self.data.splits()[self.split]) if file.is_file()
        ]
        state["files"] = [
            [str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files
        ]
        return f"{self.data.script.name}#{self.split} {digest_of(state)[:12]}"

    def rows(self) -> Iterator[tuple[int, int, Any]]:
        """Yield the rows in order, counted from 1. If the script fails, the error is the last row."""
        number = 0
        try:
            for number, example in enumerate(self.data.examples(self.split), start=1):
                yield number, 0, example
        except DataError as error:
            yield number + 1, 0, error

    def row_at(self, number: int, offset: int) -> Any:
        """Return the row with this number, by reading all rows before it."""
        return next(row for row_number, _, row in self.rows() if row_number == number)


def _paths(value: object) -> Iterator[Path]:
    """Yield the files that a split's generator gets."""
    if isinstance(value, (str, Path)):
        yield Path(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _paths(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _paths(inner)

"""Downloads for loading scripts: what they call `dl_manager`.

Local paths come back as they are. An https URL is fetched once, kept under a name made of its address, and its digest
is printed: scripts declare none to check. Archives are unpacked beside it, never outside their folder.
"""

import hashlib
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from ...core import DataError
from ..declared_fetch import fetch_declared

CACHE = Path("~/.cache/assay/scripts")
MOST_GROWTH, SMALL = 200, 1 << 30
"""How many times its own size an archive may unpack to, where that is more than so many bytes."""


class Downloads:
    """The part of a download manager that loading scripts use."""

    def __init__(
        self, base: Path, *, allow_private: bool = False, cache: Path | None = None
    ) -> None:
        self.base = base
        self.manual_dir: str | None = None
        self._allow_private = allow_private
        self._cache = (cache or CACHE).expanduser()

    def download(self, url_or_urls: Any) -> Any:
        """Local paths for URLs or paths, in the shape in which they were given."""
        return _mapped(url_or_urls, self._local)

    def extract(self, path_or_paths: Any) -> Any:
        """The folders archives were unpacked into; what is no archive comes back as it is."""
        return _mapped(path_or_paths, self._unpacked)

    def download_and_extract(self, url_or_urls: Any) -> Any:
        """Both, one after the other."""
        return self.extract(self.download(url_or_urls))

    def iter_files(self, paths: Any) -> Iterator[str]:
        """Every file below the paths, sorted."""
        for path in [paths] if isinstance(paths, (str, Path)) else paths:
            place = Path(path)
            yield from (
                (str(f) for f in sorted(place.rglob("*")) if f.is_file())
                if place.is_dir()
                else [str(place)]
            )

    def iter_archive(self, path: Any) -> Iterator[tuple[str, IO[bytes]]]:
        """The members of an archive, each with a stream of its bytes."""
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if not name.endswith("/"):
                        yield name, archive.open(name)
            return
        with tarfile.open(path) as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield member.name, stream

    def _local(self, url: Any) -> str:
        text = str(url)
        if not text.startswith(("http://", "https://")):
            path = Path(text).expanduser()
            return str(path if path.is_absolute() else self.base / path)
        name = Path(text.partition("?")[0]).name or "data"
        target = (
            self._cache
            / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{name[-40:]}"
        )
        return str(fetch_declared(text, target, allow_private=self._allow_private))

    def _unpacked(self, path: Any) -> str:
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
            # A member is never read beyond the size it declares.
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
        what = f"the archive would unpack to {unpacked / 2**30:.1f} GiB, over {MOST_GROWTH} times its size"
        raise DataError(
            what, file=str(archive), fix="unpack it yourself and give the folder"
        )


def _mapped(value: Any, change: Callable[[Any], str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(inner, change) for inner in value]
    return change(value)

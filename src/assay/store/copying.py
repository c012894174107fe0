"""Copy a run folder to any URL that fsspec can write (`s3://…`, `gs://…`, `file://…`)."""

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import StoreError, UsageError, library
from ..core.errors import DiskFull
from .layout import Layout
from .ownership import is_manifest_of_ours

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def copy_run(layout: Layout, url: str) -> int:
    """Copy a run and return how many files were sent. Media that are already there are not sent again.

    `run.json` is sent last, because the numbers count only with it. A target that contains anything but a run, or
    the beginning of a copy of this run, is refused.
    """
    files, root = _filesystem(url)
    _refuse_foreign(files, root, url, layout)
    media = sorted(
        path
        for path in layout.media.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )
    # The journal comes first, because it tells a copy that broke off from other files.
    parts = [layout.journal, *media, layout.summary, layout.manifest]
    sent = 0
    try:
        for path in [path for path in parts if path.exists()]:
            there = f"{root.rstrip('/')}/{path.relative_to(layout.folder).as_posix()}"
            if (
                path in media
                and files.exists(there)
                and files.size(there) == path.stat().st_size
            ):
                continue  # Media are named by their content.
            files.makedirs(there.rpartition("/")[0], exist_ok=True)
            _send(files, path, there)
            sent += 1
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (DiskFull if is_full else StoreError)(
            f"cannot write there: {error.strerror or error}",
            where=url,
            fix="free some space and rerun the command"
            if is_full
            else "check the URL and who may write there",
        ) from error
    return sent


def _is_broken_off(
    files: "AbstractFileSystem",
    root: str,
    names: set[str],
    layout: Layout,
) -> bool:
    """Return True if a target without `run.json` holds the beginning of a copy of this run."""
    parts = {layout.journal.name, layout.summary.name, layout.media.name}
    if layout.journal.name not in names or not names <= parts:
        return False
    start = files.cat_file(f"{root.rstrip('/')}/{layout.journal.name}", 0, 1 << 20)
    if not start and names != {layout.journal.name}:
        return False
    with layout.journal.open("rb") as journal:
        return bool(journal.read(len(start)) == start)


def _refuse_foreign(
    files: "AbstractFileSystem", root: str, url: str, layout: Layout
) -> None:
    try:
        names = {
            str(name).rstrip("/").rpartition("/")[2]
            for name in files.ls(root, detail=False)
        }
        if not names:
            return
        if "run.json" in names:
            plain = json.loads(files.cat_file(f"{root.rstrip('/')}/run.json"))
        elif _is_broken_off(files, root, names, layout):
            return
        else:
            plain = None
    except (FileNotFoundError, NotADirectoryError):
        return  # Nothing is there. A target that cannot be written fails when the first file is sent.
    except (OSError, ValueError):
        plain = None
    if not is_manifest_of_ours(plain):
        raise UsageError(
            "the target holds files that are not an assay run",
            where=url,
            fix="name a new or empty folder",
        )


def _send(files: "AbstractFileSystem", path: Path, there: str) -> None:
    """Send the bytes that a file has now. A journal may grow meanwhile."""
    left = path.stat().st_size
    with path.open("rb") as source, files.open(there, "wb") as target:
        while left and (block := source.read(min(left, 1 << 20))):
            target.write(block)
            left -= len(block)


def _filesystem(url: str) -> tuple[Any, str]:
    if "://" not in url:
        raise UsageError(
            "not a URL",
            where=url,
            fix=f"file://{Path(url).absolute()}, or -o FILE for csv and the like",
        )
    url_to_fs = library(
        "fsspec.core",
        "fsspec",
        "'assay[storage]'",
        where=url,
    ).url_to_fs
    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        scheme = url.partition(":")[0]
        raise UsageError(
            f"fsspec needs another library for {scheme}: {error}", where=url
        ) from error
    except ValueError as error:
        raise UsageError(
            f"cannot write to this URL: {error}",
            where=url,
            fix="a URL such as s3://bucket/run",
        ) from error
    return files, str(root)

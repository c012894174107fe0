"""A run folder copied to where others read it: any URL that fsspec can write (`s3://…`, `gs://…`, `file://…`)."""

from pathlib import Path
from typing import Any

from ..core import MissingExtra, StoreError, UsageError
from .layout import Layout


def copy_run(layout: Layout, url: str) -> int:
    """Copies a run and returns how many files were sent; media that are there already are not sent again.

    The numbers come last: whoever finds `summary.json` finds the records it was made from.
    """
    files, root = _filesystem(url)
    media = sorted(path for path in layout.media.rglob("*") if path.is_file() and not path.name.startswith("."))
    derived = [layout.journal, layout.manifest, layout.summary]
    sent = 0
    try:
        for path in [*media, *(path for path in derived if path.exists())]:
            there = f"{root.rstrip('/')}/{path.relative_to(layout.folder).as_posix()}"
            if path in media and files.exists(there) and files.size(there) == path.stat().st_size:
                continue  # named by its content
            files.makedirs(there.rpartition("/")[0], exist_ok=True)
            _send(files, path, there)
            sent += 1
    except OSError as error:
        raise StoreError(f"cannot write there: {error.strerror or error}", where=url) from error
    return sent


def _send(files: Any, path: Path, there: str) -> None:
    """Streams one file, as long as it was when this began: a journal may still be written to."""
    left = path.stat().st_size
    with path.open("rb") as source, files.open(there, "wb") as target:
        while left and (block := source.read(min(left, 1 << 20))):
            target.write(block)
            left -= len(block)


def _filesystem(url: str) -> tuple[Any, str]:
    if "://" not in url:
        raise UsageError("no URL", where=url, fix=f"file://{Path(url).absolute()}, or -o FILE for csv and the like")
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtra("fsspec", "'assay[storage]'", where=url) from error
    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        scheme = url.partition(":")[0]
        raise UsageError(f"fsspec needs another library for {scheme}: {error}", where=url) from error
    except ValueError as error:
        raise UsageError(f"no place to write to: {error}", where=url, fix="a URL such as s3://bucket/run") from error
    return files, str(root)

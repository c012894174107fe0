"""Download a file that a toolkit's dataset class declares by URL, to the path that the toolkit expects.

Downloads can be resumed: received bytes stay in a part file, and the next attempt
requests the rest. The checksum (MD5 or SHA-256) is computed *after* the download; a
file that does not match never gets to that path. If no checksum is declared, a warning
shows the digest.
"""

import hashlib
import http.client
import json
import os
import warnings
from pathlib import Path

from ..core import DataError
from ..datasets.fetch import CHUNK_BYTES, HEADERS, MAX_BYTES, open_url


def fetch_declared(
    url: str,
    path: Path,
    *,
    checksum: str | None = None,
    allow_private: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Return `path`, after downloading it from `url` if it is missing. Raise if the file does not match `checksum`."""
    if path.is_file() and (checksum is None or has_checksum(path, checksum)):
        return path
    if path.exists():
        raise DataError(
            f"the file is there and does not have the declared {_kind(checksum or '')} {checksum}",
            file=str(path),
            fix="move it away to have it downloaded",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(
        f".{path.name}.assay-part"
    )  # Part files of other tools are left alone.
    _download(url, part, allow_private, max_bytes)
    if checksum is None:
        actual = _digest(part, "sha256")
        warnings.warn(
            f"{url}: no checksum is declared; the file has sha256 {actual}",
            stacklevel=2,
        )
    else:
        actual = _digest(part, _kind(checksum))
        if actual != checksum.lower():
            part.unlink()
            raise DataError(
                f"the download has {_kind(checksum)} {actual}, declared is {checksum}",
                file=url,
                fix="the file changed or was damaged on its way; nothing was kept",
            )
    os.replace(part, path)
    return path


def has_checksum(path: Path, checksum: str) -> bool:
    """Return True if a file has this checksum. The result is cached in a file next to it until the file changes."""
    state = path.stat()
    memo = path.with_name(f".{path.name}.checked")
    signs = {
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
        "checksum": checksum.lower(),
    }
    try:
        if json.loads(memo.read_bytes()) == signs:
            return True
    except (OSError, ValueError):
        pass
    if _digest(path, _kind(checksum)) != checksum.lower():
        return False
    try:
        memo.write_text(json.dumps(signs), encoding="utf-8")
    except OSError:
        pass  # Without write permission the file is checked again each time.
    return True


def _kind(checksum: str) -> str:
    return "md5" if len(checksum) == 32 else "sha256"


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(
            stream, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()


def _download(
    url: str,
    part: Path,
    allow_private: bool,
    max_bytes: int,
) -> None:
    """Download the part of the file at `url` that is still missing, and append it to `part`."""
    if part.exists():
        have = part.stat().st_size
    else:
        have = 0
    if have:
        headers = {**HEADERS, "Range": f"bytes={have}-"}
    else:
        headers = HEADERS
    try:
        with open_url(url, allow_private, headers=headers) as (response, final_url):
            is_beyond = response.status == 416 and have > 0
            if not is_beyond:
                if response.status not in (200, 206):
                    raise DataError(
                        f"the server answered {response.status} {response.reason}",
                        file=final_url,
                    )
                _append(
                    response,
                    part,
                    have if response.status == 206 else 0,
                    final_url,
                    max_bytes,
                )
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"the download failed: {type(error).__name__}: {error}",
            file=url,
            fix="try again: it continues where it stopped",
        ) from error
    if is_beyond:
        part.unlink()  # The part is not a beginning of the file: start again.
        _download(url, part, allow_private, max_bytes)


def _append(
    response: http.client.HTTPResponse,
    part: Path,
    have: int,
    url: str,
    max_bytes: int,
) -> None:
    declared = response.headers.get("Content-Length", "")
    if declared.isdigit():
        expected = have + int(declared)
    else:
        expected = None
    if expected is not None and expected > max_bytes:
        raise DataError(
            f"the file has {expected} bytes, more than the limit of {max_bytes}",
            file=url,
        )
    with part.open("r+b" if have else "wb") as target:
        target.seek(have)
        count = have
        while chunk := response.read(CHUNK_BYTES):
            count += len(chunk)
            if count > max_bytes:
                raise DataError(
                    f"the file is larger than the limit of {max_bytes} bytes", file=url
                )
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    if expected is not None and count != expected:
        raise DataError(
            f"the download was cut after {count} of {expected} bytes",
            file=url,
            fix="try again: the rest is fetched",
        )

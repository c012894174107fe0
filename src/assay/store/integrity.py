"""Integrity: whether a run folder is unchanged since its run ended, and whether this user wrote it.

At its end a run records in `run.json` the digests of journal and summary, and whether
it has media; media are named by their digest. Runs of the first version recorded none
of this: they are readable, and reported as unverified.

A signature in `run.json`, which only this user's key can produce, marks the user's own
run folders. It is an HMAC-SHA256 of everything else in `run.json`, so that it cannot be
moved to other content. The key is in the user's config folder. It is created when the
first run is written, and never leaves that folder.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from ..code import userfiles
from ..core import StoreError
from .blobs import Blobs
from .index import Index
from .layout import Layout

READERS = 4
"""Number of media that are read in parallel. Threads help, because Python releases the GIL during hashing."""
NAMED = 3
"""Maximum number of sample ids in a message."""


def file_digest(path: Path) -> str:
    """Return the sha256 of a file. Raise `StoreError` if it cannot be read."""
    try:
        return userfiles.file_digest(path)
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", where=str(path)) from error


def journal_note(layout: Layout) -> dict[str, Any]:
    """Return the size and digest of a finished journal, to be recorded in `run.json`."""
    return {
        "bytes": layout.journal.stat().st_size,
        "sha256": file_digest(layout.journal),
    }


def is_vouched(manifest: Mapping[str, Any]) -> bool:
    """Return True if a run ended and recorded the digests of its files. Only then can the files be checked."""
    return isinstance(manifest.get("journal"), Mapping) and isinstance(
        manifest.get("summary"), Mapping
    )


def journal_damage(
    layout: Layout,
    manifest: Mapping[str, Any],
) -> str:
    """Return a line on how the journal differs from its state at the end of the run; empty if it does not differ."""
    noted = manifest["journal"]
    if not layout.journal.exists():
        return "records.jsonl is missing"
    size = layout.journal.stat().st_size
    if size != noted.get("bytes"):
        return f"records.jsonl has {size} bytes, and {noted.get('bytes')} when the run ended"
    if file_digest(layout.journal) != noted.get("sha256"):
        return "records.jsonl has changed since the run ended"
    return ""


def summary_damage(
    layout: Layout,
    manifest: Mapping[str, Any],
) -> str:
    """Return a line on how the summary differs from the one that the run wrote; empty if it does not differ."""
    if not layout.summary.exists():
        return "summary.json is missing"
    if file_digest(layout.summary) != manifest["summary"].get("sha256"):
        return (
            "summary.json has changed since the run wrote it: its numbers are not used"
        )
    return ""


def broken_media(index: Index, blobs: Blobs) -> dict[str, str]:
    """Return the media of answers that are `missing` or `changed` on disk: a mapping
    from digest to one of these words.
    """
    named = [digest for digest, places in index.media.items() if places]
    with ThreadPoolExecutor(READERS) as readers:
        states = list(readers.map(blobs.state, named))
    broken = {}
    for digest, state in zip(named, states, strict=True):
        if state != "whole":
            broken[digest] = state
    return broken


def media_damage(
    index: Index,
    broken: Mapping[str, str],
) -> str:
    """Return a line about the broken media; empty if there are none."""
    if not broken:
        return ""
    ids: dict[str, None] = {}
    for digest in broken:
        for _, id, _, _ in sorted(index.media[digest]):
            ids[id] = None

    counts = Counter(broken.values())
    words = []
    for state in ("missing", "changed"):
        if counts[state]:
            words.append(f"{counts[state]} {state}")
    return f"media: {' and '.join(words)}, of {_samples(ids)}"


def _samples(ids: Iterable[str]) -> str:
    listed = list(ids)
    named = ", ".join(repr(id) for id in listed[:NAMED])
    if len(listed) > NAMED:
        named += ", …"
    if len(listed) == 1:
        return f"sample {named}"
    return f"{len(listed)} samples: {named}"


FIELD = "mac"
_SIZE = 32
_LABEL = b"assay run.json 1\n"


class NoKey(Exception):
    """Raised if the user's key cannot be used. The message gives the reason."""


def key_file() -> Path:
    """Return the path of the key: `$XDG_CONFIG_HOME/assay/key`, or else `~/.config/assay/key`."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise NoKey("there is no home folder; set XDG_CONFIG_HOME")
        base = os.path.join(home, ".config")
    return Path(base) / "assay" / "key"


def signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest with this user's signature, or without a signature if no key can be used."""
    bare = {name: value for name, value in manifest.items() if name != FIELD}
    try:
        return {**bare, FIELD: _code(bare, _create_key())}
    except NoKey:
        return bare


def why_foreign(manifest: Mapping[str, Any]) -> str | None:
    """Return the reason for treating a run as another user's; None if it is this user's."""
    code = manifest.get(FIELD)
    if not isinstance(code, str):
        return f"it was not made by you, or before runs were signed{_why_unsigned()}"
    try:
        key = _read_key(key_file())
    except NoKey as error:
        return f"its owner cannot be checked: {error}"
    bare = {name: value for name, value in manifest.items() if name != FIELD}
    if hmac.compare_digest(code, _code(bare, key)):
        return None
    return "it was not made by you on this machine, or its run.json was edited"


def _why_unsigned() -> str:
    """Return the reason why this user cannot sign runs; empty if they can."""
    try:
        path = key_file()
    except NoKey as error:
        return f" ({error})"
    folder = next((parent for parent in path.parents if parent.exists()), path.parent)
    if path.exists() or os.access(folder, os.W_OK):
        return ""
    return f" (no key can be kept: {folder} cannot be written)"


def _code(
    bare: Mapping[str, Any],
    key: bytes,
) -> str:
    # Encode and decode once, because the compared manifest was read from a file: tuples are lists
    # there, keys are texts.
    plain = msgspec.json.decode(msgspec.json.encode(bare))
    content = msgspec.json.encode(plain, order="sorted")
    return hmac.new(key, _LABEL + content, hashlib.sha256).hexdigest()


def _create_key() -> bytes:
    """Return the key; create it if there is none. If two processes create one at the same time, both use the first."""
    path = key_file()
    if os.path.exists(path):
        return _read_key(path)
    try:
        path.parent.mkdir(
            parents=True,
            exist_ok=True,
            mode=0o700,
        )
        draft = path.with_name(f"key-{os.getpid()}-{secrets.token_hex(8)}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SIZE))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise NoKey(f"{path} cannot be written: {error.strerror}") from error
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(_SIZE + 1)
    except FileNotFoundError as error:
        raise NoKey(f"there is no key in {path}") from error
    except OSError as error:
        raise NoKey(f"{path} cannot be read: {error.strerror}") from error
    if len(key) != _SIZE:
        raise NoKey(f"{path} is not a key; remove it, and the next run makes a new one")
    if hasattr(os, "getuid") and (
        status.st_uid != os.getuid() or status.st_mode & 0o077
    ):
        raise NoKey(
            f"{path} can be read by others; remove it, and the next run makes a new one"
        )
    return key

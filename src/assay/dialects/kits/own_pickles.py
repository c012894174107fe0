"""Pickles known as our own: signed when they are written, with a key that only this user on this machine has.

A run goes on in another process, and reads back what it wrote; a folder that came from elsewhere carries no valid
signature, whatever lies beside its pickles.
"""

import hashlib
import hmac
import os
from pathlib import Path

from ...core import StoreError

_KEY_BYTES = 32


def sign(path: Path) -> None:
    """Notes beside a pickle that we wrote it."""
    _note(path).write_text(_signature(path), encoding="ascii")


def is_ours(path: Path) -> bool:
    """Whether a pickle is what we wrote here, unchanged since."""
    try:
        noted = _note(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return False
    return hmac.compare_digest(noted, _signature(path))


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.signed")


def _signature(path: Path) -> str:
    # The place counts too: a signed file moved over another one is not what was written there.
    with path.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").digest()
    return hmac.new(_key(), str(path.resolve()).encode() + b"\0" + content, "sha256").hexdigest()


def _key() -> bytes:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assay"
    file = folder / "pickle.key"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as target:
                target.write(os.urandom(_KEY_BYTES))
        except FileExistsError:
            pass
        key = file.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot keep a key: {error.strerror}", where=str(file), fix="set XDG_STATE_HOME") from error
    if len(key) != _KEY_BYTES:
        raise StoreError("the key was cut short", where=str(file), fix="delete it; the next run makes a new one")
    return key

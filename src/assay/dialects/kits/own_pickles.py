"""Pickles known as our own: signed when they are written, with the key by which runs are known as this user's.

A run goes on in another process, and reads back what it wrote; a folder that came from elsewhere carries no valid
signature, whatever lies beside its pickles.
"""

import json
from pathlib import Path

from ...code.userfiles import file_digest
from ...store.signature import signed, why_foreign


def sign(path: Path) -> None:
    """Notes beside a pickle that we wrote it."""
    _note(path).write_text(json.dumps(signed(_facts(path))), "utf-8")


def is_ours(path: Path) -> bool:
    """Whether a pickle is what we wrote here, unchanged since."""
    try:
        facts = json.loads(_note(path).read_bytes())
    except (OSError, ValueError):
        return False
    return (
        isinstance(facts, dict)
        and why_foreign(facts) is None
        and facts.items() >= _facts(path).items()
    )


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.signed")


def _facts(path: Path) -> dict[str, str]:
    # The place counts too: a signed file moved over another one is not what was written there.
    return {"pickle": str(path.resolve()), "sha256": file_digest(path)}

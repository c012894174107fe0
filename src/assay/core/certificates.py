"""TLS certificate authorities: the system's, or those named by SSL_CERT_FILE and SSL_CERT_DIR.

OpenSSL ignores a missing file or folder and then reports the server's certificate as invalid. This module checks
the paths first, so that the error names the real cause.
"""

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .errors import UsageError

if TYPE_CHECKING:
    import ssl

FILE, FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+\Z").match
"""Matches the hashed file names under which OpenSSL looks up certificates in a folder."""


def trust_context() -> "ssl.SSLContext":
    """Return the TLS context with which clients of assay verify a server's certificate.

    Raise `UsageError` if SSL_CERT_FILE or SSL_CERT_DIR names an invalid path.
    """
    return _context(os.environ.get(FILE) or None, os.environ.get(FOLDER) or None)


@lru_cache(maxsize=4)
def _context(
    file: str | None,
    folder: str | None,
) -> "ssl.SSLContext":
    """Return the TLS context for a certificate file and folder. The result is cached,
    because reading certificates is slow.
    """
    import ssl

    if folder is not None:
        _check_folder(folder)
    try:
        return ssl.create_default_context(
            cafile=file,
            capath=folder if file else None,
        )
    except ssl.SSLError as error:
        raise _wrong(FILE, file, "which has no certificate in PEM format") from error
    except OSError as error:
        raise _wrong(FILE, file, f"which cannot be read ({error.strerror})") from error


def _check_folder(listed: str) -> None:
    """Raise `UsageError` unless a folder in SSL_CERT_DIR holds certificates under names that OpenSSL can find."""
    folders = [name for name in listed.split(os.pathsep) if name]
    there = [name for name in folders if os.path.isdir(name)]
    if not there:
        raise _wrong(FOLDER, listed, "which is not a folder")
    if not any(_HASHED(name) for folder in there for name in os.listdir(folder)):
        raise _wrong(
            FOLDER,
            listed,
            "which has no certificate named by its hash (see `openssl rehash`)",
        )


def _wrong(
    variable: str,
    value: str | None,
    what: str,
) -> UsageError:
    return UsageError(
        f"the environment variable {variable} names {value}, {what}",
        fix=f"correct or unset {variable}",
    )

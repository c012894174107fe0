"""Classify a failed HTTP attempt: whether a retry may help, and after how long.

A failure says whether a retry may help; only the scheduler retries. Secrets are removed from every message.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from ..core import Output
from ..core.secrets import without

RETRYABLE = frozenset({408, 409, 425, 429})
KINDS = {408: "timeout", 429: "rate_limit", 503: "unavailable"}
"""Failure kinds of temporary statuses; 503 is a server that is running, but not ready or too busy."""
_OVERFLOW = re.compile(
    r"(?i)context[ _](?:length|size|window)"  # "maximum context length", "n_ctx: context size"
    r"|prompt is too long"
    r"|exceeds the maximum number of tokens"
)


MOST_VALUES = 4_000_000
"""Most values that one answer may have: empty lists take 25 times the memory of their text.

The log-probabilities of a prompt of 100,000 tokens are fewer than 3 million values.
"""


def parsed(body: bytes) -> Any:
    """Parse a JSON body; raise `ValueError` if it is not JSON, or would take far more memory than its text."""
    if (
        len(body) > MOST_VALUES
        and sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES
    ):
        raise ValueError(f"more than {MOST_VALUES:,} values in one answer")
    try:
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return json.loads(
                body
            )  # slower, but accepts half a surrogate pair and a byte-order mark
    except RecursionError:
        raise ValueError("nested too deeply") from None


class HttpFailure(Exception):
    """An attempt that brought no answer, with its classification."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.retryable, self.retry_after = (
            kind,
            message,
            retryable,
            retry_after,
        )

    def as_output(self, secrets: Iterable[str] = ()) -> Output:
        """Return the failure as an output, on one line and without secrets."""
        message = " ".join(without(self.message, secrets).split())
        return Output.failed(
            self.kind,
            message,
            retryable=self.retryable,
            retry_after=self.retry_after,
        )


class Refused(Exception):
    """A response with an error status that is not classified yet."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self) -> Mapping[str, Any]:
        """The `error` object of the body; empty if there is none."""
        try:
            body = parsed(self.body)
        except ValueError:
            return {}
        error = body.get("error", body) if isinstance(body, Mapping) else {}
        return error if isinstance(error, Mapping) else {"message": str(error)}

    def failure(self) -> HttpFailure:
        """Return the failure that the status stands for."""
        status = self.status
        words = self.error.get("message") or self.body[:200].decode("utf-8", "replace")
        message = f"HTTP {status}: {str(words)[:300]}".strip().rstrip(":")
        if 300 <= status < 400:
            return HttpFailure(
                "http",
                f"HTTP {status}: redirected to {self._target}, which is not followed; "
                "fix: correct base_url",
                retryable=False,
            )
        if status in (401, 403):
            return HttpFailure("auth", message, retryable=False)
        code = self.error.get("code")
        if status == 429 and code == "insufficient_quota":
            return HttpFailure("quota", message, retryable=False)
        description = f"{code} {self.error.get('type')} {words}"
        if status in (400, 413) and _OVERFLOW.search(description):
            return HttpFailure("context", message, retryable=False)
        return HttpFailure(
            KINDS.get(status, "http"),
            message,
            retryable=status in RETRYABLE or status >= 500,
            retry_after=retry_after(self.headers),
        )

    @property
    def _target(self) -> str:
        """The target of a redirect, without parts that may be secret."""
        try:
            parts = urlsplit(self.headers.get("location", ""))
        except ValueError:
            return "elsewhere"
        return (
            urlunsplit(
                (parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")
            )
            or "elsewhere"
        )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asked to wait, given as a number or a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return None if value is None else seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _number(text: str | None) -> float | None:
    """Return a header's value as a number of seconds; None if it is missing, infinite or no number."""
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None

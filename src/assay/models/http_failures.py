"""Classify a failed HTTP attempt: whether a retry may help, and after how long.

Nothing is retried here; only the scheduler retries. Secrets are removed from every message.
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
"""The failure kind to record for some temporary HTTP statuses. 503 means that the
server runs but is busy or not ready.
"""
_OVERFLOW = re.compile(
    r"""
    context[ _](?:length|size|window|limit)     # "maximum context length", "exceed context limit"
    | prompt\ is\ too\ long
    | exceeds\ the\ maximum\ number\ of\ tokens
    | max_new_tokens`?\ must\ be\ <=            # "`inputs` tokens + `max_new_tokens` must be <= 4096"
    | inputs`?\ must\ have\ less\ than          # "inputs must have less than 1024 tokens"
    | too\ many\ tokens
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_MONEY = frozenset(
    {
        "insufficient_quota",
        "exceeded_current_quota_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
    }
)
"""Error codes and types for an account without credit."""
_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_STATUS_OF_WORD = {
    "authentication": 401,
    "api_key": 401,
    "permission": 403,
    "not_found": 404,
    "rate_limit": 429,
    "overloaded": 429,
    "exhausted": 429,
    "quota": 429,
    "invalid": 400,
    "unsupported": 400,
    "context_length": 400,
    "content_": 400,
}
"""For an error without an HTTP status: the status to assume if the error's code or type contains this text."""
MOST_VALUES = 4_000_000
"""Maximum number of values in the JSON of one answer, because empty lists take 25 times the memory of their text.

The log-probabilities of a prompt of 100,000 tokens are fewer than 3 million values.
"""


def parsed(body: bytes) -> object:
    """Parse a JSON body. Raise `ValueError` if it is not JSON, or would take far more memory than its text."""
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
    """Raised for a failed attempt, with the kind of failure, and whether and when a retry may help."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after

    def as_output(self, secrets: Iterable[str] = ()) -> Output:
        """Convert the failure to an output with a message on one line and without secrets."""
        message = " ".join(without(self.message, secrets).split())
        return Output.failed(
            self.kind,
            message,
            retryable=self.retryable,
            retry_after=self.retry_after,
        )


class Refused(Exception):
    """Raised for a response with an error status that is not classified yet.

    `reported` is the status of the response if it differs from the status in the body's error. `path` is the path of
    the API that was called, such as `chat/completions`.
    """

    path = ""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        reported: int | None = None,
    ) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body
        self.reported = reported

    @property
    def error(self) -> Mapping[str, Any]:
        """The `error` object of the body; empty if there is none."""
        try:
            body = parsed(self.body)
        except ValueError:
            return {}
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        if isinstance(body, Mapping):
            error = body.get("error") or body
        else:
            error = {}
        if isinstance(error, Mapping):
            return error
        return {"message": str(error)}

    def failure(self) -> HttpFailure:
        """Return the failure for the status of this response."""
        status = self.status
        error = self.error
        words = error.get("message") or _text_of(self.body)
        line = f"HTTP {status}"
        if self.reported is not None:
            line = f"HTTP {self.reported} with an error"
        message = f"{line}: {str(words)[:300]}".strip().rstrip(":")
        if 300 <= status < 400:
            return HttpFailure(
                "http",
                f"HTTP {status}: redirected to {self._target}, which is not followed; "
                "fix: correct base_url",
                retryable=False,
            )
        if status in (401, 403):
            return HttpFailure("auth", message, retryable=False)
        code = str(error.get("code"))
        kind = str(error.get("type"))
        if status == 402 or (status in (400, 429) and _NO_MONEY & {code, kind}):
            return HttpFailure("quota", message, retryable=False)
        description = f"{code} {kind} {words}"
        if status in (400, 413, 422) and _OVERFLOW.search(description):
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


def _text_of(body: bytes) -> str:
    """Return the start of a body as text; for a web page, return its title."""
    text = body[:4000].decode("utf-8", "replace")
    title = _TITLE.search(text)
    if title is not None:
        return title[1].strip()
    return text[:200]


def error_status(answer: object) -> int | None:
    """Return the status of an error reported in a successful response; None if the body contains no error.

    Gateways send status 200 before they know whether the model behind them fails. Some
    add an empty `error` to every reply. A body with `"status": "failed"` comes from the
    Responses API, whose reader handles it, so None is returned.
    """
    if not isinstance(answer, Mapping) or answer.get("status") == "failed":
        return None
    error = answer.get("error")
    if isinstance(error, str) and error:
        return 500
    if not isinstance(error, Mapping):
        return None
    words = [str(error.get(name) or "") for name in ("code", "type", "status")]
    if not any(words) and not error.get("message"):
        return None
    for word in words:
        if word.isdecimal() and 400 <= int(word) < 600:
            return int(word)
    named = " ".join(words).lower()
    for word, status in _STATUS_OF_WORD.items():
        if word in named:
            return status
    return 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks the client to wait; None if the headers do not contain it.

    The header has a number or a date.
    """
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
    """Return a header's value as a number of seconds; None if it is missing, infinite or not a number."""
    try:
        if text is not None:
            number = float(text)
        else:
            number = None
    except ValueError:
        return None
    if number is not None and 0 <= number < float("inf"):
        return number
    return None

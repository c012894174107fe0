"""Spellings of secrets: how a known one may be encoded, and what keys, passwords and headers look like in text.

Used by `core.secrets` only.
"""

import base64
import html
import json
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote

SHORTEST_FORM = 8
_KEY = re.compile(
    r"(?<![\w-])(?:[spr]k-[\w-]{8,}|hf_\w{8,}|gh[opsu]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[a-z]-[\w-]{8,}"
    r"|AKIA\w{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,})|(?<=\bBearer )[^\s$\[]\S{7,}|(?<=\bBasic )[^\s$\[]\S{7,}"
)
_KNOWN = r"(?!\[redacted|\$\{env:)"
"""Already redacted, or a reference to an environment variable."""
_USER_IN_URL = re.compile(r"(?<=://)[^/\s?#\"']+(?=@)")
_QUERY = re.compile(
    r"([?&](?:[\w-]*key|[\w-]*token|[\w-]*secret|password|sig|signature)=)"
    + _KNOWN
    + r"[^&\s\"'#]{8,}",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(\b(?:(?:proxy-)?authorization|[\w-]*api-key|[\w-]*auth-token|[\w-]*access-token)[\"']?\s*[:=]\s*[\"']?"
    r"(?:(?:bearer|basic|token)\s+"
    + _KNOWN
    + r"(?=[^\s\"',;}]{4})|(?=[^\s\"',;}]{8})))"
    + _KNOWN
    + r"[^\s\"',;}]+",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"(?<=Bearer )"
    + _KNOWN
    + r"[^\s\"',;]{8,}|(?<=bearer )"
    + _KNOWN
    + r"(?=\S*[\d._~+/-])[^\s\"',;]{6,}"
)
_UP_TO, _FROM = re.compile(r"[^\s\"'(),;]*\Z"), re.compile(r"[^\s\"'(),;]*")
"""Text around a match up to blanks and quotes, which may be the path of a file."""


def has_known_form(text: str) -> bool:
    """Return True if the text contains what looks like a key of a known service."""
    return _KEY.search(text) is not None


def without_forms(
    text: str, hide: Callable[[str], str], is_file: Callable[[str], bool] | None = None
) -> str:
    """Replace such keys in a text. A file name that looks like a key stays if `is_file` confirms it."""

    def replaced(found: re.Match[str]) -> str:
        if is_file is not None and "/" in text:
            before, after = (
                _UP_TO.search(text[: found.start()]),
                _FROM.match(text, found.end()),
            )
            path = f"{before[0] if before else ''}{found[0]}{after[0] if after else ''}"
            if "/" in path and is_file(re.sub(r"(?::\d+)?[:.]?$", "", path)):
                return found[0]
        return hide(found[0])

    return _KEY.sub(replaced, text)


def hidden_forms(text: str, mark: str, hidden: re.Pattern[str]) -> str:
    """Remove passwords in URLs, keys in query strings and secret headers from a message."""
    if "://" in text:
        text = _USER_IN_URL.sub(
            lambda user: user[0] if not hidden.sub("", user[0]).strip(":") else mark,
            text,
        )
    if "=" in text:
        text = _QUERY.sub(rf"\g<1>{mark}", text)
    if ":" in text or "=" in text:
        text = _HEADER.sub(rf"\g<1>{mark}", text)
    return _BEARER.sub(mark, text) if "earer " in text else text


@lru_cache(maxsize=64)
def forms_of(secrets: frozenset[str]) -> tuple[str, ...]:
    """Return all spellings of the secrets, longest first because one may be a prefix of another."""
    # A password in a URL is percent-encoded there and sent decoded.
    spelled = secrets | {
        plain for secret in secrets if len(plain := unquote(secret)) >= SHORTEST_FORM
    }
    forms = {form for secret in spelled for form in _spellings(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def json_forms(text: str) -> list[bytes]:
    """Return a text as different JSON encoders write it."""
    escaped = {
        json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)
    }
    return [form.encode("utf-8", "surrogatepass") for form in sorted(escaped)]


def _spellings(secret: str) -> set[str]:
    """Return a secret as is, and as written in URLs, JSON, HTML, CSV, Python and base64."""
    escaped = quote(secret, safe="", errors="surrogatepass")
    lower = re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), escaped)
    others = {
        escaped,
        lower,
        quote(secret, errors="surrogatepass"),
        html.escape(secret),
    }
    others |= {
        quote_plus(secret, errors="surrogatepass"),
        secret.replace('"', '""'),
        repr(secret)[1:-1],
    }
    for is_ascii in (False, True):
        once = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        others |= {
            once,
            once.replace("/", "\\/"),
            json.dumps(once, ensure_ascii=is_ascii)[1:-1],
        }
    if len(secret) >= SHORTEST_FORM:
        others |= _in_base64(secret)
    return {secret} | {form for form in others if len(form) >= SHORTEST_FORM}


def _in_base64(secret: str) -> set[str]:
    """Return the base64 text of a secret, alone or at each alignment inside longer data."""
    data = secret.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode("ascii")
    encodings = {whole, whole.rstrip("=")}
    for before, cut in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + data).decode("ascii")
        left_over = (before + len(data)) % 3
        encodings.add(text[cut : len(text) - (0, 3, 2)[left_over]])
    return encodings | {form.replace("+", "-").replace("/", "_") for form in encodings}

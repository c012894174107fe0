"""Forms of secrets: how a known one may be spelled, and what keys, passwords and headers look like in a text.

Only `core.secrets` uses it.
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
"""Hidden already, or only named."""
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
"""What stands around a place, between blanks and quotes: perhaps the path of a file."""


def has_known_form(text: str) -> bool:
    """Whether a text holds what looks like the key of a known service."""
    return _KEY.search(text) is not None


def without_forms(
    text: str, hide: Callable[[str], str], is_file: Callable[[str], bool] | None = None
) -> str:
    """A text with such keys replaced; a file may be called like one, and stays where `is_file` says so."""

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
    """A message without passwords in URLs, keys in queries and headers that hold one."""
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
    """All spellings of the secrets that a text may hold; the longest first, since one may begin with another."""
    # A password in a URL is written there as URLs have it, and sent as it is.
    spelled = secrets | {
        plain for secret in secrets if len(plain := unquote(secret)) >= SHORTEST_FORM
    }
    forms = {form for secret in spelled for form in _spellings(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def json_forms(text: str) -> list[bytes]:
    """A text as it stands in JSON, whichever encoder wrote it."""
    escaped = {
        json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)
    }
    return [form.encode("utf-8", "surrogatepass") for form in sorted(escaped)]


def _spellings(secret: str) -> set[str]:
    """A secret as it is, in URLs, in JSON, in HTML, in a cell of CSV, in Python, and in base64 wherever it stands."""
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
    """What of a secret stands in base64, by itself or in the middle of something longer."""
    data = secret.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode("ascii")
    found = {whole, whole.rstrip("=")}
    for before, cut in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + data).decode("ascii")
        left_over = (before + len(data)) % 3
        found.add(text[cut : len(text) - (0, 3, 2)[left_over]])
    return found | {form.replace("+", "-").replace("/", "_") for form in found}

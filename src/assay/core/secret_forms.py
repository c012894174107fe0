"""Spellings of secrets: encodings of known secrets, and the patterns of keys, passwords and headers in text.

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
_SERVICE_KEYS = "|".join(
    (
        r"[spr]k-[\w-]{8,}",  # sk-proj-abcdefgh of OpenAI, Anthropic, Stripe
        r"hf_\w{8,}",  # hf_abcdefgh of Hugging Face
        r"gh[opsu]_\w{8,}",  # ghp_abcdefgh of GitHub
        r"github_pat_\w{8,}",  # github_pat_abcdefgh
        r"glpat-[\w-]{8,}",  # glpat-abcdefgh of GitLab
        r"xox[a-z]-[\w-]{8,}",  # xoxb-abcdefgh of Slack
        r"AKIA\w{12,}",  # AKIAABCDEFGHIJKL of Amazon
        r"AIza[\w-]{20,}",  # AIzaSyA-abcdefghijklmnopq of Google
        r"eyJ[\w-]{8,}\.[\w.-]{8,}",  # eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx, a JSON web token
    )
)
_AFTER_SCHEME = r"[^\s$\[]\S{7,}"
"""Pattern of a credential after `Bearer` or `Basic`, except `${env:NAME}` and `[redacted]`."""
_KEY = re.compile(
    r"(?<![\w-])(?:"
    + _SERVICE_KEYS
    + r")|(?<=\bBearer )"
    + _AFTER_SCHEME
    + r"|(?<=\bBasic )"
    + _AFTER_SCHEME
)
_KNOWN = r"(?!\[redacted|\$\{env:)"
"""Excludes text that is already redacted, and references to environment variables."""
_USER_IN_URL = re.compile(r"(?<=://)[^/\s?#\"']+(?=@)")
# "?api_key=abcdefgh", "&access_token=abcdefgh", "&signature=abcdefgh"
_MEMBER = r"[?&](?:[\w-]*key|[\w-]*token|[\w-]*secret|password|sig|signature)="
_QUERY = re.compile(rf"({_MEMBER}){_KNOWN}[^&\s\"'#]{{8,}}", re.IGNORECASE)
# "Proxy-Authorization", "x-api-key", "X-Auth-Token", "access-token"
_HEADER_NAME = (
    r"(?:(?:proxy-)?authorization|[\w-]*api-key|[\w-]*auth-token|[\w-]*access-token)"
)
_COLON = r"[\"']?\s*[:=]\s*[\"']?"
_VALUE = r"[^\s\"',;}]"
# "Bearer abcd", or "abcdefgh" without a scheme
_SCHEME = rf"(?:(?:bearer|basic|token)\s+{_KNOWN}(?={_VALUE}{{4}})|(?={_VALUE}{{8}}))"
_HEADER = re.compile(
    rf"(\b{_HEADER_NAME}{_COLON}{_SCHEME}){_KNOWN}{_VALUE}+", re.IGNORECASE
)
# "Bearer abcdefgh" in any text; in lower case only with a digit or symbol: "bearer abc.def"
_TOKEN = r"[^\s\"',;]"
_BEARER = re.compile(
    rf"(?<=Bearer ){_KNOWN}{_TOKEN}{{8,}}"
    rf"|(?<=bearer ){_KNOWN}(?=\S*[\d._~+/-]){_TOKEN}{{6,}}"
)
_UP_TO = re.compile(r"[^\s\"'(),;]*\Z")
_FROM = re.compile(r"[^\s\"'(),;]*")
"""Matches the characters up to the next space, quote or bracket.

They may belong to a file path that contains the match.
"""


def has_known_form(text: str) -> bool:
    """Return True if the text contains a key in the form of a known service."""
    return _KEY.search(text) is not None


def without_forms(
    text: str,
    hide: Callable[[str], str],
    is_file: Callable[[str], bool] | None = None,
) -> str:
    """Replace each service key in a text with `hide(key)`.

    A key inside a path that `is_file` accepts is kept.
    """

    def replaced(key: re.Match[str]) -> str:
        if is_file is not None and "/" in text:
            path = _path_around(text, key)
            if "/" in path and is_file(path):
                return key[0]
        return hide(key[0])

    return _KEY.sub(replaced, text)


def _path_around(
    text: str,
    match: re.Match[str],
) -> str:
    """Return the path that contains a match, such as `/runs/sk-abcdefgh/log.txt`, without a line number after it."""
    before = _UP_TO.search(text[: match.start()])
    after = _FROM.match(text, match.end())
    path = match[0]
    if before is not None:
        path = before[0] + path
    if after is not None:
        path = path + after[0]
    return re.sub(r"(?::\d+)?[:.]?$", "", path)


def hidden_forms(
    text: str,
    mark: str,
    hidden: re.Pattern[str],
) -> str:
    """Replace passwords in URLs, keys in query strings and secret headers in a message with `mark`."""
    if "://" in text:

        def hide_user(user: re.Match[str]) -> str:
            is_hidden_already = not hidden.sub("", user[0]).strip(":")
            return user[0] if is_hidden_already else mark

        text = _USER_IN_URL.sub(hide_user, text)
    if "=" in text:
        text = _QUERY.sub(rf"\g<1>{mark}", text)
    if ":" in text or "=" in text:
        text = _HEADER.sub(rf"\g<1>{mark}", text)
    if "earer " in text:
        text = _BEARER.sub(mark, text)
    return text


@lru_cache(maxsize=64)
def forms_of(secrets: frozenset[str]) -> tuple[str, ...]:
    """Return all spellings of the secrets, such as URL-encoded ones.

    The longest come first, because one may be a prefix of another.
    """
    forms: set[str] = set()
    for secret in secrets:
        forms |= _spellings(secret)
        # A password in a URL is percent-encoded there and sent decoded.
        decoded = unquote(secret)
        if len(decoded) >= SHORTEST_FORM:
            forms |= _spellings(decoded)
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def json_forms(text: str) -> list[bytes]:
    """Return a text as JSON encoders write it: once with and once without escaped non-ASCII characters."""
    escaped = {
        json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)
    }
    return [form.encode("utf-8", "surrogatepass") for form in sorted(escaped)]


def _spellings(secret: str) -> set[str]:
    """Return a secret unchanged, and as written in URLs, JSON, HTML, CSV, Python and base64."""
    escaped = quote(secret, safe="", errors="surrogatepass")
    lower = re.sub(r"%[0-9A-F]{2}", lambda code: code[0].lower(), escaped)
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
    """Return the base64 spellings of a secret, alone and at each alignment inside
    longer data.

    A base64 character that also encodes neighbouring bytes is left out.
    """
    data = secret.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode("ascii")
    encodings = {whole, whole.rstrip("=")}
    for before, first in ((0, 0), (1, 2), (2, 3)):
        padded = b"\0" * before + data
        text = base64.b64encode(padded).decode("ascii")
        left_over = len(padded) % 3
        last = len(text) - (0, 3, 2)[left_over]
        encodings.add(text[first:last])
    for encoding in list(encodings):
        url_safe = encoding.replace("+", "-").replace("/", "_")
        encodings.add(url_safe)
    return encodings

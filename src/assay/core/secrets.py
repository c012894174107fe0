"""Secrets among options: which values they are, and what stands in their place in whatever is kept.

A value is secret by its option's name, as a header, as a user or a query member of a URL, or by the form keys of known
services have. In its place stands `[redacted:…]` with a digest, so that a run asked with another value is another run.
The digest is slow to compute and short: who guesses a short key pays for each guess, and many guesses fit.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
"""A value that is read from the environment, and may be kept as it is written."""
HIDDEN = re.compile(r"\[redacted(?::[0-9a-f]+)?\]")
DIGEST_BYTES = 3
HARMLESS_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "content-type",
        "user-agent",
    }
)
HARMLESS_MEMBERS = frozenset(
    {"alt", "api-version", "api_version", "deployment", "download", "model", "region", "version"}
)
# Options are named freely: `tokenizer`, `max_tokens` and `pad_token` hold no secret.
_NAME = re.compile(
    r"(?:.*(?:api|access|secret|private|auth|subscription)[_-]?)?keys?"
    r"|(?:.*(?:auth|access|api|hf|bearer|refresh)[_-]?)?token"
    r"|.*secret.*|.*passw(?:or)?d.*|.*passphrase.*|(?:.*[_-])?credentials?|(?:proxy[_-])?authorization|auth|bearer|cookie",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"(?<![\w-])(?:[spr]k-[\w-]{8,}|hf_\w{8,}|gh[opsu]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[a-z]-[\w-]{8,}"
    r"|AKIA\w{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w.-]{8,})|(?<=\bBearer )[^\s$\[]\S{7,}|(?<=\bBasic )[^\s$\[]\S{7,}"
)
_WITH_QUERY = re.compile(r"[\w.:/-]+\?[^=?]+=.*")
_PLAIN_MEMBER = re.compile(r"|true|false|[\d.]+|\d{4}-\d\d-\d\d[\w-]*", re.IGNORECASE)

Hide = Callable[[str, bool], str]
"""What is put in place of a secret; the second value says whether its name or its form tells that it is one."""


def veiled(options: Any) -> Any:
    """Plain options with a digest in place of each secret; equal options stay equal, different ones different."""
    return _replaced(options, lambda secret, _: _veil(secret))


def secrets_of(options: Any) -> dict[str, bool]:
    """The secrets among plain options, and whether each is known for one by its name or form.

    What a reference names is one of them.
    """
    found: dict[str, bool] = {}

    def note(secret: str, is_sure: bool) -> str:
        found[secret] = found.get(secret, False) or is_sure
        return secret

    _replaced(options, note)
    for name in _references(options):
        if value := os.environ.get(name):
            note(value, True)
    return found


def left_out(options: Any, place: str = "") -> Iterator[str]:
    """Where options read from a kept run lack a secret: `headers.X-Gate`."""
    if isinstance(options, Mapping):
        for name, value in options.items():
            yield from left_out(value, f"{place}.{name}" if place else str(name))
    elif isinstance(options, (list, tuple)):
        for value in options:
            yield from left_out(value, place)
    elif isinstance(options, str) and HIDDEN.search(options):
        yield place


def without_keys(text: str) -> str:
    """A text without what has the form of a known service's key, whatever else it says."""
    return _FORM.sub("[redacted]", text)


def is_secret_name(name: str) -> bool:
    """Whether an option's name says that its value is secret."""
    return _NAME.fullmatch(name.rpartition(".")[2]) is not None


def _replaced(value: Any, hide: Hide, name: str = "") -> Any:
    if isinstance(value, Mapping):
        if name.rpartition(".")[2] == "headers":
            return {header: _header(str(header), entry, hide) for header, entry in value.items()}
        inherited = name if is_secret_name(name) else ""
        return {key: _replaced(entry, hide, inherited or str(key)) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(entry, hide, name) for entry in value]
    if is_secret_name(name) and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return _hidden(str(value), hide, True)
    return _in_text(value, hide) if isinstance(value, str) else value


def _header(name: str, value: Any, hide: Hide) -> Any:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    if name.lower() in HARMLESS_HEADERS:
        return _in_text(value, hide) if isinstance(value, str) else value
    return _hidden(str(value), hide, is_secret_name(name) or "-key" in name.lower() or "token" in name.lower())


def _hidden(value: str, hide: Hide, is_sure: bool) -> str:
    """A secret value without the word that says how it is to be read, as in `Bearer …`; references stay."""
    scheme, blank, rest = value.partition(" ")
    if blank and scheme.lower() in ("bearer", "basic", "token"):
        return f"{scheme} {_hidden(rest, hide, True)}"
    bare = HIDDEN.sub("", REFERENCE.sub("", value)).strip()
    return hide(value, is_sure or _FORM.search(value) is not None) if bare else value


def _in_text(text: str, hide: Hide) -> str:
    if ("://" in text or _WITH_QUERY.fullmatch(text)) and not any(letter.isspace() for letter in text):
        return _in_url(text, hide)
    if _FORM.search(text) and not os.path.exists(text):
        return _FORM.sub(lambda match: hide(match[0], True), text)
    return text


def _in_url(url: str, hide: Hide) -> str:
    start = url.find("://") + 3 if "://" in url else 0
    before, rest = url[:start], url[start:]
    place, mark, fragment = rest.partition("#")
    place, question, query = place.partition("?")
    authority, slash, path = place.partition("/")
    user, at, host = authority.rpartition("@")
    if HIDDEN.sub("", user).strip(":"):
        user = ":".join(_hidden(part, hide, True) for part in user.split(":", 1))
    query = "&".join(_member(member, hide) for member in query.split("&"))
    path, fragment = (_FORM.sub(lambda match: hide(match[0], True), part) for part in (path, fragment))
    return f"{before}{user}{at}{host}{slash}{path}{question}{query}{mark}{fragment}"


def _member(member: str, hide: Hide) -> str:
    name, equals, value = member.partition("=")
    if not equals:
        return _FORM.sub(lambda match: hide(match[0], True), member)
    if name.lower() in HARMLESS_MEMBERS or _PLAIN_MEMBER.fullmatch(value):
        return member
    return f"{name}={_hidden(value, hide, is_secret_name(name))}"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _references(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _references(entry)


@lru_cache(maxsize=1024)
def _veil(secret: str) -> str:
    data = secret.encode("utf-8", "surrogatepass")
    digest = hashlib.scrypt(data, salt=b"assay: a secret option", n=2**14, r=8, p=1, dklen=DIGEST_BYTES)
    return f"[redacted:{digest.hex()}]"

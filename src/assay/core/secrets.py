"""Secrets: which values are secret, how they may be spelled, and how they are redacted.
No other module decides this.

A value is secret in three cases: its option, header or environment variable has a name
such as `api_key`; it is the user or a query parameter of a URL; or it looks like the
key of a known service. The process remembers secrets, and `without` and the store's
`Redactor` search for every spelling of them.

Stored options contain `[redacted:…]` with a digest, so that another secret gives
another run. The digest is short and slow to compute, which makes it expensive to guess
a short key, and lets many keys share a digest.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar, cast

from .errors import UsageError
from .secret_forms import forms_of, has_known_form, hidden_forms, without_forms

MARK = "[redacted]"
"""Replacement for a secret in all written files and messages."""
SHORTEST = 8
"""Minimum length of secrets to search for in prompts and answers. Shorter ones are often common words."""
SHORTEST_WORD = 4
"""Minimum length of secrets that are searched for in messages.

Secrets shorter than `SHORTEST` must occur as whole words.
"""
REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference such as `${env:API_KEY}` to an environment variable.

It may be stored as written, because it contains no secret value.
"""
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
    {
        "alt",
        "api-version",
        "api_version",
        "deployment",
        "download",
        "model",
        "region",
        "version",
    }
)
_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
# Option names are free: `tokenizer`, `max_tokens` and `pad_token` hold no secret.
_KEY_OF = "api|access|secret|private|auth|subscription"
_TOKEN_OF = "auth|access|api|hf|bearer|refresh"
_NAME = re.compile(
    rf"(?:.*(?:{_KEY_OF})[_-]?)?keys?"  # "key", "api_key", "SSH-PRIVATE-KEYS"
    rf"|(?:.*(?:{_TOKEN_OF})[_-]?)?token"  # "token", "hf_token"
    r"|.*secret.*"  # "client_secret_id"
    r"|.*passw(?:or)?d.*"  # "passwd", "db_password"
    r"|.*passphrase.*"  # "key_passphrase"
    r"|(?:.*[_-])?credentials?"  # "aws_credentials"
    r"|(?:proxy[_-])?authorization"  # "Proxy-Authorization"
    r"|auth|bearer|cookie",
    re.IGNORECASE,
)
_WITH_QUERY = re.compile(r"[\w.:/-]+\?[^=?]+=.*")
_PLAIN_MEMBER = re.compile(r"|true|false|[\d.]+|\d{4}-\d\d-\d\d[\w-]*", re.IGNORECASE)

T = TypeVar("T")
Hide = Callable[[str, bool], str]
"""A function that returns the text to use instead of a secret.

Its arguments are the secret, and whether the value is certainly one.
"""


def redact_options(options: T) -> T:
    """Return options with a digest in place of each secret.

    Equal options stay equal, and different options stay different.
    """
    return cast(T, _replaced(options, lambda secret, _: _veil(secret)))


def secrets_of(options: object) -> dict[str, bool]:
    """Return the secrets in options. Each maps to True if its option name or its format
    proves that it is secret.

    This includes environment variables that are referenced, also by options such as
    `api_key_env`.
    """
    secrets: dict[str, bool] = {}

    def note(secret: str, is_sure: bool) -> str:
        secrets[secret] = secrets.get(secret, False) or is_sure
        return secret

    _replaced(options, note)
    for name in _references(options):
        if value := os.environ.get(name):
            note(value, True)
    return secrets


def paths_without_secret(options: object) -> Iterator[str]:
    """Yield the path of each stored option, such as `headers.X-Gate`, whose secret was redacted."""
    for path, text in _texts(options):
        if HIDDEN.search(text):
            yield path


_is_given: dict[str, bool] = {}
_changes = 0


def remember(secrets: Mapping[str, bool] | Iterable[str]) -> None:
    """Add texts to the secrets that this process redacts.

    In a mapping, False marks a text that may not be a secret.
    """
    global _changes
    for secret, is_sure in (
        secrets if isinstance(secrets, Mapping) else dict.fromkeys(secrets, True)
    ).items():
        if secret and not _is_given.get(secret, False):
            _is_given[secret] = is_sure
            _changes += 1


def learn(*options: object) -> None:
    """Remember the secrets in plain options."""
    remember(secrets_of(list(options)))


def remembered() -> tuple[int, Mapping[str, bool]]:
    """Return all remembered secrets, and a counter that changes whenever one is added."""
    return _changes, _is_given


def forget() -> None:
    """Forget all secrets. Tests use this."""
    global _changes
    _is_given.clear()
    _changes += 1


def variable(name: str) -> str | None:
    """Return the value of an environment variable and remember it as a secret; None if the variable is not set."""
    value = os.environ.get(name)
    remember([value.strip()] if value and value.strip() else [])
    return value


def fill_references(value: T, what: str) -> T:
    """Replace each `${env:NAME}` with the value of the environment variable.

    `what` describes the text in the error for a missing variable.
    """

    def found(match: re.Match[str]) -> str:
        value_of_variable = variable(match.group(1))
        if value_of_variable is None:
            raise UsageError(
                f"{what} needs the environment variable {match.group(1)}, which is not set"
            )
        return value_of_variable

    def replaced(part: object) -> object:
        if isinstance(part, str):
            return REFERENCE.sub(found, part)
        if isinstance(part, Mapping):
            return {name: replaced(entry) for name, entry in part.items()}
        if isinstance(part, list):
            return [replaced(entry) for entry in part]
        return part

    return cast(T, replaced(value))


def secret_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables whose names mark their values as secret, such as `OPENAI_API_KEY`."""
    return {
        name: value
        for name, value in variables.items()
        if _VARIABLE.search(name)
        and len(value) >= SHORTEST
        and not os.path.exists(value)
    }


def secrets_of_environment(variables: Mapping[str, str] | None = None) -> set[str]:
    """Return the secrets in an environment: values of variables with secret names, and passwords or keys in URLs."""
    if variables is None:
        variables = os.environ
    secrets = set(secret_variables(variables).values())
    # A variable may hold a URL with a password or a key, as those of proxies and endpoints do.
    urls = secrets_of([value for value in variables.values() if "://" in value])
    return secrets | {
        secret
        for secret, is_sure in urls.items()
        if is_sure and len(secret) >= SHORTEST
    }


def redact_secrets(
    text: str,
    secrets: Iterable[str],
) -> str:
    """Remove the given secrets from a text, in every spelling."""
    for form in forms_of(frozenset(secrets)):
        if form in text:
            if len(form) >= SHORTEST:
                text = text.replace(form, MARK)
            else:
                text = _whole_word(form).sub(MARK, text)
    return text


def without(
    text: str,
    secrets: Iterable[str] = (),
) -> str:
    """Remove all secrets from a message: remembered ones, those in `secrets`, and texts that look like one."""
    long_enough = {secret for secret in secrets if len(secret) >= SHORTEST}
    long_enough |= {secret for secret in _is_given if len(secret) >= SHORTEST_WORD}
    return scrub(redact_secrets(text, long_enough | secrets_of_environment()))


def scrub(text: str) -> str:
    """Remove texts that look like secrets from a message: service keys, passwords in URLs, secret headers."""
    return without_keys(hidden_forms(text, MARK, HIDDEN))


def without_keys(text: str) -> str:
    """Remove texts that look like a known service's key. Names of existing files stay."""
    return without_forms(text, lambda _: MARK, os.path.exists)


@lru_cache(maxsize=256)
def _whole_word(secret: str) -> re.Pattern[str]:
    """Return a pattern that matches the secret only as a whole word. Used for short secrets."""
    return re.compile(rf"(?<![\w-]){re.escape(secret)}(?![\w-])")


def is_secret_name(name: str) -> bool:
    """Return True if an option's name marks its value as secret."""
    return _NAME.fullmatch(name.rpartition(".")[2]) is not None


def _replaced(
    value: object,
    hide: Hide,
    name: str = "",
) -> object:
    if isinstance(value, Mapping):
        if name.rpartition(".")[2] == "headers":
            return {
                header: _header(str(header), entry, hide)
                for header, entry in value.items()
            }
        inherited = name if is_secret_name(name) else ""
        return {
            key: _replaced(entry, hide, inherited or str(key))
            for key, entry in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_replaced(entry, hide, name) for entry in value]
    if (
        is_secret_name(name)
        and isinstance(value, (str, int, float))
        and not isinstance(value, bool)
    ):
        return _redact_value(str(value), hide, True)
    if isinstance(value, str):
        return _in_text(value, hide)
    return value


def _header(
    name: str,
    value: object,
    hide: Hide,
) -> object:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    if name.lower() in HARMLESS_HEADERS:
        if isinstance(value, str):
            return _in_text(value, hide)
        return value
    return _redact_value(
        str(value),
        hide,
        is_secret_name(name) or "-key" in name.lower() or "token" in name.lower(),
    )


def _redact_value(
    value: str,
    hide: Hide,
    is_sure: bool,
) -> str:
    """Redact a secret value, keeping a scheme such as `Bearer` and references."""
    scheme, blank, rest = value.partition(" ")
    if blank and scheme.lower() in ("bearer", "basic", "token"):
        return f"{scheme} {_redact_value(rest, hide, True)}"
    bare = HIDDEN.sub("", REFERENCE.sub("", value)).strip()
    if bare:
        return hide(value, is_sure or has_known_form(value))
    return value


def _in_text(text: str, hide: Hide) -> str:
    if ("://" in text or _WITH_QUERY.fullmatch(text)) and not any(
        letter.isspace() for letter in text
    ):
        return _redact_url(text, hide)
    if has_known_form(text) and not os.path.exists(text):
        return _redact_keys(text, hide)
    return text


def _redact_url(url: str, hide: Hide) -> str:
    """Redact secrets in a URL: the password, the query, and keys in the path.

    A local path followed by `?` options is accepted too.
    """
    scheme, mark, rest = url.partition("://")
    is_local = not mark
    if is_local:
        scheme = ""
        rest = url
    rest, hash_sign, fragment = rest.partition("#")
    rest, question, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    user, at_sign, host = authority.rpartition("@")
    if HIDDEN.sub("", user).strip(":"):
        parts = [_redact_value(part, hide, True) for part in user.split(":", 1)]
        user = ":".join(parts)
    members = [_member(member, hide, is_local) for member in query.split("&")]
    return "".join(
        (
            scheme,
            mark,
            user,
            at_sign,
            host,
            slash,
            _redact_keys(path, hide),
            question,
            "&".join(members),
            hash_sign,
            _redact_keys(fragment, hide),
        )
    )


def _redact_keys(text: str, hide: Hide) -> str:
    """Redact all keys of known services in a text."""
    return without_forms(text, lambda key: hide(key, True))


def _member(
    member: str,
    hide: Hide,
    is_local: bool,
) -> str:
    name, equals, value = member.partition("=")
    if not equals:
        return _redact_keys(member, hide)
    if name.lower() in HARMLESS_MEMBERS or _PLAIN_MEMBER.fullmatch(value):
        return member
    # A local path may be followed by loader options, such as the folder of its images.
    if (
        is_local
        and ("/" in value or os.path.exists(value))
        and not is_secret_name(name)
        and not has_known_form(value)
    ):
        return member
    return f"{name}={_redact_value(value, hide, is_secret_name(name))}"


def _references(options: object) -> Iterator[str]:
    """Yield the names of environment variables to which options refer."""
    for path, text in _texts(options):
        if path.endswith("_env"):
            yield text  # `api_key_env`: the name of the variable itself
        yield from REFERENCE.findall(text)


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in nested options with its path, such as `headers.X-Gate`."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _texts(entry, f"{path}.{name}" if path else str(name))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry, path)


@lru_cache(maxsize=1024)
def _veil(secret: str) -> str:
    data = secret.encode("utf-8", "surrogatepass")
    digest = hashlib.scrypt(
        data,
        salt=b"assay: a secret option",
        n=2**14,
        r=8,
        p=1,
        dklen=DIGEST_BYTES,
    )
    return f"[redacted:{digest.hex()}]"

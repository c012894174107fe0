"""The common parts of all models behind a URL: URL, key, limits, and one attempt per request.

The key comes from the environment and appears nowhere else: not in errors, the identity or `repr`.
"""

import asyncio
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from ..core import (
    EMPTY,
    Abilities,
    Candidate,
    DataError,
    Output,
    Prompt,
    Request,
    Usage,
    UsageError,
)
from ..core.secrets import (
    REFERENCE,
    fill_references,
    redact_options,
    remember,
    secrets_of,
    variable,
)
from ..media.prompt_media import (
    PLAIN_AUDIO,
    WEB_IMAGES,
    Formats,
    needs_change,
    portable,
)
from .answers import failure
from .carrying import Carrier
from .chat_format import Malformed
from .http import Client, HttpFailure, Limits, Refused, decoded
from .reply_checks import with_notes

_NO_PATH = re.compile(
    r"^HTTP 40[45]: (?!.*(?:model|deployment)).*(?:not found|not allowed|no route)",
    re.IGNORECASE,
)
"""Matches the message of a server that lacks the path: `Not Found`, not `the model x was not found`."""
_VERSIONED = re.compile(r"/v\d+[a-z0-9]*$")

KINDS = ("text", "image", "audio", "video")
TIMEOUTS = (
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "total_timeout",
    "start_timeout",
)

Ask = Callable[[Request], Awaitable[Output]]


@dataclass
class HttpModel(ABC):
    """A model behind a URL. Each call makes one attempt; the scheduler retries."""

    reference: ClassVar[str] = "name"
    scheme: ClassVar[str]
    public_url: ClassVar[str]
    url_env: ClassVar[str]
    """The environment variable that can contain another URL than the default."""
    key_header: ClassVar[str]
    """The header that contains the key, with `{}` where the key is inserted."""
    assumes_version: ClassVar[bool] = False
    """True to add the public service's version path to a URL without a path, as the service's own libraries do."""

    name: str
    """The model's name at the endpoint."""
    base_url: str | None = field(default=None, repr=False)
    """The URL up to and including the version, such as `…/v1`.

    By default it is taken from the environment, or else the public service is used.

    `${env:NAME}` in it, in a header's value and in a text of the body is replaced by the environment variable.
    """
    api_key_env: str = ""
    """The environment variable that contains the key."""
    accepts: tuple[str, ...] = ("text",)
    produces: tuple[str, ...] = ("text",)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY, repr=False)
    """Additional headers for every request."""
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)
    """Additional fields for every request body, as the endpoint defines them."""
    concurrency: int | None = None
    connect_timeout: float = 10.0
    first_byte_timeout: float = 120.0
    idle_timeout: float = 60.0
    total_timeout: float = 600.0
    max_response_bytes: int = 32 * 1024 * 1024
    start_timeout: float = 5.0
    """Seconds to wait for a server that has never answered, because it may be starting."""
    keep_alive: bool = True
    """True if a connection may serve several requests. If False, a late response cannot
    be taken for another request's.
    """

    def __post_init__(self) -> None:
        self.accepts, self.produces = (
            kinds(self.accepts, "accepts"),
            kinds(self.produces, "produces"),
        )
        for name in ("body", "headers"):
            if not isinstance(getattr(self, name), Mapping):
                raise self._wrong(
                    f"{name} of",
                    "takes a mapping",
                    f"""-a '{name}={{"name": "value"}}'""",
                )
        for name in TIMEOUTS:
            seconds = getattr(self, name)
            is_number = isinstance(seconds, (int, float)) and not isinstance(
                seconds, bool
            )
            if not is_number or not (
                seconds > 0 or (name, seconds) == ("start_timeout", 0)
            ):
                raise self._wrong(f"{name} of", f"is {seconds!r}", "seconds, above 0")
        most = self.max_response_bytes
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise self._wrong(
                "max_response_bytes of",
                f"is {most!r}",
                "a number of bytes",
            )
        if not isinstance(self.keep_alive, bool):
            raise self._wrong(
                "keep_alive of", f"is {self.keep_alive!r}", "true or false"
            )
        url = self.base_url or os.environ.get(self.url_env)
        self._key = (variable(self.api_key_env) or "").strip()
        if not url and not self._key:
            fix = f"set the environment variable {self.api_key_env}, or give base_url=http://host:port/v1"
            raise self._wrong("", "has neither a key nor a URL", fix)
        self._url = _checked(fill_references(url or self.public_url, "base_url"))
        if (
            self.assumes_version
            and not urlsplit(self._url).path
            and (version := _VERSIONED.search(self.public_url))
        ):
            self._url += version[0]
        self._place, _, self._query = self._url.partition("?")
        # Use the URL as the user wrote it, so that a key that changes in the environment does not change the identity.
        if not url or not REFERENCE.search(url):
            location = self._url
        else:
            location = url
        if self.headers:
            further = {"headers": dict(self.headers)}
        else:
            further = {}
        self.written: Mapping[str, Any] = {
            "base_url": location,
            "body": dict(self.body),
            **further,
        }
        """The options of this model, which may contain secrets. Records contain them in redacted form."""
        self.base_url, self.body = self._url, fill_references(self.body, "the body")
        headers = {
            name: fill_references(value, "a header").strip()
            for name, value in self.headers.items()
        }
        header, _, value = self.key_header.format(self._key).partition(": ")
        self._headers = {**({header: value} if self._key else {}), **headers}
        _check_headers(self._headers)
        secrets = secrets_of({"base_url": self._url, "body": self.body})
        self._secrets = [
            value for value in (self._key, *self._headers.values(), *secrets) if value
        ]
        remember(secrets_of({"headers": self._headers}) | secrets)
        self._drawn: WeakKeyDictionary[
            asyncio.Task[Any], tuple[Request, list[Output]]
        ] = WeakKeyDictionary()
        waits = {
            name.removesuffix("_timeout"): getattr(self, name) for name in TIMEOUTS
        }
        limits = Limits(**waits, response_bytes=self.max_response_bytes)
        self._client = Client(limits, self.keep_alive)

    def _wrong(
        self,
        option: str,
        what: str,
        fix: str,
    ) -> UsageError:
        return UsageError(
            f"{option} model '{self.scheme}/{self.name}' {what}".lstrip(), fix=fix
        )

    @property
    def abilities(self) -> Abilities:
        """Return the declared abilities, because an endpoint does not report what its model accepts and produces."""
        return as_declared(self.accepts, self.produces)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the properties that identify this model: its name, its URL, and all
        options. A digest replaces each key.
        """
        return {self.scheme: self.name, **redact_options(self.written)}

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Make one attempt for each request."""
        outputs = [await self._attempt(request, self._answer) for request in requests]
        for index, request in enumerate(requests):
            if request.options.n > 1:
                outputs[index] = self._with_paid(request, outputs[index])
        return outputs

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.close()

    @property
    def formats(self) -> Formats:
        """Return the media formats that the endpoint accepts. Others are converted to PNG or WAV."""
        return {"image": WEB_IMAGES, "audio": PLAIN_AUDIO}

    @abstractmethod
    def carrier(self, prompt: Prompt) -> Carrier:
        """Return the carrier for a prompt: the media and roles that its request can contain."""

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error for a prompt that a request cannot contain completely; None if it can."""
        return self.carrier(prompt).refusal(prompt)

    @abstractmethod
    async def _answer(self, request: Request) -> Output:
        """Send a request and read the answer."""

    def _refused(self, refused: Refused) -> Output | HttpFailure:
        """Return the failure for an error status.

        Subclasses may return an output instead, for example when a content filter
        blocked the answer.
        """
        return refused.failure()

    async def _post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a body together with the user's extra fields, and return the decoded reply."""
        try:
            return await self._client.post(
                self._address(path),
                {**body, **self.body},
                headers or self._headers,
            )
        except Refused as refused:
            refused.path = path
            raise

    async def _post_form(
        self,
        path: str,
        form: bytes,
        content_type: str,
    ) -> object:
        return decoded(
            await self._client.send(
                self._address(path),
                form,
                self._headers,
                content_type,
            )
        )

    def _address(self, path: str) -> str:
        if self._query:
            return f"{self._place}/{path}?{self._query}"
        return f"{self._place}/{path}"

    async def _attempt(self, request: Request, ask: Ask) -> Output:
        started = time.perf_counter()
        done: tuple[str, ...] = ()
        if refusal := self.refusal(request.prompt):
            return Output.failed("data", str(refusal), retryable=False)
        try:
            if request.prompt.media and needs_change(request.prompt, self.formats):
                prompt, done = await asyncio.to_thread(
                    portable,
                    request.prompt,
                    self.formats,
                )
                request = replace(request, prompt=prompt)
            output = await ask(request)
        except Refused as refused:
            outcome = self._refused(refused)
            if isinstance(outcome, HttpFailure):
                return self._failed(outcome, refused.status, refused.path)
            output = outcome
        except HttpFailure as error:
            return self._failed(error)
        except Malformed as error:
            return self._failed(
                HttpFailure("bad_response", str(error), retryable=error.passes)
            )
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - an unreadable medium or text fails this sample alone
            return failure(error, f"{self.scheme}/{self.name}")
        if output.error is None:
            output = with_notes(output, self._client.take_notes())
        if output.seconds is None and output.error is None:
            object.__setattr__(
                output,
                "seconds",
                time.perf_counter() - started,
            )  # just created, and not shared yet
        if done:
            return replace(output, details={**output.details, "media": list(done)})
        return output

    def _failed(
        self,
        error: HttpFailure,
        status: int = 0,
        path: str = "",
    ) -> Output:
        if status in (401, 403) and not self._key:
            error.message += f"; fix: set the environment variable {self.api_key_env}"
        elif (
            status in (404, 405)
            and not _VERSIONED.search(self._place)
            and "api-version" not in self._query
        ):
            version = _VERSIONED.search(self.public_url)
            error.message += f"; fix: base_url may lack the version, as in {self._place}{version[0] if version else ''}"
        elif path and _NO_PATH.match(error.message):
            error.message += (
                f"; fix: choose another API, as the server may have no /{path}"
            )
        return error.as_output(self._secrets)

    async def _repeat(self, request: Request, ask: Ask) -> Output:
        """Call an endpoint that returns one candidate per call until `n` candidates are collected.

        If a call fails, a retry keeps the candidates received so far.
        """
        if request.options.n == 1:
            return await ask(request)
        outputs = self._drawn_of(request)
        while len(outputs) < request.options.n:
            output = await ask(request)
            if output.error is not None:
                return output
            outputs.append(output)
        self._drawn.pop(_this_task())
        candidates = tuple(
            candidate for output in outputs for candidate in output.candidates
        )
        return replace(
            outputs[0],
            candidates=candidates,
            usage=_added([output.usage for output in outputs]),
        )

    def _drawn_of(self, request: Request) -> list[Output]:
        """Return the outputs that this request has received so far.

        All attempts of a request run in one asyncio task, so there is one list per
        task.
        """
        previous, outputs = self._drawn.get(_this_task(), (None, []))
        if previous is not request:
            outputs = []
            self._drawn[_this_task()] = (request, outputs)
        return outputs

    def _with_paid(self, request: Request, output: Output) -> Output:
        """Return a failed output with the usage of the candidates received before, because they are billed."""
        previous, outputs = self._drawn.get(_this_task(), (None, []))
        if previous is request:
            usage = _added([output_part.usage for output_part in outputs])
        else:
            usage = None
        if usage is None:
            return output
        return replace(output, usage=usage)


def _this_task() -> "asyncio.Task[Any]":
    task = asyncio.current_task()
    assert task is not None, "an endpoint is asked from a task"
    return task


def kinds(
    value: str | Sequence[str],
    option: str,
) -> tuple[str, ...]:
    """Return the kinds of parts that an option lists, as a list or as text such as `text,audio`."""
    if isinstance(value, str):
        named = tuple(value.replace(" ", "").split(","))
    else:
        named = tuple(value)
    for kind in named:
        if kind not in KINDS:
            raise UsageError(
                f"{option} takes kinds of {', '.join(KINDS)}, got {kind!r}",
                fix=f"-a {option}=text,image",
            )
    return named


def as_declared(
    accepts: Sequence[str],
    produces: Sequence[str],
) -> Abilities:
    """Return the declared abilities of a chat endpoint. Whether it reports log-probabilities is unknown."""
    return Abilities(
        frozenset(accepts),
        frozenset(produces),
        logprobs=True,
        roles="chat",
        unsure=frozenset({"logprobs"}),
    )


def enough(output: Output, expected: int) -> Output:
    """Return the output, or a failure if it has candidates, but not the `expected` number that pass@k needs."""
    count = len(output.candidates)
    if count == expected or not count:
        return output
    fix = "leave `n` out of `body`, and set n as a generation option"
    if count < expected:
        fix = f"use epochs={expected} instead of n={expected}"
    message = f"asked for {expected} candidate{'s' * (expected > 1)}, the endpoint gave {count}; fix: {fix}"
    return Output.failed("bad_response", message, retryable=False)


def refuse_options(
    request: Request,
    unknown: Sequence[str],
    whose: str,
    fix: str | None = None,
) -> None:
    """Raise for a generation option that an endpoint does not support."""
    for name in unknown:
        if getattr(request.options, name) not in (None, ()):
            raise UsageError(
                f"{whose} has no generation option {name!r}",
                fix=fix or f"leave {name} out",
            )


def without_seed(output: Output, request: Request) -> Output:
    """Record in the output that the API ignored the seed, if the request has one."""
    if request.options.seed is None and request.seed is None:
        return output
    return replace(output, details={**output.details, "ignored": ["seed"]})


def filtered() -> Output:
    """Return the output for a request that the endpoint's content filter blocked."""
    return Output((Candidate((), "content_filter"),))


def _added(usages: Sequence[Usage | None]) -> Usage | None:
    """Return the sum of several calls' usage, because each call is billed."""
    counts = [usage for usage in usages if usage is not None]
    if not counts:
        return None
    sums = {
        name: sum(values)
        if (
            values := [v for usage in counts if (v := getattr(usage, name)) is not None]
        )
        else None
        for name in (
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "reasoning_tokens",
            "cost",
        )
    }
    return Usage(**sums)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name + value).isprintable() or not (name + value).isascii():
            message = f"the header {name!r} holds a line break or a letter that no header can carry"
            raise UsageError(
                message, fix="check the environment variable its value comes from"
            )


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        bare = url.partition("?")[0].rpartition("@")[2]
        fix = f"http://{bare.rpartition('//')[2]}"
        raise UsageError(
            f"base_url must start with http:// or https://, got {bare!r}", fix=fix
        )
    try:
        parts.port  # noqa: B018 - looked at for its fault
    except ValueError as error:
        raise UsageError(
            f"base_url {parts.hostname}: {error}", fix="http://host:port/v1"
        ) from error
    if parts.username is not None or parts.password is not None:
        fix = "put it into the environment variable of the key"
        raise UsageError(f"base_url for {parts.hostname} carries a password", fix=fix)
    return urlunsplit(
        (parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, "")
    )

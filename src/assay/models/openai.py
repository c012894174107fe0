"""Any OpenAI-compatible URL: chat and completions, without streaming.

The key comes from the environment and is seen nowhere else: not in errors, not in the identity, not in `repr`.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit, urlunsplit

from ..core import EMPTY, Abilities, Candidate, Output, Request, UsageError
from .chat_format import Malformed, chat_messages, option_fields, read_answer
from .function import failure
from .http import Client, HttpFailure, Limits, Refused

PUBLIC_URL = "https://api.openai.com/v1"
FILTERED = frozenset({"content_filter", "content_policy_violation"})
_FROM_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass
class OpenAI:
    """A model behind an OpenAI-compatible endpoint. One attempt a call: the scheduler tries again."""

    reference: ClassVar[str] = "name"

    name: str
    """The model's name at the endpoint."""
    base_url: str | None = None
    """Up to and including `/v1`; else `OPENAI_BASE_URL`, else the public service."""
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    endpoint: Literal["auto", "chat", "completions"] = "auto"
    """`auto` sends prompts with free roles as completions, all others as chat."""
    max_tokens_field: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """Servers disagree on the name; `auto` uses the newer one for the public service only."""
    accepts: tuple[str, ...] = ("text", "image", "audio")
    produces: tuple[str, ...] = ("text",)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY, repr=False)
    """Further headers; `${env:NAME}` in a value is filled from the environment."""
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further members of the request's body, as the endpoint defines them."""
    concurrency: int | None = None
    connect_timeout: float = 10.0
    first_byte_timeout: float = 120.0
    idle_timeout: float = 60.0
    total_timeout: float = 600.0
    max_response_bytes: int = 32 * 1024 * 1024

    def __post_init__(self) -> None:
        url = self.base_url or os.environ.get("OPENAI_BASE_URL")
        if not url and not os.environ.get(self.api_key_env):
            raise UsageError(
                f"model 'openai/{self.name}' has neither a key nor a URL",
                fix=f"set the environment variable {self.api_key_env}, or give base_url=http://host:port/v1",
            )
        if self.endpoint not in ("auto", "chat", "completions"):
            raise UsageError(f"endpoint must be auto, chat or completions, got {self.endpoint!r}")
        self._url = _checked(url or PUBLIC_URL)
        self._headers()
        self._client = Client(
            Limits(
                self.connect_timeout,
                self.first_byte_timeout,
                self.idle_timeout,
                self.total_timeout,
                self.max_response_bytes,
            )
        )
        self.base_url = self._url

    @property
    def abilities(self) -> Abilities:
        """As declared; given continuations cannot be weighed, since endpoints report only what they write."""
        roles: Literal["chat", "any"] = "chat" if self.endpoint == "chat" else "any"
        return Abilities(frozenset(self.accepts), frozenset(self.produces), logprobs=True, roles=roles)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, place, and what is added to every request; no header, since those hold keys."""
        return {"openai": self.name, "base_url": self._url, "endpoint": self.endpoint, "body": dict(self.body)}

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """One attempt for each request."""
        return [await self._attempt(request) for request in requests]

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        await self._client.close()

    async def _attempt(self, request: Request) -> Output:
        started = time.perf_counter()
        headers, secrets = self._headers()
        chat = self.endpoint == "chat" or (self.endpoint == "auto" and request.prompt.is_chat)
        try:
            answer = await self._client.post(self._address(chat), self._body(request, chat), headers)
            output = read_answer(answer, seconds=time.perf_counter() - started)
        except Refused as refused:
            if refused.error.get("code") in FILTERED:
                return Output((Candidate((), "content_filter"),), seconds=time.perf_counter() - started)
            return refused.failure().as_output(secrets)
        except HttpFailure as error:
            return error.as_output(secrets)
        except Malformed as error:
            return HttpFailure("bad_response", str(error), retryable=True).as_output(secrets)
        except Exception as error:  # noqa: BLE001 - an unreadable medium or text fails this sample alone
            return failure(error, f"openai/{self.name}")
        return _complete(output, request.options.n)

    def _address(self, chat: bool) -> str:
        path, _, query = self._url.partition("?")
        return f"{path}/{'chat/completions' if chat else 'completions'}{'?' if query else ''}{query}"

    def _body(self, request: Request, chat: bool) -> dict[str, Any]:
        prompt, options = request.prompt, request.options
        body: dict[str, Any] = {"model": self.name}
        body |= {"messages": chat_messages(prompt)} if chat else {"prompt": prompt.text}
        body |= option_fields(options, request.seed, chat=chat)
        if options.max_tokens is not None:
            body[self._max_tokens_field(chat)] = options.max_tokens
        return {**body, **self.body}

    def _max_tokens_field(self, chat: bool) -> str:
        if self.max_tokens_field != "auto":
            return self.max_tokens_field
        return "max_completion_tokens" if chat and self._url == PUBLIC_URL else "max_tokens"

    def _headers(self) -> tuple[dict[str, str], list[str]]:
        """The headers to send, and the values that must not be seen."""
        key = os.environ.get(self.api_key_env)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        headers |= {name: _FROM_ENVIRONMENT.sub(_environment, value) for name, value in self.headers.items()}
        return headers, [value for value in (key, *headers.values()) if value]


def _environment(match: re.Match[str]) -> str:
    value = os.environ.get(match.group(1))
    if value is None:
        raise UsageError(f"a header needs the environment variable {match.group(1)}, which is not set")
    return value


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"base_url must start with http:// or https://, got {url.rpartition('@')[2]!r}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"base_url for {parts.hostname} carries a password", fix="put it into the environment variable of the key"
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), parts.query, ""))


def _complete(output: Output, asked: int) -> Output:
    """An endpoint that ignores `n` must not make pass@k look worse than it is."""
    given = len(output.candidates)
    if given >= asked:
        return output
    message = f"asked for {asked} candidates, the endpoint gave {given}; fix: use epochs={asked} instead of n={asked}"
    return Output.failed("bad_response", message, retryable=False)

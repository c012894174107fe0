"""Any service that litellm supports: `litellm/PROVIDER/NAME`.

litellm's own retries are off, so that only the scheduler retries, and it does not fetch its price list on import.
Keys come from the environment variables that litellm defines.
"""

import importlib.util
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, ClassVar

import msgspec

from ..core import (
    EMPTY,
    Abilities,
    DataError,
    MissingExtra,
    Output,
    Prompt,
    Request,
    Usage,
    UsageError,
)
from ..core.secrets import redact_options
from .answers import failure
from .carrying import CHAT
from .chat_format import (
    Malformed,
    chat_messages,
    option_fields,
    read_answer,
    tool_fields,
)
from .http import HttpFailure, Refused
from .http_model import as_declared, enough, filtered, kinds
from .reply_checks import check_reply

_NO_KEY = re.compile(
    r"missing credentials"
    r"|missing [\w ]*api[ _]?key"  # "Missing Anthropic API Key"
    r"|unable to locate credentials",
    re.IGNORECASE,
)


@dataclass
class LiteLLM:
    """A model called through litellm. Each call makes one attempt; the scheduler retries."""

    reference: ClassVar[str] = "name"

    name: str
    """The name in litellm's format: `bedrock/…`, `vertex_ai/…`, `mistral/…`."""
    base_url: str | None = None
    accepts: tuple[str, ...] = ("text", "image", "audio")
    produces: tuple[str, ...] = ("text",)
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Additional arguments for litellm's `acompletion`."""
    concurrency: int | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        self.accepts, self.produces = (
            kinds(self.accepts, "accepts"),
            kinds(self.produces, "produces"),
        )
        if (
            not isinstance(self.timeout, (int, float))
            or isinstance(self.timeout, bool)
            or not self.timeout > 0
        ):
            raise UsageError(
                f"timeout of model 'litellm/{self.name}' is {self.timeout!r}",
                fix="seconds, above 0",
            )
        if importlib.util.find_spec("litellm") is None:
            raise MissingExtra(
                "litellm, which reaches other services,",
                "'assay[litellm]'",
                where=f"litellm/{self.name}",
            )

    @property
    def abilities(self) -> Abilities:
        """Return the declared abilities. Whether a service reports log-probabilities is unknown."""
        return replace(as_declared(self.accepts, self.produces), tools=True)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the properties that identify this model: name, URL, and everything that is added to requests."""
        return {
            "litellm": self.name,
            **redact_options({"base_url": self.base_url, "body": dict(self.body)}),
        }

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error for a prompt that a chat request cannot contain completely; None if it can."""
        return CHAT.refusal(prompt)

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Make one attempt for each request."""
        return [await self._attempt(request) for request in requests]

    async def _attempt(self, request: Request) -> Output:
        if refusal := self.refusal(request.prompt):
            return Output.failed("data", str(refusal), retryable=False)
        litellm = _library()
        started = time.perf_counter()
        try:
            answer = await litellm.acompletion(**self._question(request))
            output = read_answer(
                answer.model_dump(), seconds=time.perf_counter() - started
            )
        except litellm.exceptions.ContentPolicyViolationError:
            return filtered()
        except litellm.exceptions.UnsupportedParamsError as error:
            raise UsageError(
                f"litellm/{self.name}: {_message_of(error)}", fix="leave the option out"
            ) from error
        except Malformed as error:
            return HttpFailure(
                "bad_response",
                str(error),
                retryable=error.passes,
            ).as_output()
        except Exception as error:  # noqa: BLE001 - the boundary to the library: becomes a counted failure
            return _failure(litellm, error, self.name).as_output()
        output = replace(output, usage=_priced(output.usage, answer))
        output = check_reply(output, request, self.name, getattr(answer, "model", None))
        return enough(output, request.options.n)

    def _question(self, request: Request) -> dict[str, Any]:
        options = request.options
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": chat_messages(request.prompt),
            **tool_fields(request.prompt),
        }
        arguments |= option_fields(options, request.seed, chat=True)
        arguments |= {"timeout": self.timeout, "num_retries": 0, "max_retries": 0}
        if options.max_tokens is not None:
            arguments["max_tokens"] = options.max_tokens
        if request.prompt.produces != ("text",):
            arguments["modalities"] = list(
                dict.fromkeys(("text", *request.prompt.produces))
            )
        if self.base_url is not None:
            arguments["api_base"] = self.base_url
        return {**arguments, **self.body}


def _library() -> ModuleType:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    # It prints advice to stdout with every error, which would break output that programs read.
    litellm.suppress_debug_info = True
    return litellm


def _failure(
    litellm: ModuleType,
    error: Exception,
    name: str,
) -> HttpFailure:
    """Convert a litellm error to a failure, by the error's class, which is more precise than the HTTP status."""
    exceptions = litellm.exceptions
    if _NO_KEY.search(_message_of(error)):
        # litellm reports a missing key as a failure of the server.
        missing = ", ".join(litellm.validate_environment(name)["missing_keys"])
        if missing:
            fix = f"set {missing} in the environment"
        else:
            fix = _message_of(error)
        return HttpFailure(
            "auth",
            f"litellm finds no key for {name!r}; fix: {fix}",
            retryable=False,
        )
    if isinstance(error, exceptions.Timeout):
        return HttpFailure("timeout", _message_of(error), retryable=True)
    if isinstance(error, exceptions.ContextWindowExceededError):
        return HttpFailure("context", _message_of(error), retryable=False)
    if isinstance(error, exceptions.APIConnectionError):
        return HttpFailure("connection", _message_of(error), retryable=True)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        response = getattr(error, "response", None)
        headers = {
            str(k).lower(): str(v)
            for k, v in dict(getattr(response, "headers", None) or {}).items()
        }
        return Refused(
            status,
            headers,
            msgspec.json.encode({"error": {"message": _message_of(error)}}),
        ).failure()
    problem = failure(error, f"litellm/{name}").error
    assert problem is not None
    return HttpFailure(problem.kind, problem.message, retryable=problem.retryable)


def _message_of(error: Exception) -> str:
    """Return the message of a litellm error without the traceback that it contains."""
    text = str(getattr(error, "message", None) or error).partition("\nTraceback")[0]
    return text.removeprefix(f"litellm.{type(error).__name__}: ").strip()


def _priced(
    usage: Usage | None,
    answer: object,
) -> Usage | None:
    """Return the usage with the cost from litellm's price list."""
    cost = (getattr(answer, "_hidden_params", None) or {}).get("response_cost")
    if usage is None or not cost:
        return usage
    return replace(usage, cost=float(cost))

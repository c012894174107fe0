"""Any service that the library litellm speaks to: `litellm/PROVIDER/NAME`.

Its own retries are off, so that there is one layer that tries again, and it is told not to fetch its price list when it
is imported. Keys come from the environment under the names litellm gives them.
"""

import importlib.util
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import msgspec

from ..core import EMPTY, Abilities, MissingExtra, Output, Request, Usage, UsageError
from ..core.secrets import veiled
from .answers import failure
from .chat_format import Malformed, chat_messages, option_fields, read_answer
from .http import HttpFailure, Refused
from .http_model import as_declared, enough, filtered, kinds

_NO_KEY = re.compile(
    r"missing credentials|missing [\w ]*api[ _]?key|unable to locate credentials",
    re.IGNORECASE,
)


@dataclass
class LiteLLM:
    """A model reached through litellm. One attempt a call: the scheduler tries again."""

    reference: ClassVar[str] = "name"

    name: str
    """As litellm spells it: `bedrock/…`, `vertex_ai/…`, `mistral/…`."""
    base_url: str | None = None
    accepts: tuple[str, ...] = ("text", "image", "audio")
    produces: tuple[str, ...] = ("text",)
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further arguments of litellm's `acompletion`."""
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
        """As declared; whether a service reports log-probabilities shows when it is asked for them."""
        return as_declared(self.accepts, self.produces)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, place, and what is added to every request."""
        return {
            "litellm": self.name,
            **veiled({"base_url": self.base_url, "body": dict(self.body)}),
        }

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """One attempt for each request."""
        return [await self._attempt(request) for request in requests]

    async def _attempt(self, request: Request) -> Output:
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
                f"litellm/{self.name}: {_said(error)}", fix="leave the option out"
            ) from error
        except Malformed as error:
            return HttpFailure(
                "bad_response", str(error), retryable=error.passes
            ).as_output()
        except Exception as error:  # noqa: BLE001 - the boundary to the library: becomes a counted failure
            return _failure(litellm, error, self.name).as_output()
        return enough(
            replace(output, usage=_priced(output.usage, answer)), request.options.n
        )

    def _question(self, request: Request) -> dict[str, Any]:
        options = request.options
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": chat_messages(request.prompt),
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


def _library() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    # It prints advice to stdout with every error, in the middle of what is read by programs.
    litellm.suppress_debug_info = True
    return litellm


def _failure(litellm: Any, error: Exception, name: str) -> HttpFailure:
    """What a library's error means; its class says more than its status."""
    exceptions = litellm.exceptions
    if _NO_KEY.search(_said(error)):
        # Found before anything is sent, and told as if the server had failed or could not be reached.
        missing = ", ".join(litellm.validate_environment(name)["missing_keys"])
        fix = f"set {missing} in the environment" if missing else _said(error)
        return HttpFailure(
            "auth", f"litellm finds no key for {name!r}; fix: {fix}", retryable=False
        )
    if isinstance(error, exceptions.Timeout):
        return HttpFailure("timeout", _said(error), retryable=True)
    if isinstance(error, exceptions.ContextWindowExceededError):
        return HttpFailure("context", _said(error), retryable=False)
    if isinstance(error, exceptions.APIConnectionError):
        return HttpFailure("connection", _said(error), retryable=True)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        response = getattr(error, "response", None)
        headers = {
            str(k).lower(): str(v)
            for k, v in dict(getattr(response, "headers", None) or {}).items()
        }
        return Refused(
            status, headers, msgspec.json.encode({"error": {"message": _said(error)}})
        ).failure()
    problem = failure(error, f"litellm/{name}").error
    assert problem is not None
    return HttpFailure(problem.kind, problem.message, retryable=problem.retryable)


def _said(error: Exception) -> str:
    """What the library says, in one line: it appends a traceback."""
    text = str(getattr(error, "message", None) or error).partition("\nTraceback")[0]
    return text.removeprefix(f"litellm.{type(error).__name__}: ").strip()


def _priced(usage: Usage | None, answer: Any) -> Usage | None:
    """With what litellm's price list says it cost."""
    cost = (getattr(answer, "_hidden_params", None) or {}).get("response_cost")
    return usage if usage is None or not cost else replace(usage, cost=float(cost))

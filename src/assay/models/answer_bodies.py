"""Answers of chat APIs that were stored elsewhere, such as those of batches, as outputs."""

from collections.abc import Mapping
from typing import Any

from ..core import Output
from .anthropic import read_body
from .chat_format import read_answer
from .http_failures import HttpFailure
from .openai import responses


def read_openai_body(body: Mapping[str, Any]) -> Output:
    """Return the output in a body of chat completions, completions or responses; a broken one as a failure."""
    try:
        return responses.read(body) if "output" in body else read_answer(body)
    except HttpFailure as failure:
        return Output.failed("malformed", str(failure), retryable=False)


def read_anthropic_body(body: object) -> Output:
    """Return the output in a body of Anthropic's messages; a broken one as a failure."""
    try:
        return read_body(body)
    except HttpFailure as failure:
        return Output.failed("malformed", str(failure), retryable=False)

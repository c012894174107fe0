"""Output files of the batch APIs of OpenAI and Anthropic, which contain answers by custom id, without the questions."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import ErrorInfo, Output
from ..models.anthropic import read_body
from ..models.chat_format import read_answer
from ..models.http_failures import HttpFailure
from ..models.openai import responses
from .documents import UNUSUAL, first_object, mapping, read_objects
from .results import UNKNOWN, ForeignRun, ForeignSample, ForeignTask


def read_openai_body(body: Mapping[str, Any]) -> Output:
    """Return the output from a response body of chat completions, completions or responses.

    A malformed body gives a failed output.
    """
    try:
        if "output" in body:
            return responses.read(body)
        return read_answer(body)
    except HttpFailure as failure:
        return Output.failed("malformed", str(failure), retryable=False)


def read_anthropic_body(body: object) -> Output:
    """Return the output from a response body of Anthropic's messages API. A malformed body gives a failed output."""
    try:
        return read_body(body)
    except HttpFailure as failure:
        return Output.failed("malformed", str(failure), retryable=False)


def is_openai_batch(path: Path) -> bool:
    """Return True for an output or error file of OpenAI's batch API."""
    row = _first(path)
    return "custom_id" in row and "response" in row and "error" in row


def is_anthropic_batch(path: Path) -> bool:
    """Return True for a results file of Anthropic's message batches."""
    row = _first(path)
    return "custom_id" in row and "type" in mapping(row.get("result"))


def _first(path: Path) -> dict[str, Any]:
    is_lines = path.is_file() and path.suffix in (".jsonl", ".ndjson", ".json", ".txt")
    return first_object(path) if is_lines else {}


def read_openai_batch(path: Path) -> ForeignRun:
    """Read an output file of OpenAI's batch API. The sample ids are its `custom_id`s."""
    model = mapping(mapping(_first(path).get("response")).get("body")).get("model")
    return _run("OpenAI batch API", path, model, _openai_output)


def read_anthropic_batch(path: Path) -> ForeignRun:
    """Read a results file of Anthropic's message batches. The sample ids are its `custom_id`s."""
    model = mapping(mapping(_first(path).get("result")).get("message")).get("model")
    return _run("Anthropic batch API", path, model, _anthropic_output)


def _run(
    tool: str,
    path: Path,
    model: object,
    read: Callable[[Mapping[str, Any]], Output],
) -> ForeignRun:
    def samples() -> Iterator[ForeignSample]:
        for _, row in read_objects(path):
            try:
                output = read(row)
            except UNUSUAL as error:
                output = _failed_output(f"the answer cannot be read: {error}")
            yield ForeignSample(str(row.get("custom_id")), output)

    task = ForeignTask(path.stem, str(model or UNKNOWN), samples)
    return ForeignRun(tool, "", (task,))


def _openai_output(row: Mapping[str, Any]) -> Output:
    response = mapping(row.get("response"))
    body = mapping(response.get("body"))
    status = response.get("status_code")
    error = row.get("error") or body.get("error")
    if not error and status not in (200, None):
        error = f"HTTP status {status}"
    if error:
        return _failed_output(error)
    return read_openai_body(body)


def _anthropic_output(row: Mapping[str, Any]) -> Output:
    result = mapping(row.get("result"))
    if result.get("type") == "succeeded":
        return read_anthropic_body(result.get("message"))
    return _failed_output(result.get("error") or result.get("type"))


def _failed_output(error: object) -> Output:
    """Return an output with the error of a request that was not answered."""
    described = mapping(error)
    inner = mapping(described.get("error"))
    message = inner.get("message") or described.get("message") or error
    return Output(error=ErrorInfo("batch", str(message), retryable=False))

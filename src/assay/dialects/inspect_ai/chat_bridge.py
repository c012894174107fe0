"""Convert messages, tools and options of inspect_ai to assay's, and answers of assay to inspect_ai's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...core import (
    Audio,
    GenerateOptions,
    Image,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    UsageError,
    Video,
    as_messages,
)
from ...core.output import Candidate
from ...imports.chat_turns import messages_of
from . import inspect_package as package

if TYPE_CHECKING:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessage,
        Content,
        GenerateConfig,
        ModelOutput,
    )
    from inspect_ai.tool import ToolCall as InspectToolCall
    from inspect_ai.tool import ToolInfo

SAME_NAME = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
)
"""Generation options that have the same name and meaning in inspect_ai and assay."""
UNSUPPORTED = ("best_of", "logit_bias", "response_schema", "extra_body", "modalities")
"""Generation options of inspect_ai that change answers but are not supported by assay."""
TOOL_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
STOP_REASONS = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
KINDS = {"image": Image, "audio": Audio, "video": Video}


def options_of(config: "GenerateConfig", usual: GenerateOptions) -> GenerateOptions:
    """Return the generation options of a call to the model. Unset options are taken from `usual`."""
    for name in UNSUPPORTED:
        if getattr(config, name, None):
            raise UsageError(f"the task sets {name!r}, which assay cannot pass on")
    changes = {name: getattr(config, name, None) for name in SAME_NAME}
    chosen: dict[str, Any] = {k: v for k, v in changes.items() if v is not None}
    if config.stop_seqs:
        chosen["stop"] = tuple(config.stop_seqs)
    if config.num_choices:
        chosen["n"] = config.num_choices
    if config.logprobs:
        chosen["logprobs"] = config.top_logprobs or 0
    return replace(usual, **chosen)


def prompt_of(
    turns: Sequence[Any],
    tools: Sequence[Any],
    choice: object,
    options: GenerateOptions,
) -> Prompt:
    """Return the prompt for a call to the model in a task's solver."""
    return Prompt(
        messages_of_inspect(turns),
        options=options,
        tools=tuple(_tool(info) for info in tools),
        tool_choice=_tool_choice(choice) if tools else None,
    )


def _tool(info: "ToolInfo") -> Tool:
    parameters = info.parameters.model_dump(mode="json", exclude_none=True)
    return Tool(info.name, info.description, parameters)


def _tool_choice(choice: object) -> str | None:
    """Convert a tool choice to assay's form: a word such as `auto`, or the tool's name."""
    if isinstance(choice, str):
        return TOOL_CHOICES.get(choice)
    return getattr(choice, "name", None)


def messages_of_inspect(turns: "str | Sequence[ChatMessage]") -> tuple[Message, ...]:
    """Convert messages of inspect_ai. A task is trusted code, so the media files that it refers to are read."""
    if isinstance(turns, str):
        return as_messages(turns)
    messages: Sequence[ChatMessage] = turns
    plain = [turn.model_dump(mode="json", exclude_none=True) for turn in messages]
    for turn in plain:
        content = turn.get("content")
        if isinstance(content, list):
            turn["content"] = [_with_bytes(piece) for piece in content]
    return messages_of(plain)


def _with_bytes(piece: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a message. If it refers to a local media file, the reference becomes a data URL."""
    kind = str(piece.get("type"))
    source = piece.get(kind)
    if kind not in KINDS or not isinstance(source, str) or source.startswith("data:"):
        return piece
    path = Path(source.removeprefix("file://"))
    if not path.is_file():
        raise UsageError(
            f"the {kind} {source!r} is not a file on this machine",
            fix="download it, and name the file in the task",
        )
    medium = KINDS[kind](path)
    return {**piece, kind: medium.data_url()}


def output_of(output: Output, model_name: str) -> "ModelOutput":
    """Convert an answer of assay to a model output of inspect_ai."""
    module = package.module("model")
    choices = [
        _choice(module, candidate, model_name) for candidate in output.candidates
    ]
    usage = None
    if output.usage is not None:
        taken_in = output.usage.input_tokens or 0
        written_out = output.usage.output_tokens or 0
        usage = module.ModelUsage(
            input_tokens=taken_in,
            output_tokens=written_out,
            total_tokens=taken_in + written_out,
            input_tokens_cache_read=output.usage.cached_tokens,
            reasoning_tokens=output.usage.reasoning_tokens,
        )
    return module.ModelOutput(
        model=model_name,
        choices=choices,
        usage=usage,
        time=output.seconds,
    )


def _choice(
    module: ModuleType,
    candidate: Candidate,
    model_name: str,
) -> "ChatCompletionChoice":
    contents = []
    for part in candidate.separated().parts:
        content = _content(module, part)
        if content is not None:
            contents.append(content)
    calls = [_call(call) for call in candidate.calls]
    is_text = len(contents) == 1 and isinstance(contents[0], module.ContentText)
    message = module.ChatMessageAssistant(
        content=contents[0].text if is_text else contents,
        tool_calls=calls or None,
        model=model_name,
        source="generate",
    )
    reason = "tool_calls" if calls else candidate.stop_reason
    stop_reason = STOP_REASONS.get(str(reason), "stop")
    return module.ChatCompletionChoice(message=message, stop_reason=stop_reason)


def _content(module: ModuleType, part: Part) -> "Content | None":
    if isinstance(part, Text):
        return module.ContentText(text=part.text)
    if isinstance(part, Reasoning):
        return module.ContentReasoning(reasoning=part.text)
    if isinstance(part, Image):
        return module.ContentImage(image=part.data_url())
    return None


def _call(call: ToolCall) -> "InspectToolCall":
    """Convert a tool call to inspect_ai's form.

    Arguments that are not a JSON object become an error, which the model can read and correct.
    """
    tools = package.module("tool")
    if isinstance(call.arguments, Mapping):
        return tools.ToolCall(
            id=call.id,
            function=call.name,
            arguments=dict(call.arguments),
        )
    error = f"the arguments are not a JSON object: {json.dumps(call.arguments)}"
    return tools.ToolCall(
        id=call.id,
        function=call.name,
        arguments={},
        parse_error=error,
    )

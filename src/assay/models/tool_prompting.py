"""Show tools to a model, and read the calls in its answers.

A chat template that supports tools gets them as `tools=`. For any other model, the
tools are written into the prompt: the instructions below start the system message,
earlier calls and results become text, and the model must answer in the syntax `hermes`.
The protocol id of such a measurement contains `prompted`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import (
    Candidate,
    DataError,
    Model,
    Output,
    Prompt,
    Request,
    Text,
    Tool,
    UsageError,
)
from ..core.errors import suggest
from ..core.message import Message, Part
from ..core.tools import ToolCall, ToolResult
from .tool_syntaxes import (
    HERMES,
    NAMES,
    PROMPTED,
    SYNTAXES,
    ToolSyntax,
    syntax_of,
    takes_tools,
)

TOOL_SYNTAX = "tool_syntax"
"""The model option that names the syntax of tool calls."""

INSTRUCTIONS = """\
You can call functions. Each line between the tags describes one of them: its name, its purpose and the JSON schema of \
its arguments.
<tools>
{tools}
</tools>
To call a function, write its name and its arguments as JSON between tags:
<tool_call>
{{"name": "FUNCTION", "arguments": {{"ARGUMENT": "VALUE"}}}}
</tool_call>
Write one such block for each call, and nothing after the last one. The results are then given to you between \
<tool_response> tags. If no function helps, answer in plain words."""
"""The system prompt for models whose chat template does not support tools."""
MUST_CALL = "\nYou must call a function now."
MUST_CALL_NAMED = "\nYou must call the function {name} now."
ONE_CALL = "\nCall at most one function at a time."


@dataclass(frozen=True, slots=True)
class ToolWriting:
    """How tools are shown to a model, and in which syntax the model writes calls."""

    syntax: ToolSyntax | None
    """The syntax of the model's calls; None if assay cannot read the syntax of the chat template."""
    is_prompted: bool = False
    """True if tools are written into the system prompt."""

    def fault(self, prompt: Prompt) -> DataError | None:
        """Return the error if this model cannot receive a prompt with these tools; otherwise None."""
        if not prompt.tools or prompt.tool_choice == "none":
            return None
        if self.syntax is None:
            return DataError(
                "no reader knows the tool calls that the model's chat template teaches",
                fix=f"-a {TOOL_SYNTAX}=NAME with {', '.join(SYNTAXES)}, or {PROMPTED}",
            )
        if self.is_prompted:
            return None
        demand = ""
        if prompt.tool_choice not in (None, "auto"):
            demand = f"tool_choice={prompt.tool_choice}"
        elif prompt.parallel_calls is False:
            demand = "parallel_calls=false"
        if not demand:
            return None
        return DataError(
            f"the prompt has {demand}, which a chat template cannot enforce",
            fix=f"leave it out, or -a {TOOL_SYNTAX}={PROMPTED}, which asks for it in words",
        )

    def asked(self, request: Request) -> Request:
        """Return the request to send: with tools as text if they are written into the prompt, otherwise unchanged."""
        if not self.is_prompted:
            return request
        prompt = written_prompt(request.prompt)
        if prompt is request.prompt:
            return request
        return replace(request, prompt=prompt)

    def read(self, output: Output, request: Request) -> Output:
        """Return an output whose text is split into text and tool calls. Without tools
        in the request, nothing is split.
        """
        is_text = not request.prompt.tools or output.error is not None
        if is_text or self.syntax is None:
            return output
        candidates = [
            read_calls(candidate, self.syntax, request)
            for candidate in output.candidates
        ]
        return replace(output, candidates=tuple(candidates))


def no_tools(model: Model) -> DataError:
    """Return the error for a prompt with tools that is sent to a model without tool support."""
    fix = "choose another model"
    if hasattr(model, TOOL_SYNTAX):
        fix = f"-a {TOOL_SYNTAX}={PROMPTED} writes them into the prompt, or {fix}"
    return DataError("the sample offers tools and the model takes none", fix=fix)


def choose_writing(
    option: str | None,
    template: str | None,
    where: str,
) -> ToolWriting:
    """Choose how tools are shown to a model with this chat template.

    `option` is the syntax that the user chose, or None.
    """
    is_native = template is not None and takes_tools(template)
    if option == PROMPTED or (option is None and not is_native):
        return ToolWriting(HERMES, is_prompted=True)
    if option is None:
        return ToolWriting(syntax_of(template or ""))
    if not is_native:
        raise UsageError(
            f"{TOOL_SYNTAX}={option}, and the model's chat template takes no tools",
            where=where,
            fix=f"{TOOL_SYNTAX}={PROMPTED}",
        )
    return ToolWriting(SYNTAXES[option])


def check_tool_syntax(option: object, where: str) -> None:
    """Raise if the option `tool_syntax` does not name a known syntax."""
    if option is not None and option not in NAMES:
        raise UsageError(
            f"unknown {TOOL_SYNTAX} {option!r}",
            where=where,
            fix=suggest(str(option), NAMES, "one of"),
        )


def read_calls(
    candidate: Candidate,
    syntax: ToolSyntax,
    request: Request,
) -> Candidate:
    """Return a candidate whose answer is split into text and tool calls. Its reasoning is not searched for calls."""
    separated = candidate.separated(request.think_tags)
    parts: list[Part] = []
    has_calls = False
    for part in separated.parts:
        if not isinstance(part, Text):
            parts.append(part)
            continue
        reading = syntax.read(part.text)
        has_calls = has_calls or bool(reading.calls)
        if reading.words or not reading.calls:
            parts.append(Text(reading.words))
        parts += reading.calls
    if not has_calls:
        return candidate
    reason = separated.stop_reason
    if reason == "stop":
        reason = "tool_calls"
    return replace(
        separated,
        parts=tuple(parts),
        stop_reason=reason,
    )


def speaks_of_tools(prompt: Prompt) -> bool:
    """Return True if a prompt offers tools, or contains tool calls or their results."""
    if prompt.tools:
        return True
    return any(message.calls or message.results for message in prompt.messages)


def written_prompt(prompt: Prompt) -> Prompt:
    """Return a prompt with its tools, tool calls and results written as text."""
    if not speaks_of_tools(prompt):
        return prompt
    messages = [_as_text(message) for message in prompt.messages]
    if prompt.tools and prompt.tool_choice != "none":
        messages = _with_system(messages, _instructions(prompt))
    return replace(
        prompt,
        messages=tuple(messages),
        tools=(),
        tool_choice=None,
        parallel_calls=None,
    )


def _instructions(prompt: Prompt) -> str:
    text = INSTRUCTIONS.format(tools="\n".join(map(_described, prompt.tools)))
    if prompt.tool_choice == "required":
        text += MUST_CALL
    elif prompt.tool_choice not in (None, "auto"):
        text += MUST_CALL_NAMED.format(name=prompt.tool_choice)
    if prompt.parallel_calls is False:
        return text + ONE_CALL
    return text


def _described(tool: Tool) -> str:
    return json.dumps(tool.to_plain(), ensure_ascii=False)


def _with_system(
    messages: Sequence[Message],
    text: str,
) -> list[Message]:
    """Add a text at the start of the system message. Insert this message if it is missing."""
    first, *rest = messages
    if first.role in ("system", "developer") and first.parts:
        parts = (Text(f"{text}\n\n"), *first.parts)
        return [Message(first.role, parts), *rest]
    return [Message("system", (Text(text),)), *messages]


def _as_text(message: Message) -> Message:
    """Return a message with tool calls and results written as text, in the form that the instructions describe."""
    if message.parts is None or not (message.calls or message.results):
        return message
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            parts.append(Text(_block("tool_call", _call_text(part))))
        elif isinstance(part, ToolResult):
            parts += [Text("<tool_response>\n"), *part.parts]
            parts.append(Text("\n</tool_response>\n"))
        else:
            parts.append(part)
    if message.role == "tool":
        role = "user"
    else:
        role = message.role
    return Message(role, tuple(parts))


def _call_text(call: ToolCall) -> str:
    body = {"name": call.name, "arguments": call.arguments}
    return json.dumps(
        body,
        ensure_ascii=False,
        default=str,
    )


def _block(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>\n"


def without_system(prompt: Prompt) -> Prompt:
    """Return a prompt whose system text is moved to the start of its first user turn.

    Some chat templates reject a system turn.
    """
    if len(prompt.messages) < 2:
        return prompt
    system, user, *rest = prompt.messages
    if system.role != "system" or user.role != "user":
        return prompt
    system_parts = system.parts or ()
    user_parts = user.parts or ()
    joined = Message("user", (*system_parts, Text("\n\n"), *user_parts))
    return replace(prompt, messages=(joined, *rest))


def template_messages(
    messages: Sequence[Message],
    syntax: ToolSyntax,
    template: str,
    plain: Callable[[Message], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Convert the messages of a conversation with tools to the form that the chat template expects.

    `plain` converts a message without calls. Results become turns of the role `tool`. If the template ignores
    `tool_calls`, the calls are inserted as the text that the model would write.
    """
    reads_calls = "tool_calls" in template
    spelled: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        names.update({call.id: call.name for call in message.calls})
        for result in message.results:
            turn = plain(Message("tool", result.parts))
            turn["name"] = names.get(result.call_id, "")
            turn["tool_call_id"] = _call_id(result.call_id, syntax)
            spelled.append(turn)
        hidden = (ToolCall, ToolResult)
        rest = tuple(p for p in message.parts or () if not isinstance(p, hidden))
        if message.calls and not reads_calls:
            rest = (*rest, Text(syntax.write(message.calls)))
        if rest or not (message.calls or message.results):
            spelled.append(plain(Message(message.role, rest)))
        elif message.calls:
            content = None if syntax.null_content else ""
            spelled.append({"role": message.role, "content": content})
        if message.calls and reads_calls:
            calls = [_template_call(call, syntax) for call in message.calls]
            spelled[-1]["tool_calls"] = calls
    return spelled


def _template_call(call: ToolCall, syntax: ToolSyntax) -> dict[str, Any]:
    arguments: Mapping[str, Any] | str = call.arguments
    function = {"name": call.name, "arguments": arguments}
    call_id = _call_id(call.id, syntax)
    return {"id": call_id, "type": "function", "function": function}


def _call_id(call_id: str, syntax: ToolSyntax) -> str:
    """Return a call id of the required length. Two equal ids become equal ids."""
    length = syntax.id_length
    is_fine = length is None or (len(call_id) == length and call_id.isalnum())
    if is_fine or length is None:
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:length]

"""Convert prompts to token ids, and check the result. No other module does this.

A chat goes through the model's own template, a completion directly through its
tokenizer. Special tokens occur once: if a template writes the beginning-of-sequence
token, the tokenizer does not add a second one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import (
    Media,
    Message,
    Prompt,
    Reasoning,
    TemplateError,
    UsageError,
    shorten,
)
from ...core.message import Part, part_text
from ..chat_format import function_tool
from ..tool_prompting import (
    ToolWriting,
    choose_writing,
    speaks_of_tools,
    template_messages,
    without_system,
    written_prompt,
)
from ..tool_syntaxes import HERMES
from .pairs import Pair

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MARKS = ("ASKEDFIRST", "ANSWERED", "ASKEDAGAIN")
"""Words that occur in no chat template. A test prompt with them shows what a template writes around a message."""
_MARKER = re.compile(r"<[^<>\s]+>")
"""Matches the markers with which most templates begin and end a turn."""


@dataclass(frozen=True, slots=True)
class PromptFault:
    """A fault in how prompts are rendered."""

    kind: str
    """The kind of fault: `double_bos`, `missing_bos`, `stop_in_template`, `unclosed_turn` or `no_turn`."""
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Around:
    """What a chat template writes around messages: before a question, after it, after an answer, and at the end."""

    before: str
    after_question: str
    after_answer: str
    at_end: str

    def opens_at_once(self) -> str | None:
        """Return the marker that opens each turn, if the template opens a turn without closing the one before.

        Otherwise return None.
        """
        # The opener is also the first marker that the answer's turn contains, since nothing can be closed before it
        # is opened. A marker of only one role is ignored: it closes the previous turn, or ends answers.
        opener = next(
            (
                marker
                for marker in _MARKER.findall(self.before)
                if marker in self.at_end
            ),
            None,
        )
        turns = (self.after_question.lstrip(), self.after_answer.lstrip())
        return (
            opener
            if opener is not None and any(turn.startswith(opener) for turn in turns)
            else None
        )

    def runs_on(self) -> bool:
        """Return True if nothing separates a message from the next role name, as in `user: hiassistant:`."""
        return any(
            turn[:1].isalnum() or turn.startswith("#")
            for turn in (self.after_question, self.after_answer)
        )

    def is_left_open(self) -> bool:
        """Return True if the rendered prompt stops before the text that opens the answer's turn."""
        begun = self.after_question.rstrip()
        ended = self.at_end.rstrip()
        return begun != ended and begun.startswith(ended)

    def ends_answer(self, stop: str) -> bool:
        """Return True if a stop string is the text that the template writes after an answer.

        The template may write the same text after questions.
        """
        closing = self.after_answer.lstrip()
        marker = _MARKER.match(closing)
        return closing.startswith(stop.lstrip()) and (
            marker is None or stop.lstrip().startswith(marker.group())
        )


class Renderer:
    """Renders prompts for one tokenizer."""

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        *,
        chat_template: str | None = None,
        where: str = "",
        tool_syntax: str | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.where = where
        self.tool_syntax = tool_syntax
        if chat_template is not None:
            tokenizer.chat_template = chat_template
        self.has_template = bool(getattr(tokenizer, "chat_template", None))

    @cached_property
    def tool_writing(self) -> ToolWriting:
        """How tools are shown to the model, according to its chat template and the option `tool_syntax`."""
        return choose_writing(self.tool_syntax, self._tool_template, self.where)

    @property
    def _tool_template(self) -> str | None:
        """The chat template for prompts with tools."""
        template = getattr(self.tokenizer, "chat_template", None)
        if isinstance(template, Mapping):
            # A tokenizer may have several; transformers uses `tool_use` for a prompt with tools.
            template = template.get("tool_use", template.get("default"))
        return template

    def text(self, prompt: Prompt) -> str:
        """Return the text that the model receives, with its template.

        Without a template, a single question is sent unchanged.
        """
        if speaks_of_tools(prompt):
            return self._text_with_tools(prompt)
        return self._text(prompt)

    def _text_with_tools(self, prompt: Prompt) -> str:
        if not self.tool_writing.is_prompted and prompt.is_chat:
            return self._templated_tools(prompt)
        prompted = written_prompt(prompt)
        try:
            return self._text(prompted)
        except TemplateError:
            return self._text(without_system(prompted))

    def _templated_tools(self, prompt: Prompt) -> str:
        syntax = self.tool_writing.syntax or HERMES
        spoken = [message for message in prompt.messages if message.parts is not None]
        template = self._tool_template or ""
        messages = template_messages(spoken, syntax, template, plain_message)
        if prompt.tool_choice != "none":
            tools = prompt.tools
        else:
            tools = ()
        return self._templated(messages, tools=[function_tool(tool) for tool in tools])

    def _text(self, prompt: Prompt) -> str:
        if not prompt.is_chat:
            return prompt.text
        spoken = [message for message in prompt.messages if message.parts is not None]
        if self.has_template:
            return self._templated([plain_message(message) for message in spoken])
        if len(spoken) == 1:
            return spoken[0].text
        return prompt.text

    def _templated(
        self,
        messages: Sequence[dict[str, Any]],
        opens: bool = True,
        tools: Sequence[dict[str, Any]] = (),
    ) -> str:
        goes_on = bool(messages) and messages[-1]["role"] == "assistant"
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages),
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=opens and not goes_on,
                continue_final_message=opens and goes_on,
            )
        except Exception as error:
            # A template may be code of the model: its errors are about these messages.
            raise TemplateError(
                f"the chat template refuses these messages: {error}",
                where=self.where,
                fix="give another one: chat_template=…",
            ) from error
        return text

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the token ids of a prompt."""
        return self.encode_text(
            self.text(prompt), is_chat=prompt.is_chat and self.has_template
        )

    def encode_text(
        self,
        text: str,
        *,
        is_chat: bool = False,
    ) -> tuple[int, ...]:
        """Return the token ids of rendered text.

        Special tokens are added as the tokenizer does, unless the text already has them.
        """
        bos = getattr(self.tokenizer, "bos_token", None)
        add = not is_chat and not (bos and text.startswith(bos))
        ids = list(self.tokenizer.encode(text, add_special_tokens=add))
        if add:
            ids = ids[: len(ids) - self._added_after]
        return tuple(ids)

    @cached_property
    def _added_after(self) -> int:
        """Return how many tokens the tokenizer adds at the end of a text, such as an end-of-text token.

        Such a token would end the text, which the model should continue.
        """
        plain = list(self.tokenizer.encode("a", add_special_tokens=False))
        whole = list(self.tokenizer.encode("a", add_special_tokens=True))
        added = len(whole) - len(plain)
        for before in range(added + 1):
            if whole[before : before + len(plain)] == plain:
                return added - before
        return added

    def pairs(self, prompt: Prompt) -> list[Pair]:
        """Return a pair of context and continuation, as token ids, for each continuation of a prompt.

        Context and continuation are encoded together, because the tokenizer may join text across their boundary.
        """
        text = self.text(prompt)
        is_chat = prompt.is_chat and self.has_template
        return self._pairs(text, prompt.continuations or (), is_chat)

    def _pairs(
        self,
        text: str,
        continuations: Sequence[str],
        is_chat: bool,
    ) -> list[Pair]:
        if not text:
            return [self._alone(continuation) for continuation in continuations]
        # As in lm-eval, spaces before the boundary belong to the continuation, also after the header of a chat turn.
        bare = text.rstrip()
        blank = text[len(bare) :]
        if not bare:
            return self._pairs(
                "",
                [blank + continuation for continuation in continuations],
                is_chat,
            )
        context = self.encode_text(bare, is_chat=is_chat)
        pairs = []
        for continuation in continuations:
            whole = self.encode_text(bare + blank + continuation, is_chat=is_chat)
            start = seam(context, whole, is_empty=not continuation)
            # If no context token precedes the seam, another token must.
            pairs.append(
                Pair(whole, start) if start else Pair((self._need_prefix(), *whole), 1)
            )
        return pairs

    def _alone(self, continuation: str) -> Pair:
        tokens = tuple(self.tokenizer.encode(continuation, add_special_tokens=False))
        first = self._need_prefix()
        if tokens[:1] == (first,):
            return Pair(tokens, 1)
        return Pair((first, *tokens), 1)

    def whole_text(self, prompt: Prompt) -> tuple[int, tuple[int, ...]]:
        """Return the token that is put before a text, and the tokens of the text."""
        tokens = self.tokenizer.encode(prompt.text, add_special_tokens=False)
        return self._need_prefix(), tuple(tokens)

    def _need_prefix(self) -> int:
        """Return the token to put before a text: beginning-of-sequence, or end-of-text if the tokenizer has no other.

        Raise if it has neither.
        """
        for name in ("bos_token_id", "eos_token_id"):
            token = getattr(self.tokenizer, name, None)
            if token is not None:
                return int(token)
        raise UsageError(
            "the tokenizer has neither a beginning- nor an end-of-text token, "
            "so no token can precede a text",
            where=self.where,
            fix="compute likelihoods of continuations after a context",
        )

    def shown(self, prompt: Prompt) -> str:
        """Return the prompt as the model receives it, with special tokens."""
        text: str = self.tokenizer.decode(
            list(self.encode(prompt)), skip_special_tokens=False
        )
        return text

    def turn_ends(self) -> set[int]:
        """Return the special token that the template writes after an answer, as a set.

        A model generates it when done.
        """
        around = self._around()
        if around is None:
            return set()
        ids = self.tokenizer.encode(
            around.after_answer.lstrip(), add_special_tokens=False
        )
        special = set(self.tokenizer.all_special_ids)
        if ids and ids[0] in special:
            return {ids[0]}
        return set()

    def _around(self) -> Around | None:
        """Return the texts that the template writes around turns; None without a template or if it drops a message."""
        if not self.has_template:
            return None
        roles = ("user", "assistant", "user")
        messages = [
            {"role": role, "content": mark}
            for role, mark in zip(roles, MARKS, strict=True)
        ]
        try:
            text = self._templated(messages)
        except TemplateError:
            return None
        first, second, third = (text.find(mark) for mark in MARKS)
        if min(first, second, third) < 0:
            return None
        return Around(
            text[:first],
            text[first + len(MARKS[0]) : second],
            text[second + len(MARKS[1]) : third],
            text[third + len(MARKS[2]) :],
        )

    def _always_ends_alike(self) -> bool:
        """Return True if the template writes the same prompt with and without `add_generation_prompt`."""
        messages = [{"role": "user", "content": MARKS[0]}]
        try:
            return self._templated(messages) == self._templated(messages, opens=False)
        except TemplateError:
            return False

    def preflight(
        self,
        prompt: Prompt,
        stops: Sequence[str] = (),
    ) -> list[PromptFault]:
        """Return the faults in how this prompt is rendered, such as a doubled beginning-of-sequence token."""
        return [
            *self._bos_faults(self.encode(prompt)),
            *(self._turn_faults(stops) if prompt.is_chat else ()),
        ]

    def _bos_faults(self, ids: Sequence[int]) -> list[PromptFault]:
        bos = getattr(self.tokenizer, "bos_token_id", None)
        if bos is None:
            return []
        if list(ids[:2]) == [bos, bos]:
            return [
                PromptFault(
                    "double_bos",
                    "the prompt begins with two beginning-of-sequence tokens",
                )
            ]
        expected = self.tokenizer.encode("a", add_special_tokens=True)[:1] == [bos]
        if expected and list(ids[:1]) != [bos]:
            name = self.tokenizer.bos_token
            fault = f"the tokenizer begins texts with {name!r} and the chat template does not write it"
            return [PromptFault("missing_bos", fault)]
        return []

    def _turn_faults(self, stops: Sequence[str]) -> list[PromptFault]:
        around = self._around()
        if around is None:
            return []
        faults = []
        if not around.at_end.strip() or (
            around.is_left_open() and self._always_ends_alike()
        ):
            faults.append(
                PromptFault(
                    "no_turn",
                    "the chat template opens no turn for the model to write in",
                )
            )
        if not around.after_answer.strip() or not around.after_question.strip():
            faults.append(
                PromptFault(
                    "unclosed_turn",
                    "the chat template writes nothing between two turns",
                )
            )
        elif opener := around.opens_at_once():
            fault = f"the chat template closes no turn: the next one begins with {opener!r} at once"
            faults.append(PromptFault("unclosed_turn", fault))
        elif around.runs_on():
            fault = "the chat template closes no turn: the name of the next one follows its words at once"
            faults.append(PromptFault("unclosed_turn", fault))
        for stop in stops:
            # A blank line ends many answers and does not indicate turns.
            if stop.strip() and stop in around.at_end and not around.ends_answer(stop):
                fault = f"the stop string {stop!r} is part of what the chat template writes before the answer"
                faults.append(PromptFault("stop_in_template", fault))
        return faults


class Seq2SeqRenderer(Renderer):
    """Renders prompts for an encoder, and continuations for its decoder."""

    def encode_text(
        self,
        text: str,
        *,
        is_chat: bool = False,
    ) -> tuple[int, ...]:
        """Return the token ids of rendered text, with the end token that the encoder expects."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=not is_chat))

    def _pairs(
        self,
        text: str,
        continuations: Sequence[str],
        is_chat: bool,
    ) -> list[Pair]:
        context = self.encode_text(text, is_chat=is_chat) or (self._need_prefix(),)
        pairs = []
        for continuation in continuations:
            ids = self.tokenizer.encode(continuation, add_special_tokens=False)
            pairs.append(Pair((*context, *ids), len(context)))
        return pairs


def seam(
    context: tuple[int, ...],
    whole: tuple[int, ...],
    *,
    is_empty: bool,
) -> int:
    """Return where the continuation begins in `whole`, the tokens of context and continuation together.

    A token that spans both counts as continuation, like all after it: "un" with "happy"
    is scored as "unhappy". A continuation has at least one token, unless it is empty.
    """
    start = len(context)
    if whole[:start] != context:
        start = 0
        while whole[start : start + 1] == context[start : start + 1]:
            start += 1
    if is_empty:
        return start
    return min(start, len(whole) - 1)


def special_ids(
    tokenizer: "PreTrainedTokenizerBase",
    strings: Sequence[str],
) -> set[int]:
    """Return the ids of those strings that are a single special token. Such tokens never occur in decoded answers."""
    special = set()
    for string in strings:
        ids = tokenizer.encode(string, add_special_tokens=False)
        if len(ids) != 1 or tokenizer.decode(ids, skip_special_tokens=True):
            continue
        if tokenizer.decode(ids, skip_special_tokens=False) == string:
            special.add(int(ids[0]))
    return special


def plain_message(message: Message) -> dict[str, Any]:
    """Return a message in the form for chat templates: text as a string, anything else as a list of typed parts."""
    parts = [part for part in message.parts or () if not isinstance(part, Reasoning)]
    if any(isinstance(part, Media) for part in parts):
        return {"role": message.role, "content": [_plain_part(part) for part in parts]}
    return {"role": message.role, "content": "".join(map(part_text, parts))}


def _plain_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        return {"type": part.kind}
    return {"type": "text", "text": part_text(part)}


def given_template(
    template: str | None,
    where: str,
) -> str | None:
    """Return the user's chat template: Jinja text, or the content of a file."""
    if template is None or "{" in template:
        return template
    fault = f"chat_template={shorten(template)} is not a Jinja text"
    fix = "check the path, or give the template itself"
    try:
        content = _read_template(Path(template).expanduser())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{fault}, and no file to read it from: {why}",
            where=where,
            fix=fix,
        ) from error
    if not isinstance(content, str) or "{" not in content:
        raise UsageError(
            f"{fault}, nor does the file of that name hold any",
            where=where,
            fix=fix,
        )
    return content


def template_in(folder: Path) -> str | None:
    """Return the chat template in a model folder, from either of the two common files."""
    for name in ("chat_template.jinja", "chat_template.json"):
        if (folder / name).is_file():
            return _read_template(folder / name)
    return None


def _read_template(file: Path) -> str | None:
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".json":
        return text
    content = json.loads(text)
    return content if isinstance(content, str) else content.get("chat_template")

"""Prompts as token ids: the one place where text becomes what the model reads, and what can be wrong with it.

A chat goes through the model's own template, a completion through its tokenizer as it is. Special tokens are written
once: a template that begins with the beginning-of-sequence token does not get a second one from the tokenizer.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core import (
    Json,
    Media,
    Message,
    Prompt,
    Reasoning,
    TemplateError,
    Text,
    UsageError,
    shorten,
)
from .likelihood import Pair

MARKS = ("ASKEDFIRST", "ANSWERED", "ASKEDAGAIN")
"""Words no template writes, to find what it writes around them."""
_MARKER = re.compile(r"<[^<>\s]+>")
"""How most templates mark the beginning and the end of a turn."""


@dataclass(frozen=True, slots=True)
class PromptFault:
    """Something wrong with how prompts are rendered."""

    kind: str
    """`double_bos`, `missing_bos`, `stop_in_template`, `unclosed_turn`, `no_turn`."""
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Around:
    """What a chat template writes around the turns of a question, its answer and another question."""

    before: str
    after_question: str
    after_answer: str
    at_end: str

    def opens_at_once(self) -> str | None:
        """The marker with which turns of all roles begin, where one follows a turn that nothing has closed."""
        # The first marker that the answer's turn has too, since nothing is closed before it was opened. A marker of one
        # role alone is none of them: it closes the turn before, and some models end their answers with it.
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
        """Whether a turn's name follows the words of the one before at once, as in `user: hiassistant:`."""
        return any(
            turn[:1].isalnum() or turn.startswith("#")
            for turn in (self.after_question, self.after_answer)
        )

    def is_left_open(self) -> bool:
        """Whether the prompt ends before the answer's turn is opened, as it is before an answer that was given."""
        begun, ended = self.after_question.rstrip(), self.at_end.rstrip()
        return begun != ended and begun.startswith(ended)

    def ends_answer(self, stop: str) -> bool:
        """Whether a stop string is the mark that closes an answer; that it closes the question, too, harms nothing."""
        closing = self.after_answer.lstrip()
        marker = _MARKER.match(closing)
        return closing.startswith(stop.lstrip()) and (
            marker is None or stop.lstrip().startswith(marker.group())
        )


class Renderer:
    """Renders prompts for one tokenizer."""

    def __init__(
        self, tokenizer: Any, *, chat_template: str | None = None, where: str = ""
    ) -> None:
        self.tokenizer = tokenizer
        self.where = where
        if chat_template is not None:
            tokenizer.chat_template = chat_template
        self.has_template = bool(getattr(tokenizer, "chat_template", None))

    def text(self, prompt: Prompt) -> str:
        """What the model is shown, template and all; without a template, one question is sent as it stands."""
        if not prompt.is_chat:
            return prompt.text
        spoken = [message for message in prompt.messages if message.parts is not None]
        if self.has_template:
            return self._templated([plain_message(message) for message in spoken])
        if len(spoken) == 1:
            return spoken[0].text
        return prompt.text

    def _templated(self, messages: Sequence[dict[str, Any]], opens: bool = True) -> str:
        goes_on = bool(messages) and messages[-1]["role"] == "assistant"
        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=opens and not goes_on,
                continue_final_message=opens and goes_on,
            )
        except Exception as error:
            # A template is somebody's program: what it raises is about these messages.
            what = f"the chat template refuses these messages: {error}"
            raise TemplateError(
                what, where=self.where, fix="give another one: chat_template=…"
            ) from error
        return text

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """The token ids of a prompt."""
        return self.encode_text(
            self.text(prompt), is_chat=prompt.is_chat and self.has_template
        )

    def encode_text(self, text: str, *, is_chat: bool = False) -> tuple[int, ...]:
        """Token ids of rendered text; special tokens are added as the tokenizer does, unless they are there already."""
        bos = getattr(self.tokenizer, "bos_token", None)
        add = not is_chat and not (bos and text.startswith(bos))
        ids = list(self.tokenizer.encode(text, add_special_tokens=add))
        if add:
            ids = ids[: len(ids) - self._added_after]
        return tuple(ids)

    @cached_property
    def _added_after(self) -> int:
        """How many tokens the tokenizer adds behind a text, which would end it before the model goes on."""
        plain, whole = (
            list(self.tokenizer.encode("a", add_special_tokens=adds))
            for adds in (False, True)
        )
        added = len(whole) - len(plain)
        before = next(
            (at for at in range(added + 1) if whole[at : at + len(plain)] == plain), 0
        )
        return added - before

    def pairs(self, prompt: Prompt) -> list[Pair]:
        """Each continuation behind the context: encoded together, so that the seam is where the model would have it."""
        text = self.text(prompt)
        is_chat = prompt.is_chat and self.has_template
        return self._pairs(text, prompt.continuations or (), is_chat)

    def _pairs(
        self, text: str, continuations: Sequence[str], is_chat: bool
    ) -> list[Pair]:
        if not text:
            return [self._alone(continuation) for continuation in continuations]
        bare = text if is_chat else text.rstrip()
        blank = text[len(bare) :]
        if not bare:
            return self._pairs(
                "", [blank + continuation for continuation in continuations], is_chat
            )
        context = self.encode_text(bare, is_chat=is_chat)
        pairs = []
        for continuation in continuations:
            whole = self.encode_text(bare + blank + continuation, is_chat=is_chat)
            start = seam(context, whole, is_empty=not continuation)
            # Where nothing of the context stands before the seam, something else must.
            pairs.append(
                Pair(whole, start) if start else Pair((self._need_prefix(), *whole), 1)
            )
        return pairs

    def _alone(self, continuation: str) -> Pair:
        tokens = tuple(self.tokenizer.encode(continuation, add_special_tokens=False))
        first = self._need_prefix()
        return Pair(tokens, 1) if tokens[:1] == (first,) else Pair((first, *tokens), 1)

    def whole_text(self, prompt: Prompt) -> tuple[int, tuple[int, ...]]:
        """The token that stands before a text, and the text's own tokens."""
        tokens = self.tokenizer.encode(prompt.text, add_special_tokens=False)
        return self._need_prefix(), tuple(tokens)

    def _need_prefix(self) -> int:
        """What stands before the first token of a text: the beginning-of-sequence token, else the end-of-text one."""
        for name in ("bos_token_id", "eos_token_id"):
            found = getattr(self.tokenizer, name, None)
            if found is not None:
                return int(found)
        what = "the tokenizer has neither a beginning- nor an end-of-text token, so nothing can stand before a text"
        raise UsageError(
            what, where=self.where, fix="weigh continuations after a context"
        )

    def shown(self, prompt: Prompt) -> str:
        """The prompt as the model reads it, special tokens and all."""
        text: str = self.tokenizer.decode(
            list(self.encode(prompt)), skip_special_tokens=False
        )
        return text

    def turn_ends(self) -> set[int]:
        """Special tokens with which the template closes an answer: the model writes them to say that it is done."""
        around = self._around()
        if around is None:
            return set()
        ids = self.tokenizer.encode(
            around.after_answer.lstrip(), add_special_tokens=False
        )
        special = set(self.tokenizer.all_special_ids)
        return {ids[0]} if ids and ids[0] in special else set()

    def _around(self) -> Around | None:
        """`None` without a template, or with one that does not show what it is given."""
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
        """Whether the template does not heed whether the model is to write."""
        messages = [{"role": "user", "content": MARKS[0]}]
        try:
            return self._templated(messages) == self._templated(messages, opens=False)
        except TemplateError:
            return False

    def preflight(self, prompt: Prompt, stops: Sequence[str] = ()) -> list[PromptFault]:
        """What is wrong with how this prompt is rendered; empty if nothing is."""
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
            what = f"the tokenizer begins texts with {name!r} and the chat template does not write it"
            return [PromptFault("missing_bos", what)]
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
            what = f"the chat template closes no turn: the next one begins with {opener!r} at once"
            faults.append(PromptFault("unclosed_turn", what))
        elif around.runs_on():
            what = "the chat template closes no turn: the name of the next one follows its words at once"
            faults.append(PromptFault("unclosed_turn", what))
        for stop in stops:
            # A blank line ends many answers and says nothing about turns.
            if stop.strip() and stop in around.at_end and not around.ends_answer(stop):
                what = f"the stop string {stop!r} is part of what the chat template writes before the answer"
                faults.append(PromptFault("stop_in_template", what))
        return faults


def seam(context: tuple[int, ...], whole: tuple[int, ...], *, is_empty: bool) -> int:
    """Where a continuation starts among the tokens of the whole text.

    A token across the seam belongs to the continuation, and so do all after it: "un" with "happy" is weighed as
    "unhappy". Every continuation has a token, unless it is empty.
    """
    start = len(context)
    if whole[:start] != context:
        pairs = enumerate(zip(context, whole, strict=False))
        start = next((at for at, (one, other) in pairs if one != other), len(whole))
    return start if is_empty else min(start, len(whole) - 1)


def special_ids(tokenizer: Any, strings: Sequence[str]) -> set[int]:
    """The ids of those strings that are one special token: what is written is read without such, and never has them."""
    found = set()
    for string in strings:
        ids = tokenizer.encode(string, add_special_tokens=False)
        if len(ids) != 1 or tokenizer.decode(ids, skip_special_tokens=True):
            continue
        if tokenizer.decode(ids, skip_special_tokens=False) == string:
            found.add(int(ids[0]))
    return found


def plain_message(message: Message) -> dict[str, Any]:
    """A message as chat templates read it: text as text, anything else as a list of typed parts."""
    parts = [part for part in message.parts or () if not isinstance(part, Reasoning)]
    if any(isinstance(part, Media) for part in parts):
        return {"role": message.role, "content": [_plain_part(part) for part in parts]}
    return {"role": message.role, "content": "".join(_words(part) for part in parts)}


def _plain_part(part: Any) -> dict[str, Any]:
    return (
        {"type": part.kind}
        if isinstance(part, Media)
        else {"type": "text", "text": _words(part)}
    )


def _words(part: Any) -> str:
    if isinstance(part, Text):
        return part.text
    return json.dumps(part.value, ensure_ascii=False) if isinstance(part, Json) else ""


def given_template(template: str | None, where: str) -> str | None:
    """The chat template a user gave: Jinja text, or the file that holds it."""
    if template is None or "{" in template:
        return template
    what, fix = (
        f"chat_template={shorten(template)} is no Jinja text",
        "check the path, or give the template itself",
    )
    try:
        read = _read_template(Path(template).expanduser())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{what}, and no file to read it from: {why}", where=where, fix=fix
        ) from error
    if not isinstance(read, str) or "{" not in read:
        raise UsageError(
            f"{what}, nor does the file of that name hold any", where=where, fix=fix
        )
    return read


def template_in(folder: Path) -> str | None:
    """The chat template a model folder carries beside its tokenizer, in either of the files used for it."""
    for name in ("chat_template.jinja", "chat_template.json"):
        if (folder / name).is_file():
            return _read_template(folder / name)
    return None


def _read_template(file: Path) -> str | None:
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".json":
        return text
    found = json.loads(text)
    return found if isinstance(found, str) else found.get("chat_template")

"""Separates the reasoning in a model's text from its answer.

Many models write their thoughts into the text before they answer, between marks such as `<think>` and `</think>`.
Scorers and judges must see the answer only. The rules, in this order:

- A block that begins the text is reasoning, also after invisible characters and special tokens such as `<s>`. So is
  one that begins a line, one that follows another block, and one after the end of a sentence if it is closed.
- A text that began with reasoning may have further closed blocks anywhere.
- A closing mark without any opening mark before it ends reasoning that began in the prompt: many chat templates write
  the opening mark themselves.
- A second closing mark that ends its line ends the reasoning again: the model continued to reason.
- A block that is never closed is reasoning up to the end, or up to a complete `<answer>…</answer>` in it.
- Marks in code fences, backticks or quotes only mention reasoning and are ignored. So are opening marks inside a
  line.
- gpt-oss writes channels instead: the `final` channel is the answer, and the rest is reasoning.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .errors import UsageError

ThinkTags = bool | tuple[str, str] | None
"""How reasoning is marked: `True` or `None` for all known forms, `False` for none, or one pair of marks."""

THINK_TAGS = "think_tags"
"""Name of the option, and of the model attribute, that sets how reasoning is marked."""

TAG_NAMES = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "scratch_pad",
    "analysis",
    "inner_monologue",
    "rationale",
    "reason",
    "cot",
    "thinking_process",
    "thought_process",
    "antthinking",
    "reasoning_content",
    "chain_of_thought",
    "internal_monologue",
)
"""Names of tags around reasoning, as in `<think>`, `<|think|>` and `<think budget="9">`."""
PREFIXED_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning")
"""Tag names that may have a prefix, as in `<seed:think>`, `<longcat_think>` and `<inner_thoughts>`."""

MARK_PAIRS = (
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought", "<unused95>"),
    ("<|channel>thought", "<channel|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<start_working_out>", "<end_working_out>"),
)
"""Further pairs of marks around reasoning: those of Magistral, Kimi, Sky-T1, Command A, MedGemma and others."""

LEADING_WORDS = (
    # Granite
    ("Here is my thought process:", "Here is my response:"),
    # gpt-oss, where a decoder dropped its special tokens: analysisWe need to add.assistantfinal42
    ("analysis", "assistantfinal"),
    # s1
    ("<|im_start|>think", "<|im_start|>answer"),
    # Apriel
    ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
    # Ollama's command line
    ("Thinking...", "...done thinking."),
    # Open WebUI
    ('<details type="reasoning"', "</details>"),
)
"""Pairs of phrases that open and close reasoning.

A pair counts only if the text starts with its first phrase and the second follows
later.
"""

_PREFIXED = "|".join(PREFIXED_NAMES)
_NAME = rf"(?:{'|'.join(TAG_NAMES)}|[a-z][a-z\d]{{0,15}}[_:](?:{_PREFIXED}))"
_ATTRIBUTES = r"""(?:\s+\w+="[^"<>]{0,100}")*"""
# "<think>", "<|think_start|>", "<|begin_of_thought|>"
_OPENING_NAME = rf"(?:begin[_▁]of[_▁]{_NAME}|{_NAME}(?:_start)?)"
_OPENING_TAG = rf"<[|｜]?\s?{_OPENING_NAME}{_ATTRIBUTES}\s?[|｜]?>"
# "</think>", "<|/think|>"; "<think_end>", "<|end_of_thought|>"
_CLOSING_NAME = rf"(?:/\s?[|｜]?{_NAME}|{_NAME}_end|end[_▁]of[_▁]{_NAME})"
_CLOSING_TAG = rf"<[|｜]?\s?{_CLOSING_NAME}\s?[|｜]?>"
_FIRST_CHARACTERS = ("<", "[", "◁")
_FINAL_WORDS = ("[BEGIN FINAL RESPONSE]", "<|im_start|>answer")
"""Phrases that end the reasoning, even if the text has no opening phrase (Apriel, s1)."""
_FIRST_WORDS = tuple(opening for opening, _ in LEADING_WORDS)

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_ANSWER_TAG = re.compile(
    r"<(?P<name>answer|final_?answer)>"
    r"(?:(?!</?(?P=name)>).)*"  # no such tag inside
    r"</(?P=name)>",
    re.IGNORECASE | re.DOTALL,
)
_ANSWER_BOUNDS = re.compile(
    r"""
    <\|(?:begin|end)_of_(?:solution|box)\|>    # Sky-T1, GLM
    | <\|(?:START|END)_RESPONSE\|>             # Command A
    | \[END[ ]FINAL[ ]RESPONSE\]               # Apriel
    """,
    re.VERBOSE,
)
_RESPONSE_TAG = re.compile(
    r"\s*<response>(.*)</response>\s*", re.IGNORECASE | re.DOTALL
)
"""Matches a text that consists of one `<response>` element. Granite and ERNIE write
answers this way after reasoning.
"""
_UNSEEN = "\ufeff\u200b-\u200f\u2060\u2066-\u2069\u00ad"
# "<s>", "<|assistant|>", "<|im_start|>assistant", "assistant\n", "<｜begin▁of▁sentence｜>", a byte order mark
_BEFORE_TEXT = re.compile(
    rf"(?:[\s{_UNSEEN}]|</?s>|<bos>|assistant\n|<[|｜][\w▁]+[|｜]>(?:assistant)?)*"
)
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_TAG = re.compile(r"<[\w:|-]+>|\[[\w:|-]+\]")
_THOUGHT_WORD = "think|thought|reason|reflect|analys|scratch|plan|draft|思考|推理"
# "<plan>", "[REASONING]", "&lt;think&gt;", "＜think＞"
_THOUGHT_MARK = re.compile(
    rf"""
    (?P<open><|\[|&lt;|＜)
    (?P<name>[\w:|-]{{0,20}}(?:{_THOUGHT_WORD})[\w:|-]{{0,20}})
    (?P<close>>|\]|&gt;|＞)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEGINNING = 80
"""Number of characters at the start of an answer that are searched for reasoning marks."""
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」"}

# <|channel|>analysis<|message|>, <|channel|>commentary to=functions.f <|constrain|>json<|message|>
_CHANNEL = re.compile(
    r"""
    (?:<\|start\|>\s?assistant)?            # <|start|>assistant
    <\|channel\|>\s?
    (?P<channel>analysis|commentary|final)
    (?:[^<]{0,200}<\|constrain\|>[^<]{0,40})?   # to=functions.f <|constrain|>json
    [^\S\n]?
    (?:<\|message\|>)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CHANNEL_TOKENS = frozenset(
    {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>"}
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")


@dataclass(frozen=True, slots=True)
class Separated:
    """The answer and the reasoning of a text."""

    answer: str
    reasoning: str
    is_closed: bool = True
    """False if the model never marked the end of its reasoning."""


def may_hold_reasoning(text: str) -> bool:
    """Return False if a quick check rules out reasoning in a text, as it does for most texts."""
    for character in _FIRST_CHARACTERS:  # a generator would take five times as long
        if character in text:
            return True
    return text.lstrip().startswith(_FIRST_WORDS)


def begins_with_mark(text: str) -> bool:
    """Return True if a text begins with a known reasoning mark."""
    if not may_hold_reasoning(text):
        return False
    return _known_marks().match(text.lstrip()) is not None


def separate_text(text: str, tags: ThinkTags = None) -> Separated | None:
    """Return the answer and the reasoning of a text, or `None` if it has no reasoning."""
    if tags is False:
        return None
    if isinstance(tags, tuple):
        return _separate_blocks(text, _own_marks(*tags), anywhere=True)
    if not may_hold_reasoning(text):
        return None
    return (
        _separate_words(text)
        or _separate_channels(text)
        or _separate_blocks(text, _known_marks())
    )


def answer_of(text: str) -> str:
    """Return a text without its reasoning."""
    separated = separate_text(text)
    return text if separated is None else separated.answer


def unread_marks_of(answer: str) -> tuple[str, str] | None:
    """Return the opening and closing mark of a block at the start of an answer that
    looks like unrecognised reasoning.

    The block must be closed and text must follow: `<plan>…</plan>42`.
    """
    for mark in _THOUGHT_MARK.finditer(answer[:_BEGINNING]):
        closing = f"{mark['open']}/{mark['name']}{mark['close']}"
        _, _, rest = answer[mark.end() :].partition(closing)
        if rest.strip() and not _is_quoted(answer, mark):
            return mark[0], closing
    return None


def opening_mark_of(prompt: str) -> str:
    """Return the opening mark with which a prompt ends, including the space after it.
    Return an empty text without one.

    The answer to such a prompt starts inside the reasoning.
    """
    tail = prompt[-80:]
    for mark in (*_known_marks().finditer(tail), *_CHANNEL.finditer(tail)):
        is_last = not tail[mark.end() :].strip()
        is_opening = not (mark.groupdict().get("close") or _is_final(mark))
        if is_last and is_opening:
            return tail[mark.start() :]
    return ""


def is_mark(token: str) -> bool:
    """Return True if a token is a reasoning mark, or part of a channel mark of gpt-oss."""
    if token in _CHANNEL_TOKENS:
        return True
    if any(opening == f"{token}thought" for opening, _ in MARK_PAIRS):
        return True
    return _known_marks().fullmatch(token) is not None


def read_think_tags(value: object, where: str) -> ThinkTags:
    """Return the value of the option `think_tags`. Raise `UsageError` if it is invalid.

    Valid are true, false, a tag such as `<note>`, or an opening and a closing mark: as a list, or as one text with a
    comma or a space between them.
    """
    if value is None or isinstance(value, bool):
        return value
    marks: Sequence[Any] = ()
    if isinstance(value, str):
        marks = value.replace(",", " ").split()
        if len(marks) == 1 and _TAG.fullmatch(marks[0]):
            return marks[0], f"{marks[0][0]}/{marks[0][1:]}"
    elif isinstance(value, (list, tuple)):
        marks = value
    if len(marks) == 2 and all(isinstance(mark, str) and mark for mark in marks):
        return marks[0], marks[1]
    raise UsageError(
        f"{THINK_TAGS} is {value!r}",
        where=where,
        fix="true, false, a tag such as '<note>', or two marks as in '<<,>>'",
    )


def _known_marks() -> re.Pattern[str]:
    return _compile_marks(MARK_PAIRS, with_tags=True)


def _own_marks(opening: str, closing: str) -> re.Pattern[str]:
    return _compile_marks(((opening, closing),), with_tags=False)


@lru_cache(maxsize=16)
def _compile_marks(
    pairs: tuple[tuple[str, str], ...],
    *,
    with_tags: bool,
) -> re.Pattern[str]:
    """Compile the marks to a pattern with the groups `open` and `close`."""
    opening = [re.escape(mark) for mark, _ in pairs]
    closing = [re.escape(mark) for _, mark in pairs]
    if with_tags:
        opening.append(_OPENING_TAG)
        closing.append(_CLOSING_TAG)
    either = f"(?P<close>{'|'.join(closing)})|(?P<open>{'|'.join(opening)})"
    return re.compile(either, re.IGNORECASE)


def _separate_blocks(
    text: str,
    marks: re.Pattern[str],
    *,
    anywhere: bool = False,
) -> Separated | None:
    """Separate blocks of reasoning between opening and closing marks from the answer.

    Blocks in the middle of a line count only if `anywhere` is set.
    """
    first = marks.search(text)
    if first is None:
        return None
    reader = _BlockReader(text, anywhere=anywhere)
    reader.skip_special_tokens(first)
    fences = _fence_positions(text)
    for mark in marks.finditer(text):
        if _is_quoted(text, mark):
            continue
        reader.read(mark, is_in_code=_is_fenced(mark.start(), fences))
    return reader.finish()


class _BlockReader:
    """Splits a text into answer and reasoning, one opening or closing mark at a time."""

    def __init__(self, text: str, *, anywhere: bool) -> None:
        self.text = text
        self.anywhere = anywhere
        """True if every closed block is reasoning, also one inside a line."""
        self.start = 0
        """Index at which the current piece begins."""
        self.is_inside = False
        self.has_opened = False
        """True after any opening mark, even one that is only quoted."""
        self.has_reasoning = False
        self.nested = 0
        """Number of opening marks inside the current block that may still be closed."""
        self.answers: list[str] = []
        self.thoughts: list[str] = []
        self.pending: tuple[int, int] | None = None
        """Start and end of an opening mark inside a line. It counts only if a closing mark follows."""

    def skip_special_tokens(self, first: re.Match[str]) -> None:
        """Skip invisible characters and special tokens at the start of the text if the
        first mark directly follows them.
        """
        before = _BEFORE_TEXT.match(self.text)
        if before is not None and before.end() == first.start():
            self.start = first.start()

    def read(
        self,
        mark: re.Match[str],
        *,
        is_in_code: bool,
    ) -> None:
        """Process one opening or closing mark."""
        if mark["close"]:
            self._read_closing(mark, is_in_code)
        else:
            self._read_opening(mark, is_in_code)

    def _read_opening(
        self,
        mark: re.Match[str],
        is_in_code: bool,
    ) -> None:
        self.has_opened = True
        if self.is_inside:
            self.nested += 1
        elif is_in_code:
            return
        elif self._begins_line(mark.start()):
            self._open(mark.start(), mark.end())
        elif self.pending is None and self._may_open(mark.start()):
            self.pending = mark.span()

    def _read_closing(
        self,
        mark: re.Match[str],
        is_in_code: bool,
    ) -> None:
        if self.is_inside:
            self._close(mark)
        elif is_in_code:
            return
        elif self.pending is not None:
            self._open(*self.pending)
            self._close(mark)
        elif self.nested:
            self.nested -= 1
            self._end_earlier_reasoning(mark)
        elif not self.has_opened:
            self._end_earlier_reasoning(mark)
        elif not self.has_reasoning:
            return
        elif not self.text[mark.end() :].strip():
            self._drop_last(mark)
        elif self.text[mark.end()] in "\r\n":
            self._end_earlier_reasoning(mark)

    def _begins_line(self, position: int) -> bool:
        """Return True if there is only whitespace between this position and the start of its line or piece."""
        while position > self.start and self.text[position - 1] in " \t\r":
            position -= 1
        return position == self.start or self.text[position - 1] == "\n"

    def _may_open(self, position: int) -> bool:
        """Return True if a mark in the middle of a line may open a block: "Sure!
        <think>".

        The block counts only if a closing mark follows.
        """
        if self.anywhere or self.has_reasoning:
            return True
        before = self.text[self.start : position].rstrip()
        return before.endswith(_SENTENCE_ENDS)

    def _open(self, position: int, end: int) -> None:
        self.answers.append(self.text[self.start : position])
        self.start = end
        self.is_inside = self.has_reasoning = True
        self.pending = None

    def _close(self, mark: re.Match[str]) -> None:
        self.thoughts.append(self.text[self.start : mark.start()])
        self.start = mark.end()
        self.is_inside = False

    def _end_earlier_reasoning(self, mark: re.Match[str]) -> None:
        """Move everything before a closing mark to the reasoning."""
        earlier = [*self.answers, self.text[self.start : mark.start()]]
        self.thoughts.extend(earlier)
        self.answers.clear()
        self.start = mark.end()
        self.has_reasoning = True

    def _drop_last(self, mark: re.Match[str]) -> None:
        """Remove a closing mark at the end of the text that closes nothing."""
        self.answers.append(self.text[self.start : mark.start()])
        self.start = len(self.text)

    def finish(self) -> Separated | None:
        """Return the answer and the reasoning of the text, or `None` if it has no reasoning."""
        if not self.has_reasoning:
            return None
        rest = self.text[self.start :]
        is_closed = True
        if self.is_inside:
            answers = list(_ANSWER_TAG.finditer(rest))
            if answers:
                end = answers[-1].start()
            else:
                end = len(rest)
            is_closed = bool(answers)
            self.thoughts.append(rest[:end])
            rest = rest[end:]
        self.answers.append(rest)
        answer = _unwrap(_join(self.answers))
        return Separated(answer, _thought(self.thoughts), is_closed)


def _separate_words(text: str) -> Separated | None:
    """Separate reasoning whose end is marked by a phrase from `LEADING_WORDS` or `_FINAL_WORDS`."""
    bare = text.lstrip()
    for opening, closing in LEADING_WORDS:
        if not bare.startswith(opening):
            continue
        thought, mark, answer = bare.removeprefix(opening).partition(closing)
        if mark:
            return Separated(_join([answer]), _thought([thought]))
    for words in _FINAL_WORDS:
        thought, mark, answer = text.partition(words)
        if mark:
            return Separated(_join([answer]), _thought([thought]))
    return None


def _separate_channels(text: str) -> Separated | None:
    """Separate a text with gpt-oss channels: the `final` channel is the answer, the other channels are reasoning."""
    channels = list(_CHANNEL.finditer(text))
    if not channels or _is_quoted(text, channels[0]):
        return None
    before = text[: channels[0].start()]
    if before.strip() and not _continues_channel(before, channels[0]):
        return None
    answers: list[str] = []
    thoughts = [_until_channel_end(before)]
    ends = [channel.start() for channel in channels[1:]]
    ends.append(len(text))
    for channel, end in zip(channels, ends, strict=True):
        content = _until_channel_end(text[channel.end() : end])
        if _is_final(channel):
            answers.append(content)
        else:
            thoughts.append(content)
    return Separated(_join(answers), _thought(thoughts), bool(answers))


def _continues_channel(
    before: str,
    channel: re.Match[str],
) -> bool:
    """Return True if the text before the first channel mark continues a channel that the prompt opened."""
    if _CHANNEL_END.search(before) or channel[0].startswith("<|start|>"):
        return True
    return _is_final(channel) and channel[0].endswith("<|message|>")


def _is_final(mark: re.Match[str]) -> bool:
    channel = mark.groupdict().get("channel") or ""
    return channel.lower() == "final"


def _until_channel_end(text: str) -> str:
    end = _CHANNEL_END.search(text)
    if end is None:
        return text
    return text[: end.start()]


def _fence_positions(text: str) -> list[int]:
    """Return the positions of the lines that open and close code fences."""
    if "```" not in text and "~~~" not in text:
        return []
    return [fence.start() for fence in _FENCE.finditer(text)]


def _is_fenced(
    position: int,
    fences: Sequence[int],
) -> bool:
    """Return True if a position is inside a complete code fence."""
    count = bisect_right(fences, position)
    return count % 2 == 1 and count < len(fences)


def _is_quoted(
    text: str,
    mark: re.Match[str],
) -> bool:
    before = text[mark.start() - 1 : mark.start()]
    after = text[mark.end() : mark.end() + 1]
    return bool(after) and _QUOTES.get(before) == after


def _join(pieces: Iterable[str]) -> str:
    """Join the pieces of an answer, without the whitespace left by removed reasoning."""
    joined = ""
    for piece in map(_without_blank_start, pieces):
        if not piece.strip():
            continue
        needs_break = bool(joined) and not joined[-1].isspace()
        joined += f"\n{piece}" if needs_break else piece
    return joined


def _without_blank_start(piece: str) -> str:
    """Drop leading blank lines, but not the indentation of a first line of code."""
    bare = _ANSWER_BOUNDS.sub("", piece)
    spaces = len(bare) - len(bare.lstrip())
    end_of_blank_lines = bare.rfind("\n", 0, spaces) + 1
    if end_of_blank_lines:
        return bare[end_of_blank_lines:]
    return bare.lstrip()


def _unwrap(answer: str) -> str:
    """Return an answer without its `<response>` element."""
    wrapped = _RESPONSE_TAG.fullmatch(answer)
    if wrapped is None:
        return answer
    return _without_blank_start(wrapped[1]).rstrip()


def _thought(pieces: Iterable[str]) -> str:
    stripped = (piece.strip() for piece in pieces)
    return "\n\n".join(piece for piece in stripped if piece)

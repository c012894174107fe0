"""Write the prompt of a judge, in assay's or the user's words, and read the verdict in its reply.

The verdict is one JSON object, or the last match of a pattern. The object must be the
whole reply, or on separate lines at its beginning or end, before or after the judge's
reasons. An object inside a sentence is ignored, because the judge may be quoting the
answer.

The verdict is read from the judge's reply alone, and never compared with the judged
text. Otherwise an answer that lists every low grade could get its low grade ignored.
Canaries (`judge_canaries`) measure how easily a judge repeats what an answer demands.

A user's prompt is a Jinja text, a text file, or `{system: …, user: …}`. `NAMES` lists
the variables that it may use. The variable `form` describes the expected reply. If the
prompt does not use it, this description is appended. A user's prompt must itself
separate answers from its instructions; assay's prompts fence them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from ...core import Media, Message, Prompt, Sample, Text, UsageError, digest_of
from ...core.spec import is_prompt_file
from ...rendering import PlainText
from ...rendering.text import BLOCK_OPTIONS, block_options
from ..answers import last_of
from .exchange import Exchange, conversation, shown_media
from .judge_prompts import JudgeTemplate, Scale, reply_form, with_media

_CODE_BLOCK = re.compile(
    r"```(?:json)?[ \t]*\n?(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE
)
_MAX_REPLY_CHARS = 100_000
_MOST_OBJECTS_TRIED = 100
_FENCE_AT_START = re.compile(r"```(?:json)?\s*", re.IGNORECASE)
_FENCE_AT_END = re.compile(r"\s*```$")
_END_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|$)")
_LINE_OF_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_FIELD = r'"[\w -]{1,40}"\s*:\s*(?:-?\d{1,3}|"[^"\n]{0,40}")'
# {"score": 1, "reason": "It says "five"…
_FIELDS_BEFORE_REASON = re.compile(
    rf'\{{\s*(?P<fields>{_FIELD}(?:\s*,\s*{_FIELD}){{0,20}}?)\s*,\s*"reason"\s*:\s*"'
)
_OTHER_FIELDS = frozenset({"score", "verdict", "winner", "grade"})
"""The JSON fields that may contain a verdict. A reply with two of them is ambiguous."""


class NoVerdict(ValueError):
    """Raised if a reply has no valid verdict, with the reason."""


def read_verdict(reply: str, scale: Scale) -> int | str:
    """Return the verdict in a JSON reply, which is the value of the scale's field.

    Raise `NoVerdict` if it is missing or invalid.
    """
    fields = read_object(reply)
    if scale.field not in fields:
        raise NoVerdict(f"the reply is not an object with `{scale.field}`")
    others = sorted(_OTHER_FIELDS & fields.keys() - {scale.field})
    if others:
        raise NoVerdict(f"the reply has `{scale.field}` and also `{others[0]}`")
    value = fields[scale.field]
    # Types first: True equals 1 in Python, and 4.0 equals 4.
    if type(value) not in (int, str) or value not in scale.values:
        raise NoVerdict(f"`{scale.field}` is out of range: {str(value)[:40]!r}")
    return value  # type: ignore[no-any-return]


def read_match(
    reply: str,
    scale: Scale,
    pattern: str,
) -> float | str:
    """Return the verdict in a reply: the text captured by group 1 in the pattern's last match.

    Raise `NoVerdict` if nothing matches or the text is not on the scale.
    """
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    match = last_of(re.finditer(pattern, reply))
    if match is None or match[1] is None:
        raise NoVerdict(f"the reply has nothing that matches {pattern}")
    return _on_scale(match[1].strip(), scale)


def _on_scale(text: str, scale: Scale) -> float | str:
    """Return a verdict as a number or word of the scale. Raise `NoVerdict` for a value that is not on it."""
    numbers = [value for value in scale.values if isinstance(value, int)]
    if numbers:
        try:
            value = float(text)
        except ValueError:
            raise NoVerdict(f"the verdict {text[:40]!r} is not a number") from None
        if not numbers[0] <= value <= numbers[-1]:
            raise NoVerdict(f"the verdict {text[:40]!r} is out of range")
        return value
    words = {str(value).casefold(): str(value) for value in scale.values}
    if "tie" in words and scale.field == "winner":
        words["c"] = "tie"  # the usual letter for a tie among judges of pairs
    if text.casefold() not in words:
        raise NoVerdict(
            f"the verdict {text[:40]!r} is not one of {', '.join(map(str, scale.values))}"
        )
    return words[text.casefold()]


def read_object(reply: str) -> dict[str, Any]:
    """Return the JSON object of a reply. Raise `NoVerdict` if it has none, or two that differ."""
    if len(reply) > _MAX_REPLY_CHARS:
        raise NoVerdict("the reply is too long")
    answer = reply.strip()
    block = _CODE_BLOCK.fullmatch(answer)
    try:
        return _parse(block[1] if block else answer)
    except NoVerdict:
        first = _object_at_start(answer)
        last = _object_at_end(answer)
        if first is None and last is None:
            first = _object_with_broken_reason(answer)
        if first is None and last is None:
            raise
    if first is not None and last is not None and first != last:
        raise NoVerdict("the reply begins with one verdict and ends with another")
    if last is not None:
        return last
    assert first is not None
    return first


def _object_with_broken_reason(answer: str) -> dict[str, Any] | None:
    """Return the grades in a JSON object at the start of a reply whose `reason` is truncated or not valid JSON.

    Return None if the reply does not start with such an object. A reason may quote the judged answer or
    become long because of it. Without this function an answer could invalidate its own
    low grades.
    """
    text = _FENCE_AT_START.sub("", answer, count=1)
    begun = _FIELDS_BEFORE_REASON.match(text)
    is_whole = _object_at(text, 0)[0] is not None
    if begun is None or is_whole:
        return None
    return _parse(f"{{{begun['fields']}}}")


def _parse(text: str) -> dict[str, Any]:
    try:
        parsed = _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NoVerdict("the reply is not JSON") from error
    if not isinstance(parsed, dict):
        raise NoVerdict("the reply is not a JSON object")
    return parsed


def _object_at_start(answer: str) -> dict[str, Any] | None:
    """Return the object on the first lines of a reply; None if other words follow it on its last line."""
    fence = _FENCE_AT_START.match(answer)
    start = fence.end() if fence else 0
    parsed, end = _object_at(answer, start)
    if parsed is None or not _END_OF_LINE.match(answer, end):
        return None
    return parsed


def _object_at_end(answer: str) -> dict[str, Any] | None:
    """Return the object on the last lines of a reply; None if other words precede it on its first line."""
    text = _FENCE_AT_END.sub("", answer)
    if not text.endswith("}"):
        return None
    starts = [line.end() for line in _LINE_OF_OBJECT.finditer(text)]
    for start in starts[-_MOST_OBJECTS_TRIED:]:
        parsed, end = _object_at(text, start)
        if parsed is not None and end == len(text):
            return parsed
    return None


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return the JSON object that begins at a position, and its end; None if it is not valid."""
    try:
        parsed, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):  # a field given twice is a ValueError as well
        return None, start
    if not isinstance(parsed, dict):
        return None, start
    return parsed, end


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise NoVerdict("a field is given twice")
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_without_doubles, strict=False)
"""JSON decoder that also accepts line breaks inside strings."""


NAMES = {
    "question": "the last thing that was asked",
    "conversation": "everything before the answer as text, each turn with its role",
    "turns": "the same as a list of {role, text}",
    "answer": "the answer to be judged",
    "answer_a": "the answer shown first (pairwise_judge)",
    "answer_b": "the answer shown second (pairwise_judge)",
    "conversation_a": "the conversation of the answer shown first (pairwise_judge)",
    "conversation_b": "the conversation of the answer shown second (pairwise_judge)",
    "reference": "the reference answer; empty where there is none",
    "references": "one reference for each round so far",
    "criteria": "the scorer's `criteria`",
    "form": "how to reply, so that the verdict can be read",
    "lowest": "the lower end of the scale",
    "highest": "the upper end of the scale",
    "round": "the number of the round, from 1",
    "row": "the sample's row: row.category",
    "id": "the sample's id",
}
"""The variables that a user's prompt may contain, each with its meaning."""
_ONE, _PAIR = {"answer"}, {"answer_a", "answer_b", "conversation_a", "conversation_b"}


class OwnPrompt:
    """A judge's prompt written by the user."""

    def __init__(
        self,
        scorer: str,
        text: str | Mapping[str, Any],
        *,
        pairwise: bool,
    ) -> None:
        allowed = frozenset(NAMES.keys() - (_ONE if pairwise else _PAIR))
        if isinstance(text, str):
            texts = {"user": text}
        else:
            texts = dict(text)
        where = f"prompt of scorer {scorer!r}"
        blocks = block_options(texts, where)
        texts = {key: text for key, text in texts.items() if key not in BLOCK_OPTIONS}
        if "user" not in texts or texts.keys() - {"user", "system"}:
            raise UsageError(
                f"scorer {scorer!r} cannot read its prompt",
                fix="a text, a file, or {system: …, user: …}",
            )
        self._blocks = [name for name in BLOCK_OPTIONS if blocks[name]]
        self._texts = {
            role: PlainText(
                text,
                allowed,
                where=where,
                blocks=blocks,
            )
            for role, text in texts.items()
        }
        self._says_form = any("form" in text.names for text in self._texts.values())
        names = frozenset().union(*(text.names for text in self._texts.values()))
        if not names & (
            (_PAIR - {"conversation_a", "conversation_b"}) if pairwise else _ONE
        ):
            if pairwise:
                missing = "{{ answer_a }} and {{ answer_b }}"
            else:
                missing = "{{ answer }}"
            raise UsageError(
                "the judge would not see the answer",
                where=where,
                fix=f"write {missing} into the prompt",
            )

    def single(
        self,
        scale: Scale,
        sample: Sample,
        exchange: Exchange,
        criteria: str,
        context: Sequence[Media],
        json: bool,
    ) -> Prompt:
        """Return the prompt for a verdict on one answer."""
        values = {
            **self._values(scale, sample, exchange, criteria),
            "answer": exchange.output.text,
        }
        return self._prompt(
            values,
            json,
            {"QUESTION": context, "ANSWER": shown_media(exchange.output)},
        )

    def pair(
        self,
        scale: Scale,
        sample: Sample,
        first: Exchange,
        second: Exchange,
        criteria: str,
        json: bool,
    ) -> Prompt:
        """Return the prompt for a comparison of two answers."""
        values = {
            **self._values(scale, sample, first, criteria),
            "answer_a": first.output.text,
            "answer_b": second.output.text,
            "conversation_a": conversation(first.turns),
            "conversation_b": conversation(second.turns),
        }
        media = {
            "ANSWER A": shown_media(first.output),
            "ANSWER B": shown_media(second.output),
        }
        return self._prompt(values, json, media)

    def _values(
        self,
        scale: Scale,
        sample: Sample,
        exchange: Exchange,
        criteria: str,
    ) -> dict[str, Any]:
        """Return the variables that every prompt may use, filled in for one answer."""
        return {
            "question": exchange.turns[-1][1],
            "conversation": conversation(exchange.turns),
            "turns": [{"role": role, "text": text} for role, text in exchange.turns],
            "reference": exchange.reference,
            "references": list(exchange.references),
            "criteria": criteria,
            "form": reply_form(scale),
            "lowest": scale.values[0],
            "highest": scale.values[-1],
            "round": exchange.number,
            "row": sample.fields,
            "id": sample.id,
        }

    def _prompt(
        self,
        values: Mapping[str, Any],
        json: bool,
        media: Mapping[str, Sequence[Media]],
    ) -> Prompt:
        """Return the rendered prompt. The description of the reply is appended if the prompt does not contain it."""
        rendered = {}
        for role, text in self._texts.items():
            rendered[role] = text(values, where=f"sample {values['id']}")
        user = rendered["user"]
        if json and not self._says_form:
            user += f"\n\n{values['form']}"
        if any(media.values()):
            parts = with_media(user, media)
        else:
            parts = (Text(user),)
        question = Message("user", parts)
        if not rendered.get("system"):
            return Prompt((question,))
        instructions = Message.of("system", rendered["system"])
        return Prompt((instructions, question))

    @property
    def digest(self) -> str:
        """The digest of the prompt's wording, excluding the texts to be judged."""
        wording = {role: text.text for role, text in self._texts.items()}
        wording.update(dict.fromkeys(self._blocks, "true"))
        return digest_of(wording)[:16]


def prompt_text(
    scorer: str,
    prompt: str | Mapping[str, str],
) -> str | Mapping[str, str]:
    """Return the user's prompt. If it is the path of a text file, return the content of the file."""
    if not isinstance(prompt, str) or not is_prompt_file(prompt):
        return prompt
    try:
        return Path(prompt).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"scorer {scorer!r} cannot read its prompt file: {reason}", where=prompt
        ) from error


def check_wording(
    scorer: str,
    template: str,
    criteria: str,
    prompt: str | Mapping[str, str],
    verdict: str,
) -> None:
    """Raise `UsageError` if the prompt is invalid or the option `verdict` cannot be used to read replies."""
    templates = get_args(JudgeTemplate)
    if template not in templates:
        raise UsageError(
            f"scorer {scorer!r} has no template {template!r}",
            fix=f"one of {', '.join(templates)}",
        )
    if template == "rubric" and not criteria:
        raise UsageError(
            f"scorer {scorer!r} needs criteria", fix="write them in `criteria`"
        )
    if criteria and template != "rubric" and not prompt:
        raise UsageError(
            f"scorer {scorer!r} has criteria that its template does not show",
            fix="set template: rubric",
        )
    if verdict == "json":
        return
    if not prompt:
        raise UsageError(
            f"scorer {scorer!r} reads verdicts by a pattern that its prompt does not ask for",
            fix="write a `prompt` of your own that says how to reply",
        )
    try:
        groups = re.compile(verdict).groups
    except re.error as error:
        raise UsageError(
            f"scorer {scorer!r} has a verdict pattern that cannot be read: {error}"
        ) from error
    if groups != 1:
        raise UsageError(
            f"the verdict pattern of scorer {scorer!r} has {groups} groups",
            fix=r"put the verdict in one pair of parentheses: \[\[(\d+)\]\]",
        )


def read_reply(
    reply: str,
    scale: Scale,
    verdict: str,
) -> float | int | str:
    """Return the verdict in a reply: a field of a JSON object, or the last match of the pattern."""
    if verdict == "json":
        return read_verdict(reply, scale)
    return read_match(reply, scale, verdict)

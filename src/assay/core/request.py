"""Requests: the exact input of a model, and the key under which its answer is stored.

The key is a hash of the model identity, the rendered messages (media by digest), options, hints, seed, repeat index
and, if sampling is involved, the inputs of the random numbers. Batching and scheduling are never part of it.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from .errors import UsageError, shorten, suggest
from .media import Media
from .message import (
    Message,
    Text,
    generation_role,
    has_free_roles,
    part_to_plain,
    render_text,
)
from .quick import quick
from .reasoning import ThinkTags
from .sample import EMPTY
from .secrets import redact_options
from .tools import Tool

_NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0, math.inf),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "frequency_penalty": (-math.inf, math.inf),
    "presence_penalty": (-math.inf, math.inf),
    "repetition_penalty": (0, math.inf),
}
"""Smallest and largest value of each numeric option. Infinite values are not allowed."""
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
"""Options that services accept only from -2 to 2.

The range is checked for values from users, but not for requests built by code.
"""
_ABOVE_LEAST = frozenset({"repetition_penalty"})
"""Options that must be greater than the minimum; the minimum itself is not allowed."""
_COUNTS = {"n": 1, "max_tokens": 1, "logprobs": 0, "top_k": -1}
"""Integer options and the smallest value of each. Some services use -1 to turn `top_k` off."""
_WORDS = {
    "reasoning_effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "response_format": ("json", "text", "json_object"),
}
_LASTING = frozenset({str, int, float, bool, type(None)})
"""Immutable types. If all values in a part of the key have such a type, the part can be cached."""
_APART = 2**16
_SEEDS = 2**31 - _APART
"""Upper limit of seeds. Services may add 1 per candidate, and the sum must stay below 2**31."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """Generation options. None leaves a setting to the model."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    """Candidates per request. Repeated requests for one sample are `epochs`."""
    logprobs: int | None = None
    """Number of alternatives to report per generated token. 0 reports the chosen token only."""
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    reasoning_effort: str | None = None
    response_format: str | None = None
    """`json` requests a JSON object if the backend can guarantee one."""

    def __post_init__(self) -> None:
        """Normalize values, so that equal options give equal keys: `1` and `1.0`, a list and a tuple."""
        if type(self.stop) is not tuple:
            if isinstance(self.stop, str):
                stop = (self.stop,)
            else:
                stop = tuple(self.stop or ())
            object.__setattr__(self, "stop", stop)
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _in_range(name, value))
        for name, least in _COUNTS.items():
            value = getattr(self, name)
            if value is None and name != "n":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(
                    f"generation option {name!r} takes a whole number from {least}, got {shorten(value)}"
                )

        for name, words in _WORDS.items():
            word = getattr(self, name)
            if word is not None and word not in words:
                fix = suggest(str(word), words, "one of")
                raise UsageError(
                    f"generation option {name!r} cannot be {shorten(word)}", fix=fix
                )
        if self.seed is not None and (
            isinstance(self.seed, bool) or not isinstance(self.seed, int)
        ):
            raise UsageError(
                f"generation option 'seed' takes a whole number, got {shorten(self.seed)}"
            )

    def set(self, **changes: object) -> "GenerateOptions":
        """Return a copy with some options changed. For an unknown option, raise an
        error that suggests the nearest name.
        """
        for name in changes:
            if name not in OPTION_NAMES:
                fix = suggest(name, sorted(OPTION_NAMES), "known:")
                raise UsageError(f"unknown generation option {name!r}", fix=fix)
            value = changes[name]
            if (
                name in _PENALTIES
                and isinstance(value, (int, float))
                and not -2 <= value <= 2
            ):
                raise UsageError(
                    f"generation option {name!r} takes a number from -2 to 2, got {shorten(value)}",
                    fix=f"--{name} 0.5",
                )
        fields: dict[str, Any] = changes
        return replace(self, **fields)

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, as plain data for JSON."""
        return {
            k: v
            for k, v in self._items()
            if v is not None and v != () and (k, v) != ("n", 1)
        }

    def _items(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in fields(self)]


def _in_range(name: str, value: object) -> float:
    least, most = _NUMBERS[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(
            f"generation option {name!r} takes a number, got {shorten(value)}",
            fix="write digits",
        )
    if name in _ABOVE_LEAST:
        is_allowed = least < value <= most
        span = f"above {least:g}"
    else:
        is_allowed = least <= value <= most
        span = f"from {least:g}"
    if not is_allowed or not math.isfinite(value):
        if most != math.inf:
            span += f" to {most:g}"
        raise UsageError(
            f"generation option {name!r} takes a number {span}, got {shorten(value)}",
            fix=f"choose one {span}",
        )
    return float(value)


OPTION_NAMES = tuple(f.name for f in fields(GenerateOptions))
DEFAULT_OPTIONS = GenerateOptions()


@quick
@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages, and the kind of answer that is requested."""

    messages: tuple[Message, ...]
    produces: tuple[str, ...] = ("text",)
    """Requested kinds of output: text, image, audio."""
    continuations: tuple[str, ...] | None = None
    """Texts whose likelihood after the messages is computed. None requests generation instead."""
    rolling: bool = False
    """Compute the likelihood of the messages' text itself from the first token, for perplexity."""
    options: GenerateOptions | None = None
    """Options for this prompt only, overriding those of the task."""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Details of how the prompt was built, for the record: shot ids, builder, fallbacks."""
    tools: tuple[Tool, ...] = ()
    """Functions that the model may call."""
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the tool that must be called. None leaves it to the service."""
    parallel_calls: bool | None = None
    """True if one answer may contain several calls. None leaves it to the service."""

    @property
    def role(self) -> str:
        """The role in which the model answers."""
        return generation_role(self.messages)

    @property
    def is_chat(self) -> bool:
        """True if every role is a chat role, so that a chat template applies."""
        return not has_free_roles(self.messages)

    @property
    def text(self) -> str:
        """The prompt as plain text, as sent to a completion endpoint."""
        return render_text(self.messages)

    @property
    def media(self) -> tuple[Media, ...]:
        """All images, audio clips and videos of the messages, in order."""
        return tuple(medium for message in self.messages for medium in message.media)


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model: a prompt and everything else that may change the answer."""

    prompt: Prompt
    options: GenerateOptions = DEFAULT_OPTIONS
    seed: int | None = None
    """Seed for a service or a user's function. None if the run has no seed."""
    repeat: int = 0
    state: Any = None
    """Opaque dialogue state that the model returned in the previous round."""
    hints: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further values that are passed to the model. Empty, except for toolkits that pass a benchmark's name."""
    key: str = ""
    id: str = ""
    """Sample id, for logs. Models must not depend on it."""
    draw: str = ""
    """Text from which the random numbers of the candidates are derived. See `seeds_of`.

    Empty if a request belongs to no sample. Then the prompt, seed and repeat index are
    used.
    """
    think_tags: ThinkTags = None
    """How reasoning is marked in the answer. Not every model uses it."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the prompt."""
        return self.prompt.messages


def seeds_of(
    seed: int | None,
    sample: str,
    repeat: int = 0,
    round: int = 0,
) -> tuple[int | None, str]:
    """Return the seed and the `draw` text of a request for one repeat of one sample.

    All sampling follows this rule: The random numbers of a candidate depend only on the run's seed, the sample's
    id, the repeat (epoch), the round of a dialogue and the candidate's number. They do not depend on the number of
    candidates, the batch, or other samples with the same prompt.

    A model in this process derives its random numbers from `draw` and the candidate's number. A run without a seed
    uses a fixed one, so its draws are also repeatable. A service receives the integer, or nothing if the run has no
    seed. The integer differs between samples. Servers add 1 to the seed for each further candidate, so the seeds of
    repeats are far enough apart that no two candidates of a sample share one.
    """
    draw = f"{seed}/{repeat}/{round}/{sample}"
    if seed is None:
        return None, draw
    digest = hashlib.sha256(
        f"{seed}/{round}/{sample}".encode("utf-8", "surrogatepass")
    ).digest()
    return repeated(int.from_bytes(digest[:8], "big"), repeat) % _SEEDS, draw


def repeated(seed: int, repeat: int) -> int:
    """Return the seed for one repeat. Candidates of different repeats never have the same seed."""
    return seed + repeat * _APART


class KeyMaker:
    """Computes request keys for one model. The constant part is hashed once."""

    def __init__(self, identity: Mapping[str, Any]) -> None:
        # Keys are stored and shared. A fast digest of a short secret could be guessed from them.
        self._base = hashlib.sha256(canonical(redact_options(identity)))
        self._options: GenerateOptions | None = None
        self._start = self._base
        self._rest: tuple[tuple[Any, ...], str] | None = None
        self._tools: tuple[tuple[Tool, ...], tuple[Any, ...], str] | None = None

    def key(
        self,
        request: Request,
        previous: str = "",
    ) -> str:
        """Return the key of a request. In a dialogue, `previous` is the key of the previous round."""
        return self.key_of(
            request.prompt,
            request.options,
            request.seed,
            request.repeat,
            request.hints,
            previous,
            request.draw,
        )

    def key_of(
        self,
        prompt: Prompt,
        options: GenerateOptions,
        seed: int | None = None,
        repeat: int = 0,
        hints: Mapping[str, Any] = EMPTY,
        previous: str = "",
        draw: str = "",
    ) -> str:
        """Return the request key for the given parts, without building a request."""
        if options is not self._options:
            self._options = options
            self._start = self._base.copy()
            self._start.update(_options_bytes(options))
        digest = self._start.copy()
        pieces = [f"\x00{seed}\x00{repeat}\x00{previous}"]
        for message in prompt.messages:
            pieces.append(f"\x01{len(message.role)}\x00{message.role}")
            if message.parts is None:
                pieces.append("\x02")
                continue
            for part in message.parts:
                if type(part) is Text:
                    pieces.append(f"\x03{len(part.text)}\x00{part.text}")
                elif isinstance(part, Media):
                    pieces.append(f"\x07{part.kind}\x00{part.digest}")
                else:
                    pieces.append(
                        "\x04"
                        + json.dumps(
                            part_to_plain(part),
                            sort_keys=True,
                            default=str,
                        )
                    )
        if prompt.continuations is not None:
            pieces.append("\x05" + json.dumps(prompt.continuations))
        if prompt.rolling or prompt.produces != ("text",) or hints:
            pieces.append(self._rest_of(prompt.rolling, prompt.produces, hints))
        if draw and _may_draw(prompt, options):
            pieces.append(f"\x08{draw}")
        if prompt.tools or prompt.tool_choice or prompt.parallel_calls is not None:
            pieces.append(self._tools_of(prompt))
        digest.update("".join(pieces).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    def _tools_of(self, prompt: Prompt) -> str:
        """Return the text that represents the tools in a key, cached while consecutive
        prompts have the same tools.
        """
        settings = (prompt.tool_choice, prompt.parallel_calls)
        cached = self._tools
        if cached and cached[0] is prompt.tools and cached[1] == settings:
            return cached[2]
        plain = [[tool.to_plain() for tool in prompt.tools], *settings]
        text = "\x09" + json.dumps(
            plain,
            sort_keys=True,
            default=str,
        )
        self._tools = (prompt.tools, settings, text)
        return text

    def _rest_of(
        self,
        rolling: bool,
        produces: Sequence[str],
        hints: Mapping[str, Any],
    ) -> str:
        """Return the text that represents output kinds and hints in a key.

        It is cached, because most samples of a task share it.
        """
        # Also compare types, because 1 equals True and 1.0. Mutable values are not cached, because
        # they may have changed.
        parts = (
            rolling,
            tuple(produces),
            *((name, type(value), value) for name, value in hints.items()),
        )
        is_lasting = all(type(value) in _LASTING for value in hints.values())
        if is_lasting and self._rest is not None and self._rest[0] == parts:
            return self._rest[1]
        text = "\x06" + json.dumps(
            [rolling, list(produces), dict(hints)],
            sort_keys=True,
            default=str,
        )
        self._rest = (parts, text) if is_lasting else None
        return text


def _may_draw(prompt: Prompt, options: GenerateOptions) -> bool:
    """Return True if the answer may be drawn at random.

    Otherwise it is deterministic, and samples with equal prompts share a cached answer.
    """
    if prompt.continuations is not None or prompt.rolling:
        return False
    return options.temperature != 0 or prompt.produces != ("text",)


@lru_cache(maxsize=1024)
def _options_bytes(options: GenerateOptions) -> bytes:
    return canonical(options.given())


def canonical(value: object) -> bytes:
    """Return a value as JSON with sorted keys, so that equal values give equal bytes."""
    return json.dumps(
        value,
        sort_keys=True,
        ensure_ascii=False,
        default=str,
    ).encode("utf-8", "surrogatepass")


def digest_of(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, or of bytes."""
    return hashlib.sha256(
        value if isinstance(value, bytes) else canonical(value)
    ).hexdigest()

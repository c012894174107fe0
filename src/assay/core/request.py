"""Requests: what a model is asked, exactly; and the key under which the answer is kept.

The key is a hash of model identity, rendered messages (media by digest), options, hints, seed, repeat index and, where
something may be drawn, what the random numbers are made of. How requests are batched or spread is never part of it.
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
from .sample import EMPTY
from .secrets import veiled

_NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0, math.inf),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "frequency_penalty": (-math.inf, math.inf),
    "presence_penalty": (-math.inf, math.inf),
    "repetition_penalty": (0, math.inf),
}
"""The least and the most of each; a number without end is none of them."""
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
"""Those that services take from -2 to 2: held to it where people set them, not where code builds a request."""
_ABOVE_LEAST = frozenset({"repetition_penalty"})
"""Those for which the least is too little."""
_COUNTS = {"n": 1, "max_tokens": 1, "logprobs": 0, "top_k": -1}
"""Whole numbers and the least of each; -1 is how some services write that `top_k` is off."""
_WORDS = {
    "reasoning_effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "response_format": ("json", "text", "json_object"),
}
_LASTING = frozenset({str, int, float, bool, type(None)})
"""Types of values that stay what they are."""
_APART = 2**16
_SEEDS = 2**31 - _APART
"""Seeds are below it: every service takes them, and a server may still count up for the candidates of a request."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """How to sample an answer. `None` leaves the choice to the model."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    """Candidates of one request; repeated requests of one sample are `epochs`."""
    logprobs: int | None = None
    """How many alternatives to report for each generated token; 0 reports the chosen one only."""
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    reasoning_effort: str | None = None
    response_format: str | None = None
    """`json` asks for a JSON object where the backend can promise one."""

    def __post_init__(self) -> None:
        """Equal options are equal bytes in a key: `1` and `1.0`, a list and a tuple are made the same."""
        if type(self.stop) is not tuple:
            stop = (
                (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
            )
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

    def set(self, **changes: Any) -> "GenerateOptions":
        """A copy with some options changed; an unknown one is an error with the nearest name."""
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
                    f"generation option {name!r} takes a number from -2 to 2, got {shorten(value)}"
                )
        return replace(self, **changes)

    def given(self) -> dict[str, Any]:
        """The options that were set, as JSON."""
        return {
            k: v
            for k, v in self._items()
            if v is not None and v != () and (k, v) != ("n", 1)
        }

    def _items(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in fields(self)]


def _in_range(name: str, value: Any) -> float:
    least, most = _NUMBERS[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(
            f"generation option {name!r} takes a number, got {shorten(value)}"
        )
    if (
        not least <= value <= most
        or not math.isfinite(value)
        or (value == least and name in _ABOVE_LEAST)
    ):
        above = f"above {least:g}" if name in _ABOVE_LEAST else f"from {least:g}"
        up_to = "" if most == math.inf else f" to {most:g}"
        raise UsageError(
            f"generation option {name!r} takes a number {above}{up_to}, got {shorten(value)}"
        )
    return float(value)


OPTION_NAMES = tuple(f.name for f in fields(GenerateOptions))
DEFAULT_OPTIONS = GenerateOptions()


@quick
@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages, and what the answer may be."""

    messages: tuple[Message, ...]
    produces: tuple[str, ...] = ("text",)
    """What is asked for: text, image, audio."""
    continuations: tuple[str, ...] | None = None
    """Texts to weigh after the messages instead of generating; `None` asks for generation."""
    rolling: bool = False
    """Weigh the messages' own text from its first token, as perplexity needs."""
    options: GenerateOptions | None = None
    """Overrides of the task's options for this prompt alone."""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """What the record should say about how the prompt was made: shot ids, who built it, fallbacks."""

    @property
    def role(self) -> str:
        """Who is to speak."""
        return generation_role(self.messages)

    @property
    def is_chat(self) -> bool:
        """Whether every role is a chat role, so that a chat template applies."""
        return not has_free_roles(self.messages)

    @property
    def text(self) -> str:
        """The prompt as plain text, as a completion endpoint gets it."""
        return render_text(self.messages)

    @property
    def media(self) -> tuple[Media, ...]:
        """All media in order."""
        return tuple(medium for message in self.messages for medium in message.media)


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """One thing a model is asked: a prompt with all that may change the answer."""

    prompt: Prompt
    options: GenerateOptions = DEFAULT_OPTIONS
    seed: int | None = None
    """What a service or a user's function is given to seed itself with; `None` where the run has no seed."""
    repeat: int = 0
    state: Any = None
    """Opaque turn state a model returned with the previous round."""
    hints: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Empty, except where a guest dialect must pass a benchmark's name."""
    key: str = ""
    id: str = ""
    """Which sample this is, for logs; models must not look at it."""
    draw: str = ""
    """What the random numbers of its candidates are made of: see `seeds_of`. A request that belongs to no sample has
    none; its prompt, seed and repeat take the place."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the prompt."""
        return self.prompt.messages


def seeds_of(
    seed: int | None, sample: str, repeat: int = 0, round: int = 0
) -> tuple[int | None, str]:
    """The seed and the `draw` of a request: what the run's seed becomes for one repeat of one sample.

    This is the rule for all that is drawn. The random numbers of a candidate depend on the run's seed, the sample's id,
    the repeat (epoch), the round of a dialogue and the candidate's number, and on nothing else: not on how many
    candidates are asked for, not on the batch, not on whether another sample has the same prompt.

    A model that draws in this process, be it text, images or audio, makes them of `draw` and the candidate's number;
    a run without a seed counts as one more seed, so it too draws the same every time. A service is sent the integer,
    and none where the run has no seed. It is another one for each sample; the repeats of a sample are so far apart that
    the candidates of one, for which servers count up, never meet those of the next.
    """
    draw = f"{seed}/{repeat}/{round}/{sample}"
    if seed is None:
        return None, draw
    digest = hashlib.sha256(
        f"{seed}/{round}/{sample}".encode("utf-8", "surrogatepass")
    ).digest()
    return repeated(int.from_bytes(digest[:8], "big"), repeat) % _SEEDS, draw


def repeated(seed: int, repeat: int) -> int:
    """The seed for one more time; the candidates of different times have no seed in common."""
    return seed + repeat * _APART


class KeyMaker:
    """Makes request keys for one model with one set of options; the constant part is hashed once."""

    def __init__(self, identity: Mapping[str, Any]) -> None:
        # Keys are kept and shared: a quick digest of a short secret could be guessed from them.
        self._base = hashlib.sha256(canonical(veiled(identity)))
        self._options: GenerateOptions | None = None
        self._start = self._base
        self._rest: tuple[tuple[Any, ...], str] | None = None

    def key(self, request: Request, previous: str = "") -> str:
        """The key of a request; `previous` is the key of the round before it in a dialogue."""
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
        """The key of a request that is not made yet, from its parts."""
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
                        + json.dumps(part_to_plain(part), sort_keys=True, default=str)
                    )
        if prompt.continuations is not None:
            pieces.append("\x05" + json.dumps(prompt.continuations))
        if prompt.rolling or prompt.produces != ("text",) or hints:
            pieces.append(self._rest_of(prompt.rolling, prompt.produces, hints))
        if draw and _may_draw(prompt, options):
            pieces.append(f"\x08{draw}")
        digest.update("".join(pieces).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    def _rest_of(
        self, rolling: bool, produces: Sequence[str], hints: Mapping[str, Any]
    ) -> str:
        """What is mostly the same for all samples of a task, written anew only where it is not."""
        # With their types, since 1 equals True and 1.0; what can be changed in place may no longer be what was written.
        parts = (
            rolling,
            tuple(produces),
            *((name, type(value), value) for name, value in hints.items()),
        )
        is_lasting = all(type(value) in _LASTING for value in hints.values())
        if is_lasting and self._rest is not None and self._rest[0] == parts:
            return self._rest[1]
        text = "\x06" + json.dumps(
            [rolling, list(produces), dict(hints)], sort_keys=True, default=str
        )
        self._rest = (parts, text) if is_lasting else None
        return text


def _may_draw(prompt: Prompt, options: GenerateOptions) -> bool:
    """Whether the answer may hang on chance; where it does not, samples with the same prompt share what is cached."""
    if prompt.continuations is not None or prompt.rolling:
        return False
    return options.temperature != 0 or prompt.produces != ("text",)


@lru_cache(maxsize=1024)
def _options_bytes(options: GenerateOptions) -> bytes:
    return canonical(options.given())


def canonical(value: Any) -> bytes:
    """JSON with sorted keys: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode(
        "utf-8", "surrogatepass"
    )


def digest_of(value: Any) -> str:
    """sha256 of the canonical JSON of a value, or of bytes."""
    return hashlib.sha256(
        value if isinstance(value, bytes) else canonical(value)
    ).hexdigest()

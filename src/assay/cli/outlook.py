"""The outlook of a run that was not started: tokens, time and money, each as a range, and what nobody can know.

Ranges come from the prompts themselves and from earlier runs that lie beside the folder of this one: how many tokens
a request of this task took there, and how fast the model was. What no earlier run says is left open, not guessed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..core import Prompt
from ..report.pace import duration
from ..runner.counts.spending import cost_of

Range = tuple[float, float]
CHARACTERS: Range = (3.0, 5.0)
"""Of a token of text in Latin letters, at least and at most."""
OTHERS: Range = (0.5, 1.5)
"""Tokens of any other character, as of Chinese, at least and at most."""
MOST_RUNS = 200
"""Earlier runs that are looked into, the newest first."""
FEWEST = 5
"""Requests an earlier run must have asked to say something of the next."""
SAME, OTHER = 1.25, 2.0
"""By what factor a run of the same task, or of another, may be slower or longer than an earlier one."""


class _Usage(msgspec.Struct):
    asked: int = 0
    seconds: float = 0.0
    input_tokens: float | None = None
    output_tokens: float | None = None


class _Summary(msgspec.Struct):
    usage: dict[str, _Usage] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What one earlier run says of a model."""

    folder: str
    is_same_task: bool
    usage: _Usage


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a task with a model would take; `None` for what is not known."""

    input_tokens: Range
    output_tokens: tuple[float, float | None]
    seconds: Range | None
    cost: tuple[float, float | None] | None
    known_from: tuple[str, ...]
    answered: int
    """How many the folder of the run has answers to already."""
    unknown: tuple[str, ...]
    """What is not in the ranges, each in a few words."""

    def lines(self, folder: str) -> Iterator[str]:
        """For people, beneath the counts."""
        if self.answered:
            yield f"answered already in {folder}: {self.answered:,}; the ranges are for the rest"
        low, high = self.output_tokens
        most = "no limit" if high is None else f"{high:,.0f}"
        yield f"range: tokens in {self.input_tokens[0]:,.0f} to {self.input_tokens[1]:,.0f}, out {low:,.0f} to {most}"
        if self.seconds is not None:
            source = f", as in {self.known_from[0]}" if self.known_from else ""
            yield f"time: {duration(self.seconds[0])} to {duration(self.seconds[1])}{source}"
        else:
            yield "time: unknown (no earlier run of this model lies beside this one)"
        if self.unknown:
            yield f"not counted: {'; '.join(self.unknown)}"

    def to_plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "input_tokens": [round(end) for end in self.input_tokens],
            "output_tokens": [
                None if end is None else round(end) for end in self.output_tokens
            ],
            "seconds": None
            if self.seconds is None
            else [round(end, 1) for end in self.seconds],
            "cost": None if self.cost is None else list(self.cost),
            "known_from": list(self.known_from),
            "answered": self.answered,
            "not_counted": list(self.unknown),
        }


def outlook(
    prompts: Sequence[Prompt],
    samples: int,
    requests: int,
    output_at_most: int | None,
    prices: Mapping[str, float],
    earlier: Sequence[Earlier],
    answered: int = 0,
    roles: Sequence[str] = (),
) -> Outlook:
    """The ranges of a cell, from its first prompts, the tokens its answers may have at most, and earlier runs.

    `samples` counts samples, each as often as it is asked; a dialogue among them has several requests.
    """
    share = max(0, samples - answered) / samples if samples else 0.0
    left = samples * share
    same = [one for one in earlier if one.is_same_task]
    tokens_in = _input(prompts, left, requests * share, same)
    most = None if output_at_most is None else output_at_most * share
    tokens_out = _output(left, requests * share, most, same)
    cost = _cost(prices, tokens_in, tokens_out)
    used = same or list(earlier)
    return Outlook(
        tokens_in,
        tokens_out,
        _seconds(left, used, SAME if same else OTHER),
        cost,
        tuple(one.folder for one in used),
        min(answered, samples),
        tuple(_unknown(prompts, roles, tokens_out[1])),
    )


def _input(
    prompts: Sequence[Prompt], left: float, requests: float, same: Sequence[Earlier]
) -> Range:
    rates = [
        one.usage.input_tokens / one.usage.asked
        for one in same
        if one.usage.input_tokens is not None
    ]
    if rates:
        return min(rates) * left / 1.05, max(rates) * left * 1.05
    if not prompts:
        return 0.0, 0.0
    sizes = [_tokens(prompt) for prompt in prompts]
    means = [math.fsum(ends) / len(sizes) for ends in zip(*sizes, strict=True)]
    # The prompts that were looked at stand for the others: their mean may be off by two standard errors.
    spread = math.sqrt(
        math.fsum((high - means[1]) ** 2 for _, high in sizes) / max(1, len(sizes) - 1)
    )
    error = 2 * spread / math.sqrt(len(sizes)) if requests > len(sizes) else 0.0
    return max(0.0, means[0] - error) * requests, (means[1] + error) * requests


def _tokens(prompt: Prompt) -> Range:
    """Tokens of one prompt; where continuations are weighed, its text counts once for each of them."""
    texts = ["".join(message.text for message in prompt.messages)]
    if prompt.continuations is not None:
        texts = [texts[0] + continuation for continuation in prompt.continuations]
    latin = sum(character < "\u0250" for text in texts for character in text)
    others = sum(map(len, texts)) - latin
    return latin / CHARACTERS[1] + others * OTHERS[0], latin / CHARACTERS[
        0
    ] + others * OTHERS[1]


def _output(
    left: float, requests: float, most: float | None, same: Sequence[Earlier]
) -> tuple[float, float | None]:
    rates = [
        one.usage.output_tokens / one.usage.asked
        for one in same
        if one.usage.output_tokens is not None
    ]
    if not rates:
        return min(requests, most if most is not None else math.inf), most
    low, high = min(rates) * left / SAME, max(rates) * left * SAME
    return (low, high) if most is None else (min(low, most), min(high, most))


def _seconds(left: float, earlier: Sequence[Earlier], factor: float) -> Range | None:
    rates = [
        one.usage.seconds / one.usage.asked for one in earlier if one.usage.seconds > 0
    ]
    return (min(rates) * left / factor, max(rates) * left * factor) if rates else None


def _cost(
    prices: Mapping[str, float],
    tokens_in: Range,
    tokens_out: tuple[float, float | None],
) -> tuple[float, float | None] | None:
    """Prices are for a million tokens; without both of them nobody knows."""
    ends = zip(tokens_in, tokens_out, strict=True)
    least, most = (
        cost_of({"input_tokens": into, "output_tokens": out}, prices)
        for into, out in ends
    )
    return (
        None if least is None else (least, most)
    )  # only the most can be without a limit


def _unknown(
    prompts: Sequence[Prompt], roles: Sequence[str], most: float | None
) -> Iterator[str]:
    kinds = dict.fromkeys(medium.kind for prompt in prompts for medium in prompt.media)
    if kinds:
        yield f"tokens of {' and '.join(kinds)}"
    if roles:
        yield f"calls of the {' and the '.join(roles)}"
    if most is None:
        yield "how long answers are (--max_tokens limits them)"


def earlier_runs(beside: Path, task: str, model: str) -> list[Earlier]:
    """What runs in a folder say of a model, the newest first; those of the same task before others."""
    try:
        summaries = sorted(
            beside.glob("*/summary.json"),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
    except OSError:
        return []
    found = []
    decoder = msgspec.json.Decoder(_Summary)
    for path in summaries[:MOST_RUNS]:
        try:
            usage = decoder.decode(path.read_bytes()).usage
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue  # being written, or of another version: it says nothing
        for name, spent in usage.items():
            if (
                name.endswith(f"/{model}")
                and "#" not in name.removesuffix(f"/{model}")
                and spent.asked >= FEWEST
            ):
                found.append(
                    Earlier(str(path.parent), name == f"{task}/{model}", spent)
                )
    return sorted(found, key=lambda one: not one.is_same_task)

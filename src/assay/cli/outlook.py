"""Forecast tokens, time and money of a run before it starts, each as a range.

The ranges are computed from the prompts and from earlier runs in the parent folder.
Those show how many tokens a request of this task took, and how fast the model was. If
no earlier run has a value, it is shown as unknown and not guessed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..core import Prompt
from ..report.progress import duration
from ..runner.counts.spending import cost_of

Range = tuple[float, float]
Estimate = tuple[float, float, float]
"""The lowest, the most likely and the highest value."""
CHARACTERS: Estimate = (5.0, 4.0, 3.0)
"""Characters per token in Latin script, for the lowest, the usual and the highest estimate."""
OTHERS: Estimate = (0.5, 1.0, 1.5)
"""Tokens per character in other scripts, such as Chinese, for the lowest, usual and highest estimate."""
CHARACTER_COUNT, EARLIER_RUNS = "characters / 4", "earlier runs"
MOST_RUNS = 200
"""The maximum number of earlier runs that are read, newest first."""
FEWEST = 5
"""Runs with fewer requests than this are not used for a forecast."""
SAME, OTHER = 1.25, 2.0
"""Factors that widen the range of a forecast: for values from the same task, and from other tasks."""


class _Usage(msgspec.Struct):
    asked: int = 0
    seconds: float = 0.0
    input_tokens: float | None = None
    output_tokens: float | None = None


class _Summary(msgspec.Struct):
    usage: dict[str, _Usage] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Earlier:
    """The measured usage of a model in one earlier run."""

    folder: str
    is_same_task: bool
    usage: _Usage


@dataclass(frozen=True, slots=True)
class Outlook:
    """The forecast for one task on one model. Unknown values are None."""

    input_tokens: Range
    usual_input: float
    """The most likely number of input tokens."""
    counted_by: str
    """How the number of tokens was estimated: from `characters
    4` or from `earlier runs`.
    """
    output_tokens: tuple[float, float | None]
    seconds: Range | None
    cost: tuple[float, float | None] | None
    known_from: tuple[str, ...]
    answered: int
    """The number of answers that the run folder already has."""
    unknown: tuple[str, ...]
    """Short descriptions of costs that the forecast does not include."""

    def lines(self, folder: str) -> Iterator[str]:
        """Yield the lines of the forecast that are printed below the numbers of samples and requests."""
        if self.answered:
            yield f"answered already in {folder}: {self.answered:,}; the ranges are for the rest"
        least_in = self.input_tokens[0]
        most_in = self.input_tokens[1]
        least_out, most_out = self.output_tokens
        if most_out is None:
            limit = "no limit"
        else:
            limit = f"{most_out:,.0f}"
        tokens_in = f"{least_in:,.0f} to {most_in:,.0f}"
        yield f"range: tokens in {tokens_in}, out {least_out:,.0f} to {limit}"
        if self.seconds is None:
            yield "time: unknown (the folder has no earlier run of this model)"
        else:
            shortest = duration(self.seconds[0])
            longest = duration(self.seconds[1])
            if self.known_from:
                source = f", as in {self.known_from[0]}"
            else:
                source = ""
            yield f"time: {shortest} to {longest}{source}"
        if self.unknown:
            yield f"not counted: {'; '.join(self.unknown)}"

    def to_plain(self) -> dict[str, Any]:
        """Return the forecast as JSON."""
        output_tokens = []
        for end in self.output_tokens:
            output_tokens.append(None if end is None else round(end))
        seconds = None
        if self.seconds is not None:
            seconds = [round(end, 1) for end in self.seconds]
        return {
            "input_tokens": [round(end) for end in self.input_tokens],
            "output_tokens": output_tokens,
            "seconds": seconds,
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
    """Forecast tokens, time and cost from the first prompts, `max_tokens` and earlier
    runs.

    `samples` is the number of samples times the repetitions of each. A dialogue has
    several requests per sample.
    """
    if samples:
        share = max(0, samples - answered) / samples
    else:
        share = 0.0
    left = samples * share
    same = [run for run in earlier if run.is_same_task]
    least, usual, highest = _input(prompts, left, requests * share, same)
    tokens_in = (least, highest)
    if output_at_most is None:
        most = None
    else:
        most = output_at_most * share
    tokens_out = _output(left, requests * share, most, same)
    cost = _cost(prices, tokens_in, tokens_out)
    used = same or list(earlier)
    return Outlook(
        tokens_in,
        usual,
        EARLIER_RUNS if _input_rates(same) else CHARACTER_COUNT,
        tokens_out,
        _seconds(left, used, SAME if same else OTHER),
        cost,
        tuple(run.folder for run in used),
        min(answered, samples),
        tuple(_unknown(prompts, roles, tokens_out[1])),
    )


def _input_rates(same: Sequence[Earlier]) -> list[float]:
    """Return the mean input tokens per request in each earlier run of the same task that recorded them."""
    rates = []
    for run in same:
        if run.usage.input_tokens is not None:
            rates.append(run.usage.input_tokens / run.usage.asked)
    return rates


def _input(
    prompts: Sequence[Prompt],
    left: float,
    requests: float,
    same: Sequence[Earlier],
) -> Estimate:
    """Return the lowest, the most likely and the highest number of input tokens.

    They are computed from earlier runs if there are any, otherwise from the length of
    the prompts.
    """
    rates = _input_rates(same)
    if rates:
        usual = math.fsum(rates) / len(rates)
        return min(rates) * left / 1.05, usual * left, max(rates) * left * 1.05
    if not prompts:
        return 0.0, 0.0, 0.0
    sizes = [_tokens(prompt) for prompt in prompts]
    least, usual, most = (
        math.fsum(ends) / len(sizes) for ends in zip(*sizes, strict=True)
    )
    # The first prompts represent all of them: their mean may be off by two standard errors.
    squares = math.fsum((size[2] - most) ** 2 for size in sizes)
    spread = math.sqrt(squares / max(1, len(sizes) - 1))
    if requests > len(sizes):
        error = 2 * spread / math.sqrt(len(sizes))
    else:
        error = 0.0
    return (
        max(0.0, least - error) * requests,
        usual * requests,
        (most + error) * requests,
    )


def _tokens(prompt: Prompt) -> Estimate:
    """Estimate the number of tokens in a prompt.

    If continuations are scored, the model reads the prompt once for each, so its text
    is counted that often.
    """
    text = "".join(message.text for message in prompt.messages)
    texts = [text]
    if prompt.continuations is not None:
        texts = [text + continuation for continuation in prompt.continuations]
    latin = sum(character < "\u0250" for text in texts for character in text)
    others = sum(map(len, texts)) - latin
    least, usual, most = (
        latin / characters + others * tokens
        for characters, tokens in zip(CHARACTERS, OTHERS, strict=True)
    )
    return least, usual, most


def _output(
    left: float,
    requests: float,
    most: float | None,
    same: Sequence[Earlier],
) -> tuple[float, float | None]:
    """Return the lowest and the highest number of output tokens.

    They come from earlier runs if there are any, otherwise from `max_tokens`.
    """
    limit = math.inf if most is None else most
    rates = []
    for run in same:
        if run.usage.output_tokens is not None:
            rates.append(run.usage.output_tokens / run.usage.asked)
    if not rates:
        return min(requests, limit), most
    low = min(rates) * left / SAME
    high = max(rates) * left * SAME
    return min(low, limit), min(high, limit)


def _seconds(
    left: float,
    earlier: Sequence[Earlier],
    factor: float,
) -> Range | None:
    rates = []
    for run in earlier:
        if run.usage.seconds > 0:
            rates.append(run.usage.seconds / run.usage.asked)
    if rates:
        return (min(rates) * left / factor, max(rates) * left * factor)
    return None


def _cost(
    prices: Mapping[str, float],
    tokens_in: Range,
    tokens_out: tuple[float, float | None],
) -> tuple[float, float | None] | None:
    """Return the cost as a range; unknown unless both prices are set. Prices are per million tokens."""
    ends = zip(tokens_in, tokens_out, strict=True)
    least, most = (
        cost_of({"input_tokens": into, "output_tokens": out}, prices)
        for into, out in ends
    )
    return (
        None if least is None else (least, most)
    )  # only the highest value can be unlimited


def _unknown(
    prompts: Sequence[Prompt],
    roles: Sequence[str],
    most: float | None,
) -> Iterator[str]:
    kinds = dict.fromkeys(medium.kind for prompt in prompts for medium in prompt.media)
    if kinds:
        yield f"tokens of {' and '.join(kinds)}"
    if roles:
        yield f"calls of the {' and the '.join(roles)}"
    if most is None:
        yield "how long answers are (--max_tokens limits them)"


def earlier_runs(
    beside: Path,
    task: str,
    model: str,
) -> list[Earlier]:
    """Return the usage of a model in the earlier runs of a folder.

    Runs of the same task come first. Within each group, the newest runs come first.
    """
    try:
        summaries = sorted(
            beside.glob("*/summary.json"),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
    except OSError:
        return []
    runs = []
    decoder = msgspec.json.Decoder(_Summary)
    for path in summaries[:MOST_RUNS]:
        try:
            usage = decoder.decode(path.read_bytes()).usage
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue  # skip a run that is being written or has another format
        for name, spent in usage.items():
            if (
                name.endswith(f"/{model}")
                and "#" not in name.removesuffix(f"/{model}")
                and spent.asked >= FEWEST
            ):
                runs.append(Earlier(str(path.parent), name == f"{task}/{model}", spent))
    return sorted(runs, key=lambda one: not one.is_same_task)

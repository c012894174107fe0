"""The built-in evaluators: exact match, perplexity, generation.

They drive assay's engine, or a user's own engine with the documented members. Under upstream's rules (for one
evaluator by name, or for all), they count as upstream does.
"""

import inspect
import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...core import Likelihood
from ...store.file_ledger import write_output_text
from ..protocol import is_upstream
from ..returned import plain
from ..shapes import Fields, Record
from . import pipeline_checkout as checkout
from .logits import weigh_tokens
from .pipeline_engine import Engine

Items = Sequence[Fields]


def batches(data: Items, size: int) -> Iterator[Items]:
    """Yield the rows in batches."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def answers(
    engine: Any,
    data: Items,
    batch_size: int,
    max_length: int,
    noise: float,
) -> Iterator[tuple[str, Fields]]:
    """Yield the engine's text for each row, with the row."""
    for batch in batches(data, batch_size):
        tokens = engine.generate_batch(
            [item["prompt"] for item in batch],
            max_length=max_length,
            noise=noise,
        )[0]
        yield from zip(engine.decode_tokens(tokens), batch, strict=True)


def exact_match(
    engine: object,
    data: Items,
    batch_size: int = 128,
    max_length: int = 100,
    noise: float = 0.0,
    **kwargs: object,
) -> Record:
    """Return the share of answers equal to the reference, ignoring case and outer blanks."""
    correct = 0
    for answer, item in answers(engine, data, batch_size, max_length, noise):
        correct += answer.strip().lower() == str(item["reference"]).strip().lower()
    return {
        "accuracy": correct / len(data) if data else 0,
        "correct": correct,
        "total": len(data),
    }


def perplexity(
    engine: object,
    data: Items,
    batch_size: int = 64,
    pad_eod: bool = True,
    print_interval: int = 1000,
    **kwargs: object,
) -> Record:
    """Return exp of the mean negative log-probability of the rows' targets; accuracy counts greedy matches.

    The target is the reference; a row with a `text` and no reference is read as LAMBADA, whose target is the last
    word. `mode` in the result says which. A row without a target fails.
    """
    rows: list[tuple[str, str, str]] = []
    modes: set[str] = set()
    for item in data:
        mode, context, target = _target(item)
        rows.append((context, target, item["prompt"]))
        if target:
            modes.add(mode)
        else:
            _reject(
                engine,
                item,
                "there is no target to score: no reference, and no second word in `text`",
            )
    weighed = [
        likelihood
        for (_, target, _), likelihood in _weighed(engine, rows, batch_size, pad_eod)
        if target
    ]
    return {**_summed(weighed), "mode": "+".join(sorted(modes))}


def perplexity_as_upstream(
    engine: object,
    data: Items,
    batch_size: int = 64,
    pad_eod: bool = True,
    print_interval: int = 1000,
    **kwargs: object,
) -> Record:
    """Evaluate by upstream's rules: a row with a `text` column is LAMBADA, and a row without a target is right."""
    rows: list[tuple[str, str, str]] = []
    for item in data:
        raw = item.get("raw") or {}
        context, target = item["prompt"], item["reference"]
        if "text" in raw:
            context, *last = raw["text"].rsplit(" ", 1)
            if last:
                target = f" {last[0]}"
            else:
                target = ""
        rows.append((context, str(target), item["prompt"]))
    weighed = _weighed(engine, rows, batch_size, pad_eod)
    return _summed([likelihood for _, likelihood in weighed])


Row = tuple[str, str, str]
"""The context of a row, its target, and its prompt."""


def _weighed(
    engine: object,
    rows: Sequence[Row],
    batch_size: int,
    pad_eod: bool,
) -> Iterator[tuple[Row, Likelihood]]:
    """Yield each row with the likelihood of its target. Rows without an answer are left out.

    An empty target has probability 1. A user's own engine is sent such rows too, so that its batches are
    upstream's.
    """
    if isinstance(engine, Engine):
        yield from ((row, Likelihood(0.0, True)) for row in rows if not row[1])
        rows = [row for row in rows if row[1]]
    for start in range(0, len(rows), batch_size):
        batch = rows[start : start + batch_size]
        contexts, targets, prompts = zip(*batch, strict=True)
        likelihoods: Iterable[Likelihood | None]
        if isinstance(engine, Engine):
            likelihoods = engine.weigh(contexts, targets, prompts)
        else:
            likelihoods = weigh_tokens(engine, contexts, targets, pad_eod=pad_eod)
        for row, likelihood in zip(batch, likelihoods, strict=True):
            if likelihood is not None:
                yield row, likelihood


def _summed(weighed: Iterator[Likelihood] | Sequence[Likelihood]) -> Record:
    """Return perplexity, accuracy and the number of likelihoods."""
    total, greedy, logprob = 0, 0, 0.0
    for likelihood in weighed:
        total += 1
        greedy += likelihood.greedy
        logprob += likelihood.logprob
    if total:
        mean = -logprob / total
    else:
        mean = math.inf
    return {
        "perplexity": math.exp(mean) if mean < 700 else math.inf,
        "accuracy": greedy / total if total else 0.0,
        "total": total,
    }


def _reject(
    engine: object,
    item: Fields,
    why: str,
) -> None:
    if isinstance(engine, Engine):
        engine.reject(item, why)
    else:
        warnings.warn(
            f"a row is left out: {why} (its prompt: {item['prompt'][:40]!r})",
            stacklevel=3,
        )


def _target(item: Fields) -> tuple[str, str, str]:
    reference, raw = item["reference"], item.get("raw") or {}
    if reference in ("", None) and isinstance(raw.get("text"), str):
        context, blank, word = raw["text"].rpartition(" ")
        return "last_word", context, blank + word if blank else ""
    return "reference", item["prompt"], str(reference)


def generation(
    engine: Any,
    data: Items,
    batch_size: int = 128,
    max_length: int = 100,
    noise: float = 0.0,
    save_outputs: bool = True,
    output_file: str | None = None,
    **kwargs: object,
) -> Record:
    """Write the texts to a JSONL file of `prompt, generated, reference`; return their length and speed.

    The length is in tokens, counted by the model if it can. Under upstream's rules, and with a user's own engine,
    the padding of short rows counts too.
    """
    counts = isinstance(engine, Engine) and not is_upstream("pipeline")
    spent: float = 0
    lines, size, speeds = [], 0, []
    before = engine.written if counts else 0
    for batch in batches(data, batch_size):
        tokens, seconds, speed = _generated(
            engine,
            [item["prompt"] for item in batch],
            max_length,
            noise,
        )
        spent, size = spent + seconds, size + int(tokens.size)
        speeds += [speed] if speed else []
        for item, text in zip(batch, engine.decode_tokens(tokens), strict=True):
            lines.append(
                {
                    "prompt": item["prompt"],
                    "generated": text,
                    "reference": item.get("reference", ""),
                }
            )
    if save_outputs:
        save_lines(
            output_file or f"generation_outputs_{time.strftime('%Y%m%d_%H%M%S')}.jsonl",
            lines,
        )
    if counts:
        total_tokens = engine.written - before
    else:
        total_tokens = size
    if spent > 0:
        rate = total_tokens / spent
    else:
        rate = 0
    if counts:
        speeds = [{"forward_tps": rate, "full_tps": rate}]
    if speeds:
        means = {
            name: sum(speed[name] for speed in speeds) / len(speeds) for name in _SPEEDS
        }
    else:
        means = {}
    return {
        "total_samples": len(data),
        "total_tokens": total_tokens,
        "total_time": spent,
        "throughput": rate,
        "avg_length": total_tokens / len(data) if data else 0,
        **means,
    }


_SPEEDS = ("forward_tps", "full_tps")


def _generated(
    engine: Any,
    prompts: list[str],
    max_length: int,
    noise: float,
) -> tuple[Any, float, Any]:
    """Return tokens, seconds and speed. An engine of the earlier revision does not report speed."""
    takes_it = "return_speed" in inspect.signature(engine.generate_batch).parameters
    if takes_it and checkout.measures_speed():
        asks = {"return_speed": True}
    else:
        asks = {}
    generated = engine.generate_batch(
        prompts,
        max_length=max_length,
        noise=noise,
        **asks,
    )
    return generated[0], generated[1], generated[2] if len(generated) > 2 else None


def save_lines(
    name: str,
    lines: Sequence[Fields],
) -> None:
    """Write a JSONL file."""
    text = "".join(
        json.dumps(
            plain(line),
            ensure_ascii=False,
            default=str,
        )
        + "\n"
        for line in lines
    )
    path = Path(name).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output_text(path, text)

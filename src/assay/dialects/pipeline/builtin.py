"""The built-in evaluators: exact match, perplexity and generation.

They call assay's engine, or a user's own engine with the same methods. Under upstream's
rules their metrics are counted as upstream does. These rules apply if chosen for all
evaluators, or with an evaluator name such as `perplexity@upstream`.
"""

import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...core import Likelihood
from ...store.file_ledger import write_output_text
from ..parameters import accepted_by
from ..protocol import is_upstream
from ..returned import plain
from ..shapes import Fields, Record
from . import pipeline_checkout as checkout
from .logits import target_likelihoods
from .pipeline_engine import Engine

Items = Sequence[Fields]


def batches(data: Items, size: int) -> Iterator[Items]:
    """Yield the rows in lists of `size`. The last list may be shorter."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def answers(
    engine: Any,
    data: Items,
    batch_size: int,
    max_length: int,
    noise: float,
) -> Iterator[tuple[str, Fields]]:
    """Generate an answer to each row, and yield it with the row."""
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
    """Generate answers, and return the share of exact matches. Case and surrounding white space are ignored."""
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
    """Return the perplexity of the rows' targets; their accuracy is the share that greedy decoding would produce.

    Perplexity is exp of the mean negative log-probability of a target. The target is
    the reference. A row with a `text` and no reference is read as LAMBADA, whose target
    is the last word; `mode` in the result is the form that was used. A row without a
    target fails.
    """
    rows: list[Row] = []
    modes: set[str] = set()
    for item in data:
        mode, row = _target(item)
        rows.append(row)
        if row.target:
            modes.add(mode)
        else:
            _reject(
                engine,
                item,
                "there is no target to score: no reference, and no second word in `text`",
            )
    weighed = _with_likelihoods(engine, rows, batch_size, pad_eod)
    summary = _summed(likelihood for row, likelihood in weighed if row.target)
    return {**summary, "mode": "+".join(sorted(modes))}


def _target(item: Fields) -> tuple[str, "Row"]:
    prompt = item["prompt"]
    reference = item["reference"]
    raw = item.get("raw") or {}
    if reference in ("", None) and isinstance(raw.get("text"), str):
        context, blank, word = raw["text"].rpartition(" ")
        target = ""
        if blank:
            target = f" {word}"
        return "last_word", Row(context, target, prompt)
    return "reference", Row(prompt, str(reference), prompt)


def perplexity_as_upstream(
    engine: object,
    data: Items,
    batch_size: int = 64,
    pad_eod: bool = True,
    print_interval: int = 1000,
    **kwargs: object,
) -> Record:
    """Return perplexity and accuracy by upstream's rules.

    A row with a `text` column is read as LAMBADA, and a row without a target is scored as
    correct.
    """
    rows: list[Row] = []
    for item in data:
        prompt, target = item["prompt"], str(item["reference"])
        context = prompt
        raw = item.get("raw") or {}
        if "text" in raw:
            context, *last = raw["text"].rsplit(" ", 1)
            if last:
                target = f" {last[0]}"
            else:
                target = ""
        rows.append(Row(context, target, prompt))
    weighed = _with_likelihoods(engine, rows, batch_size, pad_eod)
    return _summed(likelihood for _, likelihood in weighed)


class Row(NamedTuple):
    """One likelihood to compute: that of `target` after `context`. `prompt` is the prompt of the data row."""

    context: str
    target: str
    prompt: str


def _with_likelihoods(
    engine: object,
    rows: Sequence[Row],
    batch_size: int,
    pad_eod: bool,
) -> Iterator[tuple[Row, Likelihood]]:
    """Yield each row with the likelihood of its target. Rows without a response from the model are left out.

    An empty target has probability 1. A user's own engine also gets such rows, so that
    its batches are the same as upstream's.
    """
    if isinstance(engine, Engine):
        yield from ((row, Likelihood(0.0, True)) for row in rows if not row.target)
        rows = [row for row in rows if row.target]
    for start in range(0, len(rows), batch_size):
        batch = rows[start : start + batch_size]
        contexts, targets, prompts = zip(*batch, strict=True)
        likelihoods: Iterable[Likelihood | None]
        if isinstance(engine, Engine):
            likelihoods = engine.weigh(contexts, targets, prompts)
        else:
            likelihoods = target_likelihoods(engine, contexts, targets, pad_eod=pad_eod)
        for row, likelihood in zip(batch, likelihoods, strict=True):
            if likelihood is not None:
                yield row, likelihood


def _summed(weighed: Iterable[Likelihood]) -> Record:
    """Return the perplexity, the accuracy and the number of targets.

    The accuracy is the share of targets that greedy decoding would produce.
    """
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
    """Generate text for each row, and return its length and speed. Write a JSONL file with the generated text.

    Its lines have `prompt`, `generated` and `reference`. The length is in tokens,
    counted by the model if possible. Under upstream's rules, and with a user's own
    engine, the padding of short rows is included in the length.
    """
    counts = isinstance(engine, Engine) and not is_upstream("pipeline")
    before = engine.written if counts else 0
    reports_speed = checkout.measures_speed() and bool(
        accepted_by(engine.generate_batch, {"return_speed": True})
    )
    extra = {"return_speed": True} if reports_speed else {}
    lines: list[Record] = []
    speeds: list[Fields] = []
    total_tokens = 0
    spent: float = 0
    for batch in batches(data, batch_size):
        tokens, seconds, *speed = tuple(
            engine.generate_batch(
                [item["prompt"] for item in batch],
                max_length=max_length,
                noise=noise,
                **extra,
            )
        )
        total_tokens += int(tokens.size)
        spent += seconds
        speeds += filter(None, speed)
        for item, text in zip(batch, engine.decode_tokens(tokens), strict=True):
            reference = item.get("reference", "")
            lines.append(
                {"prompt": item["prompt"], "generated": text, "reference": reference}
            )
    if save_outputs:
        now = time.strftime("%Y%m%d_%H%M%S")
        save_lines(output_file or f"generation_outputs_{now}.jsonl", lines)
    if counts:
        total_tokens = engine.written - before
    rate = total_tokens / spent if spent > 0 else 0
    if counts:
        speeds = [dict.fromkeys(_SPEEDS, rate)]
    means = {
        name: sum(speed[name] for speed in speeds) / len(speeds)
        for name in (_SPEEDS if speeds else ())
    }
    return {
        "total_samples": len(data),
        "total_tokens": total_tokens,
        "total_time": spent,
        "throughput": rate,
        "avg_length": total_tokens / len(data) if data else 0,
        **means,
    }


_SPEEDS = ("forward_tps", "full_tps")


def save_lines(
    name: str,
    lines: Sequence[Fields],
) -> None:
    """Write values as the lines of a JSONL file, and create its folder."""
    encoded = [
        json.dumps(plain(line), ensure_ascii=False, default=str) for line in lines
    ]
    path = Path(name).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output_text(path, "".join(f"{line}\n" for line in encoded))

"""The evaluators that are there before anybody registers one: exact match, perplexity, generation."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...store.file_ledger import own_file
from ..plain import plain
from .engine import Engine

Items = Sequence[Mapping[str, Any]]


def batches(data: Items, size: int) -> Iterator[Items]:
    """The rows, so many at a time."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def exact_match(
    engine: Engine, data: Items, batch_size: int = 128, max_length: int = 100, noise: float = 0.0, **kwargs: Any
) -> dict[str, Any]:
    """The share of answers equal to the reference, case and outer blanks aside."""
    correct = 0
    for batch in batches(data, batch_size):
        tokens, _ = engine.generate_batch([item["prompt"] for item in batch], max_length=max_length, noise=noise)
        for answer, item in zip(engine.decode_tokens(tokens), batch, strict=True):
            correct += answer.strip().lower() == str(item["reference"]).strip().lower()
    return {"accuracy": correct / len(data) if data else 0.0, "correct": correct, "total": len(data)}


def perplexity(
    engine: Engine, data: Items, batch_size: int = 64, pad_eod: bool = True, print_interval: int = 1000, **kwargs: Any
) -> dict[str, Any]:
    """exp of the mean negative log-probability of a row's target, by row; accuracy: greedy decoding would write it.

    The target is the reference; a row that has a `text` and no reference is read as LAMBADA, whose target is the last
    word. `mode` says which. A row without a target is a failure of that row.
    """
    total, greedy, logprob = 0, 0, 0.0
    modes: set[str] = set()
    for batch in batches(data, batch_size):
        weighed: list[tuple[str, str, str]] = []
        for item in batch:
            mode, context, target = _target(item)
            if target:
                modes.add(mode)
                weighed.append((context, target, item["prompt"]))
            else:
                engine.reject(item, "there is no target to weigh: no reference, and no second word in `text`")
        if not weighed:
            continue
        contexts, targets, prompts = zip(*weighed, strict=True)
        for likelihood in engine.weigh(contexts, targets, prompts):
            if likelihood is not None:
                total += 1
                greedy += likelihood.greedy
                logprob += likelihood.logprob
    mean = -logprob / total if total else math.inf
    return {
        "perplexity": math.exp(mean) if mean < 700 else math.inf,
        "accuracy": greedy / total if total else 0.0,
        "total": total,
        "mode": "+".join(sorted(modes)),
    }


def perplexity_as_upstream(
    engine: Engine, data: Items, batch_size: int = 64, pad_eod: bool = True, print_interval: int = 1000, **kwargs: Any
) -> dict[str, Any]:
    """The same as upstream counts: any `text` column makes a row LAMBADA, and a row without a target is right."""
    total, greedy, logprob = 0, 0, 0.0
    for batch in batches(data, batch_size):
        weighed: list[tuple[str, str, str]] = []
        for item in batch:
            text = (item.get("raw") or {}).get("text")
            context, blank, word = text.rpartition(" ") if isinstance(text, str) else (item["prompt"], "", "")
            target = (blank + word if blank else "") if isinstance(text, str) else str(item["reference"])
            if target:
                weighed.append((context, target, item["prompt"]))
            else:
                total, greedy = total + 1, greedy + 1
        if not weighed:
            continue
        contexts, targets, prompts = zip(*weighed, strict=True)
        for likelihood in engine.weigh(contexts, targets, prompts):
            if likelihood is not None:
                total, greedy, logprob = total + 1, greedy + likelihood.greedy, logprob + likelihood.logprob
    mean = -logprob / total if total else math.inf
    return {
        "perplexity": math.exp(mean) if mean < 700 else math.inf,
        "accuracy": greedy / total if total else 0.0,
        "total": total,
    }


def _target(item: Mapping[str, Any]) -> tuple[str, str, str]:
    reference, raw = item["reference"], item.get("raw") or {}
    if reference in ("", None) and isinstance(raw.get("text"), str):
        context, blank, word = raw["text"].rpartition(" ")
        return "last_word", context, blank + word if blank else ""
    return "reference", item["prompt"], str(reference)


def generation(
    engine: Engine,
    data: Items,
    batch_size: int = 128,
    max_length: int = 100,
    noise: float = 0.0,
    save_outputs: bool = True,
    output_file: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Texts in a JSONL file of `prompt, generated, reference`; how long they are and how fast they came.

    Tokens are those written, as the model counted them where it does; the fill of short rows is none.
    """
    lines, spent, tokens_before = [], 0.0, engine.written
    for batch in batches(data, batch_size):
        prompts = [item["prompt"] for item in batch]
        tokens, seconds = engine.generate_batch(prompts, max_length=max_length, noise=noise)
        spent += seconds
        for item, text in zip(batch, engine.decode_tokens(tokens), strict=True):
            lines.append({"prompt": item["prompt"], "generated": text, "reference": item["reference"]})
    if save_outputs:
        file = own_file(output_file or f"generation_outputs_{time.strftime('%Y%m%d_%H%M%S')}.jsonl")
        text = "".join(json.dumps(plain(line), ensure_ascii=False, default=str) + "\n" for line in lines)
        file.write_text(text, encoding="utf-8")
    written = engine.written - tokens_before
    rate = written / spent if spent > 0 else 0.0
    return {
        "total_samples": len(data),
        "total_tokens": written,
        "total_time": spent,
        "throughput": rate,
        "avg_length": written / len(data) if data else 0.0,
        "forward_tps": rate,
        "full_tps": rate,
    }

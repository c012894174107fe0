"""`assay parity`: check that an answer does not depend on the other requests in its
batch.

The model answers the same samples one at a time and in batches, in order and in
reverse. Answers that differ are compared at the first different token. If both tokens
were almost equally probable, rounding may be the reason. Such ties are counted
separately.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ..core import BadSample, Candidate, Output, Request, Sample, UsageError, seeds_of
from ..core.protocols import Model
from ..core.request import KeyMaker
from ..report import printable
from ..report.grid import write_lines
from ..runner.ask.calls import call_async, call_model, close_model
from ..runner.options import RunOptions
from ..runner.plan.planned_task import PlannedTask
from ..runner.plan.planning import make_plan
from .arguments import Parser
from .run_flags import GENERATION, add_some, settings_of

TIE = 1e-4
DRIFT = 1e-3
"""Differences between log-likelihoods up to this size are attributed to rounding."""
EXIT_DRIFT = 4
OPTIONS = ("model_args", "data", "num_fewshot", "seed", *GENERATION)


@dataclass(slots=True)
class Parity:
    """The comparison for one batch size and request order: batched answers against answers to single requests."""

    size: int
    order: str
    compared: int = 0
    ties: int = 0
    failed: int = 0
    largest: float = 0.0
    """The largest difference found between two log-likelihoods."""
    drifted: list[str] = field(default_factory=list)
    """The ids of the samples with different answers."""

    def line(self) -> str:
        """Return the result as one line to print."""
        parts = [
            f"batch {self.size:>4} {self.order:<8}",
            f"{self.compared} compared",
            f"{len(self.drifted)} drifted",
        ]
        if self.ties:
            parts.append(f"{self.ties} ties")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.largest:
            parts.append(f"log-likelihoods at most {self.largest:.1e} apart")
        if self.drifted:
            first = f" (first: {printable(self.drifted[0])})"
        else:
            first = ""
        return ", ".join(parts) + first

    def to_plain(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "batch": self.size,
            "order": self.order,
            "compared": self.compared,
            "drifted": self.drifted,
            "ties": self.ties,
            "failed": self.failed,
            "largest_difference": self.largest,
        }


def command(arguments: Sequence[str]) -> int:
    """Send the samples one at a time and in batches, and compare the answers.

    Return 0 if all answers are equal, otherwise 4.
    """
    p = Parser(
        prog="assay parity",
        description="Ask the same samples at batch size 1 and at other sizes; report answers that\nchange.",
    )
    p.add_argument("task")
    p.add_argument("-M", "--model", required=True)
    p.add_argument("--base_url", default=None, help="an OpenAI-compatible endpoint")
    p.add_argument(
        "-k",
        "--samples",
        type=int,
        default=16,
        help="how many samples (default 16)",
    )
    p.add_argument(
        "--sizes",
        default="4,16",
        help="batch sizes to compare with 1 (default 4,16)",
    )
    add_some(p, *OPTIONS)
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    settings = settings_of(options, *OPTIONS)
    run = RunOptions(
        tasks=(options.task,),
        models=(options.model,),
        limit=options.samples,
        **settings,
    )
    results = [
        (cell, parities(cell, _sizes(options.sizes), options.samples))
        for cell in make_plan(run)
    ]
    if options.json:
        cells = [
            {
                "task": cell.task.name,
                "model": cell.model_name,
                "parity": [row.to_plain() for row in rows],
            }
            for cell, rows in results
        ]
        sys.stdout.write(json.dumps({"cells": cells}, ensure_ascii=False) + "\n")
    else:
        for cell, rows in results:
            sys.stdout.write(
                f"{printable(cell.task.name)} on {printable(cell.model_name)}\n"
            )
            write_lines((f"  {row.line()}" for row in rows), sys.stdout)
    if any(row.drifted for _, rows in results for row in rows):
        return EXIT_DRIFT
    return 0


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise UsageError(
            f"--sizes takes numbers, got {text!r}", fix="--sizes 4,16"
        ) from error
    if not sizes or min(sizes) < 1:
        raise UsageError(
            f"--sizes takes numbers from 1 on, got {text!r}", fix="--sizes 4,16"
        )
    return sizes


def parities(
    cell: PlannedTask,
    sizes: Sequence[int],
    count: int,
) -> list[Parity]:
    """Compare batched answers with answers to single requests, for each batch size.

    Each batch size is tested with the requests in order and in reverse order.
    """
    requests = _requests(cell, count)
    if not requests:
        raise UsageError(f"task {cell.task.name!r} has no sample to ask")
    try:
        alone = _ask(cell.model, requests, 1)
        rows = []
        for size in sizes:
            row = _compare(
                cell,
                requests,
                alone,
                _ask(cell.model, requests, size),
                size,
                "in order",
            )
            rows.append(row)
            turned = _ask(cell.model, requests[::-1], size)[::-1]
            rows.append(_compare(cell, requests, alone, turned, size, "reversed"))
        return rows
    finally:
        asyncio.run(close_model(cell.model))


def _requests(cell: PlannedTask, count: int) -> list[Request]:
    keys = KeyMaker(cell.model.identity)
    samples = islice((s for s in cell.view() if not isinstance(s, BadSample)), count)
    return [_request(cell, keys, sample) for sample in samples]


def _request(
    cell: PlannedTask,
    keys: KeyMaker,
    sample: Sample,
) -> Request:
    prompt = cell.template(sample)
    options = cell.options_for(prompt)
    seed, draw = seeds_of(options.seed, sample.id)
    request = Request(
        prompt,
        options,
        seed,
        hints=cell.task.hints,
        id=sample.id,
        draw=draw,
    )
    return replace(request, key=keys.key(request))


def _ask(
    model: Model,
    requests: Sequence[Request],
    size: int,
) -> list[Output]:
    batches = [
        requests[start : start + size] for start in range(0, len(requests), size)
    ]
    if asyncio.iscoroutinefunction(model.generate):

        async def all_of() -> list[Output]:
            answers: list[Output] = []
            for batch in batches:
                answers += await asyncio.gather(
                    *(call_async(model, request) for request in batch)
                )
            return answers

        return asyncio.run(all_of())
    return [output for batch in batches for output in call_model(model, batch)]


def _compare(
    cell: PlannedTask,
    requests: Sequence[Request],
    alone: Sequence[Output],
    together: Sequence[Output],
    size: int,
    order: str,
) -> Parity:
    result = Parity(size, order)
    for request, single, many in zip(requests, alone, together, strict=True):
        if single.error is not None or many.error is not None:
            result.failed += 1
            if (single.error is None) != (many.error is None):
                result.drifted.append(request.id)
            continue
        result.compared += 1
        apart = max(
            (
                abs(a.logprob - b.logprob)
                for a, b in zip(single.likelihoods, many.likelihoods, strict=True)
            ),
            default=0.0,
        )
        result.largest = max(result.largest, apart)
        if apart > DRIFT:
            result.drifted.append(request.id)
        elif not _same(single, many):
            if _is_tie(cell.model, request, single, many):
                result.ties += 1
            else:
                result.drifted.append(request.id)
    return result


def _same(one: Output, many: Output) -> bool:
    def content(output: Output) -> list[Any]:
        contents = []
        for c in output.candidates:
            contents.append((c.text, [m.digest for m in c.media]))
        return contents

    return content(one) == content(many)


def _is_tie(
    model: Model,
    request: Request,
    one: Output,
    many: Output,
) -> bool:
    """Return True if the first tokens that differ were almost equally probable.

    This is known only for models that return log-probabilities of tokens.
    """
    if (
        not model.abilities.logprobs
        or request.options.n != 1
        or asyncio.iscoroutinefunction(model.generate)
    ):
        return False
    position = _first_difference(one.candidates[0], many.candidates[0])
    if position is None:
        return False
    answer = call_model(
        model, [replace(request, options=request.options.set(logprobs=2))]
    )[0]
    if answer.candidates:
        tokens = answer.candidates[0].tokens
    else:
        tokens = ()
    if position >= len(tokens) or len(tokens[position].top) < 2:
        return False
    (_, first), (_, second) = tokens[position].top[:2]
    return first - second <= TIE


def _first_difference(one: Candidate, many: Candidate) -> int | None:
    for position, (a, b) in enumerate(zip(one.token_ids, many.token_ids, strict=False)):
        if a != b:
            return position
    return None

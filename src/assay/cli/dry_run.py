"""`assay run --dry_run`: the first prompt, the number of requests, and a forecast of tokens, time and cost.

Nothing is written and no weights are loaded. The number of tokens is estimated as a
quarter of the characters of the first prompts; the module `outlook` computes a range.
If a model has its own chat template, the first prompt is shown as the model gets it,
with special tokens. A faulty template makes the command fail.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from ..core import AssayError, BadSample, ComponentError, DataError, Prompt, Sample
from ..core.record import prompt_to_plain
from ..datasets import view
from ..report import printable
from ..report.grid import write_lines
from ..runner.ask.batch_limits import check_batches
from ..runner.ask.executors.check import check_spread
from ..runner.ask.loading import prompt_faults
from ..runner.counts.leaks import Leaks
from ..runner.counts.spending import PRICES, cost_of
from ..runner.options import SANDBOX, RunOptions
from ..runner.plan.models import name_models
from ..runner.plan.planned_task import PlannedTask
from ..runner.plan.planning import make_plan
from ..runner.plan.stopping import prepare_until
from ..runner.run import run_folder
from ..store import RunReader
from ..templates import has_rounds
from .outlook import Outlook, earlier_runs, outlook
from .samples import prompt_lines

PROMPTS_RENDERED = 200
SHOWN_AT_MOST = 6000
"""Prompts with more characters than this are shown without their middle."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The first prompt as the model's chat template renders it, and the faults found in the template."""

    text: str | None = None
    faults: tuple[str, ...] = ()
    why_not: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines to print: the rendered prompt and faults of the chat template."""
        if self.why_not:
            yield f"as the model reads it: cannot be shown ({printable(self.why_not)})"
        if self.text is not None:
            yield "as the model reads it:"
            for line in _without_middle(self.text).split("\n"):
                yield f"    {printable(line)}"
        for fault in self.faults:
            yield f"fault: {printable(fault)}"


def _without_middle(text: str) -> str:
    """Return a text without its middle if it is longer than `SHOWN_AT_MOST`."""
    if len(text) <= SHOWN_AT_MOST:
        return text
    half = SHOWN_AT_MOST // 2
    return f"{text[:half]} […] {text[-half:]}"


def rendered_by(cell: PlannedTask, prompt: Prompt) -> Rendered:
    """Render a prompt with the model's own chat template. Return it with the faults of the template."""
    show = getattr(cell.model, "shown", None)
    if show is None:
        return Rendered()
    try:
        return Rendered(show(prompt), prompt_faults(cell, prompt))
    except AssayError as error:
        return Rendered(why_not=str(error))


@dataclass(slots=True)
class Forecast:
    """The forecast of one task on one model: its requests, tokens, time and cost."""

    cell: PlannedTask
    first: tuple[str, Prompt] | None
    samples: int
    unusable: int
    """The number of examined rows that cannot become samples. They would end as `data_error`."""
    requests: int
    at_least: bool
    """True if `requests` is a minimum, because the template decides during the run how many rounds a dialogue has."""
    input_tokens: int
    output_tokens: int | None
    """The maximum number of output tokens, computed from `max_tokens`. None if `max_tokens` is not set."""
    cost: float | None
    rendered: "Rendered"
    outlook: Outlook
    folder: str
    """The folder that the run would write to."""
    warnings: tuple[str, ...] = ()
    """Warnings about the examined prompts that apply to every model."""

    def lines(self) -> Iterator[str]:
        """Yield the lines to print about the requests, the first prompt and the forecast."""
        cell = self.cell
        yield f"{printable(cell.task.name)} on {printable(cell.model_name)}"
        if self.first is not None:
            yield f"  first prompt (sample {printable(self.first[0])}):"
            yield from (f"  {line}" for line in prompt_lines(self.first[1]))
        yield from (f"  {line}" for line in self.rendered.lines())
        yield from (f"  {printable(line)}" for line in self.warnings)
        if cell.task.protocol != cell.task.name:
            yield f"  protocol: {printable(cell.task.protocol)}"
        options = ", ".join(
            f"{name}={value!r}" for name, value in cell.options.given().items()
        )
        yield f"  options: {options or 'those of the model'}"
        head = f"  samples {self.samples}, epochs {cell.task.epochs}, "
        yield head + f"requests {'at least ' if self.at_least else ''}{self.requests}"
        if self.unusable:
            yield f"  rows that cannot be used: {self.unusable} (among those looked at)"
        if self.output_tokens is None:
            limit = "no limit set"
        else:
            limit = f"at most {self.output_tokens:,}"
        counted_by = self.outlook.counted_by
        yield f"  tokens in about {self.input_tokens:,} ({counted_by}), out {limit}"
        yield from (f"  {printable(line)}" for line in self.outlook.lines(self.folder))
        cost = self.outlook.cost
        if cost is None:
            yield "  cost: unknown (say -a price_input=…,price_output=… for a million tokens, and --max_tokens)"
        elif cost[1] is None:
            yield f"  cost: {cost[0]:.4f} or more (--max_tokens sets an end)"
        else:
            yield f"  cost: {cost[0]:.4f} to {cost[1]:.4f}"

    def to_plain(self) -> dict[str, Any]:
        """Return the forecast as JSON."""
        first = None
        if self.first is not None:
            prompt = self.first[1]
            if prompt.continuations is None:
                continuations = None
            else:
                continuations = list(prompt.continuations)
            first = {
                "id": self.first[0],
                "messages": prompt_to_plain(prompt),
                "continuations": continuations,
            }
        return {
            "task": self.cell.task.name,
            "protocol": self.cell.task.protocol,
            "model": self.cell.model_name,
            "first_prompt": first,
            "rendered": self.rendered.text,
            "faults": list(self.rendered.faults),
            "warnings": list(self.warnings),
            "options": self.cell.options.given(),
            "samples": self.samples,
            "epochs": self.cell.task.epochs,
            "requests": self.requests,
            "at_least": self.at_least,
            "unusable_rows": self.unusable,
            "tokens": {
                "input": self.input_tokens,
                "output_at_most": self.output_tokens,
                "counted_by": self.outlook.counted_by,
            },
            "cost_at_most": self.cost,
            "range": self.outlook.to_plain(),
        }


def show_plan(
    options: RunOptions,
    stdout: TextIO,
    is_json: bool,
) -> int:
    """Plan the run, and print the plan and the forecast. Return 0 unless the plan has a fault."""
    prices = {}
    for name in PRICES:
        if name in options.model_args:
            prices[name] = options.model_args[name]
    model_args = {k: v for k, v in options.model_args.items() if k not in PRICES}
    bare = options.but(model_args=model_args)
    bare, naming_notes = name_models(bare)
    for line in naming_notes:
        print(line, file=sys.stderr)
    cells = make_plan(bare)
    check_spread(bare, cells)
    check_batches(bare, cells)
    prepare_until(bare, cells)
    folder = run_folder(
        options, tuple(dict.fromkeys(cell.model_name for cell in cells))
    )
    forecasts = [forecast(cell, prices, folder) for cell in cells]
    if is_json:
        document = {
            "dry_run": True,
            "cells": [f.to_plain() for f in forecasts],
            "requests": _total(forecasts),
        }
        stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return _exit_code(forecasts)
    for item in forecasts:
        for line in item.lines():
            write_lines([line], stdout)
    total = _total(forecasts)
    stdout.write(
        f"{total} request{'s' * (total != 1)} in all; nothing was asked or written\n"
    )
    return _exit_code(forecasts)


def _exit_code(forecasts: Sequence[Forecast]) -> int:
    if any(item.rendered.faults for item in forecasts):
        return 1
    return 0


def _total(forecasts: Sequence[Forecast]) -> int:
    return sum(item.requests for item in forecasts)


def forecast(
    cell: PlannedTask,
    prices: Mapping[str, float],
    folder: Path,
) -> Forecast:
    """Forecast one task on one model from its first prompts, the number of samples and earlier runs.

    The earlier runs are those in the parent folder of `folder`.
    """
    looked_at = list(islice(cell.view(), PROMPTS_RENDERED))
    first: tuple[str, Prompt] | None = None
    prompts: list[Prompt] = []
    failed: list[str] = []
    leaks = Leaks(cell.scorings, cell.task.produces)
    for item in looked_at:
        if isinstance(item, BadSample):
            continue
        try:
            prompt = cell.template(item)
            leaks.look(item, prompt)
        except (ComponentError, DataError) as error:
            failed.append(str(error))
            continue
        first = first or (item.id, prompt)
        prompts.append(prompt)
    samples, rounds, unusable = _count(cell, looked_at)
    requests = rounds * cell.task.epochs
    output_tokens = _output_tokens(cell, first[1] if first else None, requests)
    roles = dict.fromkeys(
        role for scoring in cell.scorings for role in scoring.roles if role != SANDBOX
    )
    earlier = earlier_runs(folder.parent, cell.task.name, cell.model_name)
    ahead = outlook(
        prompts,
        samples * cell.task.epochs,
        requests,
        output_tokens,
        prices,
        earlier,
        _count_answered(cell, folder),
        list(roles),
    )
    input_tokens = round(ahead.usual_input)
    warnings = (
        *_warn_of_missing_prompts(cell.task.name, failed, len(looked_at)),
        *leaks.lines(cell.task.name),
    )
    return Forecast(
        cell,
        first,
        samples,
        unusable,
        requests,
        getattr(cell.template, "next_turn", None) is not None,
        input_tokens,
        output_tokens,
        cost_of({"input_tokens": input_tokens, "output_tokens": output_tokens}, prices),
        rendered_by(cell, first[1]) if first else Rendered(),
        ahead,
        str(folder),
        warnings,
    )


def _count_answered(cell: PlannedTask, folder: Path) -> int:
    """Return the number of answers that the run folder already has; 0 if it has no readable run."""
    try:
        answers = RunReader(folder).index.cell(cell.task.name, cell.model_name).answers
        return sum(
            all(output is not None and not output.failed for output in stored)
            for stored in answers.values()
        )
    except (AssayError, OSError):
        return 0


def _warn_of_missing_prompts(
    task: str,
    failed: Sequence[str],
    looked_at: int,
) -> Iterator[str]:
    """Yield warnings about samples whose prompt cannot be built. In a run, each of them would fail."""
    if failed:
        yield f"warning: {task}: {len(failed)} of the first {looked_at} samples have no prompt; the first: {failed[0]}"


def _count(
    cell: PlannedTask,
    looked_at: Sequence[Sample | BadSample],
) -> tuple[int, int, int]:
    """Return the number of samples, rounds and unusable rows.

    The rows are counted by reading all of them only if their number is not known
    otherwise.
    """
    run = cell.run
    chosen = view(
        cell.samples,
        limit=run.limit,
        ids=run.ids or None,
        shard=run.shard,
    )
    length = chosen.known_length
    faulty = sum(isinstance(item, BadSample) for item in looked_at)
    is_plain = not any(
        isinstance(item, Sample) and has_rounds(item) for item in looked_at
    )
    if len(looked_at) < PROMPTS_RENDERED or (is_plain and length is not None):
        if len(looked_at) < PROMPTS_RENDERED or length is None:
            total = len(looked_at)
        else:
            total = length
        rounds = _rounds(looked_at) + total - len(looked_at)
        return total - faulty, rounds, faulty
    total = rounds = faulty = 0
    for item in chosen:
        total += 1
        faulty += isinstance(item, BadSample)
        rounds += _rounds([item])
    return total - faulty, rounds, faulty


def _rounds(items: Sequence[Sample | BadSample]) -> int:
    return sum(1 + len(item.turns) for item in items if isinstance(item, Sample))


def _output_tokens(
    cell: PlannedTask,
    prompt: Prompt | None,
    requests: int,
) -> int | None:
    if prompt is not None and (prompt.continuations is not None or prompt.rolling):
        return 0
    if prompt:
        options = cell.options_for(prompt)
    else:
        options = cell.options
    if options.max_tokens is None:
        return None
    return options.max_tokens * options.n * requests

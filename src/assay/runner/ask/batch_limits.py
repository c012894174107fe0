"""The settings of `--batch_args`, and the checks of `--batch_api` before a request is sent."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import AssayError, Prompt, UsageError, suggest
from ...core.errors import plural, raise_all
from ...core.protocols import AsksThroughRun
from ...models.batching.batch_api import MEGABYTE, BatchApi
from ...models.batching.choosing import batch_api_of
from ...store.batch_log import BatchLog
from ..counts.spending import PRICES
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
from .executors.check import is_spread

ROUNDS = 3
POLL_SECONDS = 60.0
KNOWN = ("requests", "megabytes", "poll", "rounds", "price")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Size limit, polling interval and price of batches."""

    requests: int
    size: int
    """Size limit of a batch, in bytes."""
    poll: float = POLL_SECONDS
    """Seconds between two status checks of a batch, after the first minutes."""
    rounds: int = ROUNDS
    """Number of batches that may contain a request that keeps failing. After that, it is sent alone."""
    price: float | None = None
    """The price of a batch as a fraction of the normal price; None if unknown."""

    @classmethod
    def of(
        cls,
        api: BatchApi,
        args: Mapping[str, Any],
    ) -> "BatchLimits":
        """Return the limits of an API, lowered by the user's settings. Raise if a setting is invalid."""
        for name in args:
            if name not in KNOWN:
                raise UsageError(
                    f"--batch_args has no setting {name!r}",
                    fix=suggest(name, KNOWN, "known settings:"),
                )
        megabytes = _number(args, "megabytes", api.most_bytes / MEGABYTE)
        requests = int(_number(args, "requests", api.most_requests, whole=True))
        _check_most("requests", requests, api.most_requests, api.title)
        _check_most("megabytes", megabytes, api.most_bytes / MEGABYTE, api.title)
        price = api.price_share
        if "price" in args:
            price = _number(args, "price", 1.0)
        return cls(
            requests,
            int(megabytes * MEGABYTE),
            _number(args, "poll", POLL_SECONDS),
            int(_number(args, "rounds", ROUNDS, whole=True)),
            price,
        )


def _number(
    args: Mapping[str, Any],
    name: str,
    default: float,
    *,
    whole: bool = False,
) -> float:
    """Return a setting that must be a number above 0."""
    value = args.get(name, default)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_right = is_number and 0 < value < math.inf
    if whole and is_right:
        is_right = value == int(value)
    if not is_right:
        kind = "a whole number from 1 on" if whole else "a number above 0"
        raise UsageError(
            f"--batch_args {name}={value!r} is not {kind}", fix=f"give {kind}"
        )
    return float(value)


def _check_most(
    name: str,
    value: float,
    most: float,
    title: str,
) -> None:
    if value > most:
        raise UsageError(
            f"--batch_args {name}={value:g} is more than {title} takes",
            fix=f"{name}={most:g} or less",
        )


def check_batches(
    run: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> None:
    """Raise for runs that a batch API cannot serve, before anything is written."""
    if not run.batch_api:
        if run.batch_args:
            raise UsageError("--batch_args without --batch_api", fix="add --batch_api")
        return
    if is_spread(run):
        raise UsageError(
            "--batch_api with replicas: the service spreads the work itself",
            fix="leave --replicas and --executor out",
        )
    if run.until is not None:
        raise UsageError(
            "--batch_api with --until: a batch asks everything at once",
            fix="leave one of them out, or use --limit",
        )
    faults: list[AssayError] = []
    for planned in planned_tasks:
        try:
            _check_planned(planned, run)
        except AssayError as error:
            faults.append(error)
    raise_all(list({str(fault): fault for fault in faults}.values()))


def _check_planned(planned: PlannedTask, run: RunOptions) -> None:
    """Raise if a task × model cannot be run in batches."""
    where = f"task {planned.task.name!r}"
    asks_itself = isinstance(planned.model, AsksThroughRun)
    if planned.task.driver is not None or asks_itself:
        raise UsageError(
            "--batch_api: the task's own program asks the model, call by call",
            where=where,
            fix="leave --batch_api out",
        )
    api = batch_api_of(planned.model, planned.model_name)
    BatchLimits.of(api, run.batch_args)
    if planned.options.n > 1 and not api.has_several_candidates:
        raise UsageError(
            f"--batch_api: {api.title} gives one candidate for a request, not n={planned.options.n}",
            where=where,
            fix=f"--epochs {planned.options.n} asks each sample several times",
        )
    prompt = planned.first_prompt()
    if prompt is not None and _wants_likelihoods(prompt):
        raise UsageError(
            "--batch_api: a likelihood takes several requests for each sample",
            where=where,
            fix="leave --batch_api out, or use a variant of the task that generates",
        )


def _wants_likelihoods(prompt: Prompt) -> bool:
    return prompt.continuations is not None or prompt.rolling


def batch_notes(
    planned: PlannedTask,
    run: RunOptions,
    limits: BatchLimits,
) -> list[str]:
    """Return notes to show before batches are sent: the price, and features of the
    run that batches do not support.
    """
    notes = []
    name = planned.model_name
    has_prices = all(run.model_args.get(price) is not None for price in PRICES)
    if not has_prices:
        listed = ",".join(f"{price}=…" for price in PRICES)
        notes.append(
            f"{name}: the cost is not known; the prices of a million tokens count it: -a {listed}"
        )
    elif limits.price is None:
        notes.append(
            f"{name}: the batch price of this server is not known: the usual one is counted; --batch_args price=SHARE"
        )
    roles = {role for scoring in planned.scorings for role in scoring.roles}
    for role in sorted(roles & run.judges.keys()):
        notes.append(
            f"{role} {run.judges[role]} is asked request by request, at the usual price; --predict_only leaves it out"
        )
    return notes


def refuse_open_batches(
    log: BatchLog,
    task: str,
    model: str,
) -> None:
    """Raise if a run without `--batch_api` would resend requests of a batch that is still open."""
    batches = log.open_batches(task, model)
    if batches:
        names = ", ".join(batch.name for batch in batches[:3])
        count = plural(len(batches), "batch", "batches")
        raise UsageError(
            f"{count} of an earlier run may still be answered ({names})",
            where=f"task {task!r}, model {model!r}",
            fix="add --batch_api to wait for them, or `assay batches RUN --forget`",
        )

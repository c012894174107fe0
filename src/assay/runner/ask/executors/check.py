"""Check the settings of executors before anything is written, and create the replicas of a model."""

import importlib.util
import inspect
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core import AssayError, MissingExtra, UsageError, digest_of
from ...options import RunOptions
from ...plan.models import trusted_model
from ...plan.planned_task import PlannedTask
from ..calls import DEFAULT_WINDOW, as_number
from ..retry import RetryPolicy
from .processes import Processes, shares
from .replica import Executor, ModelSource
from .spread import Spread

SECONDS_TO_REACH = 5.0


def is_spread(run: RunOptions) -> bool:
    """Return True if a run uses replicas."""
    return run.replicas is not None or run.executor is not None


def check_spread(
    run: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> None:
    """Raise for settings that cannot work: wrong numbers, no Ray, models that exist only in this process."""
    if run.address is not None and run.executor != "ray":
        raise UsageError("--address names a Ray cluster", fix="add --executor ray")
    if not is_spread(run):
        if run.gpus_per_replica is not None:
            raise UsageError(
                "--gpus_per_replica has no effect without --replicas",
                fix="add --replicas N",
            )
        return
    if run.executor not in (None, "local", "ray"):
        raise UsageError(f"unknown executor {run.executor!r}", fix="local or ray")
    if run.replicas is not None and run.replicas < 1:
        raise UsageError(f"--replicas is {run.replicas}", fix="at least 1")
    if run.gpus_per_replica is not None and run.gpus_per_replica < 0:
        raise UsageError(
            f"--gpus_per_replica is {run.gpus_per_replica:g}", fix="0 or more"
        )
    if run.executor == "ray":
        _check_ray(run.address)
    else:
        shares(run.replicas or 1, run.gpus_per_replica)
    for planned in planned_tasks:
        _check_planned(planned, run)


def _check_ray(address: str | None) -> None:
    """Raise if Ray is missing, or if no cluster responds at the address."""
    if not _has_ray():
        raise MissingExtra("Ray", "'assay[ray]'", where="--executor ray")
    if address in (None, "auto", "local"):
        return
    host, colon, port = str(address).rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        fix = "HOST:PORT of its head node, or auto"
        raise UsageError(
            f"{address!r} is not an address of a Ray cluster",
            where="--address",
            fix=fix,
        )
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_REACH).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address} ({getattr(error, 'strerror', None) or error})",
            where="--address",
            fix="`ray status` on a node of the cluster prints its address",
        ) from error


def _has_ray() -> bool:
    return importlib.util.find_spec("ray") is not None


def _check_planned(planned: PlannedTask, run: RunOptions) -> None:
    """Raise if a replica cannot build the model from its name and options, or would build another model."""
    where = f"model {planned.model_name!r}"
    machine = "a replica builds its model from its name, and"
    fix = "name it as file.py:name, or run without replicas"
    try:
        json.dumps(dict(run.model_args))
        copy = trusted_model(planned.model_name, run)
    except TypeError as error:
        raise UsageError(
            f"its options cannot be sent to a replica: {error}", where=where
        ) from error
    except AssayError as error:
        raise UsageError(
            f"{machine} cannot build this one",
            where=where,
            fix=fix,
        ) from error
    if digest_of(dict(copy.identity)) != digest_of(dict(planned.model.identity)):
        raise UsageError(
            f"{machine} gets another one",
            where=where,
            fix=fix,
        )


async def make_spread(
    planned: PlannedTask,
    run: RunOptions,
    say: Callable[[str], None],
    whisper: Callable[[str], None],
) -> Spread:
    """Create the replicas of a model, but do not start them.

    `whisper` shows the user lines that matter only during the run.
    """
    model = planned.model
    is_async = inspect.iscoroutinefunction(model.generate)
    window = (
        run.concurrency
        or getattr(model, "concurrency", None)
        or (DEFAULT_WINDOW if is_async else 1)
    )
    source = ModelSource(
        planned.model_name,
        _options(run, planned.model_name),
        model.identity,
        window,
    )
    executor: Executor
    if run.executor == "ray":
        from .ray_actors import RayActors

        executor, replicas = await RayActors.connect(
            run.address,
            run.replicas,
            run.gpus_per_replica,
            say,
        )
    else:
        replicas = run.replicas or 1
        executor = Processes(replicas, run.gpus_per_replica)
    if run.batch_size == "auto":
        whisper(
            f"{planned.model_name}: --batch_size auto: each replica takes what its memory has room for"
        )
    batch_size = as_number(run.batch_size) or getattr(model, "batch_size", None)
    policy = RetryPolicy(wrong_seconds=run.give_up_after)
    return Spread(model, source, executor, replicas, batch_size, policy, say, whisper)


def _options(run: RunOptions, name: str) -> Mapping[str, Any]:
    """Return the run options that a replica needs to build the model."""
    bare = RunOptions(
        models=(name,),
        model_args=run.model_args,
        dialect=run.dialect,
        register=run.register,
        trust_pickle=run.trust_pickle,
        trust_remote_code=run.trust_remote_code,
        batch_size="auto" if run.batch_size == "auto" else None,
        allow_private_urls=run.allow_private_urls,
    )
    return bare.to_plain()

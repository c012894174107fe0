"""`assay batches`: list, cancel or forget the batches of a run folder, which a batch
API of a model provider answers.
"""

import asyncio
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import UsageError
from ..core.errors import plural
from ..report.grid import write_lines
from ..store import FolderLock, Layout
from ..store.batch_log import BatchLog, LoggedBatch
from .arguments import Parser
from .display import typed_command

if TYPE_CHECKING:
    from ..runner.options import RunOptions

STATES = {
    "planned": "perhaps sent",
    "uploaded": "uploaded, perhaps created",
    "created": "waited for",
    "finished": "answers are in the journal",
    "dropped": "not waited for",
}
ALL = "all"


def command(arguments: Sequence[str]) -> int:
    """List the batches of a run, or cancel or forget its open batches."""
    p = Parser(
        prog="assay batches",
        description="List the batches that `assay run --batch_api` sent. Rerun that command to wait\nfor them.",
    )
    p.add_argument("run", help="a run folder")
    p.add_argument(
        "--cancel",
        nargs="?",
        const=ALL,
        default=None,
        metavar="ID",
        help="cancel one batch, or all open ones; the run command collects the answers they already have",
    )
    p.add_argument(
        "--forget",
        nargs="?",
        const=ALL,
        default=None,
        metavar="ID",
        help="stop waiting for one batch, or for all: the run command sends the requests again, at their price",
    )
    options = p.parse(arguments)
    folder = Path(options.run)
    layout = Layout(folder)
    if not layout.manifest.exists():
        raise UsageError(
            "not a run folder: it has no run.json",
            where=str(folder),
            fix="`ls runs` lists the runs",
        )
    log = BatchLog(layout.batches)
    if options.cancel is not None and options.forget is not None:
        raise UsageError("--cancel and --forget together", fix="give one of them")
    if options.cancel is not None:
        return _cancel(folder, _choose(log, options.cancel, folder))
    if options.forget is not None:
        with FolderLock(layout.lock):
            log = BatchLog(layout.batches)
            return _forget(log, _choose(log, options.forget, folder))
    return _list(log, folder)


def _list(log: BatchLog, folder: Path) -> int:
    """Print one line for each batch."""
    lines = []
    for batch in log.batches.values():
        requests = plural(len(batch.keys), "request")
        state = STATES.get(batch.step, batch.step)
        lines.append(f"{batch.name}  {batch.task}  {batch.model}  {requests}  {state}")
    if not lines:
        lines.append(f"{folder} has sent no batch")
    elif any(batch.is_open for batch in log.batches.values()):
        name = shlex.quote(str(folder))
        lines.append("")
        lines.append("the run command again waits for them and writes their answers")
        lines.append(f"{typed_command()} batches {name} --cancel     cancels them")
    write_lines(lines, sys.stdout)
    return 0


def _choose(
    log: BatchLog,
    name: str,
    folder: Path,
) -> list[LoggedBatch]:
    """Return the open batch called `name`, or all open batches for `ALL`. Raise if there are none."""
    open_batches = [batch for batch in log.batches.values() if batch.is_open]
    if name == ALL:
        chosen = open_batches
    else:
        chosen = [b for b in open_batches if name in (b.batch_id, b.marker, b.name)]
    if chosen:
        return chosen
    if name == ALL:
        reason = "there is no open batch"
    else:
        reason = f"there is no open batch {name!r}"
    raise UsageError(
        reason,
        where=str(folder),
        fix=f"`{typed_command()} batches {shlex.quote(str(folder))}` lists them",
    )


def _forget(
    log: BatchLog,
    batches: Sequence[LoggedBatch],
) -> int:
    """Mark the batches as dropped in the run folder. The next run sends their requests again."""
    lines = []
    for batch in batches:
        log.note(batch, "dropped")
        requests = plural(len(batch.keys), "request")
        lines.append(
            f"{batch.name} is forgotten: the run command asks {requests} again"
        )
    write_lines(lines, sys.stdout)
    return 0


def _cancel(
    folder: Path,
    batches: Sequence[LoggedBatch],
) -> int:
    """Cancel batches at their service. The next run collects the answers that they already have."""
    from ..runner.resume.recorded import recorded_run

    recorded = recorded_run(folder, {})
    if recorded.gate is not None:
        raise UsageError(
            "another user made this run: its settings say where your key would be sent",
            where=str(folder),
            fix="cancel the batch on the page of the service",
        )
    unnamed = [batch for batch in batches if not batch.batch_id]
    if unnamed:
        raise UsageError(
            f"it is not known whether the service received {unnamed[0].name}",
            where=str(folder),
            fix="the run command looks for it; cancel it then",
        )
    lines = []
    for batch in batches:
        asyncio.run(_cancel_one(folder, batch, recorded.options))
        lines.append(
            f"{batch.name} is being cancelled: the run command again collects what was answered"
        )
    write_lines(lines, sys.stdout)
    return 0


async def _cancel_one(
    folder: Path,
    batch: LoggedBatch,
    options: "RunOptions",
) -> None:
    """Cancel one batch. Raise if the service refuses."""
    from ..models.batching.choosing import batch_api_of
    from ..runner.ask.batch_limits import BatchLimits
    from ..runner.ask.batch_service import BatchService
    from ..runner.plan.models import trusted_model

    api = batch_api_of(trusted_model(batch.model, options), batch.model)
    log = BatchLog(Layout(folder).batches)
    limits = BatchLimits.of(api, {})
    say = partial(print, file=sys.stderr)
    service = BatchService(api, log, limits, f"model {batch.model!r}", say)
    try:
        await service.cancel(batch)
    finally:
        await api.close()

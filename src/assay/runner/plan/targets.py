"""Refuse a task that cannot be scored or asked at all, before it costs anything.

A misspelled column leaves every row without a target or without a prompt. A single such row is counted during the
run like any other data error.
"""

from itertools import islice

from ...core import ComponentError, Sample, UsageError, nearest
from ...core.errors import ForbiddenTemplate, UnfitTemplate, UnknownColumn
from .planned_task import PlannedTask

WHATEVER_THE_ROW = (UnknownColumn, ForbiddenTemplate, UnfitTemplate)
"""Errors of a template that occur for every row."""
MISTAKES = (LookupError, AttributeError, NameError, TypeError, SystemExit)
"""Exceptions that mean a mistake in the code, which fails for every row."""
ROWS_LOOKED_AT = 2000
"""Most rows that are read to find one with a target. Usually the first has one."""


def check_targets(planned: PlannedTask) -> None:
    """Raise if none of the first samples has a target, and every scorer needs one."""
    if not planned.scorings or not all(
        "target" in scoring.reads for scoring in planned.scorings
    ):
        return
    sample = planned.first_sample()
    if sample is not None and sample.target is not None:
        return
    first: Sample | None = None
    looked_at = 0
    for item in islice(planned.view(), ROWS_LOOKED_AT):
        if isinstance(item, Sample):
            if item.target is not None:
                return
            first = first or item
            looked_at = looked_at + 1
    if first is None:
        return
    columns = list(first.fields)
    close = next(
        filter(None, (nearest(name, columns) for name in ("answer", "target"))), None
    )
    likely = f"--columns target={close}" if close else "--columns target=…"
    names = " and ".join(scoring.name for scoring in planned.scorings)
    raise UsageError(
        f"none of {looked_at} samples has an answer to compare with (the columns are {', '.join(columns) or 'none'}), "
        f"and {names} {'needs' if len(planned.scorings) == 1 else 'need'} one",
        where=f"task {planned.task.name!r}",
        fix=f"name the column `answer` or `target`, map it ({likely}), or name a scorer that needs none",
    )


def check_prompts(planned: PlannedTask) -> None:
    """Raise if a template fails for all of the first samples because of a mistake in the template itself.

    Errors in the values of rows are counted during the run.
    """
    if planned.first_prompt() is not None:
        return
    first: ComponentError | None = None
    for item in islice(planned.view(), ROWS_LOOKED_AT):
        if not isinstance(item, Sample):
            continue
        try:
            planned.template(item)
        except ComponentError as error:
            if not isinstance(error, WHATEVER_THE_ROW) and not isinstance(
                error.__cause__, MISTAKES
            ):
                return
            first = first or error
        except Exception:  # noqa: BLE001 - a fault of this row: it is counted when its turn comes
            return
        else:
            return
    if first is not None:
        raise UsageError(
            f"no sample can be asked: {first.what}",
            where=first.where,
            fix=first.fix,
        )

"""Targets and prompts: refuses to ask a model what nobody can judge, or what cannot be asked at all, before anything is
paid for.

A misspelled column leaves every row without an answer to compare with, or without a prompt. A row here and there
without one is counted during the run as any other fault of the data.
"""

from itertools import islice

from ...core import ComponentError, Sample, UsageError, nearest
from ...core.errors import ForbiddenTemplate, UnfitTemplate, UnknownColumn
from .cell import Cell

WHATEVER_THE_ROW = (UnknownColumn, ForbiddenTemplate, UnfitTemplate)
"""Faults of a template that no other row would mend."""
MISTAKES = (LookupError, AttributeError, NameError, TypeError, SystemExit)
"""What code raises that is wrong for every row."""
ROWS_LOOKED_AT = 2000
"""At most, until one has a target: mostly the first does."""


def check_targets(cell: Cell) -> None:
    """Refuses a cell none of whose first samples has a target, where every scorer needs one."""
    if not cell.scorings or not all(
        "target" in scoring.reads for scoring in cell.scorings
    ):
        return
    if (sample := cell.first_sample()) is not None and sample.target is not None:
        return
    first: Sample | None = None
    looked_at = 0
    for item in islice(cell.view(), ROWS_LOOKED_AT):
        if isinstance(item, Sample):
            if item.target is not None:
                return
            first, looked_at = first or item, looked_at + 1
    if first is None:
        return
    columns = list(first.fields)
    close = next(
        filter(None, (nearest(name, columns) for name in ("answer", "target"))), None
    )
    likely = f"--columns target={close}" if close else "--columns target=…"
    names = " and ".join(scoring.name for scoring in cell.scorings)
    raise UsageError(
        f"none of {looked_at} samples has an answer to compare with (the columns are {', '.join(columns) or 'none'}), "
        f"and {names} {'needs' if len(cell.scorings) == 1 else 'need'} one",
        where=f"task {cell.task.name!r}",
        fix=f"name the column `answer` or `target`, map it ({likely}), or name a scorer that needs none",
    )


def check_prompts(cell: Cell) -> None:
    """Refuses a template that fails for each of the first samples because it names what no row has, or is mistaken.

    What is wrong with the values of rows is counted during the run.
    """
    if cell.first_prompt() is not None:
        return
    first: ComponentError | None = None
    for item in islice(cell.view(), ROWS_LOOKED_AT):
        if not isinstance(item, Sample):
            continue
        try:
            cell.template(item)
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
            f"no sample can be asked: {first.what}", where=first.where, fix=first.fix
        )

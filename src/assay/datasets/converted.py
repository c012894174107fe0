"""Converted rows: a benchmark's own function from a row to a `Sample`, in place of the columns' conventions."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..core import DataError, Sample
from .cells import as_name
from .columns import Columns, tags_of
from .faults import RowFault

ToSample = Callable[[Mapping[str, Any]], Sample]


def converted(to_sample: ToSample, row: Mapping[str, Any], mapping: Columns) -> Sample:
    """What a task's own function makes of a row, with the row, tags and cluster put in where it left them out.

    An empty id stays empty: whoever counts the rows fills it in. An error in the function is the fault of that row.
    """
    try:
        sample = to_sample(row)
    except (RowFault, DataError) as fault:
        raise RowFault(fault.what, column=fault.column, fix=fault.fix) from fault
    except KeyError as error:
        raise RowFault(
            f"missing column {error}", column=str(error.args[0]), got=sorted(row)
        ) from error
    except (Exception, SystemExit) as error:
        raise RowFault(
            f"to_sample failed: {type(error).__name__}: {error}", got=dict(row)
        ) from error
    if not isinstance(sample, Sample):
        raise RowFault(
            f"to_sample returned a {type(sample).__name__}, not a Sample", got=sample
        )
    if sample.fields and not mapping.tags and mapping.cluster is None:
        return sample
    missing = [
        name
        for name in (*mapping.tags, mapping.cluster)
        if name is not None and name not in row
    ]
    if missing:
        raise RowFault(f"column {missing[0]!r} is missing", column=missing[0])
    return replace(
        sample,
        fields=sample.fields or row,
        tags=sample.tags or tags_of(row, mapping.tags),
        cluster=as_name(row[mapping.cluster])
        if sample.cluster is None and mapping.cluster
        else sample.cluster,
    )

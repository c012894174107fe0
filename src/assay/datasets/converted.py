"""Rows converted by a benchmark's own function from a row to a `Sample`, instead of by column names."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..core import DataError, Sample
from .cells import as_name, as_weight
from .columns import Columns, tags_of
from .faults import RowFault

ToSample = Callable[[Mapping[str, Any]], Sample]


def converted(to_sample: ToSample, row: Mapping[str, Any], mapping: Columns) -> Sample:
    """Return the sample that a task's own function builds, and fill in the row, tags, cluster and weight it left out.

    An empty id stays empty; the caller, which counts the rows, fills it in. An error in the
    function is a fault of that row.
    """
    try:
        sample = to_sample(row)
    except (RowFault, DataError) as fault:
        raise RowFault(fault.what, column=fault.column, fix=fault.fix) from fault
    except KeyError as error:
        raise RowFault(
            f"missing column {error}",
            column=str(error.args[0]),
            got=sorted(row),
        ) from error
    except (Exception, SystemExit) as error:
        raise RowFault(
            f"to_sample failed: {type(error).__name__}: {error}", got=dict(row)
        ) from error
    if not isinstance(sample, Sample):
        raise RowFault(
            f"to_sample returned a {type(sample).__name__}, not a Sample", got=sample
        )
    needed = (*mapping.tags, mapping.cluster, mapping.weight)
    if sample.fields and not any(needed):
        return sample
    missing = [name for name in needed if name is not None and name not in row]
    if missing:
        raise RowFault(f"column {missing[0]!r} is missing", column=missing[0])
    return replace(
        sample,
        fields=sample.fields or row,
        tags=sample.tags or tags_of(row, mapping.tags),
        cluster=as_name(row[mapping.cluster])
        if sample.cluster is None and mapping.cluster
        else sample.cluster,
        weight=as_weight(row[mapping.weight], mapping.weight)
        if sample.weight is None and mapping.weight
        else sample.weight,
    )

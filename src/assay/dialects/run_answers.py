"""Read the answered samples of a run, from which prediction files of other toolkits are written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..core import Output, Sample
from ..core.record import output_from_plain
from ..store import RunReader


def answered(
    samples: Iterable[object],
    answers: Mapping[Any, Sequence[Any]],
) -> Iterator[tuple[Sample, Sequence[Any]]]:
    """Yield each sample whose last turn was answered, with its index entries, one for each turn.

    `answers` has the entries of the run's index by sample id and epoch.
    """
    for sample in samples:
        if not isinstance(sample, Sample):
            continue
        entries = answers.get((sample.id, 0))
        if entries and entries[-1] is not None and not entries[-1].failed:
            yield sample, entries


def output_of(reader: RunReader, entry: Any) -> Output:
    """Return the stored output for an entry of the run's index."""
    return output_from_plain(reader.index.output(entry).output, reader.blobs)

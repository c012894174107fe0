"""Upstream's contexts: rows in chunks of shots and one query; an incomplete last chunk is dropped.

The queries therefore depend on the number of shots: of 1000 rows, 0, 1, 4 and 8 shots ask 1000, 500, 200 and 111.
With shots from another split, the k-th query gets the shots of the k-th chunk, as long as there are chunks. This is
never the default, because numbers for different numbers of shots are then about different questions. The testbed's
published numbers were measured this way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import BadSample, DataError, DataSource, Fewshot, Sample, Task, UsageError
from ...datasets import open_dataset
from ...datasets.faults import NamedFault
from ...datasets.memory import Rows
from ...runner.options import RunOptions
from ...runner.tasks.locate import find_data
from ..protocol import UPSTREAM as FOLLOWED
from ..protocol import following
from . import testbed_planning as planning

UPSTREAM = "@upstream"


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a testbed file in upstream's contexts; the file's own loader uses them too."""
    with following("testbed", FOLLOWED):
        return [_chunked(task, run) for task in planning.tasks(reference, run)]


def _chunked(task: Task, run: RunOptions) -> Task:
    protocol = f"{task.name}{UPSTREAM}"
    if run.num_fewshot is None:
        num = task.fewshot.num
    else:
        num = run.num_fewshot
    if task.to_sample is None or not num:
        return task.but(
            protocol=protocol
        )  # Its own loader chose the contexts, or each row is one.
    if run.fewshot_data is not None:
        raise UsageError(
            f"{UPSTREAM} takes its shots from the data itself, or from its train split",
            fix="leave --fewshot_data out",
        )
    chunks = Chunks(task, run, num)
    fewshot = Fewshot(
        num=num,
        source=chunks.shown,
        pick=chunks,
        seed=task.fewshot.seed,
    )
    return task.but(
        dataset=Queries(chunks),
        to_sample=None,
        fewshot=fewshot,
        protocol=protocol,
    )


@dataclass(frozen=True)
class Queries:
    """The queries of chunks as a dataset for which `--data` and the split are already applied."""

    chunks: "Chunks"

    def reading_from(self, data: str | None) -> "Queries":
        """Return this object."""
        return self

    def of_split(self, split: str | None) -> Rows:
        """Return all queries."""
        return Rows(self.chunks.asked(), self.chunks.task.name)


@dataclass(eq=False)
class Chunks:
    """The rows of a task, cut into contexts on first use."""

    task: Task
    run: RunOptions
    num: int
    _shots: dict[str, tuple[Sample, ...]] = field(default_factory=dict, init=False)
    _asked: list[Sample | DataError] | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"chunks of {self.num} and a query"

    def asked(self) -> list[Sample | DataError]:
        """Return the last row of each chunk."""
        if self._asked is None:
            self._asked = list(self._cut())
        return self._asked

    def shown(self) -> list[Sample]:
        """Return every row that comes before a query."""
        self.asked()
        return list(
            {shot.id: shot for shots in self._shots.values() for shot in shots}.values()
        )

    def __call__(
        self,
        sample: Sample,
        pool: Sequence[Sample],
        num: int,
        rng: object,
    ) -> Sequence[Sample]:
        """Return the shots of a query: the rest of its chunk."""
        return self._shots[sample.id]

    def _cut(self) -> Iterator[Sample | DataError]:
        queries = self._rows(self.run.split)
        other = self.task.fewshot.split
        num = self.num
        if other is None:
            for first in range(0, len(queries) - num, num + 1):
                last = first + num
                shots = queries[first:last]
                yield self._context(shots, queries[last])
            return

        train = self._rows(other)
        whole = len(train) // num
        for index, query in enumerate(queries[:whole]):
            first = index * num
            shots = train[first : first + num]
            yield self._context(shots, query)

    def _context(
        self,
        shots: Sequence[Sample | BadSample],
        query: Sample | BadSample,
    ) -> Sample | DataError:
        good_shots = []
        for row in (*shots, query):
            if isinstance(row, BadSample):
                fault = NamedFault(row.error.what, fix=row.error.fix)
                fault.sample_id = query.id
                return fault
            good_shots.append(row)
        sample = good_shots.pop()
        self._shots[sample.id] = tuple(good_shots)
        return sample

    def _rows(self, split: str | None) -> list[Sample | BadSample]:
        task, run = self.task, self.run
        source: Any = task.dataset
        if hasattr(source, "reading_from"):
            source = source.reading_from(run.data)
        else:
            source = run.data or (
                find_data(task, None) if isinstance(source, DataSource) else source
            )
        where = f"task {task.name!r}"
        return list(
            open_dataset(
                source,
                columns=run.columns,
                split=split,
                to_sample=task.to_sample,
                where=where,
            )
        )

"""Few-shot examples as in upstream: rows are cut into chunks of shots and one query.

An incomplete last chunk is dropped. The number of queries therefore depends on the
number of shots: for 1000 rows, 0, 1, 4 and 8 shots give 1000, 500, 200 and 111 queries.
If the shots come from another split, the k-th query gets the k-th chunk of that split,
until the chunks run out. assay does not do this by default, because scores for
different numbers of shots are then about different questions. The testbed's published
numbers were measured this way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """Return the tasks of a testbed file, with rows cut into chunks as in upstream."""
    with following("testbed", FOLLOWED):
        return [_chunked(task, run) for task in planning.tasks(reference, run)]


def _chunked(task: Task, run: RunOptions) -> Task:
    protocol = f"{task.name}{UPSTREAM}"
    if run.num_fewshot is None:
        num = task.fewshot.num
    else:
        num = run.num_fewshot
    if task.to_sample is None or not num:
        # The file's loader defines the contexts, or each row is a context.
        return task.but(protocol=protocol)
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
        dataset=chunks,
        to_sample=None,
        fewshot=fewshot,
        protocol=protocol,
    )


@dataclass(eq=False)
class Chunks:
    """Consecutive rows in groups of `num`, as ICLTestbed cuts them. The last row of a group is the query.

    The other rows are its solved examples. A task uses the same object as its dataset,
    which yields the queries, and as the function that returns the examples of a query.
    `--data` and the split of the run are already applied.
    """

    task: Task
    run: RunOptions
    num: int
    _shots: dict[str, tuple[Sample, ...]] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"chunks of {self.num} and a query"

    def reading_from(self, data: str | None) -> "Chunks":
        """Return this object unchanged. Its rows already come from `--data`."""
        return self

    def of_split(self, split: str | None) -> Rows:
        """Return all queries. They already come from the split of the run."""
        return Rows(self.queries, self.task.name)

    def shown(self) -> list[Sample]:
        """Return all rows that are shots of some query, without duplicates."""
        if not self.queries:
            return []
        shots = {shot.id: shot for shots in self._shots.values() for shot in shots}
        return list(shots.values())

    def __call__(
        self,
        sample: Sample,
        pool: Sequence[Sample],
        num: int,
        rng: object,
    ) -> Sequence[Sample]:
        """Return the shots of a query: the rows before it in its chunk."""
        return self._shots[sample.id]

    @cached_property
    def queries(self) -> list[Sample | DataError]:
        """The last row of each chunk. If the shots come from another split, a query is simply the next row."""
        rows = self._rows(self.run.split)
        num = self.num
        split_of_shots = self.task.fewshot.split
        if split_of_shots is None:
            starts = range(0, len(rows) - num, num + 1)
            return [
                self._context(rows[start : start + num], rows[start + num])
                for start in starts
            ]
        shots = self._rows(split_of_shots)
        return [
            self._context(shots[index * num : (index + 1) * num], query)
            for index, query in enumerate(rows[: len(shots) // num])
        ]

    def _context(
        self,
        shots: Sequence[Sample | BadSample],
        query: Sample | BadSample,
    ) -> Sample | DataError:
        """Store the shots of a query, and return the query. If one of the rows cannot be read, return an error."""
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
        elif run.data is not None:
            source = run.data
        elif isinstance(source, DataSource):
            source = find_data(task, None)
        samples = open_dataset(
            source,
            columns=run.columns,
            split=split,
            to_sample=task.to_sample,
            where=f"task {task.name!r}",
        )
        return list(samples)

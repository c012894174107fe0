"""Contexts that a user's own loader chose. Each is one sample, with shots rendered by the datasets' retrievers."""

from collections.abc import Iterator, Mapping, Sequence

from ...core import DataError, Message, Prompt, Sample, TemplateError
from ...datasets.faults import NamedFault
from ..shapes import Record
from .context_loaders import ContextLoader, Place
from .testbed_rows import Retrieval, ToSample


class Contexts:
    """The contexts of a loader, as samples and as the template that renders them."""

    def __init__(
        self,
        loader: ContextLoader,
        retrievals: Sequence[Retrieval],
        column: str | None = None,
    ) -> None:
        self.loader = loader
        self.retrievals = retrievals
        """One retrieval for each dataset of the loader."""
        self.column = column
        self.__name__ = (
            f"contexts of {', '.join(dict.fromkeys(r.name for r in retrievals))}"
        )
        self.source = "\n".join(
            [repr(loader.places), *(retrieval.source for retrieval in retrievals)]
        )
        """What identifies these prompts in digests: the rows of each context, and the code that renders them."""
        self._places: dict[str, tuple[Place, ...]] = {}

    def samples(self) -> Iterator[Sample | DataError]:
        """Yield one sample per context, with the query's row as its fields. A query that fails keeps its id."""
        for name, places in self._named().items():
            dataset, index = places[-1]
            row = self.loader.datasets[dataset][index]
            if isinstance(row, Mapping):
                fields = row
            else:
                fields = {"row": row}
            retrieval = self.retrievals[dataset]
            try:
                target = ToSample(retrieval, self.column)(row).target
            except DataError as error:
                named = NamedFault(
                    error.what,
                    row=index,
                    fix=error.fix,
                )
                named.sample_id = name
                yield named
            else:
                yield Sample(
                    id=name,
                    target=target,
                    fields=fields,
                )

    def __call__(self, sample: Sample) -> Prompt:
        places = self._named()[sample.id]
        messages: list[Message] = []
        for position, (dataset, index) in enumerate(places):
            retrieval, row = (
                self.retrievals[dataset],
                self.loader.datasets[dataset][index],
            )
            try:
                messages += (
                    retrieval.asked(row)
                    if position == len(places) - 1
                    else retrieval.solved(row)
                )
            except DataError as error:
                where = f"row {index} of dataset {dataset}, sample {sample.id!r}"
                raise TemplateError(
                    error.what,
                    where=where,
                    fix=error.fix,
                ) from error
        details: Record = {
            "shots": [self._id(row_place) for row_place in places[:-1]],
            "picked_by": self._picker(),
        }
        return Prompt(tuple(messages), details=details)

    def _picker(self) -> str:
        samplers = self.loader.samplers
        if samplers:
            return ", ".join(type(sampler).__name__ for sampler in samplers)
        return f"seed {self.loader.seed}"

    def _id(self, place: Place) -> str:
        if len(self.loader.datasets) == 1:
            return str(place[1])
        return f"{place[0]}:{place[1]}"

    def _named(self) -> dict[str, tuple[Place, ...]]:
        """Return the contexts by the id of their query. A repeated query gets a number."""
        if not self._places:
            for places in self.loader.places:
                base = self._id(places[-1])
                name, number = base, 1
                while name in self._places:
                    number += 1
                    name = f"{base}#{number}"
                self._places[name] = places
        return self._places

"""Contexts from the loader in a user's file. Each becomes one sample, with its shots in the prompt."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import DataError, Message, Prompt, Sample
from ...datasets.faults import NamedFault
from .context_loaders import Place, places_of
from .testbed_rows import Retrieval, ToSample, as_template_errors


class Contexts:
    """The contexts of a loader. `samples` yields their queries; calling the object builds a prompt."""

    def __init__(
        self,
        loader: Any,
        retrievals: Sequence[Retrieval],
        column: str | None = None,
    ) -> None:
        self.loader = loader
        self.retrievals = retrievals
        """The retriever of each dataset of the loader."""
        self.column = column
        names = dict.fromkeys(retrieval.name for retrieval in retrievals)
        self.__name__ = f"contexts of {', '.join(names)}"
        all_places = places_of(loader)
        sources = [retrieval.source for retrieval in retrievals]
        self.source = "\n".join([repr(all_places), *sources])
        """What identifies the prompts in digests: the rows of each context, and the code that renders them."""
        self._contexts: dict[str, tuple[Place, ...]] = {}
        """The rows of each context, by the id of its query. If a query occurs again, a number is added to its id."""
        for places in all_places:
            name = query = self._id(places[-1])
            number = 1
            while name in self._contexts:
                number += 1
                name = f"{query}#{number}"
            self._contexts[name] = places

    def samples(self) -> Iterator[Sample | DataError]:
        """Yield one sample per context, with the query's row as its fields. An unreadable query keeps its id."""
        for name, places in self._contexts.items():
            dataset, index = places[-1]
            row = self.loader.datasets[dataset][index]
            fields = row if isinstance(row, Mapping) else {"row": row}
            try:
                target = ToSample(self.retrievals[dataset], self.column)(row).target
            except DataError as error:
                named = NamedFault(error.what, row=index, fix=error.fix)
                named.sample_id = name
                yield named
            else:
                yield Sample(id=name, target=target, fields=fields)

    def __call__(self, sample: Sample) -> Prompt:
        *shots, query = self._contexts[sample.id]
        messages: list[Message] = []
        for position, (dataset, index) in enumerate((*shots, query)):
            retrieval = self.retrievals[dataset]
            row = self.loader.datasets[dataset][index]
            is_query = position == len(shots)
            with as_template_errors(
                f"row {index} of dataset {dataset}, sample {sample.id!r}"
            ):
                messages += retrieval.messages(row, is_last=is_query)
        samplers = self.loader.samplers or ()
        picker = ", ".join(type(sampler).__name__ for sampler in samplers)
        details = {
            "shots": [self._id(shot) for shot in shots],
            "picked_by": picker or f"seed {self.loader.seed}",
        }
        return Prompt(tuple(messages), details=details)

    def _id(self, place: Place) -> str:
        dataset, index = place
        if len(self.loader.datasets) == 1:
            return str(index)
        return f"{dataset}:{index}"

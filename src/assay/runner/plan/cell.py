"""A cell: one task with one model, and what their answers depend on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...code.currency import rows_digest
from ...code.fingerprint import code_digest
from ...core import (
    BadSample,
    ComponentError,
    DataError,
    GenerateOptions,
    Model,
    Prompt,
    Sample,
    Task,
    Template,
    digest_of,
)
from ...core.secrets import veiled
from ...datasets import Samples, View, view
from ...datasets.memory import Called
from ...templates import FewshotTemplate
from ..options import RunOptions
from ..scoring.scoring import Scoring
from ..tasks.shots import Shots


@dataclass(slots=True)
class Cell:
    """One task with one model: what one row of the table is about."""

    task: Task
    model_name: str
    model: Model
    samples: Samples
    template: Template
    scorings: list[Scoring]
    options: GenerateOptions
    run: RunOptions
    shots: Shots | None = None
    measure: str = ""
    """Which of the task's measures was taken; empty where it is asked as it stands."""
    digests: dict[str, Any] = field(default_factory=dict)
    rounds: dict[tuple[str, int], int] = field(default_factory=dict)
    """By sample and epoch: how many rounds of a dialogue count, where the journal holds more of it."""
    holds_more: bool = True
    """Whether the journal may have other samples or epochs than this run is about."""
    earlier_values: Mapping[str, float] | None = None
    """By sample id, the baseline's values, where `--until decided` looks at them."""
    taken: int | None = None
    """How many rows the run is about, where `--until` ended it before the last; `None` for all."""
    notices: tuple[str, ...] = ()
    """What the plan has to say of it beside its faults."""
    _first: tuple[Sample | None] | None = field(default=None, init=False, repr=False)
    unchecked: bool = False
    """Whether the journal may have answers to other questions under the ids of these samples: something changed, and no
    run has compared all keys since."""

    @property
    def summarizer_digest(self) -> str:
        """Of the code that makes the numbers."""
        return code_digest(
            [
                self.task.summarizers,
                self.task.reducer,
                [s.summarizers for s in self.scorings],
            ]
        )[:16]

    def options_for(self, prompt: Prompt) -> GenerateOptions:
        """The task's options under those of the prompt; what the run was told stands above both."""
        if prompt.options is None:
            return self.options
        return self.options.set(**prompt.options.given()).set(**self.run.generation)

    @property
    def makes_rows(self) -> bool:
        """Whether a user's function yields the rows: it may read anything, so they are known only by reading them."""
        return any(
            isinstance(shard, Called) and shard.listed is None
            for shard in self.samples.shards
        )

    def chosen(self) -> View:
        """The samples this run is about."""
        run = self.run
        seed = (run.seed or 0) if run.shuffle else None
        return view(
            self.samples,
            limit=run.limit,
            shuffle=seed,
            ids=run.ids or None,
            shard=run.shard,
        )

    @property
    def shows_system(self) -> bool:
        """Whether prompts begin with the run's system text; a template that brings its own keeps that."""
        prompt = self.first_prompt()
        return (
            prompt is None
            or not prompt.messages
            or (self.run.system or "") in prompt.messages[0].text
        )

    def view(self) -> Iterator[Sample | BadSample]:
        """The samples this run is about, one after another."""
        return iter(self.chosen())

    def notes(self) -> Iterator[str]:
        """What whoever reads the numbers should know of how they were asked for."""
        yield from self.notices
        if self.run.system and not self.shows_system:
            yield f"{self.task.name}: --system is not shown: its template begins with a system text of its own"
        if self.shots is not None and self.shots.are_evaluated:
            num = self.shots.fewshot.num
            subject = "1 shot is" if num == 1 else f"{num} shots are"
            yield (
                f"{self.task.name}: the {subject} drawn from the evaluated samples themselves (never from the"
                " question's own); --fewshot_data names another file"
            )
        if isinstance(self.template, FewshotTemplate):
            yield from (f"{self.task.name}: {line}" for line in self.template.notes())

    def first_sample(self) -> Sample | None:
        """The first usable sample; `None` if there is none. It is looked for once: rows may come from far away."""
        if self._first is None:
            self._first = (
                next((s for s in self.view() if isinstance(s, Sample)), None),
            )
        return self._first[0]

    def first_prompt(self) -> Prompt | None:
        """The prompt of the first sample; `None` if there is none, or if its template fails, which is counted later."""
        sample = self.first_sample()
        try:
            return None if sample is None else self.template(sample)
        except (ComponentError, DataError):
            return None


def digests_of(cell: Cell) -> dict[str, Any]:
    """What the answers depend on; when none of it changed, finished samples are known by id alone."""
    run = cell.run
    shards = [shard for shard in cell.samples.shards if isinstance(shard, Called)]
    digests = [
        code_digest(s.function) if s.listed is None else rows_digest(s.listed)
        for s in shards
    ]
    order = () if run.shuffle_choices is None else (run.shuffle_choices,)
    return {
        "data": {
            **cell.samples.fingerprint(),
            **({"made": digests} if digests else {}),
            **({"subset": cell.samples.subset} if cell.samples.subset else {}),
        },
        "view": digest_of(
            [
                run.limit,
                run.ids,
                run.shuffle,
                run.shard,
                run.split,
                run.seed if run.shuffle else None,
            ]
        ),
        "template": code_digest(
            [cell.template.source, cell.task.template, cell.task.system, run.system]
        ),
        "to_sample": code_digest(
            [cell.task.to_sample, getattr(cell.task.dataset, "read", None), *order]
        ),
        "shots": digest_of(None if cell.shots is None else cell.shots.to_plain()),
        "options": digest_of(
            [
                cell.options.given(),
                cell.task.epochs if run.epochs is None else run.epochs,
            ]
        ),
        "model": digest_of(veiled(cell.model.identity)),
        **(
            {}
            if cell.task.driver is None
            else {"driver": code_digest(cell.task.driver)}
        ),
    }

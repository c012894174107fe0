"""A cell: one task with one model, what is checked of the two together, and what their answers depend on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core import (
    BadSample,
    ComponentError,
    DataError,
    GenerateOptions,
    ModalityMismatch,
    Model,
    Prompt,
    Sample,
    Spec,
    Task,
    UsageError,
    digest_of,
)
from ...core.secrets import veiled
from ...datasets import Samples, View, view
from ...datasets.memory import Called
from ...models.declared import models_that
from ...templates import FewshotTemplate
from ..identity.currency import rows_digest
from ..identity.fingerprint import code_digest
from ..options import RunOptions
from ..score.scoring import Scoring
from ..tasks.shots import Shots


@dataclass(slots=True)
class Cell:
    """One task with one model: what one row of the table is about."""

    task: Task
    model_name: str
    model: Model
    samples: Samples
    template: Any
    """A built template: `(sample) -> Prompt`, with `source` for its digest."""
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
    notices: tuple[str, ...] = ()
    """What the plan has to say of it beside its faults."""
    _first: tuple[Sample | None] | None = field(default=None, init=False, repr=False)
    unchecked: bool = False
    """Whether the journal may have answers to other questions under the ids of these samples: something changed, and no
    run has compared all keys since."""

    @property
    def summarizer_digest(self) -> str:
        """Of the code that makes the numbers."""
        return code_digest([self.task.summarizers, self.task.reducer, [s.summarizers for s in self.scorings]])[:16]

    def options_for(self, prompt: Prompt) -> GenerateOptions:
        """The task's options under those of the prompt; what the run was told stands above both."""
        if prompt.options is None:
            return self.options
        return self.options.set(**prompt.options.given()).set(**self.run.generation)

    @property
    def makes_rows(self) -> bool:
        """Whether a user's function yields the rows: it may read anything, so they are known only by reading them."""
        return any(isinstance(shard, Called) and shard.listed is None for shard in self.samples.shards)

    def chosen(self) -> View:
        """The samples this run is about."""
        run = self.run
        seed = (run.seed or 0) if run.shuffle else None
        return view(self.samples, limit=run.limit, shuffle=seed, ids=run.ids or None, shard=run.shard)

    @property
    def shows_system(self) -> bool:
        """Whether prompts begin with the run's system text; a template that brings its own keeps that."""
        prompt = self.first_prompt()
        return prompt is None or not prompt.messages or (self.run.system or "") in prompt.messages[0].text

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
            drawn = "1 shot is" if num == 1 else f"{num} shots are"
            yield (
                f"{self.task.name}: the {drawn} drawn from the evaluated samples themselves (never from the question's"
                " own); --fewshot_data names another file"
            )
        if isinstance(self.template, FewshotTemplate):
            yield from (f"{self.task.name}: {line}" for line in self.template.notes())

    def first_sample(self) -> Sample | None:
        """The first usable sample; `None` if there is none. It is looked for once: rows may come from far away."""
        if self._first is None:
            self._first = (next((s for s in self.view() if isinstance(s, Sample)), None),)
        return self._first[0]

    def first_prompt(self) -> Prompt | None:
        """The prompt of the first sample; `None` if there is none, or if its template fails, which is counted later."""
        sample = self.first_sample()
        try:
            return None if sample is None else self.template(sample)
        except (ComponentError, DataError):
            return None


def check_abilities(cell: Cell) -> None:
    """Refuses a task that sends, or expects, what the model cannot take or make."""
    abilities = cell.model.abilities
    task, model = cell.task.name, cell.model_name
    prompt = cell.first_prompt()
    needs = set(cell.task.needs)
    sends = {medium.kind for medium in prompt.media} if prompt else set()
    weighs = prompt is not None and (prompt.continuations is not None or prompt.rolling)
    if ("likelihood" in needs or weighs) and not abilities.likelihood:
        own = getattr(cell.model, "likelihood_fix", "")
        raise ModalityMismatch(
            f"task {task!r} weighs continuations and model {model!r} cannot",
            fix=f"{own}choose a model with likelihood (hf/…, vllm/…), or a variant of the task that generates",
        )
    for kind in sorted((sends | (needs & {"image", "audio", "video"})) - abilities.accepts):
        raise ModalityMismatch(
            f"task {task!r} sends {kind} and model {model!r} accepts only {', '.join(sorted(abilities.accepts))}",
            fix=f"models that accept {kind}: {', '.join([*models_that('accepts', kind), 'or your own'])}",
        )
    for kind in sorted(set(cell.task.produces) - abilities.produces):
        raise ModalityMismatch(
            f"task {task!r} asks for {kind} and model {model!r} makes only {', '.join(sorted(abilities.produces))}",
            fix=f"models that make {kind}: {', '.join([*models_that('produces', kind), 'or your own'])}",
        )
    if prompt is not None and not weighs and abilities.roles == "chat" and not prompt.is_chat:
        raise ModalityMismatch(
            f"task {task!r} uses free roles and model {model!r} takes chat roles only",
            fix="give the task `roles`, a mapping to system/user/assistant",
        )


def check_repeats(cell: Cell) -> None:
    """Refuses repeats that a scorer of the whole set cannot judge, before they are paid for."""
    for scoring in cell.scorings:
        if not scoring.is_set_level:
            continue
        repeats = {"--epochs": cell.task.epochs, "--n": 1 if scoring.whole_output else cell.options.n}
        several = [name for name, count in repeats.items() if count > 1]
        if several and hasattr(scoring.scorer, "in_run"):
            raise UsageError(
                f"scorer {scoring.name!r} writes its files for one answer to each sample",
                where=f"task {cell.task.name!r}",
                fix=f"leave {' and '.join(several)} out, or give each repeat a run of its own with another --seed",
            )
        if several and cell.task.reducer != "mean":
            raise UsageError(
                f"scorer {scoring.name!r} judges whole sets, which have no {cell.task.reducer!r} over the answers",
                where=f"task {cell.task.name!r}",
                fix="leave --reducer out: its number is the mean over the sets",
            )


def check_choices(cell: Cell) -> None:
    """Refuses another order of options where there are none, and where every row is one order of a question's."""
    sample = cell.first_sample()
    if cell.run.shuffle_choices is not None and _has_rotations(cell.task):
        raise UsageError(
            "--shuffle_choices: the rows are the rotations of each question's options",
            where=f"task {cell.task.name!r}",
            fix="leave it out: every option stands at every place once",
        )
    if cell.run.shuffle_choices is not None and sample is not None and not sample.choices:
        raise UsageError(
            "--shuffle_choices: the samples have no options to shuffle",
            where=f"task {cell.task.name!r}",
            fix="leave it out; --shuffle draws another order of the samples",
        )


def _has_rotations(task: Task) -> bool:
    """Whether a question is right only when it is under every order of its options."""
    specs = [Spec.of(entry) for entry in task.summarizers if isinstance(entry, (str, Mapping, Spec))]
    return any(spec.options.get("expected_size") == "options" for spec in specs)


def digests_of(cell: Cell) -> dict[str, Any]:
    """What the answers depend on; when none of it changed, finished samples are known by id alone."""
    run = cell.run
    called = [shard for shard in cell.samples.shards if isinstance(shard, Called)]
    made = [code_digest(s.function) if s.listed is None else rows_digest(s.listed) for s in called]
    order = () if run.shuffle_choices is None else (run.shuffle_choices,)
    return {
        "data": {
            **cell.samples.fingerprint(),
            **({"made": made} if made else {}),
            **({"subset": cell.samples.subset} if cell.samples.subset else {}),
        },
        "view": digest_of([run.limit, run.ids, run.shuffle, run.shard, run.split, run.seed if run.shuffle else None]),
        "template": code_digest([cell.template.source, cell.task.template, cell.task.system, run.system]),
        "to_sample": code_digest([cell.task.to_sample, getattr(cell.task.dataset, "read", None), *order]),
        "shots": digest_of(None if cell.shots is None else cell.shots.to_plain()),
        "options": digest_of([cell.options.given(), cell.task.epochs if run.epochs is None else run.epochs]),
        "model": digest_of(veiled(cell.model.identity)),
        **({} if cell.task.driver is None else {"driver": code_digest(cell.task.driver)}),
    }

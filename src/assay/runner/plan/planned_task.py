"""One task with one model (task × model), and digests of everything that its answers depend on."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...code.fingerprint import code_digest, rows_digest
from ...core import (
    BadSample,
    ComponentError,
    DataError,
    GenerateOptions,
    Model,
    Noting,
    Prompt,
    Sample,
    Task,
    Template,
    digest_of,
)
from ...core.errors import plural
from ...core.secrets import redact_options
from ...datasets import Samples, View, view
from ...datasets.memory import Called
from ...templates import Dialogue, FewshotTemplate
from ...templates import rounds as begin_dialogue
from ...tooling import USUAL_LIMITS, SampleLimits, ToolSet
from ..options import RunOptions
from ..scoring.scoring import Scoring
from ..tasks.shots import Shots


@dataclass(slots=True)
class PlannedTask:
    """One task with one model, checked and ready to run. It becomes one row of the results table."""

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
    """How a multiple-choice task is measured, such as `letter`; empty if the task is unchanged."""
    digests: dict[str, Any] = field(default_factory=dict)
    rounds: dict[tuple[str, int], int] = field(default_factory=dict)
    """For samples with too many rounds in the journal: how many rounds to use, by (sample id, epoch)."""
    holds_more: bool = True
    """True if the journal may contain samples or epochs that are not part of this run."""
    earlier_values: Mapping[str, float] | None = None
    """Value of each sample in the baseline run, by sample id. Used by `--until` with `--baseline`."""
    counted_rows: int | None = None
    """The number of rows to use, if `--until` ended the run early; None for all."""
    tools: ToolSet | None = None
    """The tools that the model may call, in a task with tools."""
    limits: SampleLimits = USUAL_LIMITS
    """The limits of one sample, such as on turns and cost, in a task with tools."""
    notices: tuple[str, ...] = ()
    """Notes for the user, from the checks before the run."""
    _first: tuple[Sample | None] | None = field(
        default=None,
        init=False,
        repr=False,
    )
    unchecked: bool = False
    """True if answers in the journal may belong to other questions with the same sample ids.

    That is so if something has changed and no run has compared all request keys since
    then.
    """

    @property
    def summarizer_digest(self) -> str:
        """Digest of the code that computes results from scores."""
        return code_digest(
            [
                self.task.summarizers,
                self.task.reducer,
                [s.summarizers for s in self.scorings],
            ]
        )[:16]

    def options_for(self, prompt: Prompt) -> GenerateOptions:
        """Return the generation options for a prompt: the task's, overridden by the prompt's, then by the run's."""
        if prompt.options is None:
            return self.options
        return self.options.set(**prompt.options.given()).set(**self.run.generation)

    def dialogue(self, sample: Sample, prompt: Prompt) -> Dialogue:
        """Return the dialogue of a sample, beginning with this prompt."""
        history = self.task.history
        return begin_dialogue(sample, prompt, template=self.template, history=history)

    @property
    def makes_rows(self) -> bool:
        """True if a user's function makes the rows.

        Such a function may read anything, so only reading the rows shows whether they
        have changed.
        """
        return any(
            isinstance(shard, Called) and shard.listed is None
            for shard in self.samples.shards
        )

    def chosen(self) -> View:
        """Return the samples that the options of this run select."""
        run = self.run
        if run.shuffle:
            seed = run.seed or 0
        else:
            seed = None
        return view(
            self.samples,
            limit=run.limit,
            shuffle=seed,
            ids=run.ids or None,
            shard=run.shard,
        )

    @property
    def shows_system(self) -> bool:
        """True if the first prompt contains the run's system text, which a template may replace."""
        prompt = self.first_prompt()
        return (
            prompt is None
            or not prompt.messages
            or (self.run.system or "") in prompt.messages[0].text
        )

    def view(self) -> Iterator[Sample | BadSample]:
        """Iterate over the samples that the options of this run select."""
        return iter(self.chosen())

    def notes(self) -> Iterator[str]:
        """Yield notes on how the questions were asked, for readers of the results."""
        yield from self.notices
        if isinstance(self.model, Noting):
            yield from self.model.run_notes()
        if self.run.system and not self.shows_system:
            yield f"{self.task.name}: --system is not shown: its template begins with its own system text"
        if self.shots is not None and self.shots.are_evaluated:
            shots = plural(self.shots.fewshot.num, "shot is", "shots are")
            yield (
                f"{self.task.name}: the {shots} drawn from the evaluated samples themselves (never from the"
                " question's own); --fewshot_data names another file"
            )
        if isinstance(self.template, FewshotTemplate):
            for line in self.template.notes():
                yield f"{self.task.name}: {line}"

    def first_sample(self) -> Sample | None:
        """Return the first usable sample; None if there is none. It is cached, because reading rows may be slow."""
        if self._first is None:
            self._first = (
                next((s for s in self.view() if isinstance(s, Sample)), None),
            )
        return self._first[0]

    def first_prompt(self) -> Prompt | None:
        """Return the prompt of the first sample; None if the task has no sample, or if its template fails."""
        sample = self.first_sample()
        try:
            if sample is None:
                return None
            return self.template(sample)
        except (ComponentError, DataError):
            return None


def digests_of(planned: PlannedTask) -> dict[str, Any]:
    """Return digests of everything that can change an answer.

    If all are equal to those of the earlier run, finished samples are recognised by id
    alone.
    """
    run = planned.run
    shards = [shard for shard in planned.samples.shards if isinstance(shard, Called)]
    digests = [
        code_digest(s.function) if s.listed is None else rows_digest(s.listed)
        for s in shards
    ]
    order: tuple[Any, ...] = ()
    if run.shuffle_choices is not None:
        order = (run.shuffle_choices,)
    if run.shuffle_choices_each_epoch:
        order = (*order, "each epoch")
    return {
        "data": {
            **planned.samples.fingerprint(),
            **({"made": digests} if digests else {}),
            **({"subset": planned.samples.subset} if planned.samples.subset else {}),
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
            [
                planned.template.source,
                planned.task.template,
                planned.task.system,
                run.system,
            ]
        ),
        "to_sample": code_digest(
            [
                planned.task.to_sample,
                getattr(planned.task.dataset, "read", None),
                *order,
            ]
        ),
        "shots": digest_of(None if planned.shots is None else planned.shots.to_plain()),
        "options": digest_of(
            [
                planned.options.given(),
                planned.task.epochs if run.epochs is None else run.epochs,
            ]
        ),
        "model": digest_of(redact_options(planned.model.identity)),
        **_tool_digests(planned),
        **(
            {}
            if planned.task.driver is None
            else {"driver": code_digest(planned.task.driver)}
        ),
    }


def _tool_digests(planned: PlannedTask) -> dict[str, str]:
    """Return the digests of a task's tools and of the limits of a sample; none without tools."""
    if planned.tools is None:
        return {}
    return {
        "tools": tools_digest(planned),
        "limits": digest_of(asdict(planned.limits)),
    }


def tools_digest(planned: PlannedTask) -> str:
    """Return the digest of everything on which the results of tool calls depend."""
    assert planned.tools is not None
    helpers = {role: planned.run.helper_of(role) for role in planned.tools.needs}
    return code_digest([*planned.tools.identity, helpers])[:16]

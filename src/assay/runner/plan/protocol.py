"""Protocol ids: a name for how a result was measured. Equal ids mean equal measurements.

A task that runs as its author wrote it keeps its id. Changes by a run are added: a word for each change, then a short
digest of all, so that two system texts do not get the same name. `gsm8k@5shot-chat` without examples and with a
system text is `gsm8k@0shot-chat+system-3f2a1c`; on the shipped mini-set it is `gsm8k@5shot-chat+mini-9c41d2`. The id
does not depend on the selected samples (`--limit`, `--sample_id`, `--shuffle`), the location of the data, or the
model. The exception is a model that gets tools as text, because its measurement differs: `mytask+prompted-7be210`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agents.agent_model import AgentModel
from ...code.fingerprint import code_digest
from ...code.userfiles import is_reference, load_attribute
from ...core import DataSource, Spec, Task, digest_of
from ...core.request import OPTION_NAMES
from ...datasets import Samples
from ...datasets.columns import find_columns
from ...models.tool_prompting import INSTRUCTIONS
from ...models.tool_syntaxes import PROMPTED
from ...templates import build_template
from ...templates.built import as_chat, as_text
from ..tasks.components import LIMIT_FLAGS, default_scorers
from ..tasks.locate import MINI
from ..tasks.overrides import columns_of, fewshot_of, original, system_of
from .planned_task import PlannedTask

DIGEST_CHARACTERS = 6
LABEL_CHARACTERS = 32
OTHER_FIELDS = ("to_sample", "roles", "history", "produces", "hints")
"""Fields of a task that change prompts, answers or scores, and that no run option can set."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between the run and the task as its author wrote it."""

    label: str
    """A word for the change in the protocol id: `system`, `max_tokens=64`."""
    value: Any
    """The changed value as plain data, which is hashed into the id. It must be equal on all machines."""


def protocol_of(
    planned: PlannedTask,
    judges: Mapping[str, Any],
) -> str:
    """Return the protocol id of a task × model. `judges` are the identities of helper models by role."""
    base = original(planned.task)
    name = planned.task.protocol
    shots = fewshot_of(planned.task, planned.run).num
    changes = list(changes_of(planned, judges))
    if not changes:
        return name
    labels = [change.label for change in changes]
    if shots != base.fewshot.num:
        label = f"{shots}shot"
        named = re.sub(
            rf"(?<!\d){base.fewshot.num}[-_]?shots?(?![a-z])",
            label,
            name,
            count=1,
        )
        if named != name:
            name = named
            labels.remove(label)
    digest = digest_of([[change.label, change.value] for change in changes])[
        :DIGEST_CHARACTERS
    ]
    if not labels:
        return f"{name}-{digest}"
    return f"{name}{'+' if '@' in name else '@'}{'+'.join(map(_word, labels))}-{digest}"


def changes_of(
    planned: PlannedTask,
    judges: Mapping[str, Any],
) -> Iterator[Change]:
    """Yield every difference between the run and the task as its author wrote it."""
    task = planned.task
    run = planned.run
    base = original(task)
    yield from _shots(planned, base)
    yield from _prompt_changes(planned, base)
    yield from _option_changes(planned, base)
    for name in ("epochs", "reducer"):
        if getattr(task, name) != getattr(base, name):
            yield Change(_setting(name, getattr(task, name)), getattr(task, name))
    if run.shuffle_choices is not None:
        yield Change(f"shuffled_choices={run.shuffle_choices}", run.shuffle_choices)
    if run.shuffle_choices_each_epoch and task.epochs > 1:
        yield Change("each_epoch", run.shuffle_choices_each_epoch)
    if _prompts_tools(planned):
        yield Change(PROMPTED, INSTRUCTIONS)
    yield from _data_changes(planned, base)
    for limit, option in LIMIT_FLAGS.items():
        value = getattr(run, option)
        is_set = planned.tools is not None and value is not None
        if is_set and base.limits.get(limit) != value:
            yield Change(f"{option}={value:g}", value)
    yield from _scoring(planned, base, judges)
    if isinstance(planned.model, AgentModel):
        identity = planned.model.program.identity
        yield Change(f"agent={identity['agent']}", identity)
    for name in OTHER_FIELDS:
        if getattr(task, name) != getattr(base, name):
            yield Change(name, code_digest(getattr(task, name)))


def _prompt_changes(planned: PlannedTask, base: Task) -> Iterator[Change]:
    """Yield the run's changes to the template, the system text and the chat format."""
    task = planned.task
    run = planned.run
    template = _template_source(task, planned.samples)
    own_template = _template_source(base, planned.samples)
    if template != own_template:
        yield Change("template", [template, own_template])
    system = system_of(task, run)
    if system != base.system and planned.shows_system:
        yield Change("system" if system else "no_system", system)
    if _chat_differs(planned):
        label = "chat" if run.apply_chat_template else "no_chat"
        yield Change(label, run.apply_chat_template)


def _option_changes(planned: PlannedTask, base: Task) -> Iterator[Change]:
    """Yield the run's changes to the generation options."""
    generation = planned.run.generation
    prompt = planned.first_prompt() if generation else None
    # A generation option of the run overrides those of prompts, even if it equals the task's.
    overrides_prompts = prompt is not None and prompt.options is not None
    for name in OPTION_NAMES:
        value = getattr(planned.options, name)
        is_new = value != getattr(base.options, name)
        if is_new or (overrides_prompts and name in generation):
            yield Change(_setting(name, value), value)


def _data_changes(planned: PlannedTask, base: Task) -> Iterator[Change]:
    """Yield the run's changes to the columns and the rows."""
    run = planned.run
    if _columns_differ(planned, base):
        yield Change("columns", dict(columns_of(planned.task, run)))
    source = base.dataset
    if not isinstance(source, DataSource):
        return
    if run.split is not None and run.split != source.split:
        yield Change(f"split={run.split}", run.split)
    if run.data == MINI and source.mini:
        # A few rows that ship with assay, not the benchmark's own data.
        yield Change(MINI, source.mini)


def _prompts_tools(planned: PlannedTask) -> bool:
    """Return True if the first prompt shows the tools as text, because the chat template does not support tools."""
    prompt = planned.first_prompt()
    if prompt is None or not prompt.tools:
        return False
    return bool(getattr(planned.model, "prompts_tools", False))


def _chat_differs(planned: PlannedTask) -> bool:
    """Return True if `--apply_chat_template` changes the prompts of this task."""
    setting = planned.run.apply_chat_template
    sample = planned.first_sample()
    if setting is None or sample is None:
        return setting is not None
    bare = build_template(
        planned.task.template,
        kind=planned.samples.kind,
        roles=planned.task.roles,
        where="template",
    )
    messages = bare(sample).messages
    return (as_chat if setting else as_text)(messages) != messages


def _shots(planned: PlannedTask, base: Task) -> Iterator[Change]:
    """Yield the run's changes to the few-shot examples."""
    fewshot = fewshot_of(planned.task, planned.run)
    if fewshot.num != base.fewshot.num:
        yield Change(f"{fewshot.num}shot", fewshot.num)
    if not fewshot.num or planned.shots is None:
        return
    original = base.fewshot
    if (fewshot.pick, fewshot.multiturn) != (original.pick, original.multiturn):
        drawing = {"pick": fewshot.pick, "multiturn": fewshot.multiturn}
        yield Change("shots", code_digest(drawing))
    # A seed that the run sets is listed among the generation options instead.
    run_sets_seed = planned.options.seed != base.options.seed
    if fewshot.seed != original.seed and not run_sets_seed:
        yield Change(f"seed={fewshot.seed}", fewshot.seed)
    if planned.run.fewshot_data is not None:
        name = Path(planned.run.fewshot_data).name
        yield Change(f"shots={name}", planned.shots.pool.digest())
    if planned.shots.are_evaluated:
        yield Change("shots_from_evaluated_data", True)


def _scoring(
    planned: PlannedTask,
    base: Task,
    judges: Mapping[str, Any],
) -> Iterator[Change]:
    """Yield the run's changes to scorers and judges."""
    usual = default_scorers(planned.samples.kind)
    scorers = planned.task.scorers or usual
    if scorers != (base.scorers or usual):
        names = "+".join(scoring.name for scoring in planned.scorings)
        yield Change(f"scorer={names}", [_scorer(entry) for entry in scorers])
    roles: set[str] = set()
    for scoring in planned.scorings:
        roles.update(scoring.roles)
    named = planned.run.judges
    for role in sorted(roles):
        # The default sandbox of every run is not a change.
        if role in judges and role in named:
            name = str(named[role]).rpartition("/")[2]
            yield Change(f"{role}={name}", judges[role])


def _scorer(entry: object) -> object:
    """Return a value that identifies a scorer: its name and options, or the digest of user code.

    The value does not depend on the version of assay.
    """
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry)
        if not is_reference(spec.name):
            return spec.to_plain()
        return [code_digest(load_attribute(spec.name)), dict(spec.options)]
    return code_digest(entry)


def _template_source(task: Task, samples: Samples) -> str:
    """Return the source of a task's template, for comparison with that of another task; empty if there is none."""
    if task.driver is not None or (task.template is None and samples.kind == "unknown"):
        return ""
    return build_template(task.template, kind=samples.kind).source


def _columns_differ(planned: PlannedTask, base: Task) -> bool:
    """Return True if the run's column options change how rows are read.

    Naming a column that would be found anyway changes nothing.
    """
    columns = columns_of(planned.task, planned.run)
    if dict(columns) == dict(base.columns):
        return False
    first = planned.samples.head.columns
    if first is None:
        return False
    return find_columns(first.names, columns) != find_columns(first.names, base.columns)


def _setting(name: str, value: object) -> str:
    """Return a setting as text: `max_tokens=64`, or only its name if the value is long."""
    if isinstance(value, float):
        return f"{name}={value:g}"
    is_short = (
        isinstance(value, (int, str)) and len(str(value)) <= LABEL_CHARACTERS // 2
    )
    if is_short:
        return f"{name}={value}"
    return name


def _word(label: str) -> str:
    """Replace spaces, commas, bars and similar separators in a label, because other programs split names at them."""
    return re.sub(r"[^\w.=:^@%+-]+", "_", label)[:LABEL_CHARACTERS]

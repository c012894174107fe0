"""Protocol ids: a name that says how a result was measured, so that equal ids mean equal measurements.

A task that is asked as its author wrote it has its own id. What a run changed is added: each change in a word, then a
short digest of all of them, so that two system texts do not get one name. `gsm8k@5shot-chat` without examples and with
a system text is `gsm8k@0shot-chat+system-3f2a1c`; on the shipped mini-set it is `gsm8k@5shot-chat+mini-9c41d2`. Which
samples were asked (`--limit`, `--sample_id`, `--shuffle`), where the data lies and which model is no part of it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...code.fingerprint import code_digest
from ...code.userfiles import is_reference, load_attribute
from ...core import DataSource, Spec, Task, digest_of
from ...core.request import OPTION_NAMES
from ...datasets import Samples
from ...datasets.columns import find_columns
from ...templates import build_template
from ...templates.built import as_chat, as_text
from ..tasks.components import default_scorers
from ..tasks.locate import MINI
from ..tasks.overrides import columns_of, fewshot_of, original, system_of
from .cell import Cell

DIGEST_CHARACTERS = 6
LABEL_CHARACTERS = 32
OTHER_FIELDS = ("to_sample", "roles", "history", "produces", "hints")
"""Fields of a task that change prompts, answers or scores and that no option of a run sets today."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing a run does otherwise than the task says."""

    label: str
    """In a word: `system`, `max_tokens=64`."""
    value: Any
    """What the digest is made of: plain data that does not depend on the machine."""


def protocol_of(cell: Cell, judges: Mapping[str, Any]) -> str:
    """The id of what a cell measures; `judges` are the identities of helper models by role."""
    base = original(cell.task)
    name, shots = cell.task.protocol, fewshot_of(cell.task, cell.run).num
    changes = list(changes_of(cell, judges))
    if not changes:
        return name
    labels = [change.label for change in changes]
    if shots != base.fewshot.num:
        label = f"{shots}shot"
        named = re.sub(
            rf"(?<!\d){base.fewshot.num}[-_]?shots?(?![a-z])", label, name, count=1
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


def changes_of(cell: Cell, judges: Mapping[str, Any]) -> Iterator[Change]:
    """Everything that a run does otherwise than the task's author wrote it."""
    task, run = cell.task, cell.run
    base = original(task)
    yield from _shots(cell, base)
    if _template_source(task, cell.samples) != (
        source := _template_source(base, cell.samples)
    ):
        yield Change("template", [_template_source(task, cell.samples), source])
    if (system := system_of(task, run)) != base.system and cell.shows_system:
        yield Change("system" if system else "no_system", system)
    # Where prompts bring options of their own, one that the run gives stands above them, whatever the task says.
    has_own_options = (
        run.generation
        and (prompt := cell.first_prompt()) is not None
        and prompt.options is not None
    )
    if _chat_differs(cell):
        yield Change(
            "chat" if run.apply_chat_template else "no_chat", run.apply_chat_template
        )
    for name in OPTION_NAMES:
        value = getattr(cell.options, name)
        if value != getattr(base.options, name) or (
            has_own_options and name in run.generation
        ):
            yield Change(_setting(name, value), value)
    for name in ("epochs", "reducer"):
        if getattr(task, name) != getattr(base, name):
            yield Change(_setting(name, getattr(task, name)), getattr(task, name))
    if run.shuffle_choices is not None:
        yield Change(f"shuffled_choices={run.shuffle_choices}", run.shuffle_choices)
    if _columns_differ(cell, base):
        yield Change("columns", dict(columns_of(task, run)))
    if (
        run.split is not None
        and isinstance(base.dataset, DataSource)
        and run.split != base.dataset.split
    ):
        yield Change(f"split={run.split}", run.split)
    if run.data == MINI and isinstance(base.dataset, DataSource) and base.dataset.mini:
        yield Change(
            MINI, base.dataset.mini
        )  # a few rows of ours, not the benchmark's; its own may lie anywhere
    yield from _scoring(cell, base, judges)
    for name in OTHER_FIELDS:
        if getattr(task, name) != getattr(base, name):
            yield Change(name, code_digest(getattr(task, name)))


def _chat_differs(cell: Cell) -> bool:
    """Whether putting every prompt as a chat, or none, changes how this task is asked."""
    wanted, sample = cell.run.apply_chat_template, cell.first_sample()
    if wanted is None or sample is None:
        return wanted is not None
    bare = build_template(
        cell.task.template,
        kind=cell.samples.kind,
        roles=cell.task.roles,
        where="template",
    )
    messages = bare(sample).messages
    return (as_chat if wanted else as_text)(messages) != messages


def _shots(cell: Cell, base: Task) -> Iterator[Change]:
    fewshot = fewshot_of(cell.task, cell.run)
    if fewshot.num != base.fewshot.num:
        yield Change(f"{fewshot.num}shot", fewshot.num)
    if not fewshot.num or cell.shots is None:
        return
    ways = {name: getattr(fewshot, name) for name in ("pick", "multiturn")}
    if any(value != getattr(base.fewshot, name) for name, value in ways.items()):
        yield Change("shots", code_digest(ways))
    if fewshot.seed != base.fewshot.seed and cell.options.seed == base.options.seed:
        yield Change(
            f"seed={fewshot.seed}", fewshot.seed
        )  # else it stands among the options
    if cell.run.fewshot_data is not None:
        yield Change(
            f"shots={Path(cell.run.fewshot_data).name}", cell.shots.pool.digest()
        )
    if cell.shots.are_evaluated:
        yield Change("shots_from_evaluated_data", True)


def _scoring(cell: Cell, base: Task, judges: Mapping[str, Any]) -> Iterator[Change]:
    usual = default_scorers(cell.samples.kind)
    scorers = cell.task.scorers or usual
    if scorers != (base.scorers or usual):
        names = "+".join(scoring.name for scoring in cell.scorings)
        yield Change(f"scorer={names}", [_scorer(entry) for entry in scorers])
    for role in sorted({role for scoring in cell.scorings for role in scoring.roles}):
        # The sandbox that every run has is no choice of anybody's.
        if role in judges and role in cell.run.judges:
            name = str(cell.run.judges[role]).rpartition("/")[2]
            yield Change(f"{role}={name}", judges[role])


def _scorer(entry: Any) -> Any:
    """A shipped scorer by its name and options, the same in every version; one's own by its code."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry)
        if not is_reference(spec.name):
            return spec.to_plain()
        return [code_digest(load_attribute(spec.name)), dict(spec.options)]
    return code_digest(entry)


def _template_source(task: Task, samples: Samples) -> str:
    """What the prompts of a task depend on beside the row."""
    if task.driver is not None or (task.template is None and samples.kind == "unknown"):
        return ""
    return build_template(task.template, kind=samples.kind).source


def _columns_differ(cell: Cell, base: Task) -> bool:
    """Whether the run reads rows otherwise: naming a column that is found by its name anyway changes nothing."""
    columns = columns_of(cell.task, cell.run)
    if dict(columns) == dict(base.columns):
        return False
    first = cell.samples.head.columns
    if first is None:
        return False
    return find_columns(first.names, columns) != find_columns(first.names, base.columns)


def _setting(name: str, value: Any) -> str:
    """`max_tokens=64`; what cannot be read at a glance by its name alone."""
    if isinstance(value, float):
        return f"{name}={value:g}"
    is_short = (
        isinstance(value, (int, str)) and len(str(value)) <= LABEL_CHARACTERS // 2
    )
    return f"{name}={value}" if is_short else name


def _word(label: str) -> str:
    """A label without what would end a name for other readers of it: blanks, commas, bars."""
    return re.sub(r"[^\w.=:^@%+-]+", "_", label)[:LABEL_CHARACTERS]

"""Notes of `assay check` on rows: unused columns, targets that are all equal, and the turns of a dialogue."""

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..core import UNRESOLVED, Prompt, Sample, Task
from ..core.errors import shorten
from ..core.protocols import Template
from ..core.score import Score
from ..datasets.choice_order import shows_order
from ..report import printable
from ..runner.plan.measure_notes import scorer_notes
from ..templates import rounds
from ..templates.dialogue import has_rounds

if TYPE_CHECKING:
    from ..datasets.samples import Samples


LEAST_ALIKE = 3
"""Number of rows with the same target that is worth a note."""
LEAST_SHOWN = 3
"""Minimum length of a value whose occurrence in a prompt cannot be a coincidence."""
ANSWER = "(the model's answer)"
MOST_ROUNDS = 20
"""Rounds to try of a dialogue that the template does not end."""


def dialogue_prompts(
    task: Task,
    sample: Sample,
    prompt: Prompt,
    template: object,
) -> list[Prompt]:
    """Return the prompt of each round of a dialogue, with a mark where the model answers."""
    if not has_rounds(sample, template):
        return [prompt]
    history = task.history if task.history == "reference" else "model"
    dialogue = rounds(sample, prompt, template=template, history=history)
    prompts = [prompt]
    while len(prompts) < MOST_ROUNDS:
        following = dialogue.next(prompts[-1].messages, ANSWER)
        if following is None:
            break
        prompts.append(following)
    return prompts


def remarks_on(
    task: Task,
    samples: "Samples",
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[tuple[str, Any]],
    template: Template,
) -> Iterator[str]:
    """Yield notes on possible mistakes."""
    targets = {repr(row.target) for row in rows}
    if len(rows) >= LEAST_ALIKE and len(targets) == 1 and rows[0].target is not None:
        shuffle = ""
        if len(rows[0].choices) > 1 and shows_order(template, rows[0]):
            shuffle = "; --shuffle_choices draws another order of the options"
        target = printable(shorten(rows[0].target))
        yield f"note: all {len(rows)} rows have the target {target}: one answer to everything scores 1{shuffle}"
    for note in scorer_notes(rows, scorers):
        yield f"note: {printable(note)}"
    unused = unused_columns(
        task,
        samples,
        rows[: len(prompts)],
        prompts,
        [scorer for _, scorer in scorers],
        template,
    )
    if unused:
        names = ", ".join(map(printable, unused))
        yield f"note: columns that nothing uses: {names}; a template shows one as {{{{ {printable(unused[0])} }}}}"


def unused_columns(
    task: Task,
    samples: "Samples",
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[Any],
    template: Template,
) -> list[str]:
    """Return columns that have no role, appear in no code and are in no prompt."""
    columns = samples.head.columns
    if columns is None or not rows:
        return []
    parts = {
        columns.id,
        columns.input,
        columns.target,
        columns.choices,
        columns.messages,
        columns.turns,
    }
    parts |= {columns.group, columns.cluster, columns.weight, columns.tools}
    if columns.tools:
        parts |= {"tool_choice", "parallel_tool_calls"}
    parts |= {*columns.option_cells, *columns.tags}
    parts |= {name for name, _ in columns.media}
    parts |= {
        "split",
        *(other for others in columns.instead.values() for other in others),
    }
    code = "\n".join(
        [
            str(getattr(template, "source", "")),
            *map(_source, (task.template, task.to_sample, *scorers)),
        ]
    )
    words = set(re.findall(r"\w+", code))
    prompt_text = "\n".join(
        message.text for prompt in prompts for message in prompt.messages
    )
    idle = [name for name in columns.names if name not in parts and name not in words]
    return [
        name
        for name in idle
        if not any(_is_shown(row.fields.get(name), prompt_text) for row in rows)
    ]


def _is_shown(value: object, prompt_text: str) -> bool:
    text = value if isinstance(value, str) else str(value)
    return len(text) >= LEAST_SHOWN and text in prompt_text


def _source(thing: object) -> str:
    """Return the source code of a template, a scorer or a function, with its options."""
    if thing is None or isinstance(thing, (str, list, tuple, dict)):
        return repr(thing)
    if inspect.isroutine(thing) or inspect.isclass(thing):
        kind = thing
    else:
        kind = type(thing)
    try:
        return f"{thing!r}\n{inspect.getsource(sys.modules[kind.__module__])}"
    except (KeyError, OSError, TypeError):
        return repr(thing)


def why_unscored(score: Score) -> str | None:
    """Return why a scorer has no verdict on the right answer; `None` if it has one."""
    if score.outcome not in UNRESOLVED:
        return None
    return str(
        score.details.get("reason") or score.details.get("error") or score.outcome
    )

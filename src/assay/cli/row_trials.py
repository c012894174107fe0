"""What `assay check` says of rows: columns that nothing uses, targets that are all one, and the turns of a dialogue."""

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..core import UNRESOLVED, Prompt, Sample, Task
from ..core.errors import shorten
from ..report import printable
from ..templates import rounds

LEAST_ALIKE = 3
"""Rows with one and the same target that are worth a line."""
LEAST_SHOWN = 3
"""Characters of a value that are no coincidence in a prompt."""
ANSWER = "(the model's answer)"


def whole_dialogue(task: Task, sample: Sample, prompt: Prompt, template: Any) -> Prompt:
    """The prompt of the last round of a scripted dialogue: every turn, with a mark where the model answers."""
    if not sample.turns:
        return prompt
    dialogue = rounds(
        sample, prompt, history="model" if task.history != "reference" else task.history
    )
    last = prompt
    for _ in sample.turns:
        following = dialogue.next(last.messages, ANSWER)
        if following is None:
            break
        last = following
    return last


def remarks_on(
    task: Task,
    samples: Any,
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[Any],
    template: Any,
) -> Iterator[str]:
    """Notes for people: none of it is a fault for certain."""
    targets = {repr(row.target) for row in rows}
    if len(rows) >= LEAST_ALIKE and len(targets) == 1 and rows[0].target is not None:
        shuffle = (
            "; --shuffle_choices draws another order of the options"
            if rows[0].choices
            else ""
        )
        target = printable(shorten(rows[0].target))
        yield f"note: all {len(rows)} rows have the target {target}: one answer to everything scores 1{shuffle}"
    unused = unused_columns(
        task, samples, rows[: len(prompts)], prompts, scorers, template
    )
    if unused:
        names = ", ".join(map(printable, unused))
        yield f"note: columns that nothing uses: {names}; a template shows one as {{{{ {printable(unused[0])} }}}}"


def unused_columns(
    task: Task,
    samples: Any,
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[Any],
    template: Any,
) -> list[str]:
    """Columns that play no part, are named by no code, and stand in no prompt."""
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
    parts |= {columns.group, columns.cluster, *columns.option_cells, *columns.tags}
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


def _is_shown(value: Any, prompt_text: str) -> bool:
    text = value if isinstance(value, str) else str(value)
    return len(text) >= LEAST_SHOWN and text in prompt_text


def _source(thing: Any) -> str:
    """The code behind a template, a scorer or a function, with the options it was built with."""
    if thing is None or isinstance(thing, (str, list, tuple, dict)):
        return repr(thing)
    kind = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    try:
        return f"{thing!r}\n{inspect.getsource(sys.modules[kind.__module__])}"
    except (KeyError, OSError, TypeError):
        return repr(thing)


def why_unscored(score: Any) -> str | None:
    """Why a scorer has no verdict on the right answer; `None` where it has one."""
    if score.outcome not in UNRESOLVED:
        return None
    return str(
        score.details.get("reason") or score.details.get("error") or score.outcome
    )

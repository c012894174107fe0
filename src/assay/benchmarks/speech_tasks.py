"""Speech benchmarks: the Python parts of the tasks in `data/tasks/speech.toml`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core import (
    Audio,
    Message,
    Output,
    Prompt,
    Sample,
    Score,
    Task,
    TemplateError,
    Text,
)
from ..datasets.choices import LETTERS
from ..scorers.answers import no_answer, no_target
from ..templates import Choices
from .speech_rows import (
    AUDIO,
    BOTH,
    MODES,
    TEXT,
    Blind,
    HeardRounds,
    heard,
    in_modes,
)
from .task_rows import build_task, read_task_rows


def words_of_option(sample: Sample, output: Output) -> Score:
    """Score 1 if the answer contains every word of the right option, and no word found only in wrong options."""
    if sample.target is None:
        return no_target(sample)
    silence = no_answer(output)
    if silence:
        return silence
    right = sample.choices[LETTERS.index(str(sample.target))]
    return Score(
        float(names_option(right, output.text, sample.choices)), answer=output.text
    )


def names_option(
    right: str,
    text: str,
    options: Sequence[str],
) -> bool:
    """Return True if a text contains every word of the right option, and no word found only in other options."""
    right_words = _words(right)
    words = _words(text)
    others = {word for option in options for word in _words(option) - right_words}
    return bool(words) and right_words <= words and not words & others


def _words(text: str) -> set[str]:
    return set(re.findall(r"\b\w+\b", text.lower()))


ASK_MEMORY = "Answer in one short sentence."


@dataclass(frozen=True)
class InThisVoice:
    """A prompt template for voice cloning: a recording, followed by the text to speak in the recorded voice."""

    instruction: str = (
        "Say the following in the voice of the recording, and nothing else:"
    )

    def __call__(self, sample: Sample) -> Prompt:
        if not sample.input:
            raise TemplateError(
                "the row has no text to speak",
                where=f"sample {sample.id!r}",
                fix="give a column `query`",
            )
        clips = tuple(medium for medium in sample.media if isinstance(medium, Audio))
        return Prompt(
            (Message("user", (*clips, Text(f"{self.instruction} {sample.input}"))),)
        )


OPTIONS_WITH_SOUND = {BOTH: Choices(), TEXT: Blind(Choices())}
SPOKEN_ROUNDS = {
    mode: HeardRounds(mode, "" if mode == AUDIO else ASK_MEMORY) for mode in MODES
}
IN_THIS_VOICE = {BOTH: InThisVoice()}


def spoken_tasks(row: dict[str, Any]) -> tuple[Task, ...]:
    """Return the tasks of a row in the TOML file: one for each input mode, or only one
    if the row has no key `checked`.
    """
    settings = dict(row)
    if "checked" not in settings:
        return (build_task(settings, __name__),)
    modes = settings.pop("modes", MODES)
    checked = settings.pop("checked")
    version = settings.pop("version", "")
    instruction = settings.pop("instruction", "")
    lists_options = settings.pop("lists_options", False)
    task = build_task(settings, __name__)
    templates = task.template
    if templates is None:
        templates = heard(instruction, *modes, lists_options=lists_options)
    return in_modes(task, templates, checked, version)


TASKS = {
    task.name: task
    for row in read_task_rows("speech.toml").values()
    for task in spoken_tasks(row)
}


def __getattr__(name: str) -> Task:
    """Return the task called `name`, so that the tasks in the TOML file are attributes of this module."""
    if name in TASKS:
        return TASKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

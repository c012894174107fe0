"""Input modes: one benchmark asked by ear, by ear with a written instruction, and in writing.

The mode is part of the protocol's id, since numbers of different modes are different measurements: `webq@audio`,
`webq@audio+text`, `webq@text`. The written mode is what text models are asked, and the ceiling of the spoken ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...catalogue.benchmarks.speech import SUFFIXES
from ...core import Audio, Message, Part, Prompt, Sample, Task, TemplateError, Text
from .rows import ROUNDS

MODES = AUDIO, BOTH, TEXT = tuple(SUFFIXES)


@dataclass(frozen=True)
class Heard:
    """What is said as an audio clip (with an instruction beside it in the mode `audio+text`), or as its text."""

    mode: str = AUDIO
    instruction: str = ""
    lists_options: bool = False
    """Whether the options are written after the question in the mode `text`; in an audio clip they are said."""

    def __call__(self, sample: Sample) -> Prompt:
        text = str(sample.input)
        if self.lists_options and text:
            text = "\n".join(
                [
                    text,
                    *(
                        f"{chr(65 + n)}. {option}"
                        for n, option in enumerate(sample.choices)
                    ),
                ]
            )
        audio = sample.media[0] if sample.media else None
        return Prompt((user_turn(self, sample, text, audio),))


@dataclass(frozen=True)
class HeardRounds:
    """A dialogue whose user turns are audio clips or their texts; the instruction stands in the first."""

    mode: str = AUDIO
    instruction: str = ""

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt((self._turn(sample, 0),))

    def next(self, sample: Sample, turns: Sequence[Message]) -> Message | None:
        """The user's next turn; `None` after the last."""
        done = sum(message.role == "user" for message in turns)
        return self._turn(sample, done) if done < len(sample.fields[ROUNDS]) else None

    def _turn(self, sample: Sample, place: int) -> Message:
        template = self if place == 0 else replace(self, instruction="")
        audio = sample.media[place] if sample.media else None
        return user_turn(template, sample, sample.fields[ROUNDS][place], audio)


@dataclass(frozen=True)
class Blind:
    """Another template without the audio: what can be guessed from the question alone."""

    template: Any

    def __call__(self, sample: Sample) -> Any:
        return self.template(replace(sample, media=()))


def user_turn(
    template: Heard | HeardRounds, sample: Sample, text: str, audio: Any
) -> Message:
    """One user turn in the mode that is asked for."""
    if template.mode == TEXT:
        if not text:
            raise TemplateError(
                "the row has no text of what is said",
                where=f"sample {sample.id!r}",
                fix="give a column `query`",
            )
        return Message(
            "user",
            (
                Text(
                    f"{text}\n\n{template.instruction}"
                    if template.instruction
                    else text
                ),
            ),
        )
    if not isinstance(audio, Audio):
        raise TemplateError(
            "the row has no audio",
            where=f"sample {sample.id!r}",
            fix="give a column `audio`",
        )
    parts: tuple[Part, ...] = (audio,)
    if template.mode == BOTH and template.instruction:
        parts = (audio, Text(template.instruction))
    return Message("user", parts)


def heard(
    instruction: str, *modes: str, lists_options: bool = False
) -> dict[str, Heard]:
    """The template of each mode, all three if none is named."""
    return {
        mode: Heard(
            mode, "" if mode == AUDIO else instruction, lists_options and mode == TEXT
        )
        for mode in modes or MODES
    }


def in_modes(
    task: Task, templates: Mapping[str, Any], checked: str, version: str = ""
) -> tuple[Task, ...]:
    """One task for each mode: `webq`, `webq_audio_text`, `webq_text`; the description says which, and what was checked.

    A task without a spoken mode keeps its bare name for the first of its modes. `version` ends the protocol ids of a
    task whose arithmetic was another once, so that its numbers are not taken for the same.
    """
    first = next(iter(templates))
    return tuple(
        task.but(
            name=task.name + ("" if mode == first else SUFFIXES[mode]),
            template=template,
            protocol=f"{task.name}@{mode}{version}",
            needs=task.needs if mode == TEXT else task.needs | {"audio"},
            description=f"{task.description}, {mode} ({checked})",
        )
        for mode, template in templates.items()
    )
